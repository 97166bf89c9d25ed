//! The values of the columns `kind` and `flags` of a visit.

/// `kind`: the page was seen and had not changed.
pub const SEEN: u8 = 0;
/// `kind`: a page was found.
pub const PAGE: u8 = 1;
/// `kind`: the page was removed.
pub const REMOVED: u8 = 2;

/// A bit of `flags`: the text has too few features and folds only with identical texts.
pub const TOO_SHORT: u8 = 1;
/// A bit of `flags`: more than a tenth of the text could not be decoded.
pub const REPLACED: u8 = 2;
