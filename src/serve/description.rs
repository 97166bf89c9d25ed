//! Describes the interface of the server, and answers requests for the description.

use crate::serve::api::{Answer, Line, Ready, Rejected, Removed, Verdict};
use crate::serve::problem::{Outcome, Problem};
use crate::serve::routes::{self, FromPlace, SharedServer};
use axum::extract::{Extension, State};
use axum::response::Response;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

/// Answers with the description.
pub async fn openapi(
    State(server): SharedServer,
    Extension(place): FromPlace,
) -> Outcome<Response> {
    routes::answer(&server, &place, &Description::openapi())
}

/// The description of the interface.
#[derive(OpenApi)]
#[openapi(
    info(title = "pagefold", description = "Asks a pagefold store by the rules of its runs, and inserts into it."),
    paths(
        routes::check,
        routes::insert,
        routes::remove,
        routes::pages,
        routes::explain,
        routes::metrics,
        routes::healthz,
        routes::readyz
    ),
    components(schemas(Answer, Line, Problem, Ready, Rejected, Removed, Verdict)),
    modifiers(&Token)
)]
struct Description;

/// The token in the description.
struct Token;

impl Modify for Token {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme =
            SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        openapi.components.get_or_insert_default().add_security_scheme("token", scheme);
        openapi.security = Some(vec![utoipa::openapi::SecurityRequirement::new("token", [""; 0])]);
        // A page may be removed by `?url=` alone.
        let remove = openapi.paths.paths.get_mut("/remove").and_then(|of| of.post.as_mut());
        if let Some(body) = remove.and_then(|of| of.request_body.as_mut()) {
            body.required = Some(utoipa::openapi::Required::False);
        }
    }
}
