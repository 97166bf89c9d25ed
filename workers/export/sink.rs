//! Where exported rows go: JSON lines and Parquet side by side. Row groups and pages are cut at row numbers of the whole table, so that
//! the bytes do not depend on who exports or in which portions.

use crate::error::{Error, Kind, Result};
use crate::job::Form;
use crate::store::digest::HashingFile;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are encoded at once.
const BATCH_ROWS: usize = 1 << 16;
/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 20;
/// The size of a file's buffer in bytes.
const BUFFER_BYTES: usize = 1 << 18;

/// A row that people read.
pub trait Exported: Serialize {
    /// Its columns.
    fn schema() -> SchemaRef;
    /// Rows as columns.
    fn arrays(rows: &[Self]) -> Vec<ArrayRef>
    where
        Self: Sized;
}

/// A field of such a row.
pub trait Cell {
    /// Its type.
    fn data_type() -> DataType;
    /// Whether it may be missing.
    const NULLABLE: bool = false;
    /// The column of `cells`.
    fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
}

macro_rules! cell {
    ($cell:ty, $type:expr, $nullable:expr, |$cells:ident| $array:expr) => {
        impl Cell for $cell {
            const NULLABLE: bool = $nullable;
            fn data_type() -> DataType {
                $type
            }
            fn array<'a>($cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new($array)
            }
        }
    };
}
cell!(String, DataType::Utf8, false, |cells| StringArray::from_iter_values(cells));
cell!(&'static str, DataType::Utf8, false, |cells| StringArray::from_iter_values(cells));
cell!(Option<String>, DataType::Utf8, true, |cells| cells.map(Option::as_deref).collect::<StringArray>());
cell!(u32, DataType::UInt32, false, |cells| UInt32Array::from_iter_values(cells.copied()));
cell!(f64, DataType::Float64, false, |cells| Float64Array::from_iter_values(cells.copied()));
cell!(bool, DataType::Boolean, false, |cells| cells.map(|cell| Some(*cell)).collect::<BooleanArray>());

/// Declares a row whose fields are its columns, in JSON and in Parquet.
macro_rules! exported {
    ($(#[$meta:meta])* pub struct $Row:ident { $($field:ident: $Field:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        pub struct $Row {
            $(pub $field: $Field,)*
        }

        impl $crate::export::sink::Exported for $Row {
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
        }
    };
}
pub(crate) use exported;

/// Takes rows in order and writes them in every form asked for.
pub struct Sink<R: Exported> {
    dir: PathBuf,
    name: &'static str,
    rows: Vec<R>,
    jsonl: Option<HashingFile>,
    parquet: Option<ArrowWriter<HashingFile>>,
}

impl<R: Exported> Sink<R> {
    /// A sink for the table `name` in `dir`.
    pub fn create(dir: &Path, name: &'static str, forms: &[Form]) -> Result<Sink<R>> {
        let open = |form: Form| -> Result<Option<HashingFile>> {
            if !forms.contains(&form) {
                return Ok(None);
            }
            let path = aside(dir, &file_name(name, form));
            let file = File::create(&path).map_err(|e| Error::io("create", &path, e))?;
            Ok(Some(HashingFile::new(file, path, BUFFER_BYTES)))
        };
        let parquet = open(Form::Parquet)?.map(|file| {
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .set_max_row_group_row_count(Some(GROUP_ROWS))
                .set_created_by("pagefold".into())
                .build();
            ArrowWriter::try_new(file, R::schema(), Some(properties)).map_err(|e| parquet_error(dir, name, e))
        });
        Ok(Sink {
            dir: dir.to_owned(),
            name,
            rows: Vec::new(),
            jsonl: open(Form::Jsonl)?,
            parquet: parquet.transpose()?,
        })
    }

    /// Appends a row.
    pub fn push(&mut self, row: R) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() == BATCH_ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(file) = &mut self.jsonl {
            for row in &self.rows {
                let write = serde_json::to_writer(&mut *file, row).map_err(std::io::Error::from);
                write
                    .and_then(|()| file.write_all(b"\n"))
                    .map_err(|e| Error::io("write", &self.dir.join(self.name), e))?;
            }
        }
        if let Some(parquet) = &mut self.parquet {
            let batch = RecordBatch::try_new(R::schema(), R::arrays(&self.rows))
                .map_err(|e| Error::internal("cannot make a batch").caused_by(e))?;
            parquet.write(&batch).map_err(|e| parquet_error(&self.dir, self.name, e))?;
        }
        self.rows.clear();
        Ok(())
    }

    /// Publishes the files. Returns their names and blake3.
    pub fn finish(mut self) -> Result<Vec<(String, String)>> {
        self.flush()?;
        let parquet = self.parquet.take().map(ArrowWriter::into_inner).transpose();
        let parquet = parquet.map_err(|e| parquet_error(&self.dir, self.name, e))?;
        let mut files = Vec::new();
        for (form, file) in [(Form::Jsonl, self.jsonl.take()), (Form::Parquet, parquet)] {
            let Some(file) = file else { continue };
            let name = file_name(self.name, form);
            let (digest, _) = file.place(|_| self.dir.join(&name))?;
            files.push((name, digest));
        }
        Ok(files)
    }
}

fn file_name(name: &str, form: Form) -> String {
    match form {
        Form::Jsonl => format!("{name}.jsonl"),
        Form::Parquet => format!("{name}.parquet"),
    }
}

fn aside(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!(".{name}.writing"))
}

fn parquet_error(dir: &Path, name: &str, error: parquet::errors::ParquetError) -> Error {
    Error::new(Kind::Io, format!("cannot write {}.parquet", dir.join(name).display())).caused_by(error)
}
