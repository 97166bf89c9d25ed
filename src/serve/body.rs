//! Reads the body of a request within limits of bytes and time.
//!
//! All bodies together have a budget, and a body draws on it as its bytes arrive. So slow clients
//! hold what they have sent and no more, and memory is bounded for any number of them.

use crate::serve::problem::{Outcome, Problem};
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// The most bytes of all bodies that are held at a time.
pub const BODIES_BYTES_MAX: usize = 268_435_456;
/// Seconds that a body may take to arrive.
pub const BODY_SECONDS_MAX: u64 = 20;

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
    fn draw(&mut self, bytes: usize) -> Outcome<()> {
        let held = &self.budget.held;
        let grown = |held: usize| held.checked_add(bytes).filter(|held| *held <= BODIES_BYTES_MAX);
        held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .map_err(|_| Problem::busy("the bodies of other requests take all the memory for them"))?;
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
pub async fn read(headers: &HeaderMap, body: Body, bytes_max: usize, budget: &Arc<Budget>) -> Outcome<Held> {
    let stated = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if stated.is_some_and(|stated| stated > bytes_max as u64) {
        return Err(too_large(bytes_max));
    }
    let held = Held { bytes: Vec::new(), drawn: 0, budget: budget.clone() };
    match timeout(Duration::from_secs(BODY_SECONDS_MAX), whole(body, bytes_max, held)).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let detail = format!("the body did not arrive within {BODY_SECONDS_MAX} seconds");
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail))
        }
    }
}

async fn whole(mut body: Body, bytes_max: usize, mut held: Held) -> Outcome<Held> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Problem::bad(format!("the body ended early: {error}")))?;
        let Ok(bytes) = frame.into_data() else { continue };
        if held.bytes.len() + bytes.len() > bytes_max {
            return Err(too_large(bytes_max));
        }
        held.draw(bytes.len())?;
        held.bytes.extend_from_slice(&bytes);
    }
    Ok(held)
}

fn too_large(bytes_max: usize) -> Problem {
    let detail = format!("a body of more than {bytes_max} bytes; send batches in parts");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}
