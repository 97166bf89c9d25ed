//! Pings: in come a URL and a run's beginning and end, out go requests as services that wait for them know them: URL/start, URL, and URL/fail
//! with exit code and line. Never delays work, which goes on beside the first ping, and never fails a run. A ping may take 10 s, in up to three
//! tries of 3 s. A warning names the host alone, as the rest of such a URL is a secret.

use std::thread::{self, JoinHandle};
use std::time::Duration;
use ureq::{Agent, Error};

/// How long one try may take, from the look-up of the name to the last byte.
const TRY: Duration = Duration::from_secs(3);
/// What is waited before the first, the second and the third try; with three tries 10 s.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(250), Duration::from_millis(750)];
/// Bytes of a failure's line that are sent.
const LINE_BYTES_MAX: usize = 4096;

/// Where to tell.
pub struct Ping {
    url: String,
    starting: Option<JoinHandle<()>>,
}

/// `url` with `ending` behind its path and before its query.
fn with_ending(url: &str, ending: &str) -> String {
    let (path, query) = match url.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (url, String::new()),
    };
    match ending {
        "" => url.to_owned(),
        _ => format!("{}/{ending}{query}", path.trim_end_matches('/')),
    }
}

/// The host of `url`, for a person.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// What a failed run sends.
fn body(code: u8, line: &str) -> String {
    let end = (0..=LINE_BYTES_MAX.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
    format!("exit code {code}: {}", &line[..end])
}

/// Whether another try may do better.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::StatusCode(status) => *status >= 500 || *status == 429,
        Error::BadUri(_) => false,
        _ => true,
    }
}

/// Asks for `url`, with `body` as a POST.
fn request(url: &str, body: Option<&str>) {
    let config = Agent::config_builder()
        .timeout_global(Some(TRY))
        .user_agent(concat!("pagefold/", env!("CARGO_PKG_VERSION")))
        .build();
    let agent = Agent::new_with_config(config);
    for (at, pause) in PAUSES.into_iter().enumerate() {
        thread::sleep(pause);
        let answer = match body {
            Some(body) => agent.post(url).content_type("text/plain; charset=utf-8").send(body),
            None => agent.get(url).call(),
        };
        match answer {
            Ok(_) => return,
            Err(error) if at + 1 < PAUSES.len() && may_pass(&error) => {}
            Err(error) => {
                let why = match error {
                    Error::StatusCode(status) => format!("it answers {status}"),
                    Error::Timeout(_) => "it does not answer in time".into(),
                    Error::HostNotFound => "no such host".into(),
                    Error::ConnectionFailed => "no connection".into(),
                    Error::Io(error) => error.to_string(),
                    Error::Rustls(error) => error.to_string(),
                    // The words of others may quote the URL.
                    _ => "the request failed".into(),
                };
                tracing::warn!(host = host(url), why, "cannot ping; the run goes on");
                return;
            }
        }
    }
}

impl Ping {
    /// Pings `url`.
    pub fn new(url: String) -> Ping {
        Ping { url, starting: None }
    }

    /// Tells that the run begins, beside its work.
    pub fn start(&mut self) {
        let url = with_ending(&self.url, "start");
        let starting = thread::Builder::new().name("ping".into()).spawn(move || request(&url, None));
        // Without a thread nobody hears of the beginning, only of the end.
        self.starting = starting.ok();
    }

    /// Tells that the run succeeded.
    pub fn succeeded(self) {
        self.ends("", None);
    }

    /// Tells that the run failed, with its exit code and line.
    pub fn failed(self, code: u8, line: &str) {
        self.ends("fail", Some(&body(code, line)));
    }

    fn ends(mut self, ending: &str, body: Option<&str>) {
        if let Some(starting) = self.starting.take() {
            // The beginning must not be heard after the end.
            let _ = starting.join();
        }
        request(&with_ending(&self.url, ending), body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Endings go behind the path, whatever follows it, and a warning never shows more than the host.
    #[test]
    fn urls() {
        assert_eq!(with_ending("https://h.example/id", "start"), "https://h.example/id/start");
        assert_eq!(with_ending("https://h.example/id/?a=/b", "fail"), "https://h.example/id/fail?a=/b");
        assert_eq!(with_ending("https://h.example/id?a", ""), "https://h.example/id?a");
        assert_eq!(host("https://user:word@h.example:8/id"), "h.example:8");
        assert_eq!(host("http://h.example?id"), "h.example");
    }

    /// A line is cut between characters.
    #[test]
    fn bodies() {
        assert_eq!(body(65, "a guard"), "exit code 65: a guard");
        let long = body(74, &"好".repeat(4000));
        assert!(long.len() <= LINE_BYTES_MAX + 20 && long.ends_with('好'));
    }
}
