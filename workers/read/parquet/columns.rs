//! Selects the columns of a Parquet file that hold the fields of a page, and converts their values.

use crate::read::Fields;
use crate::read::row::{self, Value};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_schema::{DataType, Field, Fields as Columns, TimeUnit};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema_by_columns};
use parquet::basic::{Repetition, Type as Physical};
use parquet::errors::{ParquetError, Result as Decoded};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use std::borrow::Cow;
use std::sync::Arc;

/// The most columns of a file that an error lists.
const LISTED_MAX: usize = 20;

/// The columns that are read.
pub struct Selection {
    /// The place of each among the columns of a row group, and whether it may be null.
    pub columns: Vec<(usize, bool)>,
    pub levels: FieldLevels,
    /// For each field, in the order of [`row::names`], the column that holds it.
    pub places: Vec<Option<usize>>,
}

/// The columns of the file that hold the fields. The inner error names columns that are missing or
/// do not fit; the outer one means that the footer is damaged.
pub fn selection(metadata: &ParquetMetaData, fields: &Fields) -> Decoded<std::result::Result<Selection, String>> {
    let schema = metadata.file_metadata().schema_descr();
    let roots = schema.root_schema().get_fields();
    if let Err(why) = check_names(roots, fields) {
        return Ok(Err(why));
    }
    let wanted: Vec<usize> =
        (0..roots.len()).filter(|&root| row::names(fields).any(|name| name == roots[root].name())).collect();
    if let Some(&nested) = wanted.iter().find(|&&root| is_nested(&roots[root])) {
        let name = roots[nested].name();
        return Ok(Err(format!("the column `{name}`, which [read.fields] names, is nested; a plain one is needed")));
    }
    // The schema that Arrow's writers embed has types that Parquet's lacks; the file can be read
    // without it.
    let mask = || ProjectionMask::roots(schema, wanted.iter().copied());
    let embedded = metadata.file_metadata().key_value_metadata();
    let arrow = parquet_to_arrow_schema_by_columns(schema, mask(), embedded)
        .or_else(|_| parquet_to_arrow_schema_by_columns(schema, mask(), None))?;
    if arrow.fields().len() != wanted.len() {
        return Err(ParquetError::General("its schema is in disorder".into()));
    }
    let (mut columns, mut types, mut hints) = (Vec::new(), Vec::<TypePtr>::new(), Vec::new());
    for (&root, found) in wanted.iter().zip(arrow.fields()) {
        let (name, optional) = (found.name(), roots[root].get_basic_info().repetition() == Repetition::OPTIONAL);
        let Some(hint) = read_as(found.data_type(), roots[root].get_physical_type()) else {
            return Ok(Err(unfit(name, found.data_type())));
        };
        if !fits(name, &hint, fields) {
            return Ok(Err(unfit(name, found.data_type())));
        }
        // Without its logical type the decoder reads a text as bytes, so UTF-8 can be checked for
        // each value.
        types.push(match hint {
            DataType::BinaryView => {
                let plain = Type::primitive_type_builder(name, Physical::BYTE_ARRAY);
                plain.with_repetition(roots[root].get_basic_info().repetition()).build()?.into()
            }
            _ => roots[root].clone(),
        });
        hints.push(Field::new(name, hint, optional));
        let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == root);
        columns.push((leaf.ok_or_else(|| ParquetError::General(format!("`{name}` has no data")))?, optional));
    }
    let places = row::names(fields).map(|name| hints.iter().position(|hint| hint.name() == name)).collect();
    let chosen = SchemaDescriptor::new(Arc::new(Type::group_type_builder("chosen").with_fields(types).build()?));
    let levels = parquet_to_arrow_field_levels(&chosen, ProjectionMask::all(), Some(&Columns::from(hints)))?;
    Ok(Ok(Selection { columns, levels, places }))
}

/// Checks that the needed columns exist, each once.
fn check_names(roots: &[TypePtr], fields: &Fields) -> std::result::Result<(), String> {
    let listed = || {
        let names: Vec<&str> = roots.iter().map(|root| root.name()).take(LISTED_MAX).collect();
        let more = if roots.len() > LISTED_MAX { ", ..." } else { "" };
        format!("; its columns are {}{more}", names.join(", "))
    };
    let count = |name: &str| roots.iter().filter(|root| root.name() == name).count();
    if let Some(twice) = row::names(fields).find(|name| count(name) > 1) {
        return Err(format!("two columns have the name `{twice}`"));
    }
    if let Some(missing) = fields.url.iter().find(|name| count(name) == 0) {
        return Err(format!("no column `{missing}`, which [read.fields] url names{}", listed()));
    }
    let Fields { text, html, deleted, op, .. } = fields;
    if [text, html, deleted, op].iter().all(|name| count(name) == 0) {
        let wanted = format!("neither `{text}` nor `{html}`, which [read.fields] text and html name");
        return Err(format!("no column {wanted}{}", listed()));
    }
    Ok(())
}

fn is_nested(root: &TypePtr) -> bool {
    root.is_group() || root.get_basic_info().repetition() == Repetition::REPEATED
}

/// The type as which a column of type `found` is read; none if no field can use it.
fn read_as(found: &DataType, physical: Physical) -> Option<DataType> {
    use DataType::*;
    match found {
        Dictionary(_, values) => read_as(values, physical),
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView => {
            (physical == Physical::BYTE_ARRAY).then_some(BinaryView)
        }
        // Nanoseconds since 1970 end in 2262, INT96 does not.
        Timestamp(TimeUnit::Nanosecond, None) if physical == Physical::INT96 => Some(Timestamp(TimeUnit::Second, None)),
        Null | Boolean | Float32 | Float64 | Date32 | Date64 | Timestamp(..) => Some(found.clone()),
        found if found.is_integer() => Some(found.clone()),
        _ => None,
    }
}

/// Whether the field in the column `name` can have values of type `found`.
fn fits(name: &str, found: &DataType, fields: &Fields) -> bool {
    let number = found.is_integer();
    match found {
        DataType::Null => true,
        DataType::BinaryView => name != fields.deleted,
        _ if name == fields.date => *found != DataType::Boolean,
        _ if name == fields.deleted => number || *found == DataType::Boolean,
        _ => number && fields.url.iter().any(|part| part == name),
    }
}

fn unfit(name: &str, found: &DataType) -> String {
    format!("the column `{name}`, which [read.fields] names, is of type {found}, which does not fit")
}

/// The bytes of the text in row `at`; 0 if the column has none.
pub fn text_bytes(column: &dyn Array, at: usize) -> u64 {
    column.as_binary_view_opt().map_or(0, |texts| texts.value(at).len() as u64)
}

/// The value in row `at`. Dates become seconds since 1970; those without a time zone count as UTC.
pub fn value(column: &dyn Array, at: usize) -> Value<'_> {
    use DataType::*;
    if column.is_null(at) {
        return Value::Null;
    }
    match column.data_type() {
        Null => Value::Null,
        BinaryView => match std::str::from_utf8(column.as_binary_view().value(at)) {
            Ok(text) => Value::Text(Cow::Borrowed(text)),
            Err(_) => Value::Other,
        },
        Boolean => Value::Bool(column.as_boolean().value(at)),
        Int8 => Value::Integer(column.as_primitive::<Int8Type>().value(at).into()),
        Int16 => Value::Integer(column.as_primitive::<Int16Type>().value(at).into()),
        Int32 => Value::Integer(column.as_primitive::<Int32Type>().value(at).into()),
        Int64 => Value::Integer(column.as_primitive::<Int64Type>().value(at)),
        UInt8 => Value::Integer(column.as_primitive::<UInt8Type>().value(at).into()),
        UInt16 => Value::Integer(column.as_primitive::<UInt16Type>().value(at).into()),
        UInt32 => Value::Integer(column.as_primitive::<UInt32Type>().value(at).into()),
        UInt64 => i64::try_from(column.as_primitive::<UInt64Type>().value(at)).map_or(Value::Other, Value::Integer),
        Float32 => Value::Float(column.as_primitive::<Float32Type>().value(at).into()),
        Float64 => Value::Float(column.as_primitive::<Float64Type>().value(at)),
        Date32 => Value::Seconds(i64::from(column.as_primitive::<Date32Type>().value(at)) * 86_400),
        Date64 => Value::Seconds(column.as_primitive::<Date64Type>().value(at).div_euclid(1000)),
        Timestamp(unit, _) => Value::Seconds(match unit {
            TimeUnit::Second => column.as_primitive::<TimestampSecondType>().value(at),
            TimeUnit::Millisecond => column.as_primitive::<TimestampMillisecondType>().value(at).div_euclid(1000),
            TimeUnit::Microsecond => column.as_primitive::<TimestampMicrosecondType>().value(at).div_euclid(1_000_000),
            TimeUnit::Nanosecond => {
                column.as_primitive::<TimestampNanosecondType>().value(at).div_euclid(1_000_000_000)
            }
        }),
        _ => Value::Other,
    }
}
