//! Extracts the main text of crawled pages.
//!
//! The text is what a reader came for, its blocks joined by line breaks. The title is left out,
//! since sites add their own name to it. Extraction never fails and depends on the page alone:
//! depth, elements and bytes are bounded, and the work is linear in the page (`tests.rs` counts
//! it).
//!
//! ```text
//! bytes -charset-> UTF-8 -tokens-> text and block tags -tree-> blocks and elements
//!       blocks and elements -score-> main element -main_text-> main text
//!       text and block tags -linear-> all text
//! ```

pub mod canonical_link;
mod charset;
mod entities;
mod furniture;
mod hints;
mod linear;
mod main_text;
mod others;
mod reply_marks;
mod score;
mod subject;
mod tags;
#[cfg(test)]
mod tests;
mod times;
mod tokens;
mod tree;

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 10;

/// The job file's `[extract]` table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Whether to leave out what is not main text: menus, side bars, footers, comments. If not, all
    /// text outside scripts and styles is taken.
    pub main_text: bool,
    /// Bytes of a page that are read, before decoding; the rest is cut off. At most
    /// [`HTML_BYTES_LIMIT`].
    pub html_bytes_max: u64,
    /// Whether to remove lines that are furniture on any site, such as `首页 > 新闻 > 正文` or
    /// `12 comments`, also from plain text ([`crate::text::site_lines`]).
    pub site_lines: bool,
    /// A frozen file of lines that hosts repeat. They are removed from the pages of the host, also
    /// from plain text, by the stage that knows the host of a page. Default: none.
    pub furniture: Option<PathBuf>,
}

/// The greatest `html_bytes_max`, in bytes.
pub const HTML_BYTES_LIMIT: u64 = 1 << 30;

impl Default for Options {
    fn default() -> Options {
        Options { main_text: true, html_bytes_max: 8 << 20, site_lines: true, furniture: None }
    }
}

/// The text of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Blocks joined by `\n`; empty if the page has no text.
    pub text: String,
    /// Whether no element holds the main text, or the page has too many elements, so that the text
    /// was gathered from the whole page.
    pub is_gathered: bool,
    /// Whether the page was longer than `html_bytes_max`, and was cut.
    pub is_cut: bool,
}

/// The text of an HTML page. `http_charset` is the `charset` parameter of its Content-Type.
///
/// ```
/// use workers::extract::{Options, html};
///
/// let menu = "<nav><a href=/>Home</a><a href=/news>News</a></nav>";
/// let text = "The bridge opened on Monday, two years later than planned, and is toll-free.";
/// let page = format!("<title>News</title>{menu}<article><p>{text}</article>");
/// let extracted = html(page.as_bytes(), None, &Options::default());
/// assert_eq!(extracted.text, text);
/// assert!(!extracted.is_gathered && !extracted.is_cut);
///
/// let all = Options { main_text: false, ..Options::default() };
/// assert_eq!(html(page.as_bytes(), None, &all).text, format!("HomeNews\n{text}"));
/// ```
pub fn html(bytes: &[u8], http_charset: Option<&str>, options: &Options) -> Extracted {
    counted_html(bytes, http_charset, options).0
}

/// The text of a page that is not HTML: decoded and otherwise unchanged.
///
/// ```
/// use workers::extract::plain;
///
/// assert_eq!(plain(b"\xef\xbb\xbf<b>", None).text, "<b>");
/// ```
pub fn plain(bytes: &[u8], http_charset: Option<&str>) -> Extracted {
    Extracted { text: decoded(bytes, http_charset), ..Extracted::default() }
}

/// The decoded characters of a page or text with these bytes.
pub fn decoded(bytes: &[u8], http_charset: Option<&str>) -> String {
    charset::decode(bytes, http_charset).into_owned()
}

/// The name of the charset that a page of these bytes is decoded from.
pub fn charset_name(bytes: &[u8], http_charset: Option<&str>) -> &'static str {
    charset::decode_as(bytes, http_charset).1.name()
}

/// As [`html`], with the work done after decoding: bytes, elements and blocks visited.
fn counted_html(bytes: &[u8], http_charset: Option<&str>, options: &Options) -> (Extracted, u64) {
    let bytes_max = options.html_bytes_max.min(HTML_BYTES_LIMIT) as usize;
    let read = &bytes[..bytes.len().min(bytes_max)];
    let page = charset::decode(read, http_charset);
    let tree = if options.main_text { tree::Page::of(page.as_bytes()) } else { Err(0) };
    let (text, is_gathered, steps) = match tree {
        Ok(tree) => {
            let found = main_text::of(&tree);
            (found.text, found.is_gathered, tree.steps + found.steps)
        }
        Err(steps) => {
            let (text, more) = linear::text(page.as_bytes());
            (text, options.main_text, steps + more)
        }
    };
    // The page is UTF-8 and is cut only at ASCII, so its text is UTF-8.
    let text = String::from_utf8(text)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    (Extracted { text, is_gathered, is_cut: read.len() < bytes.len() }, steps)
}
