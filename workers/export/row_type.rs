//! What an exported row is: a trait, and the macro that writes its columns for JSON and for Parquet
//! from the fields.

use crate::absent::NO_DATE;
use crate::id::{Id, hex};
use crate::read::date;
use arrow_array::builder::StringBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, StringArray, TimestampMillisecondArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// A row of an exported table.
pub trait ExportRow: Serialize + Send + Sync + 'static {
    /// The table's name.
    const NAME: &'static str;
    /// The columns.
    fn schema() -> SchemaRef;
    /// `rows` as columns.
    fn arrays(rows: &[Self]) -> Vec<ArrayRef>
    where
        Self: Sized,
    {
        Self::columns().iter().map(|column| column(rows)).collect()
    }
    /// Functions that make the columns of rows, in the order of the schema.
    fn columns() -> Vec<fn(&[Self]) -> ArrayRef>
    where
        Self: Sized;
    /// The bytes of its texts.
    fn bytes(&self) -> usize;
    /// The most bytes of the distinct values of a column that Parquet lists in a dictionary, for
    /// each row group. Further values are written in each row.
    const DICTIONARY_BYTES_MAX: usize = 1 << 20;
}

/// A text that several rows share.
#[derive(Clone, Debug, Default)]
pub struct SharedText(Arc<str>);

impl From<String> for SharedText {
    fn from(text: String) -> SharedText {
        SharedText(text.into())
    }
}

impl Serialize for SharedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A number that is shown in hex, with all its digits.
pub trait Number: Copy {
    /// The number of its digits.
    const DIGITS: usize;
    /// Calls `show` with its digits.
    fn shown<T>(self, show: impl FnOnce(&str) -> T) -> T;
}

impl Number for Id {
    const DIGITS: usize = 32;

    fn shown<T>(self, show: impl FnOnce(&str) -> T) -> T {
        show(self.hex().as_str())
    }
}

impl Number for u64 {
    const DIGITS: usize = 16;

    fn shown<T>(self, show: impl FnOnce(&str) -> T) -> T {
        show(hex(self).as_str())
    }
}

/// An id or a fingerprint. It becomes text only when it is written, because the thread that makes
/// the rows of an export has the most work, and would have to allocate each text.
#[derive(Clone, Copy, Debug)]
pub struct Hex<N>(pub N);

impl<N: Number> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.shown(|digits| serializer.serialize_str(digits))
    }
}

impl<N: Number> Hex<N> {
    fn array(cells: impl Iterator<Item = Option<Hex<N>>>) -> StringArray {
        let rows = cells.size_hint().0;
        let mut texts = StringBuilder::with_capacity(rows, rows * N::DIGITS);
        for cell in cells {
            match cell {
                Some(Hex(number)) => number.shown(|digits| texts.append_value(digits)),
                None => texts.append_null(),
            }
        }
        texts.finish()
    }
}

/// The zone of dates.
const UTC: &str = "UTC";

/// A date, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(i64);

impl Moment {
    /// The moment this many seconds after 1970; `None` for [`NO_DATE`].
    pub fn of(seconds: i64) -> Option<Moment> {
        (seconds != NO_DATE).then_some(Moment(seconds))
    }
}

impl Serialize for Moment {
    /// In ISO 8601.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&date::iso_text(self.0))
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

/// The bytes of cells without a text of their own.
fn none<T>(_cell: &T) -> usize {
    0
}

macro_rules! cell {
    ($cell:ty, $type:expr, $nullable:expr, $bytes:expr, |$cells:ident| $array:expr) => {
        impl Cell for $cell {
            const NULLABLE: bool = $nullable;
            fn data_type() -> DataType {
                $type
            }
            fn array<'a>($cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new($array)
            }
            fn bytes(&self) -> usize {
                let bytes: fn(&Self) -> usize = $bytes;
                bytes(self)
            }
        }
    };
}

cell!(String, DataType::Utf8, false, String::len, |cells| StringArray::from_iter_values(cells));
cell!(SharedText, DataType::Utf8, false, |cell| cell.0.len(), |cells| {
    StringArray::from_iter_values(cells.map(|text| &text.0))
});
cell!(
    Option<SharedText>,
    DataType::Utf8,
    true,
    |cell| cell.as_ref().map_or(0, Cell::bytes),
    |cells| {
        let texts = cells.map(|cell| cell.as_ref().map(|text| &*text.0));
        texts.collect::<StringArray>()
    }
);
cell!(Hex<Id>, DataType::Utf8, false, |_| Id::DIGITS, |cells| {
    Hex::array(cells.map(|cell| Some(*cell)))
});
cell!(Option<Hex<Id>>, DataType::Utf8, true, |cell| cell.map_or(0, |_| Id::DIGITS), |cells| {
    Hex::array(cells.copied())
});
cell!(Option<Hex<u64>>, DataType::Utf8, true, |cell| cell.map_or(0, |_| u64::DIGITS), |cells| {
    Hex::array(cells.copied())
});
cell!(&'static str, DataType::Utf8, false, none, |cells| StringArray::from_iter_values(cells));
cell!(Option<String>, DataType::Utf8, true, |cell| cell.as_ref().map_or(0, String::len), |cells| {
    cells.map(Option::as_deref).collect::<StringArray>()
});
cell!(Option<&'static str>, DataType::Utf8, true, none, |cells| {
    cells.copied().collect::<StringArray>()
});
cell!(u32, DataType::UInt32, false, none, |cells| UInt32Array::from_iter_values(cells.copied()));
cell!(u64, DataType::UInt64, false, none, |cells| UInt64Array::from_iter_values(cells.copied()));
cell!(f64, DataType::Float64, false, none, |cells| Float64Array::from_iter_values(cells.copied()));
cell!(Option<u32>, DataType::UInt32, true, none, |cells| cells.copied().collect::<UInt32Array>());
cell!(Option<u64>, DataType::UInt64, true, none, |cells| cells.copied().collect::<UInt64Array>());
cell!(Option<f64>, DataType::Float64, true, none, |cells| cells.copied().collect::<Float64Array>());
cell!(bool, DataType::Boolean, false, none, |cells| {
    cells.map(|cell| Some(*cell)).collect::<BooleanArray>()
});
cell!(
    Option<Moment>,
    DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
    true,
    none,
    |cells| {
        let millis = cells.map(|moment| Some(moment.as_ref()?.0.saturating_mul(1000)));
        millis.collect::<TimestampMillisecondArray>().with_timezone(UTC)
    }
);

/// Declares a row whose fields are the columns of both formats. `dictionary` sets
/// [`ExportRow::DICTIONARY_BYTES_MAX`].
macro_rules! export_row {
    (
        $(#[$meta:meta])*
        pub struct $Row:ident in $name:literal $(, dictionary $dictionary_bytes:literal)? {
            $($field:ident: $Field:ty),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        pub struct $Row {
            $(pub $field: $Field,)*
        }

        impl $crate::export::row_type::ExportRow for $Row {
            const NAME: &'static str = $name;
            $(const DICTIONARY_BYTES_MAX: usize = $dictionary_bytes;)?

            fn schema() -> arrow_schema::SchemaRef {
                use $crate::export::row_type::Cell;
                std::sync::Arc::new(arrow_schema::Schema::new(vec![
                    $(arrow_schema::Field::new(stringify!($field), <$Field>::data_type(), <$Field>::NULLABLE),)*
                ]))
            }

            fn columns() -> Vec<fn(&[Self]) -> arrow_array::ArrayRef> {
                use $crate::export::row_type::Cell;
                vec![$(|rows| <$Field>::array(rows.iter().map(|row| &row.$field)),)*]
            }

            fn bytes(&self) -> usize {
                use $crate::export::row_type::Cell;
                [$(Cell::bytes(&self.$field),)*].iter().sum()
            }
        }
    };
}
pub(crate) use export_row;
