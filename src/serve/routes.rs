//! The requests that are answered.

use crate::serve::Server;
use crate::serve::api::{Answer, Description, Line, Ready, Rejected};
use crate::serve::body;
use crate::serve::problem::{Outcome, Problem};
use crate::serve::record::{self, Form, Named, Query};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;
use std::sync::Arc;
use utoipa::OpenApi as _;
use workers::ask::index::Index;
use workers::ask::{page, pair};
use workers::error::{Error, Kind};
use workers::read::fields::Wanted;
use workers::read::record::Record;

/// All routes.
pub fn router(server: Arc<Server>) -> Router {
    let guarded = Router::new()
        .route("/check", post(check))
        .route("/pages", get(pages))
        .route("/explain", get(explain))
        .route("/openapi.json", get(openapi))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn_with_state(server.clone(), access));
    // Whoever watches over the server needs no token.
    Router::new().route("/healthz", get(healthz)).route("/readyz", get(readyz)).merge(guarded).with_state(server)
}

type Server_ = State<Arc<Server>>;

async fn access(State(server): Server_, request: Request, next: Next) -> Response {
    match server.access.check(request.headers(), request.uri()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn no_route(uri: Uri) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("{}: /openapi.json lists what there is", uri.path()))
}

async fn no_method(uri: Uri) -> Problem {
    let detail = format!("{}: /openapi.json says which methods it takes", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}

/// What becomes of a record, or of each of a batch, by the rules of a run. Nothing is changed.
#[utoipa::path(
    post,
    path = "/check",
    params(
        ("url" = Option<String>, Query, description = "the URL of a text or a page alone"),
        ("date" = Option<String>, Query, description = "its date"),
    ),
    request_body(
        description = "One row as a run reads it (`url`, `text` or `html`, `date`), one a line, a text, or a page",
        content((Object = "application/json"), (String = "application/x-ndjson"), (String = "text/plain"), (String = "text/html")),
    ),
    responses(
        (status = 200, description = "The answer; to a batch one a line", content((Answer = "application/json"), (Line = "application/x-ndjson"))),
        (status = "4XX", description = "The request is wrong, or comes too soon", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "The server failed", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn check(State(server): Server_, uri: Uri, headers: HeaderMap, body: Body) -> Outcome<Response> {
    let (form, charset) = record::form(&headers)?;
    let query =
        Query::parse(uri.query(), if matches!(form, Form::Text | Form::Html) { &["url", "date"] } else { &[] })?;
    let named = Named::of(&query)?;
    let mut held = body::read(&headers, body, server.body_bytes_max, &server.budget).await?;
    let opened = server.heads.now();
    match form {
        Form::Json => {
            let record =
                record::row(held.bytes.trim_ascii(), 1, &server.wanted).map_err(|item| record::rejected(&item))?;
            let answer = server.queue.answer(move || opened.index.ask_record(record, false)).await?;
            Ok(json("application/json", &Answer::from(answer)))
        }
        Form::Batch => {
            let rows = record::rows(&held.bytes)?;
            let server_ = server.clone();
            let lines = server.queue.answer(move || {
                let mut lines = Vec::new();
                for (number, range) in rows {
                    let line = line(&opened.index, &server_.wanted, held.bytes[range].trim_ascii(), number)?;
                    push(&mut lines, &line)?;
                }
                Ok(lines)
            });
            Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], lines.await?).into_response())
        }
        Form::Text | Form::Html => {
            let body = record::body(form, charset, std::mem::take(&mut held.bytes));
            let answer = server.queue.answer(move || {
                let _held = held;
                match named.url {
                    Some(url) => {
                        opened.index.ask_record(Record { url, date: named.date, bad_date: false, body }, false)
                    }
                    None => opened.index.ask(body, false),
                }
            });
            Ok(json("application/json", &Answer::from(answer.await?)))
        }
    }
}

/// The answer about a row of a batch.
fn line(index: &Index, wanted: &Wanted, row: &[u8], number: u64) -> Result<Line, Error> {
    Ok(match record::row(row, number, wanted) {
        Ok(record) => Line::Answer(index.ask_record(record, false)?.into()),
        Err(item) => {
            let (reason, detail) = record::reason(&item);
            Line::Rejected(Rejected { line: number, verdict: "rejected", reason, detail })
        }
    })
}

fn push(lines: &mut Vec<u8>, line: &Line) -> Result<(), Error> {
    serde_json::to_writer(&mut *lines, line).map_err(|e| Error::internal("cannot write JSON").caused_by(e))?;
    lines.push(b'\n');
    Ok(())
}

/// A page of the store: its text, its cluster, why that is represented as it is, and its history.
#[utoipa::path(
    get,
    path = "/pages",
    params(("url" = String, Query, description = "the URL of the page")),
    responses(
        (status = 200, description = "What `pagefold explain JOB URL --json` says", body = Object),
        (status = 404, description = "The store has no such page", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn pages(State(server): Server_, uri: Uri) -> Outcome<Response> {
    let urls = Query::parse(uri.query(), &["url"])?.all("url");
    let [url] = &urls[..] else { return Err(Problem::bad("/pages?url=URL is wanted, with one URL")) };
    explained(server, vec![url.clone()]).await
}

/// Why two pages are together, or are not.
#[utoipa::path(
    get,
    path = "/explain",
    params(("url" = Vec<String>, Query, description = "the URLs of two pages: `?url=A&url=B`")),
    responses(
        (status = 200, description = "What `pagefold explain JOB A B --json` says", body = Object),
        (status = 404, description = "The store lacks one of them", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn explain(State(server): Server_, uri: Uri) -> Outcome<Response> {
    let urls = Query::parse(uri.query(), &["url"])?.all("url");
    if urls.len() != 2 {
        return Err(Problem::bad("/explain?url=A&url=B is wanted, with two URLs"));
    }
    explained(server, urls).await
}

async fn explained(server: Arc<Server>, urls: Vec<String>) -> Outcome<Response> {
    let opened = server.heads.now();
    let server_ = server.clone();
    let explained = server.queue.answer(move || {
        let found = urls.iter().map(|url| page::find(&opened.index, url)).collect::<Result<Vec<_>, Error>>()?;
        let value = match &found[..] {
            [a, b] => serde_json::to_value(pair::explain(&opened.index, [a, b])?),
            _ => {
                let job = server_.heads.job();
                serde_json::to_value(page::explain(
                    &opened.index,
                    job,
                    &opened.store,
                    &opened.head,
                    &urls[0],
                    &found[0],
                )?)
            }
        };
        value.map_err(|e| Error::new(Kind::Internal, "cannot write JSON").caused_by(e))
    });
    Ok(json("application/json", &explained.await?))
}

/// The process lives.
#[utoipa::path(get, path = "/healthz", security(()), responses((status = 200, description = "The process lives")))]
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Questions are answered, by the latest head.
#[utoipa::path(
    get,
    path = "/readyz",
    security(()),
    responses(
        (status = 200, description = "It answers", body = Ready),
        (status = 503, description = "A newer head cannot be opened", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn readyz(State(server): Server_) -> Outcome<Response> {
    server.check_ready()?;
    Ok(json("application/json", &Ready { epoch: server.heads.now().index.epoch }))
}

async fn openapi() -> Response {
    json("application/json", &Description::openapi())
}

fn json(form: &'static str, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => ([(header::CONTENT_TYPE, form)], body).into_response(),
        Err(error) => Problem::from(Error::internal("cannot write JSON").caused_by(error)).into_response(),
    }
}
