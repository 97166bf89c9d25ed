//! Cuts exported rows into batches, which `encoder.rs` writes as JSON lines and Parquet.
//!
//! Row groups and pages end at fixed row numbers of the whole table, or earlier if the rows have
//! very long texts. So the bytes do not depend on the process that exports or on the size of
//! portions.

use crate::error::{Error, Kind, Result};
pub use crate::export::encoder::Files;
use crate::export::encoder::{Batch, CREATOR, Encoder, file_name};
use crate::export::ours::Occupant;
use crate::export::row_type::ExportRow;
use crate::job::{Form, Output};
use crate::store::damage;
use arrow_schema::SchemaRef;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::mem;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// The rows that are encoded at once.
const BATCH_ROWS: usize = 1 << 16;
/// The bytes of text of rows that are encoded at once. Rows of ordinary URLs have fewer.
const BATCH_BYTES: usize = 1 << 26;

/// The folder of an export, and the forms of its tables there.
pub struct Place<'a> {
    pub dir: &'a Path,
    pub output: &'a Output,
    /// The pages of the export.
    pub pages: u64,
    /// Its pairs.
    pub pairs: u64,
}

impl Place<'_> {
    fn forms<R: ExportRow>(&self) -> Vec<Form> {
        self.output.forms(R::NAME, self.pages, self.pairs)
    }
}

/// Writes the rows of one table, in order, in all requested formats.
///
/// A separate thread encodes them, while the next rows are looked up.
pub struct Sink<R: ExportRow> {
    rows: Vec<R>,
    /// The bytes of texts of `rows`.
    bytes: usize,
    /// `None` after the encoder has failed.
    batches: Option<SyncSender<Batch<R>>>,
    encoder: Option<JoinHandle<Result<Encoder>>>,
}

impl<R: ExportRow> Sink<R> {
    /// Creates the temporary files of the table of `R`, which is written as `name`.
    pub fn create(name: &'static str, place: &Place<'_>) -> Result<Sink<R>> {
        let mut encoder = Encoder::create::<R>(place.dir, name, &place.forms::<R>())?;
        // A batch waits for the one before it, so at most two are in memory.
        let (batches, received) = sync_channel::<Batch<R>>(0);
        let encode = move || {
            received.into_iter().try_for_each(|batch| encoder.write(&batch)).map(|()| encoder)
        };
        let encoder = thread::Builder::new().name(format!("encode {name}")).spawn(encode);
        let encoder = encoder
            .map_err(|e| Error::new(Kind::TryAgain, "cannot start a thread").caused_by(e))?;
        Ok(Sink { rows: Vec::new(), bytes: 0, batches: Some(batches), encoder: Some(encoder) })
    }

    /// Appends a row.
    pub fn push(&mut self, row: R) -> Result<()> {
        self.bytes += row.bytes();
        self.rows.push(row);
        if self.rows.len() == BATCH_ROWS || self.bytes >= BATCH_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        let room = Vec::with_capacity(self.rows.len());
        let batch =
            Batch { rows: mem::replace(&mut self.rows, room), bytes: mem::take(&mut self.bytes) };
        match self.batches.as_ref().map(|batches| batches.send(batch)) {
            Some(Ok(())) => Ok(()),
            // The encoder receives until it fails.
            _ => self.encoder().map(|_| ()),
        }
    }

    /// Waits until all batches are written.
    fn encoder(&mut self) -> Result<Encoder> {
        self.batches = None;
        let encoder =
            self.encoder.take().ok_or_else(|| Error::internal("rows after a failed write"))?;
        encoder.join().unwrap_or_else(|payload| Err(damage::of_thread(payload, "an export")))
    }

    /// Renames the files to their final names. Returns the names and the blake3 digests.
    pub fn finish(mut self) -> Result<Files> {
        self.flush()?;
        self.encoder()?.finish()
    }
}

impl<R: ExportRow> Drop for Sink<R> {
    /// Ends the thread, also if the export failed.
    fn drop(&mut self) {
        let _ = self.encoder.is_some().then(|| self.encoder());
    }
}

/// Fails if there is a file in the place of the table of `R`, which is written as `name`, that
/// pagefold did not write.
pub fn check_place<R: ExportRow>(name: &str, place: &Place<'_>) -> Result<()> {
    for form in place.forms::<R>() {
        let path = place.dir.join(file_name(name, form));
        if is_ours::<R>(&path, form)? == Some(false) {
            let why =
                "was not written by pagefold; move it away, or name another folder as [output] dir";
            return Err(Error::new(Kind::Output, format!("{} {why}", path.display())));
        }
    }
    Ok(())
}

/// Whether pagefold wrote the file at `path`, which is the place of the table of `R`; `None` if
/// there is no file.
fn is_ours<R: ExportRow>(path: &Path, form: Form) -> Result<Option<bool>> {
    Ok(Some(match (form, Occupant::of(path)?) {
        (_, Occupant::Nothing) => return Ok(None),
        (_, Occupant::Folder | Occupant::Special) => false,
        (Form::Jsonl, Occupant::File(file)) => has_columns(file, &R::schema()),
        (Form::Parquet, Occupant::File(file)) => SerializedFileReader::new(file)
            .is_ok_and(|reader| reader.metadata().file_metadata().created_by() == Some(CREATOR)),
    }))
}

/// Removes files of the table of `R`, which is written as `name`, that an earlier export wrote in a
/// form that is not written now. They would be taken for results of this export.
pub fn remove_others<R: ExportRow>(name: &str, place: &Place<'_>) -> Result<()> {
    let forms = place.forms::<R>();
    for form in [Form::Jsonl, Form::Parquet].into_iter().filter(|form| !forms.contains(form)) {
        let path = place.dir.join(file_name(name, form));
        if is_ours::<R>(&path, form)? == Some(true) {
            std::fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
        }
    }
    Ok(())
}

/// The longest first line that is examined.
const FIRST_LINE_BYTES_MAX: u64 = 1 << 20;

/// Whether the first line of `file` has the columns of `schema`, perhaps those of another version:
/// all of them and more, or most of them and no others. An empty file counts as ours.
fn has_columns(file: File, schema: &SchemaRef) -> bool {
    let mut line = Vec::new();
    if BufReader::new(file.take(FIRST_LINE_BYTES_MAX)).read_until(b'\n', &mut line).is_err() {
        return false;
    }
    let row: Option<serde_json::Map<String, serde_json::Value>> =
        serde_json::from_slice(&line).ok();
    let ours = |row: &serde_json::Map<String, serde_json::Value>| {
        let columns = row.keys().filter(|key| schema.field_with_name(key).is_ok()).count();
        let all = schema.fields().len();
        columns == all || columns == row.len() && 2 * columns > all
    };
    line.is_empty() || row.is_some_and(|row| ours(&row))
}

/// Whether `name` is that of a temporary file of the table that is written as `table`.
pub fn is_aside(table: &str, name: &str) -> bool {
    [Form::Jsonl, Form::Parquet]
        .iter()
        .any(|form| name.starts_with(&format!(".{}.", file_name(table, *form))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::rows::{Pair, Redirect};

    fn is_ours<R: ExportRow>(line: &str) -> bool {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.jsonl");
        std::fs::write(&path, line).expect("written");
        has_columns(File::open(path).expect("there"), &R::schema())
    }

    /// Pairs of somebody else, in a file with the name of ours, were taken for ours, because all
    /// their keys are columns: they were replaced or deleted. Most of the columns must be there.
    #[test]
    fn a_few_columns_are_not_ours() {
        assert!(!is_ours::<Pair>("{\"a\":\"x\",\"b\":\"y\"}\n"));
        assert!(!is_ours::<Pair>("{\"a\":1,\"b\":2,\"similarity\":0.5,\"accepted\":true}\n"));
        assert!(!is_ours::<Redirect>("{\"url\":\"x\"}\n"));
        // Redirects of an earlier build, and of a later one.
        let early = "\"url\":\"x\",\"representative\":\"y\",\"relation\":\"near\"";
        assert!(is_ours::<Redirect>(&format!("{{{early}}}\n")));
        let later = format!("{{{early},\"reason\":\"coverage\",\"similarity\":0.9,\"more\":1}}\n");
        assert!(is_ours::<Redirect>(&later));
        assert!(is_ours::<Redirect>(""));
        assert!(!is_ours::<Redirect>(&later.replace("reason", "why")));
    }
}
