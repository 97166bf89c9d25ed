//! Recognises a page by its first bytes, where neither HTTP nor the archive names its type.

/// The tags with which a page may begin, by the MIME Sniffing Standard (section 7.1, "Identifying a
/// resource with an unknown MIME type"). A space or `>` follows.
const FIRST_TAGS: [&str; 17] = [
    "!doctype html",
    "html",
    "head",
    "script",
    "iframe",
    "h1",
    "div",
    "font",
    "table",
    "a",
    "style",
    "title",
    "b",
    "body",
    "br",
    "p",
    "!--",
];

/// Whether bytes without a type begin as a page does. A byte order mark and a declaration of XML
/// may stand in front.
pub fn looks_like_html(body: &[u8]) -> bool {
    let body = super::jsonl::unmarked(body).trim_ascii_start();
    let begins = |body: &[u8], tag: &str| {
        let found = body.get(1..=tag.len()).is_some_and(|b| b.eq_ignore_ascii_case(tag.as_bytes()));
        let ends = |b: &u8| b.is_ascii_whitespace() || *b == b'>';
        found && (tag == "!--" || body.get(tag.len() + 1).is_some_and(ends))
    };
    if body.get(..5).is_some_and(|b| b.eq_ignore_ascii_case(b"<?xml")) {
        let end = memchr::memmem::find(body, b"?>").map_or(body.len(), |end| end + 2);
        let rest = body[end..].trim_ascii_start();
        return ["!doctype html", "html"]
            .iter()
            .any(|tag| rest.starts_with(b"<") && begins(rest, tag));
    }
    body.starts_with(b"<") && FIRST_TAGS.iter().any(|tag| begins(body, tag))
}
