//! Reads and signs the texts that are asked about, by the code of ingest.
//!
//! The texts depend on the job alone, so one [`Texts`] serves all heads, and its dictionaries are
//! loaded once.

use crate::error::Result;
use crate::id::Id;
use crate::job::Job;
use crate::locks::lock;
use crate::read::record::{Body, Record};
use crate::tables::visits::NOTICE;
use crate::tables::{EvidenceRow, Visit};
use crate::text::features::Featurizer;
use crate::text::signatures::Signer;
use crate::visit::evidence::Packing;
use crate::visit::{VisitMaker, furniture};
use std::sync::Mutex;

/// Makes texts of records, for many threads.
pub struct Texts {
    job: Job,
    /// Makers that no thread is using. Each has the buffers of one thread.
    makers: Mutex<Vec<VisitMaker>>,
}

/// A text that is asked about.
#[derive(Clone, Debug)]
pub struct Text {
    /// The URL that it came with, if any, as the store has it.
    pub url: Option<String>,
    /// What its record says.
    pub visit: Visit,
    /// The evidence by which its pairs are decided; `None` if it was not signed, or is not compared
    /// with others.
    pub evidence: Option<EvidenceRow>,
    /// Whether its pages fold with no page, whatever texts are near it.
    pub says_little: bool,
    /// What is odd about it.
    pub notes: Vec<String>,
}

impl Texts {
    /// A maker of the texts of `job`.
    pub fn new(job: &Job) -> Texts {
        Texts { job: job.clone(), makers: Mutex::default() }
    }

    /// The text of `body`, which has no URL.
    pub fn nameless(&self, body: Body, is_known: impl FnOnce(Id) -> bool) -> Result<Text> {
        Ok(Text { url: None, ..self.asked(Record::nameless(body), is_known)? })
    }

    /// The text of `record`, as a run reads it. It is only asked about, so it is not packed. A
    /// content that `is_known` is not signed.
    pub fn asked(&self, record: Record, is_known: impl FnOnce(Id) -> bool) -> Result<Text> {
        self.read(record, Packing::AsTheyAre, is_known)
    }

    /// The text of `record`, as a run reads and keeps it.
    pub fn kept(&self, record: Record) -> Result<Text> {
        self.read(record, Packing::Shortest, |_| false)
    }

    fn read(
        &self,
        record: Record,
        packing: Packing,
        is_known: impl FnOnce(Id) -> bool,
    ) -> Result<Text> {
        let pooled = lock(&self.makers).pop();
        let mut maker = match pooled {
            Some(maker) => maker,
            None => {
                let featurizer = Featurizer::new(&self.job.features, &self.job.normalize)?;
                let signer = Signer::new(&self.job.signatures, &self.job.normalize)?;
                VisitMaker::new(&self.job, furniture(&self.job)?, featurizer, signer)?
            }
        };
        maker.set_packing(packing);
        let mut notes = Vec::new();
        let mut visit =
            maker.read(record, self.job.read.key.naming(), |word| notes.push(word.to_owned()));
        let is_signed = !visit.content.is_none() && !is_known(visit.content);
        let evidence = match is_signed {
            true => maker.sign(&mut visit, |_| false, |word| notes.push(word.to_owned()))?,
            false => None,
        };
        lock(&self.makers).push(maker);
        let says_little = self.job.clusters.says_little(visit.letters, visit.flags & NOTICE != 0);
        let url = Some(String::from_utf8_lossy(&visit.url).into_owned());
        Ok(Text { url, visit, evidence, says_little, notes })
    }
}
