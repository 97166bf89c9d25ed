//! Holds the value of a field of a row, the same for JSON and Parquet.

use std::borrow::Cow;

/// The value of a field, as far as any field can use it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value<'a> {
    /// Null, or the field is missing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A whole number beyond the range of `Integer`.
    Unsigned(u64),
    /// A floating-point number.
    Float(f64),
    /// A date, in seconds since 1970.
    Seconds(i64),
    /// A text.
    Text(Cow<'a, str>),
    /// Bytes that are no UTF-8, in Parquet only: a JSON line with such bytes is rejected as a
    /// whole.
    Bytes,
    /// A value that no field can use: a list or an object.
    Other,
}
