//! The column types of a segment: how a field of a row becomes an Arrow array and comes back. Fixed widths only, but for
//! byte strings, which are `LargeBinary` and never `Utf8`, as Arrow validates `Utf8` at every open.

use crate::document::Id;
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, Int8Array, Int64Array, LargeBinaryArray};
use arrow_array::{UInt8Array, UInt16Array, UInt32Array, UInt64Array};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use std::sync::Arc;

/// A field that a segment can hold.
pub trait Column: Clone + Ord {
    /// Its column in a mapped segment.
    type Array: Array + Clone + 'static;
    /// The Arrow type.
    fn data_type() -> DataType;
    /// The column of `values`.
    fn array(values: impl Iterator<Item = Self>) -> ArrayRef;
    /// Row `row` of a column.
    fn value(array: &Self::Array, row: usize) -> Self;
    /// Feeds the value's canonical bytes, from which multiset hashes are made.
    fn bytes(&self, sink: &mut Vec<u8>);
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
