//! Requests to a monitoring service when a run begins (URL/start), succeeds (URL) or fails
//! (URL/fail, with the exit code and the error).
//!
//! Pings never fail a run, and the first one does not delay it. A ping takes at most 10 s: three
//! tries of 3 s each, and pauses. A warning names only the host, because the rest of such a URL is
//! a secret.

use std::thread::{self, JoinHandle};
#[cfg(feature = "ping")]
use std::time::Duration;
#[cfg(feature = "ping")]
use ureq::{Agent, Error};

/// The limit for one try, from the name lookup to the last byte.
#[cfg(feature = "ping")]
const TRY: Duration = Duration::from_secs(3);
/// The pause before each try.
#[cfg(feature = "ping")]
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(250), Duration::from_millis(750)];
/// The length of the error text that is sent.
const LINE_BYTES_MAX: usize = 4096;

/// The service to notify.
pub struct Ping {
    url: String,
    starting: Option<JoinHandle<()>>,
}

/// `url` with `ending` appended to its path, before the query.
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

/// The host of `url`, for messages.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// The text that a failed run sends.
fn body(code: u8, line: &str) -> String {
    let end = (0..=LINE_BYTES_MAX.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
    format!("exit code {code}: {}", &line[..end])
}

/// Whether another try may succeed.
#[cfg(feature = "ping")]
fn may_pass(error: &Error) -> bool {
    match error {
        Error::StatusCode(status) => *status >= 500 || *status == 429,
        Error::BadUri(_) => false,
        _ => true,
    }
}

/// A build without the feature `ping` says so, and the run goes on.
#[cfg(not(feature = "ping"))]
fn request(url: &str, _body: Option<&str>) {
    tracing::warn!(host = host(url), "this pagefold was built without pings (feature `ping`); the run goes on");
}

/// Requests `url`; with a `body` as a POST.
#[cfg(feature = "ping")]
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
                    // Other messages may quote the URL.
                    _ => "the request failed".into(),
                };
                tracing::warn!(host = host(url), why, "cannot ping; the run goes on");
                return;
            }
        }
    }
}

impl Ping {
    /// A ping to `url`.
    pub fn new(url: String) -> Ping {
        Ping { url, starting: None }
    }

    /// Reports the start of the run, from a thread of its own.
    pub fn start(&mut self) {
        let url = with_ending(&self.url, "start");
        let starting = thread::Builder::new().name("ping".into()).spawn(move || request(&url, None));
        // Without a thread only the end is reported.
        self.starting = starting.ok();
    }

    /// Reports that the run succeeded.
    pub fn succeeded(self) {
        self.ends("", None);
    }

    /// Reports that the run failed, with its exit code and error.
    pub fn failed(self, code: u8, line: &str) {
        self.ends("fail", Some(&body(code, line)));
    }

    fn ends(mut self, ending: &str, body: Option<&str>) {
        if let Some(starting) = self.starting.take() {
            // The start must arrive before the end.
            let _ = starting.join();
        }
        request(&with_ending(&self.url, ending), body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Endings are appended to the path, before the query, and a warning shows only the host.
    #[test]
    fn urls() {
        assert_eq!(with_ending("https://h.example/id", "start"), "https://h.example/id/start");
        assert_eq!(with_ending("https://h.example/id/?a=/b", "fail"), "https://h.example/id/fail?a=/b");
        assert_eq!(with_ending("https://h.example/id?a", ""), "https://h.example/id?a");
        assert_eq!(host("https://user:word@h.example:8/id"), "h.example:8");
        assert_eq!(host("http://h.example?id"), "h.example");
    }

    /// The text is cut between characters.
    #[test]
    fn bodies() {
        assert_eq!(body(65, "a guard"), "exit code 65: a guard");
        let long = body(74, &"好".repeat(4000));
        assert!(long.len() <= LINE_BYTES_MAX + 20 && long.ends_with('好'));
    }
}
