//! How much of a store a report holds at once, in memory and on its page.

/// Rows of a table that are held at once, for each of its segments.
pub const PORTION_ROWS: usize = 1 << 14;
/// The lines of each table of the page.
pub const LINES: usize = 20;
