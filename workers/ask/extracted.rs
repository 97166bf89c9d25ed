//! The main text of records, as a run takes it: what people look at when an answer is odd.

use crate::error::Result;
use crate::job::Job;
use crate::page_url::{Naming, page_url};
use crate::read::record::Record;
use crate::visit::{BodyReader, furniture};
use serde::Serialize;

/// The main text of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MainText {
    /// The URL of the record in canonical form, or its key; `None` if it has none.
    pub url: Option<String>,
    /// The text, as extraction finds it and without the lines of its site, but not normalised;
    /// `None` if the record has no body.
    pub text: Option<String>,
    /// What is odd about it: `extracted_by_fallback`, `page_cut`, `furniture`, `site_lines`.
    pub notes: Vec<String>,
}

/// Finds the main text of records.
pub struct Extractor {
    bodies: BodyReader,
    naming: Naming,
}

impl Extractor {
    /// The extractor of `job`.
    ///
    /// # Errors
    ///
    /// Those of reading the job's file of furniture lines.
    pub fn new(job: &Job) -> Result<Extractor> {
        Ok(Extractor {
            bodies: BodyReader::new(job, furniture(job)?),
            naming: job.read.key.naming(),
        })
    }

    /// The main text of `record`. Without a URL the lines of its host stay.
    pub fn text(&mut self, record: Record) -> MainText {
        let page = page_url(&record.url, self.naming);
        let mut notes = Vec::new();
        let extracted =
            self.bodies.text(record.body, page.host, &mut |word| notes.push(word.to_owned()));
        MainText {
            url: (!record.url.is_empty()).then_some(page.canonical),
            text: extracted.map(|extracted| extracted.text),
            notes,
        }
    }
}
