//! What a column holds if a record says nothing.

/// The date of a record without a valid date: less than every date.
pub const NO_DATE: i64 = i64::MIN;

/// The score of a record without a valid score: less than every score.
pub const NO_SCORE: i64 = i64::MIN;
