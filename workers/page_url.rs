//! What names a page: its URL in canonical form, or a key of the input.

use crate::id::Id;
use url::Url;

/// The version of the canonical form; part of a store's identity.
pub const CANONICAL_URL_VERSION: u32 = 2;

/// A URL in canonical form, and what the keep rule needs to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageUrl {
    /// The canonical form.
    pub canonical: String,
    /// The `DocId` of the canonical form.
    pub doc: Id,
    /// xxh3 of the host in lower case; 0 if there is no host.
    pub host: u64,
    /// Whether the scheme is https.
    pub https: bool,
}

/// The canonical form of `raw`. Two spellings of one address share it: scheme and host are in lower
/// case, and the digits of `%e4` in upper case (RFC 3986, section 6.2.2.1); the default port, the
/// fragment and surrounding space are removed; dot segments are resolved; an empty path becomes
/// `/`. http and https, a trailing slash and the query stay as they
/// are, because only the texts can tell whether they matter. A string that is not an absolute URL,
/// such as the key of a corpus, stays unchanged.
pub fn canonical_url(raw: &str) -> PageUrl {
    let raw = raw.trim();
    let (canonical, host, https) = match Url::parse(raw) {
        Ok(mut url) if url.has_host() => {
            url.set_fragment(None);
            let host = url.host_str().map_or(0, host_key);
            let https = url.scheme() == "https";
            (with_upper_escapes(String::from(url)), host, https)
        }
        _ => (raw.to_owned(), 0, false),
    };
    let doc = Id::of(canonical.as_bytes());
    PageUrl { canonical, doc, host, https }
}

/// `url` with the hexadecimal digits of its percent-encoded bytes in upper case.
fn with_upper_escapes(url: String) -> String {
    let mut bytes = url.into_bytes();
    for at in memchr::memchr_iter(b'%', &bytes.clone()) {
        if let Some(digits) = bytes.get_mut(at + 1..at + 3)
            && digits.iter().all(u8::is_ascii_hexdigit)
        {
            digits.make_ascii_uppercase();
        }
    }
    String::from_utf8(bytes).expect("only ASCII letters were changed")
}

/// The host of a URL, if it has one.
pub fn host_name(url: &str) -> Option<String> {
    Url::parse(url.trim()).ok()?.host_str().map(str::to_owned)
}

/// The page whose key is `key` as it is. Its host is that of the URL, if the key is one.
pub fn own_key(key: &str) -> PageUrl {
    let PageUrl { host, https, .. } = canonical_url(key);
    PageUrl { canonical: key.to_owned(), doc: Id::of(key.as_bytes()), host, https }
}

/// What names a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// Its URL, in canonical form.
    #[default]
    Url,
    /// A key of the input, which is taken as it is.
    Key,
}

/// The page that `raw` names.
pub fn page_url(raw: &str, naming: Naming) -> PageUrl {
    match naming {
        Naming::Url => canonical_url(raw),
        Naming::Key => own_key(raw),
    }
}

/// The key of `host` in the keep rule and in the count of hosts.
pub fn host_key(host: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(host.to_ascii_lowercase().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The host is what stands between user and port, and a key of a corpus has none.
    #[test]
    fn hosts() {
        for (url, host) in [
            ("http://a.example/b:1", Some("a.example")),
            ("https://user:pw@a.example:8080?x", Some("a.example")),
            ("http://[::1]:80/", Some("[::1]")),
            ("s3://bucket/key", Some("bucket")),
            ("id-17", None),
        ] {
            assert_eq!(host_name(url).as_deref(), host, "{url}");
        }
    }

    /// Spellings of one address share a `DocId`; http and https, or another query, do not.
    #[test]
    fn canonical_form() {
        let same = |a: &str, b: &str| canonical_url(a).doc == canonical_url(b).doc;
        assert!(same("HTTP://Example.COM:80/a/../b#top", " http://example.com/b "));
        assert!(same("https://example.com", "https://example.com:443/"));
        // WordPress writes links so. They were other pages than those that browsers encode.
        assert!(same("http://example.com/%e4%bd%a0?q=%2f", "http://example.com/你?q=%2F"));
        assert_eq!(canonical_url("http://a.example/%zz%e").canonical, "http://a.example/%zz%e");
        assert!(!same("http://example.com/", "https://example.com/"));
        assert!(!same("http://example.com/?a=1", "http://example.com/?a=2"));
        assert_eq!(canonical_url("corpus/12#3").canonical, "corpus/12#3");
        assert_eq!(
            canonical_url("http://例子.example/").host,
            canonical_url("http://xn--fsqu00a.example/x").host
        );
    }
}
