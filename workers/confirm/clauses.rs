//! Groups edits that are close to each other.

use crate::confirm::edits::Span;

/// Edits that are a rewritten clause if few tokens lie between each two.
pub const CLAUSE_EDITS: usize = 3;
/// The most tokens between two edits of one clause.
const CLAUSE_GAP_TOKENS: usize = 3;

/// The edits, those together that are close to each other.
pub fn clauses<'e, 's>(edits: &'e [&'s Span]) -> impl Iterator<Item = &'e [&'s Span]> {
    // Furniture between two edits may be longer on one side. Both count, so that the order of the
    // texts does not.
    edits.chunk_by(|left, right| {
        (right.a.start - left.a.end).max(right.b.start - left.b.end) <= CLAUSE_GAP_TOKENS
    })
}
