//! The bodies of requests and answers, within limits of bytes and time.
//!
//! All bodies together have a budget. The body of a request counts from the arrival of its bytes,
//! and an answer counts until the client has taken it. So slow clients hold only what they have
//! sent or asked for, and memory is bounded for any number of clients.

use crate::serve::places::{Answer, Place};
use crate::serve::problem::{Outcome, Problem};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use http_body_util::BodyExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// The most bytes of all bodies that are held at the same time.
pub const BODIES_BYTES_MAX: usize = 268_435_456;
/// Seconds that the body of a request may take to arrive.
pub const BODY_SECONDS_MAX: u64 = 20;
/// Seconds that a client may take to take an answer.
pub const ANSWER_SECONDS_MAX: u64 = 60;

/// The bytes that bodies hold now.
#[derive(Default)]
pub struct Budget {
    held: AtomicUsize,
}

/// A body. Its bytes count against the budget until it is dropped.
pub struct Held {
    /// The bytes.
    pub bytes: Vec<u8>,
    drawn: usize,
    budget: Arc<Budget>,
}

impl Held {
    /// An empty body, to be written by the server.
    pub fn new(budget: &Arc<Budget>) -> Held {
        Held { bytes: Vec::new(), drawn: 0, budget: budget.clone() }
    }

    /// Counts the bytes that it has now.
    pub fn drawn(&mut self) -> Outcome<()> {
        self.draw(self.bytes.len().saturating_sub(self.drawn))
    }

    /// Counts the bytes that it has now even if there is no room for them: a client must get the
    /// answer about a change.
    pub fn counted(&mut self) {
        let bytes = self.bytes.len().saturating_sub(self.drawn);
        self.budget.held.fetch_add(bytes, Ordering::Relaxed);
        self.drawn += bytes;
    }

    fn draw(&mut self, bytes: usize) -> Outcome<()> {
        let held = &self.budget.held;
        let grown = |held: usize| held.checked_add(bytes).filter(|held| *held <= BODIES_BYTES_MAX);
        held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).map_err(|_| {
            Problem::busy("the bodies of other requests take all the memory for them")
        })?;
        self.drawn += bytes;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.drawn, Ordering::Relaxed);
    }
}

/// The body of a request, at most `bytes_max` long.
pub async fn read(
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
    is_batch: bool,
    budget: &Arc<Budget>,
) -> Outcome<Held> {
    let stated = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if stated.is_some_and(|stated| stated > bytes_max as u64) {
        return Err(too_large(bytes_max, is_batch));
    }
    let whole = whole(body, bytes_max, Held::new(budget));
    match timeout(Duration::from_secs(BODY_SECONDS_MAX), whole).await {
        Ok(Ok(Some(held))) => Ok(held),
        Ok(Ok(None)) => Err(too_large(bytes_max, is_batch)),
        Ok(Err(problem)) => Err(problem),
        Err(_) => {
            let detail = format!("the body did not arrive within {BODY_SECONDS_MAX} seconds");
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail))
        }
    }
}

/// The whole body; `None` if it is too large.
async fn whole(mut body: Body, bytes_max: usize, mut held: Held) -> Outcome<Option<Held>> {
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Problem::bad(format!("the body ended early: {error}")))?;
        let Ok(bytes) = frame.into_data() else { continue };
        if held.bytes.len() + bytes.len() > bytes_max {
            return Ok(None);
        }
        held.draw(bytes.len())?;
        held.bytes.extend_from_slice(&bytes);
    }
    Ok(Some(held))
}

/// The answer with this body. It counts against the budget until the client has taken it, within
/// [`ANSWER_SECONDS_MAX`].
pub fn answer(form: &'static str, held: Held, place: &Arc<Place>) -> Response {
    let sent = Sent { held, _answer: place.answer() };
    ([(header::CONTENT_TYPE, form)], Bytes::from_owner(sent)).into_response()
}

/// The body of an answer, until the client has taken it.
struct Sent {
    held: Held,
    _answer: Answer,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.held.bytes
    }
}

fn too_large(bytes_max: usize, is_batch: bool) -> Problem {
    let advice = if is_batch { "; send the batch in parts" } else { "" };
    let detail = format!("a body of more than {bytes_max} bytes{advice}");
    let problem = Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail);
    // A body that is no batch is a record.
    if is_batch { problem } else { problem.with_reason("long_line") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::places::Places;
    use std::net::{IpAddr, Ipv4Addr};

    /// Answers count against the memory of all bodies until clients have taken them.
    #[test]
    fn answers_are_held() {
        let place =
            Arc::new(Places::new(1)).take(IpAddr::V4(Ipv4Addr::LOCALHOST)).expect("a place");
        let budget = Arc::default();
        let held = |bytes: usize| {
            let mut held = Held::new(&budget);
            held.bytes = vec![0; bytes];
            held.drawn().map(|()| held)
        };
        let first = answer("text/plain", held(BODIES_BYTES_MAX - 1).expect("room"), &place);
        assert_eq!(held(2).err().map(|problem| problem.status), Some(429));
        // The answer about a change is always sent. Once it was refused; the client sent its record
        // again, and the answer was that it is a copy of itself.
        let mut changed = Held::new(&budget);
        changed.bytes = vec![0; 2];
        changed.counted();
        assert!(held(0).is_err());
        drop(changed);
        let last = answer("text/plain", held(1).expect("room"), &place);
        assert!(held(1).is_err());
        drop((first, last));
        assert!(held(BODIES_BYTES_MAX).is_ok());
    }
}
