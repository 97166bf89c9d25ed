//! A build without the feature `ping`: a ping says so, and the run continues.

/// Warns in place of a request.
pub fn request(_url: &str, host: &str, _body: Option<&str>) {
    tracing::warn!(host, "this pagefold was built without pings (feature `ping`); the run goes on");
}
