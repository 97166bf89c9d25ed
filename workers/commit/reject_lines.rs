//! Reads the rejected records of an epoch from its splits, and lists them in one file.
//!
//! The file belongs to the store, or to the attempt if the epoch is refused: a refused epoch
//! exports nothing.

use crate::commit::rejects::is_of_document;
use crate::error::{Error, Result};
use crate::fold::split_writer::REJECTS_NAMED_MAX;
use crate::fold::splits::{Finished, RejectLine, each_reject, rejects_path};
use crate::plan::Plan;
use crate::store::digest::HashingFile;
use crate::store::fsyncs::Fsyncs;
use crate::store::lists::FileRef;
use crate::store::{Store, durable};
use crate::visit::counts::Counts;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The most rejected records that are searched for records of JSON documents.
const LOOKED_AT_MAX: u64 = 100_000;
/// Bytes of the list of a refused epoch that are held in memory before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// The list of the rejected records of an epoch. It lies in the files of the splits and may be
/// larger than memory. So it is read line by line, each time that it is needed.
pub struct RejectLines {
    attempt: PathBuf,
    /// The files of the splits, each with the input that its split has a part of, if it is one.
    splits: Vec<(PathBuf, Option<usize>)>,
}

/// What is known of a list of rejected records.
pub struct Listed {
    /// Its lines.
    pub lines: u64,
    /// The number of rejected records that are not listed because their inputs have too many.
    pub unnamed: u64,
    /// The first record of the most frequent reason.
    pub example: Option<RejectLine>,
}

impl RejectLines {
    /// The list of an epoch whose work is in `attempt`.
    pub fn of(plan: &Plan, finished: &Finished, attempt: &Path) -> RejectLines {
        let only = |id: usize| match &plan.splits[id].parts[..] {
            [part] => Some(part.input),
            _ => None,
        };
        let path = |id, digest: &str| rejects_path(attempt, id, digest);
        let splits = finished.splits.iter();
        let splits = splits.map(|(id, done)| (path(*id, &done.rejects_digest), only(*id)));
        RejectLines { attempt: attempt.to_owned(), splits: splits.collect() }
    }

    /// Calls `found` with each line of the list. Returns how many records it leaves out.
    ///
    /// A split limits the lines of each of its inputs. The parts of one input have one limit.
    fn each(&self, mut found: impl FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let (mut last, mut named, mut unnamed) = (None, 0, 0);
        for (path, only) in &self.splits {
            if only.is_none() || *only != last {
                (last, named) = (*only, 0);
            }
            each_reject(path, |line| {
                named += u64::from(only.is_some());
                if named > REJECTS_NAMED_MAX {
                    unnamed += 1;
                    return Ok(());
                }
                found(line)
            })?;
        }
        Ok(unnamed)
    }

    /// Looks through the list of the records that `counts` has counted.
    pub fn look(&self, counts: &Counts) -> Result<Listed> {
        let most = counts.rejected.iter().max_by_key(|(_, n)| **n).map_or("", |(reason, _)| reason);
        let (mut lines, mut example) = (0, None);
        let mut in_documents = 0;
        let mut document: Option<RejectLine> = None;
        let unnamed = self.each(|line| {
            lines += 1;
            let may_be_document = most == "bad_json" && lines <= LOOKED_AT_MAX;
            if example.is_some() && !may_be_document {
                return Ok(());
            }
            let Ok(line) = serde_json::from_slice::<RejectLine>(line) else { return Ok(()) };
            if line.reason != most {
                return Ok(());
            }
            // A JSON document is recognised by its first line. Its other lines are bad for any
            // reason.
            let is_same = document.as_ref().is_some_and(|document| document.file == line.file);
            if is_same || line.offset <= 3 && is_of_document(&line.reason, &line.detail) {
                in_documents += 1;
                document = document.take().filter(|_| is_same).or(Some(line.clone()));
            }
            example.get_or_insert(line);
            Ok(())
        })?;
        // Whether most of the lines belong to such documents.
        let named = counts.rejected.get(most).copied().unwrap_or_default();
        if in_documents * 2 >= named.min(LOOKED_AT_MAX) && document.is_some() {
            example = document;
        }
        Ok(Listed { lines, unnamed, example })
    }

    /// Writes the list into the `store` that commits the epoch.
    pub fn store(&self, store: &Store) -> Result<FileRef> {
        let mut writer = store.line_writer("rejects")?;
        self.each(|line| writer.push(line))?;
        writer.finish()
    }

    /// The file that has the list if the epoch is refused.
    pub fn refused_file(&self) -> PathBuf {
        self.attempt.join("rejects.jsonl")
    }

    /// Writes the list of an epoch that is refused into a file of its attempt.
    pub fn write_refused(&self) -> Result<()> {
        let path = self.refused_file();
        let mut file = HashingFile::create(&path.with_extension(durable::tag()), BUFFER_BYTES)?;
        self.each(|line| file.write_all(line).map_err(|e| Error::io("write", file.path(), e)))?;
        file.place(&Fsyncs::default(), |_| path).map(drop)
    }
}
