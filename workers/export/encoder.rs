//! Encodes batches of rows as JSON lines and Parquet.

use crate::error::{Error, Kind, Result};
use crate::export::exported::Exported;
use crate::job::Form;
use crate::store::digest::HashingFile;
use crate::store::durable;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The rows of a Parquet row group.
const GROUP_ROWS: usize = 1 << 20;
/// The bytes of text of a Parquet row group, which is held in memory while it is written.
const GROUP_BYTES: usize = 1 << 29;
/// The size of a file's buffer in bytes.
const BUFFER_BYTES: usize = 1 << 18;

/// The writer that Parquet files name.
pub(crate) const CREATOR: &str = "pagefold";

/// The names and digests of written files.
pub type Files = Vec<(String, String)>;

/// Rows that are encoded at once.
pub(crate) struct Batch<R> {
    pub(crate) rows: Vec<R>,
    /// The bytes of their texts.
    pub(crate) bytes: usize,
}

/// The temporary files of one table.
pub(crate) struct Encoder {
    dir: PathBuf,
    /// The name of its files, without ending.
    name: &'static str,
    /// The bytes of texts of the row group.
    group_bytes: usize,
    jsonl: Option<HashingFile>,
    parquet: Option<ArrowWriter<HashingFile>>,
}

impl Encoder {
    /// Creates the files of `forms` for rows with the columns of `schema`.
    pub(crate) fn create(dir: &Path, name: &'static str, forms: &[Form], schema: SchemaRef) -> Result<Encoder> {
        let open = |form: Form| -> Result<Option<HashingFile>> {
            if !forms.contains(&form) {
                return Ok(None);
            }
            let stem = dir.join(format!(".{}.{}", file_name(name, form), durable::tag()));
            HashingFile::create(&stem, BUFFER_BYTES).map(Some)
        };
        let parquet = open(Form::Parquet)?.map(|file| {
            ArrowWriter::try_new(file, schema, Some(properties())).map_err(|e| parquet_error(dir, name, e))
        });
        let (jsonl, parquet) = (open(Form::Jsonl)?, parquet.transpose()?);
        Ok(Encoder { dir: dir.to_owned(), name, group_bytes: 0, jsonl, parquet })
    }

    /// Appends the rows of `batch` in all forms.
    pub(crate) fn write<R: Exported>(&mut self, batch: Batch<R>) -> Result<()> {
        if let Some(file) = &mut self.jsonl {
            for row in &batch.rows {
                let write = serde_json::to_writer(&mut *file, row).map_err(std::io::Error::from);
                write
                    .and_then(|()| file.write_all(b"\n"))
                    .map_err(|e| Error::io("write", &self.dir.join(file_name(self.name, Form::Jsonl)), e))?;
            }
        }
        if let Some(parquet) = &mut self.parquet {
            let columns = RecordBatch::try_new(R::schema(), R::arrays(&batch.rows))
                .map_err(|e| Error::internal("cannot make a batch").caused_by(e))?;
            drop(batch.rows);
            parquet.write(&columns).map_err(|e| parquet_error(&self.dir, self.name, e))?;
            self.group_bytes += batch.bytes;
            if self.group_bytes >= GROUP_BYTES {
                parquet.flush().map_err(|e| parquet_error(&self.dir, self.name, e))?;
                self.group_bytes = 0;
            }
        }
        Ok(())
    }

    /// Renames the files to their final names. Returns these and the blake3 digests.
    pub(crate) fn finish(self) -> Result<Files> {
        let parquet = self.parquet.map(ArrowWriter::into_inner).transpose();
        let parquet = parquet.map_err(|e| parquet_error(&self.dir, self.name, e))?;
        let mut files = Files::new();
        for (form, file) in [(Form::Jsonl, self.jsonl), (Form::Parquet, parquet)] {
            let Some(file) = file else { continue };
            let name = file_name(self.name, form);
            let (digest, _) = file.place(|_| self.dir.join(&name))?;
            files.push((name, digest));
        }
        Ok(files)
    }
}

/// The properties of a Parquet file of ours.
pub(crate) fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_created_by(CREATOR.into())
        .build()
}

/// The name of the file of the table `name` in a form.
pub(crate) fn file_name(name: &str, form: Form) -> String {
    match form {
        Form::Jsonl => format!("{name}.jsonl"),
        Form::Parquet => format!("{name}.parquet"),
    }
}

fn parquet_error(dir: &Path, name: &str, error: parquet::errors::ParquetError) -> Error {
    Error::new(Kind::Io, format!("cannot write {}.parquet", dir.join(name).display())).caused_by(error)
}
