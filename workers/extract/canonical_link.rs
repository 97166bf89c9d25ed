//! Finds the address that a page calls its canonical one (RFC 6596): a hint of its site.

use crate::extract::tags::Tag;
use crate::extract::tokens::{Attributes, Token, Tokens};
use crate::extract::{charset, entities};
use std::collections::BTreeSet;
use url::Url;

/// The most bytes of a page that are searched. The head is at the front.
const HEAD_BYTES_MAX: usize = 256 << 10;

/// The canonical address that the head of the HTML page at `address` names; `None` if it names
/// none, or several.
///
/// ```
/// use workers::extract::canonical_link::canonical;
///
/// let page = b"<title>News</title><link rel=canonical href=/news>";
/// let url = "https://a.example/news?from=mail";
/// assert_eq!(canonical(page, None, url), Some("https://a.example/news".into()));
/// ```
pub fn canonical(bytes: &[u8], http_charset: Option<&str>, address: &str) -> Option<String> {
    let page = charset::decode(&bytes[..bytes.len().min(HEAD_BYTES_MAX)], http_charset);
    let mut base = None;
    let mut named = BTreeSet::new();
    for token in Tokens::of(page.as_bytes()) {
        match token {
            Token::Base(attributes) => base = base.or(attribute(attributes, b"href")),
            Token::Link(attributes) if is_canonical(attributes) => {
                named.extend(attribute(attributes, b"href"))
            }
            Token::Link(_) | Token::Title(_) | Token::Time | Token::Open(Tag::Body, _) => {}
            Token::Text(written) if written.trim_ascii().is_empty() => {}
            // The body has begun.
            _ => break,
        }
    }
    let (Some(href), None) = (named.pop_first(), named.pop_first()) else { return None };
    let address = Url::parse(address).ok()?;
    let base = base.and_then(|base| address.join(&base).ok()).unwrap_or(address);
    let target = base.join(&href).ok()?;
    matches!(target.scheme(), "http" | "https").then(|| target.into())
}

fn is_canonical(attributes: &[u8]) -> bool {
    attribute(attributes, b"rel").is_some_and(|rel| {
        rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("canonical"))
    })
}

/// The value of an attribute, with its entities decoded; `None` if it is empty.
fn attribute(attributes: &[u8], name: &[u8]) -> Option<String> {
    let (_, written) =
        Attributes::of(attributes).find(|(found, _)| found.eq_ignore_ascii_case(name))?;
    let mut value = Vec::new();
    entities::append_attribute(&mut value, written);
    Some(String::from_utf8_lossy(value.trim_ascii()).into_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(page: &str) -> Option<String> {
        canonical(page.as_bytes(), None, "https://a.example/dir/page?x=1")
    }

    /// A link is found in any case and order of attributes, decoded, and resolved by the base.
    #[test]
    fn links() {
        for (page, wanted) in [
            ("<link rel=canonical href=https://b.example/x>", "https://b.example/x"),
            (
                "<html><head>\n<LINK HREF='other' REL=\"Canonical\"/></head>",
                "https://a.example/dir/other",
            ),
            (
                "<link href='/x?a=1&amp;b=2' rel='nofollow canonical'>",
                "https://a.example/x?a=1&b=2",
            ),
            ("<base href=/up/><link rel=canonical href=x>", "https://a.example/up/x"),
            ("<link rel=canonical href=x><base href=/up/>", "https://a.example/up/x"),
            ("<link rel=canonical href=x><link rel=canonical href=x>", "https://a.example/dir/x"),
            (
                "<meta charset=utf-8><script>'<p>'</script><link rel=canonical href=//c.example/>",
                "https://c.example/",
            ),
        ] {
            assert_eq!(of(page).as_deref(), Some(wanted), "{page}");
        }
    }

    /// A link that contradicts another, is in the body, in a comment or in a script, or is no web
    /// address, is no hint.
    #[test]
    fn no_links() {
        for page in [
            "",
            "<link rel=alternate href=x>",
            "<link rel=canonical>",
            "<link rel=canonical href=' '>",
            "<link rel=canonical href=x><link rel=canonical href=y>",
            "<p>text<link rel=canonical href=x>",
            "text <link rel=canonical href=x>",
            "<!-- <link rel=canonical href=x> -->",
            "<script>'<link rel=canonical href=x>'</script>",
            "<link rel=canonical href=javascript:x>",
            "<link rel=canonical href='http://'>",
        ] {
            assert_eq!(of(page), None, "{page}");
        }
        assert_eq!(canonical(b"<link rel=canonical href=/x>", None, "a key"), None);
    }

    proptest! {
        /// No page makes the search panic.
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = canonical(&bytes, None, "http://a.example/");
            let page = [b"<base href=", &bytes[..], b"><link rel=canonical href=", &bytes[..], b">"].concat();
            let _ = canonical(&page, None, "http://a.example/");
        }
    }
}
