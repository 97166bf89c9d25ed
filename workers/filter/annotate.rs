//! Copies rows and adds their cluster to their own fields.
//!
//! All rows are written. A row whose record holds gets its cluster, the size of the cluster and the
//! URL of its representative. In Parquet these are three more columns, and the other columns are
//! copied without decoding them. In JSON lines they are three more fields behind the others.

use crate::error::{Error, Result};
use crate::filter::copy::{Copied, Copier, Parts, Spot};
use crate::filter::labels::{Labels, Names};
use crate::filter::order::Side;
use crate::filter::parquet::{Outcome, Table, sound};
use crate::filter::part::{Failure, Part};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema, parquet_to_arrow_schema};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::path::Path;
use std::sync::Arc;

/// Copies the rows of a Parquet file with their labels.
pub struct Labelled {
    table: Table,
    file: Option<SerializedFileWriter<Part>>,
    failures: [Failure; 1],
    parts: Parts,
    group: usize,
    /// The labels of the rows of the row group so far.
    labels: Vec<Option<Labels>>,
    /// The record that is open: its row and its labels.
    open: (u64, Option<Labels>),
}

impl Labelled {
    /// A copier of the file at `path`.
    pub fn open(path: &Path, names: Names, mut parts: Parts) -> Result<Labelled> {
        let table = Table::open(path)?;
        if let Some(name) = names
            .all()
            .into_iter()
            .find(|name| table.schema().get_fields().iter().any(|field| field.name() == *name))
        {
            return Err(Names::taken(path, name));
        }
        let part = parts.take(Side::Kept)?;
        let failures = [part.failure()];
        let file = sound(path, &failures, || {
            SerializedFileWriter::new(part, schema(&table, names)?, properties(&table, names)?)
        })?;
        Ok(Labelled {
            table,
            file: Some(file),
            failures,
            parts,
            group: 0,
            labels: Vec::new(),
            open: (0, None),
        })
    }

    /// Ends the open record before `row`.
    fn end_record(&mut self, row: u64) -> Result<()> {
        let (from, labels) = (self.open.0, self.open.1.take());
        for _ in from..row {
            self.labels.push(labels.clone());
            let groups = self.table.metadata().row_groups();
            while groups.get(self.group).is_some_and(|group| group.num_rows() == 0) {
                self.group += 1;
            }
            let rows = groups.get(self.group).map_or(0, |group| group.num_rows() as usize);
            if self.labels.len() == rows {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<()> {
        let labels = std::mem::take(&mut self.labels);
        let (index, path) = (self.group, self.table.path().to_owned());
        self.group += 1;
        let Some(file) = &mut self.file else { return Ok(()) };
        let table = &self.table;
        sound(&path, &self.failures, || {
            let mut group = file.next_row_group()?;
            table.append(index, &mut group)?;
            let levels: Vec<i16> =
                labels.iter().map(|labels| i16::from(labels.is_some())).collect();
            let present = || labels.iter().flatten();
            let clusters: Vec<ByteArray> = present().map(|of| of.cluster.as_str().into()).collect();
            let sizes: Vec<i32> =
                present().map(|of| i32::try_from(of.size).unwrap_or(i32::MAX)).collect();
            let shown: Vec<ByteArray> =
                present().map(|of| of.representative.as_str().into()).collect();
            let lacks = || ParquetError::General("a column is missing".into());
            let mut column = group.next_column()?.ok_or_else(lacks)?;
            column.typed::<ByteArrayType>().write_batch(&clusters, Some(&levels), None)?;
            column.close()?;
            let mut column = group.next_column()?.ok_or_else(lacks)?;
            column.typed::<Int32Type>().write_batch(&sizes, Some(&levels), None)?;
            column.close()?;
            let mut column = group.next_column()?.ok_or_else(lacks)?;
            column.typed::<ByteArrayType>().write_batch(&shown, Some(&levels), None)?;
            column.close()?;
            group.close().map(drop)
        })
    }
}

impl Copier for Labelled {
    fn push(&mut self, spot: Spot) -> Result<()> {
        self.end_record(spot.position)?;
        self.open = (spot.position, spot.labels);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Copied> {
        let rows =
            self.table.metadata().row_groups().iter().map(|group| group.num_rows() as u64).sum();
        self.end_record(rows)?;
        let path = self.table.path().to_owned();
        let file = self.file.take().ok_or_else(|| Error::internal("a file is finished twice"))?;
        let kept = sound(&path, &self.failures, || file.into_inner())?;
        self.parts.finish(Some(kept), None, false)
    }
}

/// The schema of `table` with three more columns.
fn schema(table: &Table, names: Names) -> Outcome<TypePtr> {
    let root = table.schema();
    let text = |name: &str| {
        Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8)
            .build()
    };
    let number = Type::primitive_type_builder(names.size, Physical::INT32)
        .with_repetition(Repetition::OPTIONAL)
        .build();
    let mut fields = root.get_fields().to_vec();
    fields.extend([
        Arc::new(text(names.cluster)?),
        Arc::new(number?),
        Arc::new(text(names.representative)?),
    ]);
    Ok(Arc::new(Type::group_type_builder(root.name()).with_fields(fields).build()?))
}

/// The properties of a file like `table` with three more columns: readers that use the stored Arrow
/// schema must find the columns there.
fn properties(table: &Table, names: Names) -> Outcome<WriterPropertiesPtr> {
    let file = table.metadata().file_metadata();
    let mut pairs = file.key_value_metadata().cloned().unwrap_or_default();
    if let Some(pair) = pairs.iter_mut().find(|pair| pair.key == ARROW_SCHEMA_META_KEY) {
        let schema = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata())?;
        let mut fields: Vec<arrow_schema::FieldRef> = schema.fields().iter().cloned().collect();
        let types = [
            arrow_schema::DataType::Utf8,
            arrow_schema::DataType::Int32,
            arrow_schema::DataType::Utf8,
        ];
        fields.extend(
            names
                .all()
                .into_iter()
                .zip(types)
                .map(|(name, of)| Arc::new(arrow_schema::Field::new(name, of, true))),
        );
        let schema = arrow_schema::Schema::new_with_metadata(fields, schema.metadata().clone());
        *pair = KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), encode_arrow_schema(&schema));
    }
    let pairs = Some(pairs).filter(|pairs| !pairs.is_empty());
    Ok(Arc::new(WriterProperties::builder().set_key_value_metadata(pairs).build()))
}
