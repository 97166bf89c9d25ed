//! Selects the columns of a Parquet file that hold the fields of a page, and converts their values.

use crate::read::PageKey;
use crate::read::fields::{Name, Use, Wanted};
use crate::read::value::Value;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields as Columns, TimeUnit};
use parquet::arrow::{
    FieldLevels, ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema_by_columns,
};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::{ParquetError, Result as Decoded};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type, TypePtr};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most columns of a file that an error lists.
const LISTED_MAX: usize = 20;

/// The columns that are read.
pub struct Selection {
    /// The place of each among the columns of a row group.
    pub columns: Vec<usize>,
    pub levels: FieldLevels,
    /// For each wanted name the column that holds it, if it is read.
    pub places: Vec<Option<Place>>,
    /// The notes of columns that have a default name and hold something else.
    pub unfit: Vec<&'static str>,
}

impl Selection {
    /// No columns.
    pub fn none() -> Decoded<Selection> {
        let root = Type::group_type_builder("chosen").build()?;
        let schema = SchemaDescriptor::new(Arc::new(root));
        let levels = parquet_to_arrow_field_levels(&schema, ProjectionMask::all(), None)?;
        let (columns, places, unfit) = Default::default();
        Ok(Selection { columns, levels, places, unfit })
    }

    /// The bytes of the texts in row `at`.
    pub fn text_bytes(&self, batch: &RecordBatch, at: usize) -> u64 {
        let columns = self.places.iter().flatten().filter_map(|place| place.column(batch, at));
        columns
            .filter_map(AsArray::as_binary_view_opt)
            .map(|texts| texts.value(at).len() as u64)
            .sum()
    }
}

/// The path to a column: its place among the columns that are read, or the places of a struct and
/// of the structs in it.
pub struct Place(Vec<usize>);

impl Place {
    /// The column, unless it is null in row `at`.
    fn column<'b>(&self, batch: &'b RecordBatch, at: usize) -> Option<&'b dyn Array> {
        let (&root, below) = self.0.split_first()?;
        let mut column: &dyn Array = batch.column(root);
        for &place in below {
            column = column.as_struct_opt().filter(|_| !column.is_null(at))?.column(place);
        }
        (!column.is_null(at)).then_some(column)
    }

    /// The value in row `at`.
    pub fn value<'b>(&self, batch: &'b RecordBatch, at: usize) -> Value<'b> {
        self.column(batch, at).map_or(Value::Null, |column| value(column, at))
    }
}

/// A column that is read.
struct Chosen {
    hint: DataType,
    place: Vec<usize>,
}

/// The columns of the file that hold the wanted fields. The inner error names columns that are
/// missing or do not fit; the outer one means that the footer is damaged.
pub fn selection(
    metadata: &ParquetMetaData,
    wanted: &Wanted,
) -> Decoded<std::result::Result<Selection, String>> {
    let schema = metadata.file_metadata().schema_descr();
    let mut leaves: Vec<Option<usize>> = vec![None; wanted.names.len()];
    let mut chosen: BTreeMap<usize, Chosen> = BTreeMap::new();
    let mut unfit: Vec<(Use, String)> = Vec::new();
    for names in wanted.uses() {
        for at in names {
            let name = &wanted.names[at];
            match column(metadata, name, &wanted.key)? {
                Ok(Some((leaf, hint))) => {
                    leaves[at] = Some(leaf);
                    chosen.insert(leaf, Chosen { hint, place: Vec::new() });
                    break;
                }
                Ok(None) => {}
                Err(_) if name.note.is_some() => {}
                // The column may mean something else.
                Err(why) if name.is_default => unfit.push((name.is_for, why)),
                Err(why) => return Ok(Err(why)),
            }
        }
    }
    if let Err(why) = check_found(schema, wanted, &leaves, &unfit) {
        return Ok(Err(why));
    }
    let (mut types, mut hints, mut next) = (Vec::new(), Vec::new(), 0);
    for root in schema.root_schema().get_fields() {
        if let Some((kind, hint)) = pruned(root, &mut next, &mut chosen, &[types.len()])? {
            types.push(kind);
            hints.push(hint);
        }
    }
    let root = SchemaDescriptor::new(Arc::new(
        Type::group_type_builder("chosen").with_fields(types).build()?,
    ));
    let levels =
        parquet_to_arrow_field_levels(&root, ProjectionMask::all(), Some(&Columns::from(hints)))?;
    let columns = chosen.keys().copied().collect();
    let place = |leaf: usize| chosen.get(&leaf).map(|chosen| Place(chosen.place.clone()));
    let places = leaves.into_iter().map(|leaf| leaf.and_then(place)).collect();
    let unfit = unfit.into_iter().map(|(is_for, _)| is_for.unfit()).collect();
    Ok(Ok(Selection { columns, levels, places, unfit }))
}

/// The column that holds the field `name`, and the type as which it is read; `None` if there is
/// none. The inner error says why a column of this name cannot hold it.
fn column(
    metadata: &ParquetMetaData,
    name: &Name,
    key: &PageKey,
) -> Decoded<std::result::Result<Option<(usize, DataType)>, String>> {
    let schema = metadata.file_metadata().schema_descr();
    let described =
        format!("the column `{}`, which {} names,", name.path, names_it(name.is_for, key));
    let leaf = match leaf(schema, &name.path, &described) {
        Ok(Some(leaf)) => leaf,
        Ok(None) => return Ok(Ok(None)),
        Err(why) => return Ok(Err(why)),
    };
    let found = type_of(metadata, leaf)?;
    let descriptor = schema.column(leaf);
    let hint = match descriptor.logical_type_ref() {
        Some(LogicalType::Uuid) if found == DataType::FixedSizeBinary(16) => Some(found.clone()),
        _ => read_as(&found, descriptor.physical_type()),
    };
    Ok(match hint.filter(|hint| fits(name.is_for, hint)) {
        Some(hint) => Ok(Some((leaf, hint))),
        None => {
            // These names are read by default, so the job may not have them.
            let off = match name.is_for {
                Use::Deleted => {
                    "; if it does not say that a page is gone: read.fields.deleted = \"\""
                }
                Use::Op => "; if it does not say that a page is gone: read.fields.op = \"\"",
                _ => "",
            };
            Err(format!(
                "{described} is of type {found}; wanted are {}: name another one, or write it as such{off}",
                wanted_type(name.is_for)
            ))
        }
    })
}

/// The paths of the columns that are not in lists.
pub fn names(metadata: &ParquetMetaData) -> Vec<String> {
    let columns = metadata.file_metadata().schema_descr().columns().iter();
    columns
        .filter(|column| column.max_rep_level() == 0)
        .map(|column| column.path().string())
        .collect()
}

/// The column of this path, the one with the fewest levels. The error says why it cannot be read.
fn leaf(
    schema: &SchemaDescriptor,
    path: &str,
    described: &str,
) -> std::result::Result<Option<usize>, String> {
    let columns = || schema.columns().iter().enumerate();
    let levels = |leaf: usize| schema.column(leaf).path().parts().len();
    let named: Vec<usize> = columns()
        .filter(|(_, column)| column.path().string() == path)
        .map(|(leaf, _)| leaf)
        .collect();
    let Some(&found) = named.iter().min_by_key(|leaf| levels(**leaf)) else {
        let is_above = |column: &ColumnDescPtr| {
            column.path().string().strip_prefix(path).is_some_and(|rest| rest.starts_with('.'))
        };
        return match columns().any(|(_, column)| is_above(column)) {
            true => Err(nested(described)),
            false => Ok(None),
        };
    };
    if named.iter().filter(|leaf| levels(**leaf) == levels(found)).count() > 1 {
        return Err(format!("two columns have the name `{path}`"));
    }
    if schema.column(found).max_rep_level() > 0 { Err(nested(described)) } else { Ok(Some(found)) }
}

fn nested(described: &str) -> String {
    format!("{described} is nested; a plain one is needed")
}

/// The key of the job that names the field for this use.
fn names_it(is_for: Use, key: &PageKey) -> &'static str {
    match is_for {
        Use::Key(_) if !key.is_own() => "[read.fields] url",
        Use::Key(_) => "[read] key",
        Use::Text => "[read.fields] text",
        Use::Html => "[read.fields] html",
        Use::Date => "[read.fields] date",
        Use::Deleted => "[read.fields] deleted",
        Use::Op => "[read.fields] op",
        Use::Score => "[read.fields] score",
    }
}

/// The types that [`fits`] accepts for this use, in words.
fn wanted_type(is_for: Use) -> &'static str {
    match is_for {
        Use::Key(_) => "texts, numbers or UUIDs",
        Use::Text | Use::Html | Use::Op => "texts",
        Use::Date => "texts, numbers, dates or timestamps",
        Use::Deleted => "true and false, or whole numbers",
        Use::Score => "numbers or texts",
    }
}

/// The Arrow type of the column.
fn type_of(metadata: &ParquetMetaData, leaf: usize) -> Decoded<DataType> {
    let schema = metadata.file_metadata().schema_descr();
    // The schema that Arrow's writers embed has types that Parquet's lacks; the file can be read
    // without it.
    let mask = || ProjectionMask::leaves(schema, [leaf]);
    let embedded = metadata.file_metadata().key_value_metadata();
    let arrow = parquet_to_arrow_schema_by_columns(schema, mask(), embedded)
        .or_else(|_| parquet_to_arrow_schema_by_columns(schema, mask(), None))?;
    let mut fields = arrow.fields();
    loop {
        let [field] = &fields[..] else {
            return Err(ParquetError::General("its schema is in disorder".into()));
        };
        match field.data_type() {
            DataType::Struct(below) => fields = below,
            found => return Ok(found.clone()),
        }
    }
}

/// `node` with only the chosen columns, and the type as which it is read; `None` if it has none of
/// them. `next` is the number of its first column, and `place` its future place.
fn pruned(
    node: &TypePtr,
    next: &mut usize,
    chosen: &mut BTreeMap<usize, Chosen>,
    place: &[usize],
) -> Decoded<Option<(TypePtr, Field)>> {
    let (name, repetition) = (node.name(), node.get_basic_info().repetition());
    let optional = repetition == Repetition::OPTIONAL;
    if node.is_group() {
        let (mut types, mut hints) = (Vec::new(), Vec::new());
        for below in node.get_fields() {
            if let Some((kind, hint)) =
                pruned(below, next, chosen, &[place, &[types.len()]].concat())?
            {
                types.push(kind);
                hints.push(hint);
            }
        }
        if types.is_empty() {
            return Ok(None);
        }
        let group = Type::group_type_builder(name)
            .with_repetition(repetition)
            .with_fields(types)
            .build()?;
        return Ok(Some((
            group.into(),
            Field::new(name, DataType::Struct(hints.into()), optional),
        )));
    }
    let leaf = *next;
    *next += 1;
    let Some(column) = chosen.get_mut(&leaf) else { return Ok(None) };
    column.place = place.to_vec();
    // Without its logical type the decoder reads a text as bytes, so UTF-8 can be checked for each
    // value.
    let kind = match column.hint {
        DataType::BinaryView => Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
            .with_repetition(repetition)
            .build()?
            .into(),
        _ => node.clone(),
    };
    Ok(Some((kind, Field::new(name, column.hint.clone(), optional))))
}

/// How the reject of a file without a needed column begins.
pub const NO_COLUMN: &str = "no column";
/// What it says behind the name of the column: what names the column in the job.
pub const OF_URL: &str = ", which [read.fields] url names";
/// The same for a key that is a field.
pub const OF_KEY: &str = ", which [read] key names";
/// The same for the text.
pub const OF_TEXT: &str = ", which [read.fields] text and html name";
/// What stands before the columns that the file has.
pub const COLUMNS: &str = "; its columns are ";

/// Checks that the needed columns are there, and not `unfit`.
fn check_found(
    schema: &SchemaDescriptor,
    wanted: &Wanted,
    leaves: &[Option<usize>],
    unfit: &[(Use, String)],
) -> std::result::Result<(), String> {
    let unfit = |uses: &[Use]| {
        let why = unfit.iter().find(|(is_for, _)| uses.contains(is_for));
        why.map_or(Ok(()), |(_, why)| Err(why.clone()))
    };
    let listed = || {
        let roots = schema.root_schema().get_fields();
        let names: Vec<&str> = roots.iter().map(|root| root.name()).take(LISTED_MAX).collect();
        let more = if roots.len() > LISTED_MAX { ", ..." } else { "" };
        format!("{COLUMNS}{}{more}", names.join(", "))
    };
    let has = |is_for: Use| {
        wanted.names.iter().zip(leaves).any(|(name, leaf)| name.is_for == is_for && leaf.is_some())
    };
    let own = |is_for: Use| {
        wanted.names.iter().find(|name| name.is_for == is_for).map_or("", |name| &name.path)
    };
    if let Some(part) = (0..wanted.parts()).map(Use::Key).find(|part| !has(*part)) {
        unfit(&[part])?;
        let named = own(part);
        return Err(match wanted.key {
            PageKey::Url => format!(
                "{NO_COLUMN} `{named}`{OF_URL}{}; a corpus without URLs: [read] key = \"row\"",
                listed()
            ),
            _ => format!("{NO_COLUMN} `{named}`{OF_KEY}{}", listed()),
        });
    }
    if ![Use::Text, Use::Html].into_iter().any(has) {
        unfit(&[Use::Text, Use::Html])?;
        if ![Use::Deleted, Use::Op].into_iter().any(has) {
            unfit(&[Use::Deleted, Use::Op])?;
            let (text, html) = (own(Use::Text), own(Use::Html));
            return Err(format!("{NO_COLUMN} `{text}` and none `{html}`{OF_TEXT}{}", listed()));
        }
    }
    Ok(())
}

/// The type as which a column of type `found` is read; `None` if no field can use it.
fn read_as(found: &DataType, physical: Physical) -> Option<DataType> {
    use DataType::*;
    match found {
        Dictionary(_, values) => read_as(values, physical),
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView => {
            (physical == Physical::BYTE_ARRAY).then_some(BinaryView)
        }
        // Nanoseconds since 1970 end in 2262, INT96 does not.
        Timestamp(TimeUnit::Nanosecond, None) if physical == Physical::INT96 => {
            Some(Timestamp(TimeUnit::Second, None))
        }
        Null | Boolean | Float32 | Float64 | Date32 | Date64 | Timestamp(..) => Some(found.clone()),
        found if found.is_integer() => Some(found.clone()),
        _ => None,
    }
}

/// Whether a field for this use can have values of type `found`.
fn fits(is_for: Use, found: &DataType) -> bool {
    let number = found.is_integer();
    match (found, is_for) {
        (DataType::Null, _) => true,
        (DataType::BinaryView, _) => is_for != Use::Deleted,
        (DataType::FixedSizeBinary(_), _) => matches!(is_for, Use::Key(_)),
        (_, Use::Date) => *found != DataType::Boolean,
        (_, Use::Deleted) => number || *found == DataType::Boolean,
        // Tools write whole numbers as floating-point numbers if one of them is missing.
        (_, Use::Key(_)) => number || *found == DataType::Float64,
        (_, Use::Score) => number || matches!(found, DataType::Float32 | DataType::Float64),
        _ => false,
    }
}

/// The value in row `at`. Dates become seconds since 1970; those without a time zone count as UTC.
fn value(column: &dyn Array, at: usize) -> Value<'_> {
    use DataType::*;
    if column.is_null(at) {
        return Value::Null;
    }
    match column.data_type() {
        Null => Value::Null,
        BinaryView => match std::str::from_utf8(column.as_binary_view().value(at)) {
            Ok(text) => Value::Text(Cow::Borrowed(text)),
            Err(_) => Value::Bytes,
        },
        // Only UUIDs of these are read.
        FixedSizeBinary(_) => {
            Value::Text(Cow::Owned(uuid(column.as_fixed_size_binary().value(at))))
        }
        Boolean => Value::Bool(column.as_boolean().value(at)),
        Int8 => Value::Integer(column.as_primitive::<Int8Type>().value(at).into()),
        Int16 => Value::Integer(column.as_primitive::<Int16Type>().value(at).into()),
        Int32 => Value::Integer(column.as_primitive::<Int32Type>().value(at).into()),
        Int64 => Value::Integer(column.as_primitive::<Int64Type>().value(at)),
        UInt8 => Value::Integer(column.as_primitive::<UInt8Type>().value(at).into()),
        UInt16 => Value::Integer(column.as_primitive::<UInt16Type>().value(at).into()),
        UInt32 => Value::Integer(column.as_primitive::<UInt32Type>().value(at).into()),
        UInt64 => {
            let number = column.as_primitive::<UInt64Type>().value(at);
            i64::try_from(number).map_or(Value::Unsigned(number), Value::Integer)
        }
        Float32 => Value::Float(column.as_primitive::<Float32Type>().value(at).into()),
        Float64 => Value::Float(column.as_primitive::<Float64Type>().value(at)),
        Date32 => Value::Seconds(i64::from(column.as_primitive::<Date32Type>().value(at)) * 86_400),
        Date64 => Value::Seconds(column.as_primitive::<Date64Type>().value(at).div_euclid(1000)),
        Timestamp(unit, _) => Value::Seconds(match unit {
            TimeUnit::Second => column.as_primitive::<TimestampSecondType>().value(at),
            TimeUnit::Millisecond => {
                column.as_primitive::<TimestampMillisecondType>().value(at).div_euclid(1000)
            }
            TimeUnit::Microsecond => {
                column.as_primitive::<TimestampMicrosecondType>().value(at).div_euclid(1_000_000)
            }
            TimeUnit::Nanosecond => {
                column.as_primitive::<TimestampNanosecondType>().value(at).div_euclid(1_000_000_000)
            }
        }),
        _ => Value::Other,
    }
}

/// The text of the UUID of these bytes (RFC 9562, section 4).
fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
