//! A build without the feature `ping`: a ping says so, and the run goes on.

use super::ping::host;

/// Warns in place of a request.
pub fn request(url: &str, _body: Option<&str>) {
    tracing::warn!(host = host(url), "this pagefold was built without pings (feature `ping`); the run goes on");
}
