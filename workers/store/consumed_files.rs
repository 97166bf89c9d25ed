//! Keeps a manifest small, and the number of lists of inputs low, however many epochs there were.
//!
//! A manifest has an entry for each epoch that read inputs, and each entry has a list of them. An
//! epoch every 15 minutes makes 35,000 entries and lists a year, and every commit would write all
//! entries again. So the manifest itself has only the last entries. Older entries are in files,
//! which are merged in size tiers like runs of rows: four files of as many entries become one. The
//! lists of the entries in one file are joined, too. In memory a manifest always has all entries.

use crate::error::{Error, Kind, Result};
use crate::store::consumed::Consumed;
use crate::store::digest;
use crate::store::lists::{self, FileRef, Lists};
use crate::store::manifest::Manifest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// The entries of the smallest file. A manifest itself has fewer than twice as many.
pub const ENTRIES: usize = 64;
/// The number of files of one size that become one.
const FILES: usize = 4;
/// Lists of more bytes than this are not joined.
const LIST_BYTES_MAX: u64 = 67_108_864;

/// Entries in a file of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumedFile {
    /// The number of entries.
    pub entries: u64,
    /// The file, an entry on each line.
    pub file: FileRef,
}

/// Writes the older entries of `consumed` of a manifest to files, unless they are in files of
/// `consumed_before` already. Returns the number of entries in files.
pub fn write_out(
    root: &Path,
    consumed: &mut [Consumed],
    consumed_before: &mut Vec<ConsumedFile>,
) -> Result<usize> {
    let (mut files, mut at): (Vec<ConsumedFile>, usize) = (Vec::new(), 0);
    // A rollback changes entries: from the first changed file on all are written again.
    for older in consumed_before.iter() {
        let end = at + older.entries as usize;
        let Some(entries) = consumed.get(at..end) else { break };
        if digest::of_bytes(text(entries)?.as_bytes()) != older.file.digest {
            break;
        }
        files.push(older.clone());
        at = end;
    }
    while consumed.len() - at >= 2 * ENTRIES {
        files.push(write(root, &mut consumed[at..at + ENTRIES])?);
        at += ENTRIES;
        while files.len() >= FILES
            && files[files.len() - FILES..].windows(2).all(|two| two[0].entries == two[1].entries)
        {
            let joined: u64 = files.drain(files.len() - FILES..).map(|older| older.entries).sum();
            files.push(write(root, &mut consumed[at - joined as usize..at])?);
        }
    }
    *consumed_before = files;
    Ok(at)
}

/// Adds the entries in the files `consumed_before` to the entries that a manifest has itself.
pub fn read_back(
    root: &Path,
    consumed: &mut Vec<Consumed>,
    consumed_before: &[ConsumedFile],
) -> Result<()> {
    let mut all = Vec::new();
    let mut lists = Lists::new(root, "consumed");
    for older in consumed_before {
        for line in lists.read(&older.file)?.lines() {
            all.push(serde_json::from_str(line).map_err(|e| {
                let path = lists::path(root, "consumed", &older.file);
                Error::new(Kind::Io, format!("{}: no entries of a manifest", path.display()))
                    .caused_by(e)
            })?);
        }
    }
    all.append(consumed);
    *consumed = all;
    Ok(())
}

/// Reads back the entries of many manifests, which have most of their files of entries in common.
#[derive(Default)]
pub struct FilesReader {
    /// The digests of the files that were read.
    read: BTreeSet<String>,
}

impl FilesReader {
    /// As [`read_back`], without the entries of files that it has read for another manifest.
    pub fn read_back(&mut self, root: &Path, manifest: &mut Manifest) -> Result<()> {
        let is_new = |older: &&ConsumedFile| !self.read.contains(&older.file.digest);
        let new: Vec<ConsumedFile> =
            manifest.consumed_before.iter().filter(is_new).cloned().collect();
        read_back(root, &mut manifest.consumed, &new)?;
        self.read.extend(new.into_iter().map(|older| older.file.digest));
        Ok(())
    }
}

/// Writes a file of `entries`, whose lists are joined.
fn write(root: &Path, entries: &mut [Consumed]) -> Result<ConsumedFile> {
    join(root, entries)?;
    Ok(ConsumedFile {
        entries: entries.len() as u64,
        file: lists::write(root, "consumed", &text(entries)?)?,
    })
}

fn text(entries: &[Consumed]) -> Result<String> {
    let mut text = String::new();
    for entry in entries {
        text += &serde_json::to_string(entry)
            .map_err(|e| Error::internal("cannot write an entry").caused_by(e))?;
        text.push('\n');
    }
    Ok(text)
}

/// Joins the lists of `entries` to one file.
fn join(root: &Path, entries: &mut [Consumed]) -> Result<()> {
    let bytes = |file: &FileRef| file.part.map_or(file.bytes, |(from, to)| to - from);
    if entries.iter().map(|entry| bytes(&entry.file)).sum::<u64>() > LIST_BYTES_MAX {
        return Ok(());
    }
    let (mut all, mut parts) = (String::new(), Vec::new());
    let mut lists = Lists::new(root, "consumed");
    for entry in entries.iter() {
        let from = all.len() as u64;
        all += lists.read(&entry.file)?;
        parts.push((from, all.len() as u64));
    }
    let whole = lists::write(root, "consumed", &all)?;
    for (entry, part) in entries.iter_mut().zip(parts) {
        entry.file = FileRef { lines: entry.file.lines, part: Some(part), ..whole.clone() };
    }
    Ok(())
}
