//! `pagefold send`: sends JSON lines to a server and prints what it answers.
//!
//! Rows go in batches. A batch that the server has no room for now is sent again, whole: what was
//! inserted before is then found, and nothing is inserted twice. Rows that the server did not take
//! for want of memory are told like rejected ones, since only an epoch helps.

use crate::cli;
use crate::serve::token_of;
use crate::terminal::print::{counted, show};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;
use ureq::http::StatusCode;
use workers::error::{Error, Kind, Result};

/// Rows, and bytes, of a batch. A longer row goes alone.
const BATCH_ROWS: usize = 500;
const BATCH_BYTES: usize = 1 << 20;
/// The longest row, and the longest answer.
const BYTES_MAX: u64 = 64 << 20;
/// How often a batch is sent before the command gives up.
const TRIES: u32 = 60;
/// How long a batch may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// `pagefold send`.
pub fn command(arguments: &cli::Send) -> Result<()> {
    let name = arguments.file.as_deref().unwrap_or(Path::new("stdin")).to_owned();
    let mut input: Box<dyn BufRead> = match &arguments.file {
        Some(path) => {
            Box::new(BufReader::new(File::open(path).map_err(|e| Error::input("read", path, e))?))
        }
        None => Box::new(std::io::stdin().lock()),
    };
    let token = arguments.token_file.as_deref().map(token_of).transpose()?;
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(TIMEOUT))
        .build();
    let agent = ureq::Agent::new_with_config(agent);
    let to = To { agent, url: &arguments.url, token };
    let (mut batch, mut rows, mut rejected) = (Vec::new(), 0, 0);
    loop {
        let before = batch.len();
        let read = input.by_ref().take(BYTES_MAX).read_until(b'\n', &mut batch);
        let ended = read.map_err(|error| Error::input("read", &name, error))? == 0;
        if !ended && !batch.ends_with(b"\n") {
            batch.push(b'\n');
        }
        rows += usize::from(!batch[before..].trim_ascii().is_empty());
        if rows > 0 && (ended || rows >= BATCH_ROWS || batch.len() >= BATCH_BYTES) {
            let answers = to.send(&batch)?;
            rejected +=
                answers.lines().filter(|line| line.contains("\"verdict\":\"rejected\"")).count();
            show(&answers)?;
            batch.clear();
            rows = 0;
        }
        if ended {
            break;
        }
    }
    match rejected {
        0 => Ok(()),
        _ => Err(Error::new(
            Kind::Data,
            format!("{}: {} not taken", name.display(), counted(rejected as u64, "row")),
        )),
    }
}

/// Where batches go.
struct To<'a> {
    agent: ureq::Agent,
    url: &'a str,
    token: Option<String>,
}

impl To<'_> {
    /// The answers to a batch.
    fn send(&self, batch: &[u8]) -> Result<String> {
        let failed = |kind, why: &str| Error::new(kind, format!("{}: {why}", self.url));
        let mut refused = String::new();
        for _ in 0..TRIES {
            let mut request =
                self.agent.post(self.url).header("Content-Type", "application/x-ndjson");
            if let Some(token) = &self.token {
                request = request.header("Authorization", format!("Bearer {token}"));
            }
            let mut response = match request.send(batch) {
                Ok(response) => response,
                Err(ureq::Error::BadUri(_)) => {
                    let why = "no URL; wanted is such as http://127.0.0.1:7311/check";
                    return Err(failed(Kind::Usage, why));
                }
                // The server may be starting again. What it took is found when it is sent again.
                Err(error) => {
                    refused = error.to_string();
                    sleep(Duration::from_secs(1));
                    continue;
                }
            };
            let body = response.body_mut().with_config().limit(BYTES_MAX).read_to_string();
            let body = body.map_err(|error| failed(Kind::TryAgain, &error.to_string()))?;
            match response.status() {
                StatusCode::OK => return Ok(body),
                StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                    let after = response
                        .headers()
                        .get("retry-after")
                        .and_then(|after| after.to_str().ok()?.parse().ok());
                    sleep(Duration::from_secs(after.unwrap_or(1)));
                    refused = body;
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    return Err(failed(Kind::Permission, &body));
                }
                status if status.is_server_error() => return Err(failed(Kind::TryAgain, &body)),
                _ => return Err(failed(Kind::Usage, &body)),
            }
        }
        Err(failed(Kind::TryAgain, &refused))
    }
}
