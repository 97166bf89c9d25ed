//! The column types of a segment: how the fields of rows are converted to Arrow arrays and back.
//!
//! All columns have fixed widths, except byte strings. Those are `LargeBinary` and never `Utf8`,
//! because Arrow validates `Utf8` whenever a file is opened.

use crate::id::Id;
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, Int8Array, Int64Array, LargeBinaryArray};
use arrow_array::{UInt8Array, UInt16Array, UInt32Array, UInt64Array};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use std::sync::Arc;

/// The type of a field that a segment can store.
pub trait Column: Clone + Ord {
    /// The column in a mapped segment.
    type Array: Array + Clone + 'static;
    /// The Arrow type.
    fn data_type() -> DataType;
    /// The column of `values`.
    fn array(values: impl Iterator<Item = Self>) -> ArrayRef;
    /// The value in row `row` of a column.
    fn value(array: &Self::Array, row: usize) -> Self;
    /// Appends the value's canonical bytes to `sink`. Multiset hashes are made of them.
    fn bytes(&self, sink: &mut Vec<u8>);
}

/// The type of a column that rows are looked up and routed by.
pub trait Key: Column + Copy + std::fmt::Debug + Send + Sync {
    /// Its first 64 bits, by which it is routed. They never decrease where keys ascend.
    fn leading(&self) -> u64;
    /// The keys whose canonical bytes, one after the other, are `bytes`. `None` if bytes are left
    /// over.
    fn parse_all(bytes: &[u8]) -> Option<Vec<Self>>;
}

/// The keys whose leading bits are in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The least leading bits.
    pub from: u64,
    /// The leading bits that are the first beyond it; `None` if it has no end.
    pub to: Option<u64>,
}

impl KeyRange {
    /// All keys.
    pub const ALL: KeyRange = KeyRange { from: 0, to: None };

    /// The first id and the first one beyond.
    pub fn ids(self) -> (Id, Option<Id>) {
        (Id::least(self.from), self.to.map(Id::least))
    }
}

impl Key for u64 {
    fn leading(&self) -> u64 {
        *self
    }

    fn parse_all(bytes: &[u8]) -> Option<Vec<u64>> {
        let (keys, []) = bytes.as_chunks() else { return None };
        Some(keys.iter().map(|key| u64::from_le_bytes(*key)).collect())
    }
}

impl Key for Id {
    fn leading(&self) -> u64 {
        self.high
    }

    fn parse_all(bytes: &[u8]) -> Option<Vec<Id>> {
        let (keys, []) = bytes.as_chunks() else { return None };
        Some(keys.iter().map(|key| Id::from_bytes(*key)).collect())
    }
}

macro_rules! number {
    ($native:ty, $array:ty, $type:expr) => {
        impl Column for $native {
            type Array = $array;
            fn data_type() -> DataType {
                $type
            }
            fn array(values: impl Iterator<Item = Self>) -> ArrayRef {
                Arc::new(<$array>::from_iter_values(values))
            }
            #[inline]
            fn value(array: &$array, row: usize) -> Self {
                array.value(row)
            }
            fn bytes(&self, sink: &mut Vec<u8>) {
                sink.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}

number!(u8, UInt8Array, DataType::UInt8);
number!(u16, UInt16Array, DataType::UInt16);
number!(u32, UInt32Array, DataType::UInt32);
number!(u64, UInt64Array, DataType::UInt64);
number!(i8, Int8Array, DataType::Int8);
number!(i64, Int64Array, DataType::Int64);

impl Column for Id {
    type Array = FixedSizeBinaryArray;

    fn data_type() -> DataType {
        DataType::FixedSizeBinary(16)
    }

    fn array(values: impl Iterator<Item = Self>) -> ArrayRef {
        let bytes: Vec<u8> = values.flat_map(Id::to_bytes).collect();
        Arc::new(FixedSizeBinaryArray::new(16, Buffer::from(bytes), None))
    }

    #[inline]
    fn value(array: &FixedSizeBinaryArray, row: usize) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(array.value(row));
        Id::from_bytes(bytes)
    }

    fn bytes(&self, sink: &mut Vec<u8>) {
        sink.extend_from_slice(&self.to_bytes());
    }
}

impl Column for Box<[u8]> {
    type Array = LargeBinaryArray;

    fn data_type() -> DataType {
        DataType::LargeBinary
    }

    fn array(values: impl Iterator<Item = Self>) -> ArrayRef {
        Arc::new(LargeBinaryArray::from_iter_values(values))
    }

    fn value(array: &LargeBinaryArray, row: usize) -> Self {
        array.value(row).into()
    }

    fn bytes(&self, sink: &mut Vec<u8>) {
        sink.extend_from_slice(&(self.len() as u64).to_le_bytes());
        sink.extend_from_slice(self);
    }
}
