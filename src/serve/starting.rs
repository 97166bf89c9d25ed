//! Answers while the store is opened and the inbox is read back.
//!
//! Reading back many records that are alike may take a minute. Meanwhile a program that watches the
//! server must not take it for dead, and a client must not take it for absent: the process lives,
//! but is not ready.

use crate::serve::problem::Problem;
use crate::serve::routes::healthz;
use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// All routes.
pub fn router() -> Router {
    Router::new().route("/healthz", get(healthz)).fallback(not_ready)
}

async fn not_ready() -> Response {
    let detail = "the server starts: it opens the store and reads back the inbox";
    let mut response = Problem::unavailable(detail).into_response();
    // The next request is for the server that has started.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::connections;
    use crate::serve::readers::Readers;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::watch;

    /// A server that read its inbox back refused connections, even for its health check.
    #[test]
    fn it_lives_and_is_not_ready() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let readers = Readers::start(1).expect("started");
        runtime.expect("a runtime").block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let at = listener.local_addr().expect("an address");
            let (stop, stopping) = watch::channel(false);
            let serving = tokio::spawn(async move {
                connections::serve(listener, router(), &readers, stopping).await
            });
            let ask = |head: &'static str| async move {
                let mut stream = TcpStream::connect(at).await.expect("connected");
                let head = format!("{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
                stream.write_all(head.as_bytes()).await.expect("sent");
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.expect("an answer");
                answer.to_ascii_lowercase()
            };
            assert!(ask("GET /healthz").await.starts_with("http/1.1 200"));
            for head in ["GET /readyz", "POST /insert", "GET /metrics"] {
                let answer = ask(head).await;
                assert!(answer.starts_with("http/1.1 503"), "{head}: {answer}");
                assert!(answer.contains("retry-after: 1"), "{head}: {answer}");
            }
            stop.send(true).expect("it serves");
            serving.await.expect("no panic").expect("served");
        });
    }
}
