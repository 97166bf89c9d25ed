//! Answers each request.

use crate::serve::Server;
use crate::serve::api::{Line, Ready, Rejected, Removed};
use crate::serve::body::{self, Held};
use crate::serve::places::Place;
use crate::serve::problem::{self, Outcome, Problem};
use crate::serve::queue::Work;
use crate::serve::record::{self, Form, Named, Query};
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use workers::ask::{page, pair};
use workers::error::{Error, Kind};
use workers::online::Online;
use workers::online::decision::{CheckInput, Decision, Refused, Removal};
use workers::online::rows::Says;
use workers::online::writing::Appended;
use workers::read::jsonl::unmarked;
use workers::read::record::{self as read, Item, Record};
use workers::store::damage;

/// The state that all requests share.
pub type SharedServer = State<Arc<Server>>;
/// The connection that a request came on.
pub type FromPlace = Extension<Arc<Place>>;

/// What becomes of a record, or of each of a batch, by the rules of a run. Nothing is changed. A
/// row that removes its page is answered as by /remove.
#[utoipa::path(
    post,
    path = "/check",
    params(
        ("url" = Option<String>, Query, description = "the URL of a text or a page alone"),
        ("date" = Option<String>, Query, description = "its date"),
    ),
    request_body(
        description = "One row as a run reads it (`url`, `text` or `html`, `date`), one a line, a text, or a page; uncompressed",
        content((Object = "application/json"), (String = "application/x-ndjson"), (String = "text/plain"), (String = "text/html")),
    ),
    responses(
        (status = 200, description = "The answer; to a batch one a line", content((Line = "application/json"), (Line = "application/x-ndjson"))),
        (status = "4XX", description = "The request is wrong, or comes too soon", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "The server failed", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn check(
    State(server): SharedServer,
    from: FromPlace,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response> {
    posted(server, from, Action::Check, &uri, &headers, body).await
}

/// What becomes of a record, or of each of a batch. It is inserted if its text is new, or new to
/// its page: the next epoch reads it, and from now on records are compared with it.
#[utoipa::path(
    post,
    path = "/insert",
    params(
        ("always" = Option<bool>, Query, description = "insert what is not new, too"),
        ("url" = Option<String>, Query, description = "the URL of a text or a page alone"),
        ("date" = Option<String>, Query, description = "its date"),
    ),
    request_body(
        description = "As for /check, uncompressed; a text or a page alone needs its URL",
        content((Object = "application/json"), (String = "application/x-ndjson"), (String = "text/plain"), (String = "text/html")),
    ),
    responses(
        (status = 200, description = "The answer, when what was inserted is durable", content((Line = "application/json"), (Line = "application/x-ndjson"))),
        (status = "4XX", description = "The request is wrong, or comes too soon; 409: there is no inbox", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "The server failed; 503: an epoch must take what was inserted", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn insert(
    State(server): SharedServer,
    from: FromPlace,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response> {
    posted(server, from, Action::Insert { always: false }, &uri, &headers, body).await
}

/// Removes a page, or those of a batch, with the next epoch.
#[utoipa::path(
    post,
    path = "/remove",
    params(("url" = Option<String>, Query, description = "the URL of the page, if there is no body")),
    request_body(
        description = "A row with the URL, or one a line; uncompressed",
        content((Object = "application/json"), (String = "application/x-ndjson")),
    ),
    responses(
        (status = 200, description = "The answer, when the removal is durable", content((Removed = "application/json"), (Line = "application/x-ndjson"))),
        (status = "4XX", description = "The request is wrong, or comes too soon; 409: there is no inbox", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "The server failed; 503: an epoch must take what was inserted", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn remove(
    State(server): SharedServer,
    from: FromPlace,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response> {
    posted(server, from, Action::Remove, &uri, &headers, body).await
}

/// The action on records.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Check,
    /// With `always`, what is not new is inserted, too.
    Insert {
        always: bool,
    },
    Remove,
}

impl Action {
    /// Counts the bytes of an answer. An answer about a change is never refused: the client would
    /// send its record again, and the answer would be that it is a copy of itself.
    fn count(self, answer: &mut Held) -> Outcome<()> {
        match self {
            Action::Check => answer.drawn(),
            Action::Insert { .. } | Action::Remove => {
                answer.counted();
                Ok(())
            }
        }
    }

    /// The names that its query may have.
    fn names(self, form: Option<&Form>) -> &'static [&'static str] {
        match (self, form) {
            (Action::Check, Some(Form::Alone { .. })) => &["url", "date"],
            (Action::Check, _) => &[],
            (Action::Insert { .. }, Some(Form::Alone { .. })) => &["always", "url", "date"],
            (Action::Insert { .. }, _) => &["always"],
            (Action::Remove, None) => &["url"],
            (Action::Remove, _) => &[],
        }
    }

    /// The action as `query`, which has only these names, completes it.
    fn completed(self, query: &Query) -> Outcome<Action> {
        Ok(match self {
            Action::Insert { .. } => Action::Insert { always: query.switch("always")? },
            Action::Check | Action::Remove => self,
        })
    }
}

/// The form of a body. A removal by `?url=` has no body, hence no form; some clients call that a
/// text.
fn form(action: Action, headers: &HeaderMap) -> Outcome<Option<Form>> {
    if action == Action::Remove && !headers.contains_key(header::CONTENT_TYPE) {
        return Ok(None);
    }
    Ok(match record::form(headers)? {
        Form::Alone { .. } if action == Action::Remove => None,
        form => Some(form),
    })
}

/// Answers a request, and counts a single record that is not taken. Records of a batch are counted
/// with their lines.
async fn posted(
    server: Arc<Server>,
    from: FromPlace,
    action: Action,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Outcome<Response> {
    let answered = answered(server.clone(), from, action, uri, headers, body).await;
    answered.inspect_err(|problem| {
        if problem.is_of_record() {
            server.metrics.rejected();
        }
    })
}

async fn answered(
    server: Arc<Server>,
    Extension(place): FromPlace,
    action: Action,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Outcome<Response> {
    server.rate.take(place.address, 1)?;
    record::check_encoding(headers)?;
    let form = form(action, headers)?;
    let query = Query::parse(uri.query(), action.names(form.as_ref()))?;
    let naming = server.online.job().read.key.naming();
    let (named, action) = (Named::of(&query, naming)?, action.completed(&query)?);
    if action != Action::Check && !server.online.has_inbox() {
        return Err(Refused::NoInbox.into());
    }
    let is_batch = form == Some(Form::Batch);
    let mut held =
        body::read(headers, body, server.body_bytes_max, is_batch, &server.budget).await?;
    let _work = place.work();
    if is_batch {
        return batch(server, &place, action, held).await;
    }
    let online = server.online.clone();
    let work = Work::of(held.bytes.len(), place.is_shared.load(Ordering::Relaxed));
    let answered = server.queue.answer(work, move || {
        let answered = match form {
            Some(Form::Alone { is_html, charset }) => {
                let bytes = std::mem::take(&mut held.bytes);
                text(&online, action, named, record::Alone { is_html, charset, bytes })
            }
            Some(_) => row(&online, action, unmarked(&held.bytes).trim_ascii()),
            None => removal(&online, &named),
        };
        let (line, after) = answered?;
        Ok((line, after, held))
    });
    // A record waits in memory until it is durable, so its body counts as held until then.
    let (line, after, _held) = answered.await?;
    server.waiter.wait(after).await?;
    server.metrics.record(&line);
    let mut held = Held::new(&server.budget);
    held.bytes = to_json(&line)?;
    action.count(&mut held)?;
    Ok(body::answer(JSON, held, &place))
}

/// Answers a batch: a line for each row, in their order.
async fn batch(
    server: Arc<Server>,
    place: &Arc<Place>,
    action: Action,
    held: Held,
) -> Outcome<Response> {
    let rows = record::rows(&held.bytes)?;
    server.rate.take_more(place.address, rows.len().saturating_sub(1));
    let shared = server.clone();
    let answered = server.queue.answer(Work::Batch, move || {
        let (mut lines, mut after, mut is_full) =
            (Held::new(&shared.budget), Appended::default(), false);
        for (number, range) in rows {
            let json = held.bytes[range].trim_ascii();
            // Rows before a row that fails may have been inserted, and the client must get their
            // answers.
            let answered = match is_full {
                // A client sends rows again for which there was no room. They must not come behind
                // later rows of their pages.
                true => Ok(Err(Refused::Full)),
                false => damage::caught(|| Ok(row(&shared.online, action, json))),
            };
            let answered = answered.unwrap_or_else(|error| Err(Refused::Failed(error)));
            is_full |= matches!(answered, Err(Refused::Full));
            let line = match answered {
                Ok((line, durable)) => {
                    after = after.max(durable);
                    line
                }
                Err(refused) => line_of(refused, number),
            };
            shared.metrics.record(&line);
            serde_json::to_writer(&mut lines.bytes, &line)
                .map_err(|e| Error::internal("cannot write JSON").caused_by(e))?;
            lines.bytes.push(b'\n');
            action.count(&mut lines)?;
        }
        Ok((lines, after, held))
    });
    let (lines, after, _held) = answered.await?;
    server.waiter.wait(after).await?;
    Ok(body::answer("application/x-ndjson", lines, place))
}

/// An answer, and when it holds.
type Answered = Result<(Line, Appended), Refused>;

/// The answer. It notes a date that is not understood, as a run does.
fn decided(mut decision: Decision, bad_date: bool) -> (Line, Appended) {
    if bad_date {
        decision.answer.notes.push("bad_date".to_owned());
    }
    let after = decision.after;
    (Line::Answer(decision.into()), after)
}

fn removed(removal: Removal) -> (Line, Appended) {
    let after = removal.after;
    (Line::Removed(removal.into()), after)
}

/// Does the action with a row of JSON.
fn row(online: &Online, action: Action, json: &[u8]) -> Answered {
    let rows = online.rows();
    match action {
        Action::Check => {
            let record = rows.record(json)?;
            if record.body == read::Body::Removed {
                return online.check_removal(&record).map(removed);
            }
            let bad_date = record.bad_date;
            Ok(decided(online.check(&CheckInput::Record(record))?, bad_date))
        }
        Action::Insert { always } => {
            let row = rows.parse(json)?;
            // A row that removes its page is no new text.
            match row.record.body {
                read::Body::Removed => online.remove(&row).map(removed),
                _ => Ok(decided(online.insert(&row, always)?, row.record.bad_date)),
            }
        }
        Action::Remove => online.remove(&rows.parse_removal(json)?).map(removed),
    }
}

/// Does the action with a single text or page.
fn text(online: &Online, action: Action, named: Named, body: record::Alone) -> Answered {
    let Named { url, date } = named;
    match (action, url) {
        (Action::Check, None) => {
            Ok(decided(online.check(&CheckInput::Nameless(body.body()))?, false))
        }
        (Action::Check, Some(url)) => {
            let record = Record { url, date, ..Record::nameless(body.body()) };
            Ok(decided(online.check(&CheckInput::Record(record))?, false))
        }
        (Action::Insert { always }, Some(url)) => {
            let row = online.rows().made(&url, date, body.says())?;
            Ok(decided(online.insert(&row, always)?, false))
        }
        (_, _) => Err(Refused::Row(Item::reject(
            "no_url",
            "`?url=` is wanted: what is inserted is a page",
        ))),
    }
}

fn removal(online: &Online, named: &Named) -> Answered {
    let wanted = "`?url=`, or a row with Content-Type: application/json, is wanted";
    let url = named.url.as_deref().ok_or_else(|| Refused::Row(Item::reject("no_url", wanted)))?;
    online.remove(&online.rows().made(url, None, Says::Removed)?).map(removed)
}

/// The line of a batch about a row that was not taken.
fn line_of(refused: Refused, line: u64) -> Line {
    let (reason, detail) = match refused {
        Refused::Row(item) => record::reason(&item),
        Refused::Full => ("inbox_full", FULL.to_owned()),
        Refused::NoInbox => (problem::NO_INBOX_REASON, NO_INBOX.to_owned()),
        Refused::Failed(error) => {
            tracing::error!(%error, "a row of a batch failed");
            ("failed", "the server failed; its log says why; send this row again".to_owned())
        }
    };
    Line::Rejected(Rejected { line, verdict: "rejected", reason, detail })
}

/// Only a run makes room.
const INBOX_FULL_SECONDS: u64 = 30;
const FULL: &str = "the memory for inserted records is full; `pagefold run JOB` empties it, then send this again; \
                    if /readyz fails, start the server again";
const NO_INBOX: &str = "nothing can be inserted here: the job has no `[serve] inbox`, or the server was started with \
                        --read-only";

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Problem {
        match refused {
            Refused::Row(item) => record::rejected(&item),
            Refused::Full => {
                Problem::unavailable(FULL).after(INBOX_FULL_SECONDS).with_reason("inbox_full")
            }
            Refused::NoInbox => {
                Problem::new(StatusCode::CONFLICT, NO_INBOX).with_reason(problem::NO_INBOX_REASON)
            }
            Refused::Failed(error) => Problem::from(error),
        }
    }
}

/// A page of the store: its text, its cluster, why that is represented as it is, and its history.
#[utoipa::path(
    get,
    path = "/pages",
    params(("url" = String, Query, description = "the URL of the page")),
    responses(
        (status = 200, description = "What `pagefold explain JOB URL --json` says", body = Object),
        (status = 404, description = "The store has no such page", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is wrong, or comes too soon", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "The server failed", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn pages(State(server): SharedServer, from: FromPlace, uri: Uri) -> Outcome<Response> {
    let urls = Query::parse(uri.query(), &["url"])?.all("url");
    let [url] = &urls[..] else {
        return Err(Problem::bad("/pages?url=URL is wanted, with one URL"));
    };
    explained(server, from, vec![url.clone()]).await
}

/// Why two pages are together, or are not.
#[utoipa::path(
    get,
    path = "/explain",
    params(("url" = Vec<String>, Query, description = "the URLs of two pages: `?url=A&url=B`")),
    responses(
        (status = 200, description = "What `pagefold explain JOB A B --json` says", body = Object),
        (status = 404, description = "The store lacks one of them", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is wrong, or comes too soon", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "The server failed", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn explain(State(server): SharedServer, from: FromPlace, uri: Uri) -> Outcome<Response> {
    let urls = Query::parse(uri.query(), &["url"])?.all("url");
    if urls.len() != 2 {
        return Err(Problem::bad("/explain?url=A&url=B is wanted, with two URLs"));
    }
    explained(server, from, urls).await
}

async fn explained(
    server: Arc<Server>,
    Extension(place): FromPlace,
    urls: Vec<String>,
) -> Outcome<Response> {
    server.rate.take(place.address, 1)?;
    let _work = place.work();
    let opened = server.online.opened()?;
    let asked = server.clone();
    let explained = server.queue.answer(Work::Single, move || {
        let found = urls
            .iter()
            .map(|url| page::find(&opened.index, url).map_err(|error| waits(&asked, url, error)))
            .collect::<Result<Vec<_>, Error>>()?;
        let value = match &found[..] {
            [a, b] => serde_json::to_value(pair::explain(&opened.index, [a, b])?),
            _ => {
                let job = asked.online.job();
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
        Ok(value.map_err(|e| Error::internal("cannot write JSON").caused_by(e))?)
    });
    answer(&server, &place, &explained.await?)
}

/// `error` about a page that is not in the store, and whether it is in the inbox.
fn waits(server: &Server, url: &str, error: Error) -> Error {
    match error.kind() {
        Kind::NoInput if server.online.is_in_inbox(url).unwrap_or(false) => {
            let line =
                format!("{error}; it is in the inbox: the next run brings it into the store");
            Error::new(Kind::NoInput, line)
        }
        _ => error,
    }
}

/// The process lives.
#[utoipa::path(get, path = "/healthz", security(()), responses((status = 200, description = "The process lives", body = String)))]
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
        (status = 503, description = "A newer head cannot be asked, or the server starts", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn readyz(State(server): SharedServer) -> Outcome<Response> {
    server.check_ready()?;
    let ready = Ready { epoch: server.online.figures()?.epoch };
    Ok(([(header::CONTENT_TYPE, JSON)], to_json(&ready)?).into_response())
}

/// Figures of the server, for Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    responses(
        (status = 200, description = "Prometheus's text format", body = String),
        (status = "4XX", description = "The request is wrong, or comes too soon", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "The server failed", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn metrics(State(server): SharedServer) -> Outcome<Response> {
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], server.figures()?).into_response())
}

const JSON: &str = "application/json";

fn to_json(value: &impl Serialize) -> Outcome<Vec<u8>> {
    serde_json::to_vec(value).map_err(|e| Error::internal("cannot write JSON").caused_by(e).into())
}

/// The answer `value`, in JSON, to a request that came on `place`.
pub fn answer(server: &Server, place: &Arc<Place>, value: &impl Serialize) -> Outcome<Response> {
    let mut held = Held::new(&server.budget);
    held.bytes = to_json(value)?;
    held.drawn()?;
    Ok(body::answer(JSON, held, place))
}
