//! Filters one file: reads its records, looks up what became of them, and writes what is kept, what
//! is removed and the table of its records.

use crate::error::{Error, Kind, Result};
use crate::filter::became::{Became, Lookup, REMOVAL, REVISIT, Record};
use crate::filter::copy::{self, Copied, Copier, Parts, Spot};
use crate::filter::inputs::Original;
use crate::filter::labels::Labels;
use crate::filter::note::{self, Manner, Note};
use crate::filter::options::{Options, Places};
use crate::filter::order::Side;
use crate::filter::part::{self, Part};
use crate::filter::portions::{Portions, Range};
use crate::filter::revisit::{Target, revisit};
use crate::filter::totals::Totals;
use crate::filter::{annotate, parquet, rows};
use crate::id::Id;
use crate::job::Job;
use crate::page_url::own_key;
use crate::plan::inputs::{Input, unspelled};
use crate::read::codec::Codec;
use crate::read::fields::removers;
use crate::read::source::BOMB;
use crate::read::{self, BAD_FILE, Format, Reader, Shape, Split};
use crate::store::{Lock, manifest};
use crate::visit;
use std::cmp;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::Ordering;

/// A file that is finished.
pub struct Finished {
    /// The note of what was done.
    pub note: Note,
    /// Whether an earlier run finished it.
    pub was_there: bool,
}

/// What is done with a file that another process is working on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfLocked {
    /// It is left out.
    Skip,
    /// The other process is waited for.
    Wait,
}

/// What all threads share.
pub struct Work<'a> {
    pub job: &'a Job,
    pub lookup: Lookup,
    pub options: &'a Options,
    pub manner: Manner,
    /// The records that revisits refer to, by their pages.
    pub targets: HashMap<Id, Target>,
}

/// What is written of one input, and what is counted of it so far.
struct Files {
    shape: Option<Shape>,
    /// Whether all records stay, whatever is said of them.
    is_whole: bool,
    copier: Option<Box<dyn Copier>>,
    rows: Option<rows::Rows>,
    totals: Totals,
    /// The bytes that all records take by their ranges.
    measured: u64,
}

impl Work<'_> {
    /// The records of an archive that represent clusters of several pages.
    pub fn targets_in(&self, original: &Original) -> Result<Vec<(Id, Target)>> {
        let (path, size) = (original.input.file(), original.input.bytes);
        let shape = read::shape(&path, size)?;
        let mut targets = Vec::new();
        let is_warc = shape.is_some_and(|shape| shape.format == Format::Warc);
        if !is_warc || original.is_copy {
            return Ok(targets);
        }
        let mut reader =
            visit::open(self.job, &Split { path, start: 0, end: size }, &original.input)?;
        reader.keep_heads();
        let mut file = Portions::new(&mut *reader, shape, size);
        while let Some((mut portion, _)) = file.next()? {
            self.lookup.look_up(original, &mut portion);
            let shown = portion.iter().filter(|record| {
                record.became == Became::Kept
                    && record.membership.as_ref().is_some_and(|of| of.size > 1)
            });
            targets.extend(
                shown.filter_map(|record| Some((record.doc?, Target::of(record.head.as_ref()?)?))),
            );
        }
        Ok(targets)
    }

    /// The revisit that replaces `record`, if it folds into a record of an archive.
    fn revisit(&self, record: &Record) -> Option<Vec<u8>> {
        let of = record.membership.as_ref().filter(|_| record.became == Became::Folded)?;
        let target = self.targets.get(&own_key(&of.representative).doc)?;
        Some(revisit(record.head.as_ref()?, target))
    }

    /// Filters one file, unless it is finished. Returns `None` if another process is working on it
    /// and is not waited for.
    pub fn file(&self, original: &Original, if_locked: IfLocked) -> Result<Option<Finished>> {
        let notes = self.options.notes();
        let path = note::path(&notes, &original.name);
        let lock = path.with_extension("lock");
        let lock = match if_locked {
            IfLocked::Wait => Lock::wait_for(&lock).map(Some),
            IfLocked::Skip => Lock::try_take(&lock),
        };
        let lock = lock.map_err(Error::as_output)?;
        let Some(_claim) = lock else { return Ok(None) };
        let (before, has_note) = (Note::read(&path)?, path.exists());
        let is_later = |note: &Note| note.manner.is_later_than(&self.manner);
        if before.as_ref().is_some_and(is_later) && self.has_moved_on()? {
            // With one epoch each text is kept once. With two epochs a text may be in no file.
            let why =
                "a later epoch is being filtered to this folder; run again, or name another folder";
            return Err(Error::new(Kind::TryAgain, format!("{}: {why}", path.display())));
        }
        if let Some(note) =
            before.as_ref().filter(|note| note.is_of(&self.manner, original, self.options))
        {
            self.options.progress.bytes.fetch_add(original.input.bytes, Ordering::Relaxed);
            return Ok(Some(Finished { note: note.clone(), was_there: true }));
        }
        let places = self.options.places(&original.name);
        self.check_places(original, &places, has_note, before.as_ref())?;
        if has_note && !before.as_ref().is_some_and(Note::is_finished) {
            // Only killed processes leave parts.
            let order = path.with_extension("order");
            places.iter().chain([&order]).try_for_each(|path| part::sweep(path))?;
        }
        Note::begin(&self.manner, original, self.options, before.as_ref(), &path)?;
        let mut note = match self.copy(original, false) {
            // The sidecar marks a damaged file as such; none of its bytes is lost.
            Err(error) if error.kind() == Kind::Data => {
                tracing::warn!(%error, "stays whole, with what folds");
                let path = format!("{}: ", original.input.file().display());
                let why = error.to_string();
                let whole_because = why.strip_prefix(&path).unwrap_or(&why).to_owned();
                Note { whole_because, ..self.copy(original, true)? }
            }
            copied => copied?,
        };
        if note.is_whole && note.whole_because.is_empty() {
            note.whole_because = self.complaint(original);
        }
        // A table of an earlier filter stays ours.
        note.records = note.records.or(before.and_then(|before| before.records));
        note.write(&path)?;
        Ok(Some(Finished { note, was_there: false }))
    }

    /// Whether the store has committed a later epoch since the filter began. If not, a later epoch
    /// of a note is one that the store has no more: it was rolled back or restored.
    fn has_moved_on(&self) -> Result<bool> {
        let head = manifest::head(&self.job.store)?;
        Ok(head.is_some_and(|head| head.manifest.epoch > self.manner.epoch))
    }

    /// Fails if a file that no filter has written would be replaced.
    fn check_places(
        &self,
        original: &Original,
        places: &Places,
        has_note: bool,
        note: Option<&Note>,
    ) -> Result<()> {
        // A later state of the same input is filtered anew. This holds for a rebuilt store, too.
        let others = note.filter(|note| note.is_finished() && note.digest != original.input.digest);
        let of = others.and_then(|note| match note.manner.store == self.manner.store {
            false => Some("another store".to_owned()),
            true if note.input.is_empty() || note.input == original.input.path => None,
            true => Some(format!("the input {}", unspelled(&note.input).display())),
        });
        if let Some(of) = of {
            let line = format!(
                "{}: the folder has what was filtered of {of}; name another folder, or move this one \
                 away",
                original.input.shown()
            );
            return Err(Error::new(Kind::Output, line));
        }
        let foreign = match note {
            Some(note) => note.foreign(self.options, places),
            None => places.iter().find(|path| !has_note && path.exists()),
        };
        match foreign {
            Some(path) => {
                // A filter that wrote to more folders has its notes in another one of them.
                let why = match note {
                    None => {
                        "is there and was not written by this filter, or its notes are in another \
                         folder: name all folders that were named then (--removed, --records), or \
                         others, or move it away"
                    }
                    Some(_) => {
                        "is there and was not written by this filter; move it away, or name another \
                         folder"
                    }
                };
                Err(Error::new(Kind::Output, format!("{} {why}", path.display())))
            }
            None => Ok(()),
        }
    }

    /// The message of the reader about `original`, which it refuses.
    fn complaint(&self, original: &Original) -> String {
        let found = visit::complaint(self.job, &original.input);
        found.unwrap_or_else(|| "its reader refuses it".into())
    }

    /// Reads `original` and writes its files. A whole copy keeps everything.
    fn copy(&self, original: &Original, is_whole: bool) -> Result<Note> {
        let Original { input, name, .. } = original;
        let (path, size) = (input.file(), input.bytes);
        let shape = read::shape(&path, size)?;
        let mut reader =
            visit::open(self.job, &Split { path: path.clone(), start: 0, end: size }, input)?;
        let is_whole = is_whole || shape.is_none();
        if self.options.revisits && shape.is_some_and(|shape| shape.format == Format::Warc) {
            reader.keep_heads();
        }
        let copier = match &self.options.to {
            Some(to) => Some(self.copier(original, shape.filter(|_| !is_whole), &to.join(name))?),
            None => None,
        };
        let rows = self
            .options
            .places(name)
            .records
            .map(|table| rows::Rows::create(&table, name))
            .transpose()?;
        let totals = Totals::new(&original.source);
        let mut files = Files { shape, is_whole, copier, rows, totals, measured: 0 };
        self.write_all(original, &mut *reader, &mut files)?;
        let Files { copier, rows, mut totals, measured, .. } = files;
        if !is_whole {
            check_rejects(original, &totals, shape)?;
        }
        let noted = reader.notes().iter().map(|(word, n)| (word.to_owned(), n)).collect();
        let removers = removers(&self.job.read.fields, &noted);
        totals.removers = removers.into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
        let copied = copier.map(Copier::finish).transpose()?;
        if !Input::stat(&path)?.looks_like(input) && input.has_changed()? {
            let line = format!("{}: changed while it was read; run again", input.shown());
            return Err(Error::new(Kind::TryAgain, line));
        }
        totals.bytes_in = size;
        // Decoded records may have more bytes than the file. Bytes that are copied as they are
        // cannot.
        if shape.is_some_and(|shape| shape.format == Format::Parquet) || measured > size {
            totals.scale(size, measured);
        }
        let mut note = Note::new(&self.manner, original, shape, totals, is_whole);
        note.records = rows.map(|rows| rows.finish().and_then(Part::place)).transpose()?;
        if let Some(copied) = copied {
            self.place(name, copied, &mut note)?;
        }
        Ok(note)
    }

    /// Reads all records of `original`, looks them up, and writes and counts each.
    fn write_all(
        &self,
        original: &Original,
        reader: &mut dyn Reader,
        files: &mut Files,
    ) -> Result<()> {
        let mut portions = Portions::new(reader, files.shape, original.input.bytes);
        let mut reported = 0;
        while let Some((mut portion, ranges)) = portions.next()? {
            let consumed = portions.reader.consumed_bytes().max(reported);
            self.options.progress.bytes.fetch_add(consumed - reported, Ordering::Relaxed);
            self.options.progress.records.fetch_add(portion.len() as u64, Ordering::Relaxed);
            reported = consumed;
            self.lookup.look_up(original, &mut portion);
            for (record, range) in portion.iter().zip(ranges) {
                if !files.is_whole && record.reason == Some(BAD_FILE) {
                    let why = self.complaint(original);
                    let line = format!("{}: {why}", original.input.shown());
                    return Err(Error::new(Kind::Data, line));
                }
                self.write(record, range, files)?;
            }
        }
        Ok(())
    }

    /// Counts `record`, and writes it to where it goes.
    fn write(&self, record: &Record, range: Range, files: &mut Files) -> Result<()> {
        let Files { shape, is_whole, copier, rows, totals, measured } = files;
        let annotates = self.options.annotate.is_some();
        let keeps_all = self.options.to.is_none() || annotates;
        let is_wanted = is_wanted(record, *shape);
        let stays = *is_whole || annotates || is_wanted;
        // A whole copy has records that fold, or rows without the fields of their cluster.
        let lacks = !is_wanted && !keeps_all || annotates && record.membership.is_some();
        totals.stay += if *is_whole && lacks { record.records } else { 0 };
        totals.count(record, stays, range.bytes);
        *measured += range.bytes;
        if let Some(rows) = rows {
            rows.push(record, range.alone)?;
        }
        let Some(copier) = copier else { return Ok(()) };
        let labels = record.membership.as_ref().filter(|_| annotates).map(|of| Labels {
            cluster: of.cluster.to_string(),
            size: of.size,
            representative: of.representative.clone(),
        });
        let instead = self.revisit(record).filter(|_| !stays);
        totals.revisits += u64::from(instead.is_some());
        copier.push(Spot {
            position: record.position,
            member: record.member,
            side: if stays { Side::Kept } else { Side::Removed },
            instead,
            labels,
            is_row: record.may_be_object(),
            is_bomb: record.reason == Some(BOMB),
        })
    }

    /// Gives the files of the input `name` their names, and notes what they are.
    fn place(&self, name: &Path, copied: Copied, note: &mut Note) -> Result<()> {
        note.is_recoded = copied.is_recoded;
        note.decoded = copied.decoded;
        note.groups = copied.groups;
        note.removed_head = copied.removed_head;
        note.digests = [copied.kept.digest(), copied.removed.as_ref().and_then(Part::digest)];
        note.totals.bytes_kept = copied.kept.place()?;
        note.kept = Some(note.totals.bytes_kept);
        let removed = copied.removed.map(Part::place).transpose()?;
        note.totals.bytes_removed = removed.unwrap_or(0);
        note.removed = removed;
        if let (None, Some(dir)) = (removed, &self.options.removed) {
            // What an earlier epoch removed is in the filtered file now.
            part::remove(&dir.join(name))?;
        }
        note.order_digest = copied.order.as_ref().and_then(Part::digest);
        copied.order.map(Part::place).transpose()?;
        Ok(())
    }

    fn copier(
        &self,
        original: &Original,
        shape: Option<Shape>,
        to: &Path,
    ) -> Result<Box<dyn Copier>> {
        let Original { input, name, .. } = original;
        let order = note::path(&self.options.notes(), name).with_extension("order");
        let removed = self.options.removed.as_ref().map(|dir| dir.join(name));
        let parts = Parts::create(to, removed.as_deref().map(|removed| (removed, &*order)))?;
        let (path, size) = (input.file(), input.bytes);
        let Some(Shape { format, codec }) = shape else {
            return Ok(Box::new(copy::Whole::open(&path, size, parts)?));
        };
        Ok(match (format, codec) {
            (Format::Wacz, _) => return Err(Error::internal("a WACZ cannot be written")),
            (Format::Parquet, _) => match self.options.annotate {
                Some(names) => Box::new(annotate::Labelled::open(&path, names, parts)?),
                None => Box::new(parquet::Rows::open(&path, parts)?),
            },
            (Format::Jsonl, _) if codec != Codec::Plain || self.options.annotate.is_some() => {
                Box::new(copy::Lines::open(&path, size, self.options.annotate, parts)?)
            }
            (Format::Jsonl, _) | (_, Codec::Plain) => {
                Box::new(copy::Plain::open(&path, size, parts)?)
            }
            (Format::Warc | Format::Arc, _) => {
                Box::new(copy::Members::open(&path, size, codec, parts)?)
            }
        })
    }
}

/// Fails if more records of `original` are rejected than when the store read it, or fewer rows: the
/// store does not know the pages of these rows, and they would be left out as pages that are gone.
fn check_rejects(original: &Original, totals: &Totals, shape: Option<Shape>) -> Result<()> {
    let Some(rejected) = original.rejected else { return Ok(()) };
    let has_rows = shape.is_some_and(|shape| shape.format.has_rows());
    let remedy = match totals.rejected().cmp(&rejected) {
        cmp::Ordering::Greater => "; put [read.limits] back as they were then",
        cmp::Ordering::Less if has_rows => {
            ", by another build; `pagefold rebuild JOB` reads it again"
        }
        _ => return Ok(()),
    };
    let line = format!(
        "{}: {} records are rejected now and {} were when the store read it{remedy}",
        original.input.shown(),
        totals.rejected(),
        rejected
    );
    Err(Error::new(Kind::NoInput, line))
}

/// Whether a record is in the filtered file. Pages that fold or are superseded are left out.
/// Revisits and removals stay in archives, where replay needs them, and are left out of tables.
fn is_wanted(record: &Record, shape: Option<Shape>) -> bool {
    let is_archive = shape.is_some_and(|shape| !shape.format.has_rows());
    match record.became {
        Became::Kept | Became::Skipped | Became::Rejected => true,
        Became::Folded => record.reason == Some(REVISIT),
        Became::Superseded => false,
        Became::Seen => is_archive,
        Became::Removed => is_archive && record.reason == Some(REMOVAL),
    }
}
