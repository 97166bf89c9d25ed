//! Encodes batches of rows as JSON lines and Parquet.

use crate::error::{Error, Kind, Result};
use crate::export::column_encoder::Columns;
use crate::export::row_type::ExportRow;
use crate::job::Form;
use crate::store::digest::HashingFile;
use crate::store::durable;
use crate::store::fsyncs::Fsyncs;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use std::io::Write;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

/// The rows of a Parquet row group.
const GROUP_ROWS: usize = 1 << 20;
/// The bytes of text of a Parquet row group, which is held in memory while it is written.
const GROUP_BYTES: usize = 1 << 29;
/// The size of a file's buffer in bytes.
const BUFFER_BYTES: usize = 1 << 18;
/// The bytes of JSON lines that are written at once.
const LINES_BYTES: usize = 1 << 16;

/// The writer that Parquet files name.
pub(crate) const CREATOR: &str = "pagefold";

/// The names and digests of written files.
pub type Files = Vec<(String, String)>;

/// Rows that are encoded at once.
pub(crate) struct Batch<R> {
    pub(crate) rows: Vec<R>,
    /// The bytes of the texts of these rows.
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
    parquet: Option<Columns<HashingFile>>,
}

impl Encoder {
    /// Creates the files of `forms` for rows of `R`.
    pub(crate) fn create<R: ExportRow>(
        dir: &Path,
        name: &'static str,
        forms: &[Form],
    ) -> Result<Encoder> {
        let open = |form: Form| -> Result<Option<HashingFile>> {
            if !forms.contains(&form) {
                return Ok(None);
            }
            let stem = dir.join(format!(".{}.{}", file_name(name, form), durable::tag()));
            HashingFile::create(&stem, BUFFER_BYTES).map(Some)
        };
        let parquet = open(Form::Parquet)?.map(|file| {
            let properties =
                properties().set_dictionary_page_size_limit(R::DICTIONARY_BYTES_MAX).build();
            Columns::create(file, R::schema(), properties).map_err(|e| parquet_error(dir, name, e))
        });
        let (jsonl, parquet) = (open(Form::Jsonl)?, parquet.transpose()?);
        Ok(Encoder { dir: dir.to_owned(), name, group_bytes: 0, jsonl, parquet })
    }

    /// Appends the rows of `batch` in all forms, at the same time.
    pub(crate) fn write<R: ExportRow>(&mut self, batch: &Batch<R>) -> Result<()> {
        let Encoder { dir, name, group_bytes, jsonl, parquet } = self;
        let lines = |file: &mut HashingFile| {
            let mut text = Vec::with_capacity(2 * LINES_BYTES);
            let mut line = |row| {
                serde_json::to_writer(&mut text, row)?;
                text.push(b'\n');
                if text.len() >= LINES_BYTES {
                    file.write_all(&text)?;
                    text.clear();
                }
                Ok(())
            };
            batch.rows.iter().try_for_each(&mut line).and_then(|()| file.write_all(&text)).map_err(
                |e: std::io::Error| Error::io("write", &dir.join(file_name(name, Form::Jsonl)), e),
            )
        };
        let columns = |parquet: &mut Columns<HashingFile>| {
            *group_bytes += batch.bytes;
            let end = *group_bytes >= GROUP_BYTES;
            *group_bytes = if end { 0 } else { *group_bytes };
            let written = parquet
                .write(&batch.rows)
                .and_then(|()| if end { parquet.end_group() } else { Ok(()) });
            written.map_err(|e| parquet_error(dir, name, e))
        };
        thread::scope(|scope| {
            let lines = jsonl.as_mut().map(|file| scope.spawn(|| lines(file)));
            let columns = parquet.as_mut().map_or(Ok(()), columns);
            let lines =
                lines.map(|lines| lines.join().unwrap_or_else(|payload| resume_unwind(payload)));
            lines.unwrap_or(Ok(())).and(columns)
        })
    }

    /// Renames the files to their final names. Returns the names and the blake3 digests.
    pub(crate) fn finish(self) -> Result<Files> {
        let parquet = self.parquet.map(Columns::finish).transpose();
        let parquet = parquet.map_err(|e| parquet_error(&self.dir, self.name, e))?;
        let mut files = Files::new();
        for (form, file) in [(Form::Jsonl, self.jsonl), (Form::Parquet, parquet)] {
            let Some(file) = file else { continue };
            let name = file_name(self.name, form);
            let (digest, _) = file.place(&Fsyncs::default(), |_| self.dir.join(&name))?;
            files.push((name, digest));
        }
        Ok(files)
    }
}

/// The properties of our Parquet files.
pub(crate) fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_created_by(CREATOR.into())
}

/// The name of the file of the table `name` in a form.
pub(crate) fn file_name(name: &str, form: Form) -> String {
    match form {
        Form::Jsonl => format!("{name}.jsonl"),
        Form::Parquet => format!("{name}.parquet"),
    }
}

fn parquet_error(dir: &Path, name: &str, error: parquet::errors::ParquetError) -> Error {
    Error::new(Kind::Io, format!("cannot write {}.parquet", dir.join(name).display()))
        .caused_by(error)
}
