//! The values of the columns `kind` and `flags` of a visit.

/// `kind` of a visit that saw the page and learned nothing new.
pub const SEEN: u8 = 0;
/// `kind` of a visit that found a page.
pub const PAGE: u8 = 1;
/// `kind` of a visit that found the page gone.
pub const REMOVED: u8 = 2;

/// `flags` of a content whose text has too few features: it folds only with identical texts.
pub const TOO_SHORT: u8 = 1;
/// `flags` of a content of which more than a tenth could not be decoded.
pub const REPLACED: u8 = 2;
