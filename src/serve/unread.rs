//! Reads the rest of the body of a request that was answered without it.
//!
//! A request may be refused by its head. Its body still arrives, and the next request of the
//! connection follows it. A short rest is read and dropped, so that the connection stays open. With
//! a longer rest the connection closes, and the answer says so: otherwise the client would send its
//! next request on a closed connection.

use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, Version, header};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt as _;
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;
use workers::locks::lock;

/// The most bytes of a rest that are read.
pub const REST_BYTES_MAX: usize = 65_536;
/// Seconds that a rest may take to arrive.
pub const REST_SECONDS_MAX: u64 = 2;

/// Answers a request, and reads the rest of its body or closes the connection. Requests of HTTP/2
/// do not follow one another.
pub async fn answer(request: Request, next: Next) -> Response {
    if request.version() >= Version::HTTP_2 {
        return next.run(request).await;
    }
    // Such a client sends its body when it is asked for it, and not after an answer.
    let waits = request.headers().contains_key(header::EXPECT);
    let left = Arc::new(Mutex::new(None));
    let watched = |body| Body::new(Watched { body, has_ended: false, left: left.clone() });
    let mut response = next.run(request.map(watched)).await;
    let rest = lock(&left).take();
    if let Some(rest) = rest
        && (waits || !is_read(rest).await)
    {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Reads and drops a rest. Returns whether this was all of it.
async fn is_read(mut rest: Body) -> bool {
    if rest.size_hint().lower() > REST_BYTES_MAX as u64 {
        return false;
    }
    let all = async {
        let mut bytes = 0;
        while let Some(frame) = rest.frame().await {
            let Ok(frame) = frame else { return false };
            bytes += frame.data_ref().map_or(0, Bytes::len);
            if bytes > REST_BYTES_MAX {
                return false;
            }
        }
        true
    };
    timeout(Duration::from_secs(REST_SECONDS_MAX), all).await.unwrap_or(false)
}

/// A body that gives its rest away when it is dropped.
struct Watched {
    body: Body,
    has_ended: bool,
    left: Arc<Mutex<Option<Body>>>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        self.has_ended |= matches!(polled, Poll::Ready(None | Some(Err(_))));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.has_ended && !self.body.is_end_stream() {
            *lock(&self.left) = Some(std::mem::take(&mut self.body));
        }
    }
}
