//! The rows of tables: a sort key, values, and a diff of +1 (added) or -1 (retracted).
//!
//! Over all runs of a table the diffs of a row sum to 0 or 1. `table!` declares a row type with its
//! conversion to Arrow columns and back.

use crate::error::{Error, Kind};
use crate::store::column::{Column, Key};
use crate::store::damage::{DEEP_HELPS, end_reading};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

/// The number of rows in a batch, unless a table declares another. A whole batch is read and
/// checked when one of its rows is needed, so it is small: a batch of keys has 53 KB. A segment of
/// 50 million rows has 24,415 batches; opening it reads its footer alone.
pub const BATCH_ROWS: usize = 1 << 11;

/// A row of a table.
pub trait Row: Clone + Ord + std::fmt::Debug + Send + 'static {
    /// The name of the table, which is its folder in the store unless several tables have this
    /// shape.
    const NAME: &'static str;
    /// The type of the first column, by which rows are looked up.
    type Key: Key;
    /// The mapped columns of a batch.
    type Columns: Clone + Send + Sync;
    /// The number of rows in a batch of a segment. Tables with large rows have fewer, so that a
    /// decoded batch stays small.
    const BATCH_ROWS: usize = BATCH_ROWS;
    /// The bits that a filter has for each row of its batch, see [`crate::store::segment`]; 0 if
    /// segments have no filters.
    const FILTER_BITS: usize = 0;

    /// The lookup key.
    fn key(&self) -> Self::Key;
    /// +1 if the row was added, -1 if it was retracted.
    fn diff(&self) -> i8;
    /// The same row with another diff.
    fn with_diff(self, diff: i8) -> Self;
    /// The Arrow schema.
    fn schema() -> SchemaRef;
    /// `rows` as Arrow columns.
    fn arrays(rows: &[Self]) -> Vec<ArrayRef>;
    /// The columns of a batch, or none if the batch is not of this table.
    fn columns(batch: &RecordBatch) -> Option<Self::Columns>;
    /// The row at `row` in a batch.
    fn row(columns: &Self::Columns, row: usize) -> Self;
    /// The keys of a batch, one for each row, as mapped.
    fn keys(columns: &Self::Columns) -> &<Self::Key as Column>::Array;
    /// The diffs of a batch, one for each row, as mapped.
    fn diffs(columns: &Self::Columns) -> &[i8];
    /// The key of the row at `row` in a batch. Other columns are not read.
    #[inline]
    fn key_at(columns: &Self::Columns, row: usize) -> Self::Key {
        Self::Key::value(Self::keys(columns), row)
    }
    /// Appends the canonical bytes of all columns except `diff` and the history to `sink`: the
    /// columns that a run from scratch would write, too.
    fn content_bytes(&self, sink: &mut Vec<u8>);
}

/// Declares a table. Rows sort by the `key` fields first, then by the `value` fields; lookups use
/// the first `key` field. `history` fields (when a row was first and last seen) are stored but are
/// not part of the multiset hash. `batch` sets the rows of a batch, and `filter` the bits of
/// filters for each.
macro_rules! table {
    (
        $(#[$meta:meta])*
        pub struct $Row:ident in $name:literal, columns $Columns:ident $(, batch $batch:literal)? $(, filter $bits:literal)? {
            key { $(#[$lead_meta:meta])* $lead:ident: $Lead:ty $(, $(#[$key_meta:meta])* $key:ident: $Key:ty)* $(,)? }
            value { $($(#[$value_meta:meta])* $value:ident: $Value:ty),* $(,)? }
            history { $($(#[$history_meta:meta])* $history:ident: $History:ty),* $(,)? }
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $Row {
            $(#[$lead_meta])* pub $lead: $Lead,
            $($(#[$key_meta])* pub $key: $Key,)*
            $($(#[$value_meta])* pub $value: $Value,)*
            $($(#[$history_meta])* pub $history: $History,)*
            /// +1 if the row was added, -1 if it was retracted.
            pub diff: i8,
        }

        /// The mapped columns of a batch.
        #[derive(Clone)]
        pub struct $Columns {
            $lead: <$Lead as $crate::store::column::Column>::Array,
            $($key: <$Key as $crate::store::column::Column>::Array,)*
            $($value: <$Value as $crate::store::column::Column>::Array,)*
            $($history: <$History as $crate::store::column::Column>::Array,)*
            diff: arrow_array::Int8Array,
        }

        impl $crate::store::table::Row for $Row {
            const NAME: &'static str = $name;
            type Key = $Lead;
            type Columns = $Columns;
            $(const BATCH_ROWS: usize = $batch;)?
            $(const FILTER_BITS: usize = $bits;)?

            fn key(&self) -> $Lead {
                self.$lead
            }

            fn diff(&self) -> i8 {
                self.diff
            }

            fn with_diff(mut self, diff: i8) -> Self {
                self.diff = diff;
                self
            }

            fn schema() -> arrow_schema::SchemaRef {
                use $crate::store::column::Column;
                let field = |name: &str, kind| arrow_schema::Field::new(name, kind, false);
                std::sync::Arc::new(arrow_schema::Schema::new(vec![
                    field(stringify!($lead), <$Lead>::data_type()),
                    $(field(stringify!($key), <$Key>::data_type()),)*
                    $(field(stringify!($value), <$Value>::data_type()),)*
                    $(field(stringify!($history), <$History>::data_type()),)*
                    field("diff", i8::data_type()),
                ]))
            }

            fn arrays(rows: &[Self]) -> Vec<arrow_array::ArrayRef> {
                use $crate::store::column::Column;
                vec![
                    <$Lead>::array(rows.iter().map(|row| row.$lead)),
                    $(<$Key>::array(rows.iter().map(|row| row.$key.clone())),)*
                    $(<$Value>::array(rows.iter().map(|row| row.$value.clone())),)*
                    $(<$History>::array(rows.iter().map(|row| row.$history.clone())),)*
                    i8::array(rows.iter().map(|row| row.diff)),
                ]
            }

            fn columns(batch: &arrow_array::RecordBatch) -> Option<$Columns> {
                fn column<A: Clone + 'static>(batch: &arrow_array::RecordBatch, name: &str) -> Option<A> {
                    batch.column_by_name(name)?.as_any().downcast_ref::<A>().cloned()
                }
                Some($Columns {
                    $lead: column(batch, stringify!($lead))?,
                    $($key: column(batch, stringify!($key))?,)*
                    $($value: column(batch, stringify!($value))?,)*
                    $($history: column(batch, stringify!($history))?,)*
                    diff: column(batch, "diff")?,
                })
            }

            fn row(columns: &$Columns, row: usize) -> Self {
                use $crate::store::column::Column;
                $Row {
                    $lead: <$Lead>::value(&columns.$lead, row),
                    $($key: <$Key>::value(&columns.$key, row),)*
                    $($value: <$Value>::value(&columns.$value, row),)*
                    $($history: <$History>::value(&columns.$history, row),)*
                    diff: i8::value(&columns.diff, row),
                }
            }

            #[inline]
            fn keys(columns: &$Columns) -> &<$Lead as $crate::store::column::Column>::Array {
                &columns.$lead
            }

            fn diffs(columns: &$Columns) -> &[i8] {
                columns.diff.values()
            }

            fn content_bytes(&self, sink: &mut Vec<u8>) {
                use $crate::store::column::Column;
                self.$lead.bytes(sink);
                $(self.$key.bytes(sink);)*
                $(self.$value.bytes(sink);)*
            }
        }
    };
}
pub(crate) use table;

/// A hash of a multiset of rows: the wrapping sum of the rows' xxh3-128, negated where `diff` is
/// -1.
///
/// It does not depend on the order of rows, on their division into runs, or on rows that were added
/// and retracted. It detects faults, not adversaries.
///
/// As text it is 32 hex digits. An empty text is the hash of no rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MultisetHash(pub u128);

impl std::fmt::Display for MultisetHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl From<MultisetHash> for String {
    fn from(hash: MultisetHash) -> String {
        hash.to_string()
    }
}

impl TryFrom<String> for MultisetHash {
    type Error = std::num::ParseIntError;

    fn try_from(hex: String) -> Result<MultisetHash, Self::Error> {
        if hex.is_empty() {
            Ok(MultisetHash::default())
        } else {
            u128::from_str_radix(&hex, 16).map(MultisetHash)
        }
    }
}

impl MultisetHash {
    /// Adds a row. `scratch` is a buffer that saves an allocation for each row.
    pub fn add<R: Row>(&mut self, row: &R, scratch: &mut Vec<u8>) {
        scratch.clear();
        row.content_bytes(scratch);
        let hash = xxhash_rust::xxh3::xxh3_128(scratch);
        self.0 = if row.diff() > 0 { self.0.wrapping_add(hash) } else { self.0.wrapping_sub(hash) };
    }

    /// The hash of the sum of both multisets.
    pub fn plus(self, other: MultisetHash) -> MultisetHash {
        MultisetHash(self.0.wrapping_add(other.0))
    }
}

/// Cancels rows that were both added and retracted, and sorts the others. For each net change one
/// row is left.
///
/// Ends the reading ([`end_reading`]) if a row was added or retracted twice, because the diffs of a
/// row sum to 0 or 1.
pub fn consolidate<R: Row>(mut rows: Vec<R>) -> Vec<R> {
    if rows.is_sorted_by(|a, b| a < b) && rows.iter().all(|row| row.diff() > 0) {
        return rows;
    }
    let mut updates: Vec<(R, isize)> = rows
        .drain(..)
        .map(|row| {
            let diff = row.diff();
            (row.with_diff(1), isize::from(diff))
        })
        .collect();
    differential_dataflow::consolidation::consolidate(&mut updates);
    updates
        .into_iter()
        .map(|(row, sum)| match sum {
            1 | -1 => row.with_diff(sum as i8),
            _ => end_reading(Error::new(
                Kind::Io,
                format!("table {}: a row is there {sum} times; {DEEP_HELPS}: {row:?}", R::NAME),
            )),
        })
        .collect()
}

/// The rows that replace `old` by `new`, ascending. There are none if both are equal.
pub fn replacement<R: Row>(old: Option<R>, new: Option<R>) -> impl Iterator<Item = R> {
    let mut rows = match old == new {
        true => [None, None],
        false => [old.map(|row| row.with_diff(-1)), new],
    };
    // Rows sort by their values first, so the new row may come first.
    rows.sort_unstable();
    rows.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::store::testing::ValueRow;

    /// The old row is retracted and the new one is added, in the order of their values. Equal rows
    /// change nothing.
    #[test]
    fn a_row_replaces_another() {
        let row = |n, diff| ValueRow { id: Id::MAX, value: Id { high: n, low: 0 }, diff };
        let of = |old: Option<u64>, new: Option<u64>| {
            let row = |n| row(n, 1);
            replacement(old.map(row), new.map(row)).collect::<Vec<_>>()
        };
        assert_eq!(of(Some(1), Some(2)), [row(1, -1), row(2, 1)]);
        assert_eq!(of(Some(2), Some(1)), [row(1, 1), row(2, -1)]);
        assert_eq!(of(Some(1), None), [row(1, -1)]);
        assert_eq!(of(None, Some(1)), [row(1, 1)]);
        assert_eq!(of(Some(1), Some(1)), []);
        assert_eq!(of(None, None), []);
    }

    /// In JSON a multiset hash is 32 hex digits with leading zeros. An empty text is the hash of no
    /// rows, and other texts are refused.
    #[test]
    fn multiset_hashes_as_text() {
        let hash = MultisetHash(5 << 64 | 0xa1);
        let text = "\"000000000000000500000000000000a1\"";
        assert_eq!(serde_json::to_string(&hash).expect("a text"), text);
        assert_eq!(serde_json::from_str::<MultisetHash>(text).expect("a hash"), hash);
        assert_eq!(
            serde_json::from_str::<MultisetHash>("\"\"").expect("a hash"),
            MultisetHash::default()
        );
        assert!(serde_json::from_str::<MultisetHash>("\"xyz\"").is_err());
    }
}
