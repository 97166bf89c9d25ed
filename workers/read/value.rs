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
    /// A whole number beyond these.
    Unsigned(u64),
    /// Another number.
    Float(f64),
    /// A date, in seconds since 1970.
    Seconds(i64),
    /// A text.
    Text(Cow<'a, str>),
    /// Bytes that are no UTF-8. A line of JSON with such bytes has no values at all.
    Bytes,
    /// Nothing that a field can use: a list or an object.
    Other,
}
