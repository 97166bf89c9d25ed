//! The HTTP request of a ping: at most 10 s, three tries of 3 s each and pauses.
//!
//! A warning names only the host, because the rest of such a URL is a secret.

use std::thread;
use std::time::Duration;
use ureq::{Agent, Error};

/// The limit for one try, from the name lookup to the last byte.
const TRY: Duration = Duration::from_secs(3);
/// The pause before each try.
const PAUSES: [Duration; 3] =
    [Duration::ZERO, Duration::from_millis(250), Duration::from_millis(750)];

/// Whether another try may succeed.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::StatusCode(status) => *status >= 500 || *status == 429,
        Error::BadUri(_) => false,
        _ => true,
    }
}

/// The text for a warning about `error`. Other messages of the library may quote the URL.
fn reason(error: Error) -> String {
    match error {
        Error::StatusCode(status) => format!("it answers {status}"),
        Error::Timeout(_) => "it does not answer in time".into(),
        Error::HostNotFound => "no such host".into(),
        Error::ConnectionFailed => "no connection".into(),
        Error::Io(error) => error.to_string(),
        Error::Rustls(error) => error.to_string(),
        _ => "the request failed".into(),
    }
}

/// Requests `url` at `host`; with a `body` as a POST.
pub fn request(url: &str, host: &str, body: Option<&str>) {
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
                tracing::warn!(host, why = reason(error), "cannot ping; the run goes on");
                return;
            }
        }
    }
}
