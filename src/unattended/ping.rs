//! Requests to a monitoring service when a run begins (URL/start), succeeds (URL) or fails
//! (URL/fail, with the exit code and the error).
//!
//! Pings never fail a run, and the first one does not delay it.

use super::ping_request::request;
use std::thread::{self, JoinHandle};

/// The most bytes of the error text that is sent.
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
    let end = (0..=LINE_BYTES_MAX.min(line.len()))
        .rev()
        .find(|end| line.is_char_boundary(*end))
        .unwrap_or(0);
    format!("exit code {code}: {}", &line[..end])
}

impl Ping {
    /// A ping to `url`.
    pub fn new(url: String) -> Ping {
        Ping { url, starting: None }
    }

    /// Reports the start of the run, from a thread of its own.
    pub fn start(&mut self) {
        let url = with_ending(&self.url, "start");
        let starting = thread::Builder::new()
            .name("ping".into())
            .spawn(move || request(&url, host(&url), None));
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
        request(&with_ending(&self.url, ending), host(&self.url), body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Endings are appended to the path, before the query, and a warning shows only the host.
    #[test]
    fn urls() {
        assert_eq!(with_ending("https://h.example/id", "start"), "https://h.example/id/start");
        assert_eq!(
            with_ending("https://h.example/id/?a=/b", "fail"),
            "https://h.example/id/fail?a=/b"
        );
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
