//! Errors in the form of RFC 9457: `application/problem+json`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use workers::error::{Error, Kind};

/// Seconds after which a client that was refused because there was no room should ask again.
const RETRY_SECONDS: u64 = 1;

/// The reason of a server that inserts nothing.
pub const NO_INBOX_REASON: &str = "no_inbox";

/// What went wrong with a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    /// What kind of problem it is: the meaning of the status.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong with this request, and what to do.
    pub detail: String,
    /// The word of a record that was rejected, such as `bad_json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip)]
    #[schema(ignore)]
    retry: Option<u64>,
}

/// The outcome of a request.
pub type Outcome<T> = Result<T, Problem>;

impl Problem {
    /// The problem of this status.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        let title = status.canonical_reason().unwrap_or("Error").to_owned();
        Problem { title, status: status.as_u16(), detail: detail.into(), reason: None, retry: None }
    }

    /// A record that a run would reject, or a request that cannot be understood.
    pub fn bad(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    /// The server has as many requests as it accepts.
    pub fn busy(detail: impl Into<String>) -> Problem {
        Problem {
            retry: Some(RETRY_SECONDS),
            ..Problem::new(StatusCode::TOO_MANY_REQUESTS, detail)
        }
    }

    /// Tells the client to try again after this many seconds.
    pub fn after(self, seconds: u64) -> Problem {
        Problem { retry: Some(seconds), ..self }
    }

    /// The server cannot answer for now.
    pub fn unavailable(detail: impl Into<String>) -> Problem {
        Problem {
            retry: Some(RETRY_SECONDS),
            ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        }
    }

    /// Whether it is about a record that was not taken, and not about the server.
    pub fn is_of_record(&self) -> bool {
        self.reason.as_ref().is_some_and(|reason| reason != NO_INBOX_REASON)
    }

    /// Names the reason of a rejected record.
    pub fn with_reason(self, reason: &str) -> Problem {
        Problem { reason: Some(reason.to_owned()), ..self }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        match error.kind() {
            Kind::NoInput => Problem::new(StatusCode::NOT_FOUND, error.to_string()),
            Kind::Data | Kind::Usage => {
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
            }
            Kind::TryAgain => Problem::unavailable(error.to_string()),
            _ => {
                // The line may name paths of this machine, which only the log should have.
                tracing::error!(%error, "a request failed");
                Problem::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "the server failed; its log says why",
                )
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response =
            (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        if let Some(seconds) = self.retry {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
