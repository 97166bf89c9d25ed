//! Gives each request to the function that answers it, after access is checked.

use crate::serve::description::openapi;
use crate::serve::problem::Problem;
use crate::serve::routes::{
    SharedServer, check, explain, healthz, insert, metrics, pages, readyz, remove,
};
use crate::serve::{Server, unread};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use std::sync::Arc;
use std::time::Instant;

/// All routes.
pub fn router(server: Arc<Server>) -> Router {
    let guarded = Router::new()
        .route("/check", post(check))
        .route("/insert", post(insert))
        .route("/remove", post(remove))
        .route("/pages", get(pages))
        .route("/explain", get(explain))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn_with_state(server.clone(), access));
    // Programs that watch the server need no token.
    let open = Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .method_not_allowed_fallback(no_method);
    open.merge(guarded)
        .layer(middleware::from_fn_with_state(server.clone(), counted))
        .layer(middleware::from_fn(unread::answer))
        .with_state(server)
}

async fn access(State(server): SharedServer, request: Request, next: Next) -> Response {
    match server.access.check(request.headers(), request.uri()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn counted(State(server): SharedServer, request: Request, next: Next) -> Response {
    let (path, begun) = (request.uri().path().to_owned(), Instant::now());
    let response = next.run(request).await;
    server.metrics.request(&path, response.status(), begun.elapsed());
    response
}

async fn no_route(uri: Uri) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        format!("{}: /openapi.json lists what there is", uri.path()),
    )
}

async fn no_method(uri: Uri) -> Problem {
    let detail = format!("{}: /openapi.json says which methods it takes", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}
