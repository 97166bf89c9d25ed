//! What every stage shares: ids, canonical URLs, and how much of a text is used.

use std::fmt;
use url::Url;

/// The version of the canonical form; part of a store's identity.
pub const CANONICAL_URL_VERSION: u32 = 2;

/// The most bytes of a text, before and after it is normalised. What follows is cut off, so that
/// one document costs a bounded time and memory: one character may become 18, and words and
/// shingles take many times the bytes of their text. The longest novels are about this long. What
/// is cut off counts for whether two texts are identical.
pub const TEXT_USED_BYTES_MAX: usize = 2 << 20;

/// 128 bits of blake3: the `DocId` of a canonical URL or the `Digest` of a normalised text. Ids are
/// ordered as their big-endian bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, bytemuck::Pod, bytemuck::Zeroable,
)]
#[repr(C)]
pub struct Id {
    /// The first eight bytes, which decide routing and sorting.
    pub high: u64,
    /// The last eight bytes.
    pub low: u64,
}

impl Id {
    /// No id: the content of a page without text.
    pub const NONE: Id = Id { high: 0, low: 0 };
    /// The greatest id, the end of every range.
    pub const MAX: Id = Id { high: u64::MAX, low: u64::MAX };

    /// The least id with these first eight bytes.
    pub fn least(high: u64) -> Id {
        Id { high, low: 0 }
    }

    /// The id of `bytes`: the first 128 bits of their blake3 hash.
    pub fn of(bytes: &[u8]) -> Id {
        let hash = blake3::hash(bytes);
        let (head, _) = hash.as_bytes().split_first_chunk::<16>().expect("blake3 has 32 bytes");
        Id::from_bytes(*head)
    }

    /// The id whose big-endian bytes are `bytes`.
    pub fn from_bytes(bytes: [u8; 16]) -> Id {
        let n = u128::from_be_bytes(bytes);
        Id { high: (n >> 64) as u64, low: n as u64 }
    }

    /// Its big-endian bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.high) << 64 | u128::from(self.low)).to_be_bytes()
    }

    /// Its digits.
    pub fn hex(self) -> HexDigits<32> {
        HexDigits(std::array::from_fn(|at| match at.checked_sub(16) {
            None => digit(self.high, at),
            Some(at) => digit(self.low, at),
        }))
    }

    /// Whether this is [`Id::NONE`].
    pub fn is_none(self) -> bool {
        self == Id::NONE
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hex().as_str())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `N` lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HexDigits<const N: usize>([u8; N]);

impl<const N: usize> HexDigits<N> {
    /// The digits.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl<const N: usize> fmt::Display for HexDigits<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The 16 digits of `n`. An export writes millions of ids and fingerprints, and formatting by
/// `{:016x}` takes several times as long.
pub fn hex(n: u64) -> HexDigits<16> {
    HexDigits(std::array::from_fn(|at| digit(n, at)))
}

/// The digit of `n` at the place `at`, from 0 for the highest to 15.
fn digit(n: u64, at: usize) -> u8 {
    b"0123456789abcdef"[(n >> (60 - 4 * at)) as usize & 15]
}

/// The date of a record without a valid date: less than every date.
pub const NO_DATE: i64 = i64::MIN;

/// The score of a record without a valid score: less than every score.
pub const NO_SCORE: i64 = i64::MIN;

/// A date that is further ahead of the epoch's time than this is wrong. It counts among the visits
/// of its epoch, but against records of earlier epochs as this limit, and against later ones as no
/// date.
pub const FUTURE_SECONDS_MAX: i64 = 86_400;

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

    /// Ids are ordered and printed as their big-endian bytes.
    #[test]
    fn ids_are_big_endian() {
        let id = Id::of(b"pagefold");
        assert_eq!(Id::from_bytes(id.to_bytes()), id);
        assert_eq!(id.to_string(), blake3::hash(b"pagefold").to_hex()[..32]);
        assert!(Id { high: 1, low: 0 } > Id { high: 0, low: u64::MAX });
    }
}
