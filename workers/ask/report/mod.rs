//! A report of a store as one HTML page, for people who look at results in a browser.
//!
//! The page is complete in itself: it has no script and loads no font or other file. Titles, texts
//! and URLs come from the crawl, so every value goes through the escaping of the template (askama,
//! which checks the template when it is compiled).

mod bars;
mod clusters;
mod gather;
mod hosts;
mod sizes;
mod views;

use crate::ask::index::Index;
use crate::error::{Error, Result};
use crate::plain::turns_direction;
use crate::store::Store;
use crate::store::manifest::Head;
use askama::Template;

/// The report of the head as HTML.
///
/// # Errors
///
/// `Io` if a table, a text or a commit is damaged.
pub fn html(index: &Index, store: &Store, head: &Head) -> Result<String> {
    let report = gather::report(index, store, head)?;
    let page =
        report.render().map_err(|e| Error::internal("cannot write a report").caused_by(e))?;
    Ok(page.replace(turns_direction, "\u{fffd}"))
}
