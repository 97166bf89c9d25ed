//! Names of fields that are likely to hold something, if a row has none of the default names.

/// The URL.
pub const URLS: [&str; 7] =
    ["url", "uri", "link", "page_url", "source_url", "warc_url", "warc_target_uri"];
/// The text.
pub const TEXTS: [&str; 12] = [
    "text",
    "content",
    "raw_content",
    "body",
    "markdown",
    "document",
    "article",
    "text_content",
    "plain_text",
    "code",
    "abstract",
    "transcript",
];
/// The HTML.
pub const PAGES: [&str; 4] = ["html", "raw_html", "html_content", "page"];
/// The date.
pub const DATES: [&str; 6] =
    ["date", "crawl_date", "fetched", "fetch_time", "published", "date_published"];
/// What identifies a row.
pub const IDS: [&str; 7] =
    ["id", "doc_id", "docid", "document_id", "uuid", "warc_record_id", "key"];
