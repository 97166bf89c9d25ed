//! Who may send requests: the holder of the token, or, without a token, programs of this machine.
//!
//! A page in a browser of this machine can make it send requests to a loopback address. Such a
//! request has an `Origin`, or a `Host` that is the name of the page's site, or, if it is for an
//! image or the like, a `Sec-Fetch-Site` that says that another site sent it; all are refused. A
//! browser sets these headers itself, and no page can leave them out or change them.

use crate::secret_file;
use crate::serve::problem::{Outcome, Problem};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use workers::error::{Error, Kind, Result};

/// The least length of a token: 16 random bytes in base64 or hex are longer.
const TOKEN_BYTES_MIN: usize = 20;

/// The header in which a browser says what sends a request: the user, a page of the same origin, or
/// another page.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The proof that a request must have.
pub struct Access {
    /// The digest of the token. Digests are compared in constant time.
    token: Option<blake3::Hash>,
}

impl Access {
    /// The access to a server at `at`, with the token in the file `token` if there is one. Messages
    /// call the address `name`.
    ///
    /// # Errors
    ///
    /// `Usage` if there is no token and other machines reach `at`; `Permission` if others than the
    /// owner may read the file.
    pub fn new(at: SocketAddr, name: &str, token: Option<&Path>) -> Result<Access> {
        let Some(path) = token else {
            if !at.ip().is_loopback() {
                let why = "others than this machine reach it, so --token-file is needed (`(umask 077; openssl rand \
                           -hex 32 > token)` makes one)";
                return Err(Error::new(Kind::Usage, format!("{name}: {why}")));
            }
            return Ok(Access { token: None });
        };
        Ok(Access { token: Some(blake3::hash(token_of(path)?.as_bytes())) })
    }

    /// Fails unless the request may be answered.
    pub fn check(&self, headers: &HeaderMap, uri: &Uri) -> Outcome<()> {
        if let Some(token) = &self.token {
            let shown = headers
                .get(header::AUTHORIZATION)
                .and_then(|value| value.to_str().ok()?.split_once(' '));
            let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let detail = match shown {
                // The comparison of two hashes takes the same time wherever they differ.
                Some((_, shown)) if blake3::hash(shown.trim().as_bytes()) == *token => {
                    return Ok(());
                }
                Some(_) => "the token of `Authorization: Bearer TOKEN` is not that of this server",
                None => "the header `Authorization: Bearer TOKEN` is wanted",
            };
            return Err(Problem::new(StatusCode::UNAUTHORIZED, detail));
        }
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok())
            .or(uri.authority().map(|of| of.as_str()));
        let is_sent_by_a_page = headers.contains_key(header::ORIGIN)
            || headers.get_all(SITE).iter().any(|site| site != "none" && site != "same-origin");
        match is_sent_by_a_page || !host.is_some_and(is_local) {
            true => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "without a token only programs of this machine are answered, by a loopback address and not from a page \
                 in a browser; start the server with --token-file",
            )),
            false => Ok(()),
        }
    }
}

/// The token in the file at `path`.
///
/// # Errors
///
/// `Permission` if others than the owner may read the file, `Config` if it has no token.
pub fn token_of(path: &Path) -> Result<String> {
    let bytes = secret_file::read(path, Kind::Permission)?;
    let token = std::str::from_utf8(&bytes).unwrap_or_default().trim();
    if token.len() < TOKEN_BYTES_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let why = format!(
            "a token of {TOKEN_BYTES_MIN} or more letters and digits is wanted, without spaces"
        );
        return Err(Error::config(path, why));
    }
    Ok(token.to_owned())
}

/// Whether a `Host` names this machine.
pub fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use std::os::unix::fs::PermissionsExt as _;

    fn headers(list: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    /// A site that a browser of this machine shows cannot use the server: its requests name an
    /// origin, or its own host. Requests for an image have neither and were answered; their
    /// `Sec-Fetch-Site` says that another site sends them.
    #[test]
    fn pages_of_browsers_are_refused() {
        let access = Access::new("127.0.0.1:80".parse().expect("an address"), "here", None)
            .expect("loopback");
        let allowed = |list: &[(header::HeaderName, &'static str)]| {
            access.check(&headers(list), &Uri::from_static("/check")).is_ok()
        };
        for host in ["127.0.0.1:7311", "localhost:7311", "LOCALHOST", "[::1]:7311", "127.9.9.9"] {
            assert!(allowed(&[(header::HOST, host)]), "{host}");
            assert!(
                !allowed(&[(header::HOST, host), (header::ORIGIN, "http://site.example")]),
                "{host}"
            );
            for (site, is_allowed) in
                [("none", true), ("same-origin", true), ("same-site", false), ("cross-site", false)]
            {
                assert_eq!(allowed(&[(header::HOST, host), (SITE, site)]), is_allowed, "{site}");
            }
        }
        for host in ["site.example:7311", "localhost.site.example", "10.0.0.1", ""] {
            assert!(!allowed(&[(header::HOST, host)]), "{host}");
        }
        assert!(!allowed(&[]));
    }

    /// If other machines reach the server, a token is needed, in a file that no other user can
    /// read.
    #[test]
    fn others_need_a_token() {
        let outside = "0.0.0.0:80".parse().expect("an address");
        assert_eq!(
            Access::new(outside, "outside", None).err().map(|e| e.kind()),
            Some(Kind::Usage)
        );
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        std::fs::write(&path, "0123456789abcdef0123456789abcdef\n").expect("written");
        let mode = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set")
        };
        mode(0o640);
        assert_eq!(
            Access::new(outside, "outside", Some(&path)).err().map(|e| e.kind()),
            Some(Kind::Permission)
        );
        mode(0o600);
        let access = Access::new(outside, "outside", Some(&path)).expect("a token");
        let status = |value: &'static str| {
            let outcome = access
                .check(&headers(&[(header::AUTHORIZATION, value)]), &Uri::from_static("/check"));
            outcome.err().map(|problem| problem.status)
        };
        assert_eq!(status("Bearer 0123456789abcdef0123456789abcdef"), None);
        assert_eq!(status("bearer 0123456789abcdef0123456789abcdef"), None);
        for wrong in ["Bearer 0123456789abcdef0123456789abcdee", "Bearer ", "Basic abc", "x"] {
            assert_eq!(status(wrong), Some(401), "{wrong}");
        }
        std::fs::write(&path, "short").expect("written");
        assert_eq!(
            Access::new(outside, "outside", Some(&path)).err().map(|e| e.kind()),
            Some(Kind::Config)
        );
    }
}
