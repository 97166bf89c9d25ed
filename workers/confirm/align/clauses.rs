//! Groups edits that are close to each other.

use crate::confirm::align::edits::Span;

/// This many edits are a rewritten clause, if few tokens lie between neighbours.
pub const CLAUSE_EDITS: usize = 3;
/// The most tokens between two edits of one clause.
const CLAUSE_GAP_TOKENS: usize = 3;

/// The edits in groups: those that are close to each other are in one group.
pub fn clauses<'e, 's>(edits: &'e [&'s Span]) -> impl Iterator<Item = &'e [&'s Span]> {
    // Furniture between two edits may be longer on one side. So both sides are tested, and the
    // result does not depend on the order of the texts.
    edits.chunk_by(|left, right| {
        (right.a.start - left.a.end).max(right.b.start - left.b.end) <= CLAUSE_GAP_TOKENS
    })
}
