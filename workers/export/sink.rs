//! Cuts exported rows into batches, which `encoder.rs` writes as JSON lines and Parquet.
//!
//! Row groups and pages end at row numbers of the whole table, and earlier where its rows have very
//! long texts. So the bytes do not depend on the process that exports or on the size of portions.

use crate::document::NO_DATE;
use crate::error::{Error, Kind, Result};
pub use crate::export::encoder::Files;
use crate::export::encoder::{Batch, CREATOR, Encoder, file_name};
use crate::job::{Form, Output};
use crate::store::damage;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, StringArray, TimestampMillisecondArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde::{Serialize, Serializer};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// The rows that are encoded at once.
const BATCH_ROWS: usize = 1 << 16;
/// The bytes of text of rows that are encoded at once. Rows of ordinary URLs have fewer.
const BATCH_BYTES: usize = 1 << 26;

/// A row of an exported table.
pub trait Exported: Serialize + Send + 'static {
    /// The table's name.
    const NAME: &'static str;
    /// The columns.
    fn schema() -> SchemaRef;
    /// `rows` as columns.
    fn arrays(rows: &[Self]) -> Vec<ArrayRef>
    where
        Self: Sized;
    /// The bytes of its texts.
    fn bytes(&self) -> usize;
}

/// A text that several rows share.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<str>);

impl From<String> for Shared {
    fn from(text: String) -> Shared {
        Shared(text.into())
    }
}

impl Serialize for Shared {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The zone of dates.
const UTC: &str = "UTC";

/// A date, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(i64);

impl Moment {
    /// The moment so many seconds after 1970; none for [`NO_DATE`].
    pub fn of(seconds: i64) -> Option<Moment> {
        (seconds != NO_DATE).then_some(Moment(seconds))
    }
}

impl Serialize for Moment {
    /// In ISO 8601; a second that no year of four digits has is a number.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match jiff::Timestamp::from_second(self.0) {
            Ok(timestamp) => serializer.collect_str(&timestamp),
            Err(_) => serializer.serialize_i64(self.0),
        }
    }
}

/// The type of a field of an exported row.
pub trait Cell {
    /// The column's type.
    fn data_type() -> DataType;
    /// Whether the column may have nulls.
    const NULLABLE: bool = false;
    /// `cells` as a column.
    fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
    /// The bytes of its text; 0 for a constant.
    fn bytes(&self) -> usize;
}

macro_rules! cell {
    ($cell:ty, $type:expr, $nullable:expr, |$cells:ident| $array:expr, |$text:ident| $bytes:expr) => {
        impl Cell for $cell {
            const NULLABLE: bool = $nullable;
            fn data_type() -> DataType {
                $type
            }
            fn array<'a>($cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new($array)
            }
            fn bytes(&self) -> usize {
                let $text = self;
                $bytes
            }
        }
    };
}
cell!(String, DataType::Utf8, false, |cells| StringArray::from_iter_values(cells), |text| text.len());
cell!(Shared, DataType::Utf8, false, |cells| StringArray::from_iter_values(cells.map(|text| &text.0)), |text| {
    text.0.len()
});
cell!(&'static str, DataType::Utf8, false, |cells| StringArray::from_iter_values(cells), |_text| 0);
cell!(Option<String>, DataType::Utf8, true, |cells| cells.map(Option::as_deref).collect::<StringArray>(), |text| {
    text.as_ref().map_or(0, String::len)
});
cell!(u32, DataType::UInt32, false, |cells| UInt32Array::from_iter_values(cells.copied()), |_number| 0);
cell!(u64, DataType::UInt64, false, |cells| UInt64Array::from_iter_values(cells.copied()), |_number| 0);
cell!(Option<u64>, DataType::UInt64, true, |cells| cells.copied().collect::<UInt64Array>(), |_number| 0);
cell!(Option<u32>, DataType::UInt32, true, |cells| cells.copied().collect::<UInt32Array>(), |_number| 0);
cell!(Option<&'static str>, DataType::Utf8, true, |cells| cells.copied().collect::<StringArray>(), |_text| 0);
cell!(f64, DataType::Float64, false, |cells| Float64Array::from_iter_values(cells.copied()), |_number| 0);
cell!(Option<f64>, DataType::Float64, true, |cells| cells.copied().collect::<Float64Array>(), |_number| 0);
cell!(
    Option<Moment>,
    DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
    true,
    |cells| {
        let millis = cells.map(|moment| moment.as_ref().map(|moment| moment.0.saturating_mul(1000)));
        millis.collect::<TimestampMillisecondArray>().with_timezone(UTC)
    },
    |_moment| 0
);
cell!(bool, DataType::Boolean, false, |cells| cells.map(|cell| Some(*cell)).collect::<BooleanArray>(), |_flag| 0);

/// Declares a row whose fields are the columns of both formats.
macro_rules! exported {
    ($(#[$meta:meta])* pub struct $Row:ident in $name:literal { $($field:ident: $Field:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        pub struct $Row {
            $(pub $field: $Field,)*
        }

        impl $crate::export::sink::Exported for $Row {
            const NAME: &'static str = $name;

            fn schema() -> arrow_schema::SchemaRef {
                use $crate::export::sink::Cell;
                std::sync::Arc::new(arrow_schema::Schema::new(vec![
                    $(arrow_schema::Field::new(stringify!($field), <$Field>::data_type(), <$Field>::NULLABLE),)*
                ]))
            }

            fn arrays(rows: &[Self]) -> Vec<arrow_array::ArrayRef> {
                use $crate::export::sink::Cell;
                vec![$(<$Field>::array(rows.iter().map(|row| &row.$field)),)*]
            }

            fn bytes(&self) -> usize {
                use $crate::export::sink::Cell;
                [$(Cell::bytes(&self.$field),)*].iter().sum()
            }
        }
    };
}
pub(crate) use exported;

/// The folder of an export, and which forms its tables have there.
pub struct Place<'a> {
    pub dir: &'a Path,
    pub output: &'a Output,
    /// The pages of the export.
    pub pages: u64,
    /// Its pairs.
    pub pairs: u64,
}

impl Place<'_> {
    fn forms<R: Exported>(&self) -> Vec<Form> {
        self.output.forms(R::NAME, self.pages, self.pairs)
    }
}

/// Writes the rows of one table, in order, in all requested formats.
///
/// A thread of its own encodes them, while the rows after them are looked up.
pub struct Sink<R: Exported> {
    rows: Vec<R>,
    /// The bytes of texts of `rows`.
    bytes: usize,
    /// None after the encoder has failed.
    batches: Option<SyncSender<Batch<R>>>,
    encoder: Option<JoinHandle<Result<Encoder>>>,
}

impl<R: Exported> Sink<R> {
    /// Creates the temporary files of the table of `R`.
    pub fn create(place: &Place<'_>) -> Result<Sink<R>> {
        Sink::create_as(R::NAME, place)
    }

    /// The same for files of another name.
    pub fn create_as(name: &'static str, place: &Place<'_>) -> Result<Sink<R>> {
        let mut encoder = Encoder::create(place.dir, name, &place.forms::<R>(), R::schema())?;
        // A batch waits for the one before it, so at most two are in memory.
        let (batches, received) = sync_channel::<Batch<R>>(0);
        let encode = move || received.into_iter().try_for_each(|batch| encoder.write(batch)).map(|()| encoder);
        let encoder = thread::Builder::new().name(format!("encode {name}")).spawn(encode);
        let encoder = encoder.map_err(|e| Error::new(Kind::TryAgain, "cannot start a thread").caused_by(e))?;
        Ok(Sink { rows: Vec::new(), bytes: 0, batches: Some(batches), encoder: Some(encoder) })
    }

    /// Appends a row.
    pub fn push(&mut self, row: R) -> Result<()> {
        self.bytes += row.bytes();
        self.rows.push(row);
        if self.rows.len() == BATCH_ROWS || self.bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let batch = Batch { rows: mem::take(&mut self.rows), bytes: mem::take(&mut self.bytes) };
        match self.batches.as_ref().map(|batches| batches.send(batch)) {
            Some(Ok(())) => Ok(()),
            // The encoder receives until it fails.
            _ => self.encoder().map(|_| ()),
        }
    }

    /// Waits until all batches are written.
    fn encoder(&mut self) -> Result<Encoder> {
        self.batches = None;
        let encoder = self.encoder.take().ok_or_else(|| Error::internal("rows after a failed write"))?;
        encoder.join().unwrap_or_else(|payload| Err(damage::of_thread(payload, "an export")))
    }

    /// Renames the files to their final names. Returns these and the blake3 digests.
    pub fn finish(mut self) -> Result<Files> {
        self.flush()?;
        self.encoder()?.finish()
    }
}

impl<R: Exported> Drop for Sink<R> {
    /// No thread outlives an export that fails.
    fn drop(&mut self) {
        let _ = self.encoder.is_some().then(|| self.encoder());
    }
}

/// Fails if a file in the place of the table of `R` was written by somebody else.
pub fn check_place<R: Exported>(place: &Place<'_>) -> Result<()> {
    check_place_as::<R>(R::NAME, place)
}

/// The same for files of another name.
pub fn check_place_as<R: Exported>(name: &str, place: &Place<'_>) -> Result<()> {
    for form in place.forms::<R>() {
        let path = place.dir.join(file_name(name, form));
        if is_ours::<R>(&path, form)? == Some(false) {
            let why = "was not written by pagefold; move it away, or name another folder as [output] dir";
            return Err(Error::new(Kind::Output, format!("{} {why}", path.display())));
        }
    }
    Ok(())
}

/// Whether the file at `path`, in the place of the table of `R`, was written by pagefold; none if
/// there is none.
fn is_ours<R: Exported>(path: &Path, form: Form) -> Result<Option<bool>> {
    Ok(Some(match (form, File::open(path)) {
        (_, Err(e)) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        (_, Err(e)) => return Err(Error::io("read", path, e)),
        (Form::Jsonl, Ok(file)) => has_columns(file, &R::schema()),
        (Form::Parquet, Ok(file)) => SerializedFileReader::new(file)
            .is_ok_and(|reader| reader.metadata().file_metadata().created_by() == Some(CREATOR)),
    }))
}

/// Removes what an earlier export wrote of the table of `R` in a form that it does not have now: it
/// would be taken for a result of this one.
pub fn remove_others<R: Exported>(place: &Place<'_>) -> Result<()> {
    let forms = place.forms::<R>();
    for form in [Form::Jsonl, Form::Parquet].into_iter().filter(|form| !forms.contains(form)) {
        let path = place.dir.join(file_name(R::NAME, form));
        if is_ours::<R>(&path, form)? == Some(true) {
            std::fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
        }
    }
    Ok(())
}

/// The longest first line that is looked at.
const FIRST_LINE_BYTES_MAX: u64 = 1 << 20;

/// Whether the first line of `file` has the columns of `schema`, or those of another version, which
/// has more or fewer. An empty file has no other rows.
fn has_columns(file: File, schema: &SchemaRef) -> bool {
    let mut line = Vec::new();
    if BufReader::new(file.take(FIRST_LINE_BYTES_MAX)).read_until(b'\n', &mut line).is_err() {
        return false;
    }
    let row: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_slice(&line).ok();
    let ours = |row: &serde_json::Map<String, serde_json::Value>| {
        row.keys().all(|key| schema.field_with_name(key).is_ok())
            || schema.fields().iter().all(|field| row.contains_key(field.name()))
    };
    line.is_empty() || row.is_some_and(|row| ours(&row))
}

/// Whether `name` is that of a temporary file of the table of `R`.
pub fn is_aside<R: Exported>(name: &str) -> bool {
    is_aside_as(R::NAME, name)
}

/// Whether `name` is that of a temporary file of the table that is written as `table`.
pub fn is_aside_as(table: &str, name: &str) -> bool {
    [Form::Jsonl, Form::Parquet].iter().any(|form| name.starts_with(&format!(".{}.", file_name(table, *form))))
}
