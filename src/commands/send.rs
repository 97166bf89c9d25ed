//! `pagefold send`: sends JSON lines to a server and prints its answers.
//!
//! Rows go in batches, and a batch goes if no row follows for a second. A batch for which the
//! server has no room now is sent again as a whole: rows that were inserted before are then found,
//! and nothing is inserted twice. Rows for which the inbox has no room are sent again until a run
//! has taken it, for a bounded time. A batch that is too large for the server goes in parts. Rows
//! that the server did not take are reported like rejected ones.

use super::send_rows::{Batch, Next, Row, Rows};
use crate::cli;
use crate::serve::{BODY_BYTES_MAX, is_local, token_of};
use crate::terminal::paint::plain;
use crate::terminal::print::{counted, escaped, print_json, show};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};
use ureq::http::{StatusCode, Uri};
use workers::error::{Error, Kind, Result};
use workers::read::codec::Codec;
use workers::read::shell;

/// Bytes of a batch, unless the server takes fewer.
const BATCH_BYTES: usize = 1 << 20;
/// The longest answer.
const BYTES_MAX: u64 = 64 << 20;
/// How often a batch is sent before the command gives up.
const TRIES: u32 = 60;
/// How long a server may be silent before the command gives up.
const SILENT_MAX: Duration = Duration::from_secs(60);
/// Seconds for which rows are sent again while a full inbox takes no row.
const FULL_SECONDS_MAX: u64 = 7_200;
/// The longest pause before these rows, or a batch, are sent again.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// The error of rustls for an answer that is no TLS.
const NO_TLS: &str = "InvalidContentType";
/// The reason of the server if a full inbox does not take a row.
const FULL: &str = "inbox_full";
/// How long a batch may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// `pagefold send`.
pub fn command(arguments: &cli::Send) -> Result<()> {
    if !is_url(&arguments.url) {
        let why = "no URL; wanted is such as http://127.0.0.1:7311/check";
        return Err(Error::new(Kind::Usage, format!("{}: {why}", arguments.url)));
    }
    let file = cli::named_file(arguments.file.as_ref());
    let name = file.unwrap_or(Path::new("stdin")).to_owned();
    let token = arguments.token_file.as_deref().map(token_of).transpose()?;
    let input = opened(file, arguments)?;
    // A redirected POST becomes a GET without its rows.
    let config = ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0);
    // A proxy cannot reach a server of this machine by such an address.
    let config = if is_here(&arguments.url) { config.proxy(None) } else { config };
    let agent = ureq::Agent::new_with_config(config.build());
    let mut sender = Sender {
        agent,
        url: &arguments.url,
        token,
        batch_bytes: BATCH_BYTES,
        rejected: 0,
        waits: true,
    };
    let rows = Rows::new(input, name.clone(), BODY_BYTES_MAX).arriving();
    let mut batch = Batch::default();
    loop {
        match rows.next(batch.rows.is_empty())? {
            Next::Row(Row::Whole(line, row)) => {
                if !batch.has_room(row.len(), sender.batch_bytes) {
                    sender.send(&std::mem::take(&mut batch))?;
                }
                batch.push(line, &row);
                if batch.is_full(sender.batch_bytes) {
                    sender.send(&std::mem::take(&mut batch))?;
                }
            }
            Next::Row(Row::Long(line)) => {
                sender.send(&std::mem::take(&mut batch))?;
                let detail = format!("more than {BODY_BYTES_MAX} bytes, which no server takes");
                sender.reject(line, detail)?;
            }
            Next::Nothing => sender.send(&std::mem::take(&mut batch))?,
            Next::End => break,
        }
    }
    sender.send(&batch)?;
    match sender.rejected {
        0 => Ok(()),
        rejected => Err(Error::new(
            Kind::Data,
            format!("{}: {} not taken", name.display(), counted(rejected, "row")),
        )),
    }
}

/// The bytes of a file, or of stdin, that is not compressed.
fn opened(file: Option<&Path>, arguments: &cli::Send) -> Result<Box<dyn BufRead + Send>> {
    let name = file.unwrap_or(Path::new("stdin"));
    let failed = |error| Error::input("read", name, error);
    let mut input: Box<dyn BufRead + Send> = match file {
        Some(path) => Box::new(BufReader::new(File::open(path).map_err(failed)?)),
        None => Box::new(BufReader::new(std::io::stdin())),
    };
    let Some(decoder) = shell::decoder(Codec::of(input.fill_buf().map_err(failed)?)) else {
        return Ok(input);
    };
    let file = file.map_or("FILE".to_owned(), shell::word);
    let url = shell::word(Path::new(&arguments.url));
    let token = arguments.token_file.as_deref().map(shell::word);
    let token = token.map_or(String::new(), |token| format!(" --token-file {token}"));
    let advised = format!("`{decoder} < {file} | pagefold send {url}{token}`");
    let line = format!("{}: a compressed file; {advised} sends its rows", name.display());
    Err(Error::new(Kind::Data, line))
}

/// Whether `text` is the URL of a server. In a URL without a scheme a port follows the first colon.
fn is_url(text: &str) -> bool {
    text.parse::<Uri>()
        .is_ok_and(|url| matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some())
}

/// Whether the server of a URL is on this machine.
fn is_here(url: &str) -> bool {
    url.parse::<Uri>().is_ok_and(|url| url.host().is_some_and(is_local))
}

/// The answer about a row that was not taken, as the server writes it.
#[derive(Serialize, Deserialize)]
struct Rejected {
    line: u64,
    verdict: String,
    reason: String,
    detail: String,
}

/// Sends batches and prints the answers.
struct Sender<'a> {
    agent: ureq::Agent,
    url: &'a str,
    token: Option<String>,
    /// The most bytes of a batch, unless it is one row.
    batch_bytes: usize,
    /// The rows that were not taken.
    rejected: u64,
    /// Whether it waits when the inbox is full. After one wait without success it no longer waits.
    waits: bool,
}

/// A printed answer.
struct Printed {
    line: String,
    /// Why the row was not taken.
    reason: Option<String>,
}

impl Sender<'_> {
    /// Sends a batch and prints the answers.
    fn send(&mut self, batch: &Batch) -> Result<()> {
        self.send_rows(&batch.bytes, &batch.rows)
    }

    /// Sends rows of a batch, in parts if they are too large for the server.
    fn send_rows(&mut self, bytes: &[u8], rows: &[(u64, Range<usize>)]) -> Result<()> {
        let [(line, first), ..] = rows else { return Ok(()) };
        let last = rows.last().map_or(first, |(_, last)| last);
        let body = &bytes[first.start..last.end];
        match self.post(body, rows.len())? {
            Some(answers) => {
                let mut printed: Vec<Printed> =
                    answers.lines().map(|answer| Printed::of(answer, rows)).collect();
                // What is answered is told before a wait, which a signal may end.
                let told = printed.iter().position(Printed::is_full).unwrap_or(printed.len());
                let mut waiting = printed.split_off(told);
                self.tell(&printed)?;
                let waited = self.wait_for_room(bytes, &rows[told..], &mut waiting);
                // If the server went, rows that wait have no answer, and are sent again later.
                waiting.retain(|printed| waited.is_ok() || !printed.is_full());
                self.tell(&waiting)?;
                waited
            }
            None if rows.len() == 1 => {
                self.reject(*line, format!("the server takes no row of {} bytes", body.len()))
            }
            None => {
                self.batch_bytes = self.batch_bytes.min(body.len() / 2);
                let (one, other) = rows.split_at(rows.len() / 2);
                self.send_rows(bytes, one)?;
                self.send_rows(bytes, other)
            }
        }
    }

    /// Prints answers.
    fn tell(&mut self, answers: &[Printed]) -> Result<()> {
        self.rejected += answers.iter().filter(|answer| answer.reason.is_some()).count() as u64;
        let lines = answers.iter().map(|answer| format!("{}\n", escaped(&answer.line)));
        show(&lines.collect::<String>())
    }

    /// Sends those of `rows` again for which the inbox has no room, until it has taken all of them,
    /// or has taken none for too long.
    fn wait_for_room(
        &mut self,
        bytes: &[u8],
        rows: &[(u64, Range<usize>)],
        printed: &mut [Printed],
    ) -> Result<()> {
        let (mut since, mut pause) = (Instant::now(), Duration::from_secs(1));
        let mut left = usize::MAX;
        while self.waits {
            let full: Vec<_> =
                rows.iter().zip(&mut *printed).filter(|(_, printed)| printed.is_full()).collect();
            let url = self.url;
            if full.is_empty() {
                break;
            }
            if full.len() < left {
                if left == usize::MAX {
                    let hours = FULL_SECONDS_MAX / 3600;
                    tracing::warn!(
                        "{url}: the inbox is full; tries again for {hours} hours, until \
                         `pagefold run JOB` has taken it"
                    );
                }
                (left, since, pause) = (full.len(), Instant::now(), Duration::from_secs(1));
            } else if since.elapsed() >= Duration::from_secs(FULL_SECONDS_MAX) {
                tracing::warn!("{url}: no run has taken the inbox; rows that it refuses are told");
                self.waits = false;
                break;
            }
            sleep(pause);
            pause = PAUSE_MAX.min(2 * pause);
            let mut again = Batch::default();
            full.iter().for_each(|((line, row), _)| again.push(*line, &bytes[row.clone()]));
            let Some(answers) = self.post(&again.bytes, again.rows.len())? else { break };
            for ((_, printed), answer) in full.into_iter().zip(answers.lines()) {
                *printed = Printed::of(answer, &again.rows);
            }
        }
        Ok(())
    }

    /// Prints that the row of a line is too long.
    fn reject(&mut self, line: u64, detail: String) -> Result<()> {
        self.rejected += 1;
        let (verdict, reason) = ("rejected".into(), "long_line".into());
        print_json(&Rejected { line, verdict, reason, detail })
    }

    /// The answers to a batch of this many rows; `None` if it is too large for the server.
    fn post(&self, batch: &[u8], rows: usize) -> Result<Option<String>> {
        let mut refused = self.failed(Kind::TryAgain, "not sent");
        let mut silent_until: Option<Instant> = None;
        let mut is_told = false;
        for _ in 0..TRIES {
            let left = silent_until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            let answered = match self.ask(batch, left.unwrap_or(TIMEOUT)) {
                Ok(answered) => answered,
                // The server may be starting again. Rows that it took are found when they are sent
                // again.
                Err(error) => {
                    refused = self.unanswered(error)?;
                    if silent_until.is_none() {
                        tracing::warn!("{refused}; tries again for a minute");
                        silent_until = Some(Instant::now() + SILENT_MAX);
                    }
                    sleep(Duration::from_secs(1));
                    continue;
                }
            };
            silent_until = None;
            match self.meaning(answered, rows)? {
                Meaning::Answers(answers) => return Ok(Some(answers)),
                Meaning::TooLarge => return Ok(None),
                Meaning::Again(pause, error) => {
                    refused = error;
                    if !std::mem::replace(&mut is_told, true) {
                        tracing::warn!("{refused}; sends the rows up to {TRIES} times");
                    }
                    sleep(pause.min(PAUSE_MAX));
                }
            }
        }
        Err(refused)
    }

    fn failed(&self, kind: Kind, why: &str) -> Error {
        Error::new(kind, format!("{}: {}", self.url, plain(why)))
    }

    /// The error of a server that does not answer and may do so later.
    ///
    /// # Errors
    ///
    /// `Usage` if it would never answer.
    fn unanswered(&self, error: ureq::Error) -> Result<Error> {
        if error.to_string().contains(NO_TLS) {
            return Err(self.failed(Kind::Usage, "it answers without TLS; write http://"));
        }
        let unanswered = Error::new(Kind::TryAgain, self.url.to_owned() + &self.by_proxy());
        Ok(match error {
            ureq::Error::Io(error) => unanswered.caused_by(error),
            error => unanswered.caused_by(error),
        })
    }

    /// What an answer says of a batch of this many rows.
    fn meaning(&self, answered: Answered, rows: usize) -> Result<Meaning> {
        let Answered { status, retry_after, location, body } = answered;
        let wordless = format!("it answers {} without a word", status.as_str());
        let said = if body.trim().is_empty() { &wordless } else { &body };
        Err(match status {
            StatusCode::OK => {
                let are_answers = body.lines().all(|answer| answer.starts_with('{'));
                if are_answers && body.lines().count() == rows {
                    return Ok(Meaning::Answers(body));
                }
                let why = "it does not answer rows as `pagefold serve` does; write the address of \
                           such a server";
                self.failed(Kind::Usage, why)
            }
            StatusCode::PAYLOAD_TOO_LARGE => return Ok(Meaning::TooLarge),
            // On a slow link a part of the rows arrives in time.
            StatusCode::REQUEST_TIMEOUT if rows > 1 => return Ok(Meaning::TooLarge),
            StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::SERVICE_UNAVAILABLE => {
                let pause = Duration::from_secs(retry_after.unwrap_or(1));
                return Ok(Meaning::Again(pause, self.failed(Kind::TryAgain, said)));
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => self.failed(Kind::Permission, said),
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
                let why = "no rows are taken there; end the URL with /check, /insert or /remove";
                self.failed(Kind::Usage, why)
            }
            status if status.is_redirection() => {
                let to = location.as_deref().unwrap_or("another address");
                self.failed(Kind::Usage, &format!("it redirects to {to}; write that address"))
            }
            status if status.is_server_error() => self.failed(Kind::TryAgain, said),
            _ => self.failed(Kind::Usage, said),
        })
    }

    /// The proxy of the environment through which rows go, if there is one.
    fn by_proxy(&self) -> String {
        let proxy = self.agent.config().proxy();
        let used = proxy.filter(|of| self.url.parse().is_ok_and(|url| !of.is_no_proxy(&url)));
        used.map_or(String::new(), |of| format!(" through the proxy {}:{}", of.host(), of.port()))
    }

    /// Sends a batch once, and reads the answer to its end.
    fn ask(&self, batch: &[u8], timeout: Duration) -> std::result::Result<Answered, ureq::Error> {
        // A server that refuses a body by its length may close the connection while it is sent,
        // and its answer would be lost. So the body is sent when the server asks for it.
        let mut request = self
            .agent
            .post(self.url)
            .config()
            .timeout_global(Some(timeout))
            .build()
            .header("Content-Type", "application/x-ndjson")
            .header("Expect", "100-continue");
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let mut response = request.send(batch)?;
        let retry_after = response.headers().get("retry-after");
        let retry_after = retry_after.and_then(|after| after.to_str().ok()?.parse().ok());
        let location = response.headers().get("location");
        let location = location.and_then(|to| Some(to.to_str().ok()?.to_owned()));
        let status = response.status();
        let body = response.body_mut().with_config().limit(BYTES_MAX).read_to_string()?;
        Ok(Answered { status, retry_after, location, body })
    }
}

impl Printed {
    /// The answer to one of `rows`. The server counts the lines of the batch, and people count
    /// those of the file.
    fn of(answer: &str, rows: &[(u64, Range<usize>)]) -> Printed {
        let Ok(mut rejected) = serde_json::from_str::<Rejected>(answer) else {
            return Printed { line: answer.to_owned(), reason: None };
        };
        let row = usize::try_from(rejected.line).ok().and_then(|n| rows.get(n.checked_sub(1)?));
        rejected.line = row.map_or(rejected.line, |(line, _)| *line);
        let line = serde_json::to_string(&rejected).unwrap_or_default();
        Printed { line, reason: Some(rejected.reason) }
    }

    /// Whether the inbox had no room for the row.
    fn is_full(&self) -> bool {
        self.reason.as_deref() == Some(FULL)
    }
}

/// What an answer says of a batch.
enum Meaning {
    /// The answers to its rows, a line each.
    Answers(String),
    /// The batch is too large, or too slow on its way: a smaller one may pass.
    TooLarge,
    /// The batch may be sent again after this pause. The error is for the case that it is not.
    Again(Duration, Error),
}

/// What the server answered.
struct Answered {
    status: StatusCode,
    /// Seconds.
    retry_after: Option<u64>,
    /// Where a redirect leads.
    location: Option<String>,
    body: String,
}
