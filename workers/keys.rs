//! Keys: in come the keys of contents born and gone, out go the pairs of contents that equal keys propose or propose no
//! longer. Contents that share a key of a signature are a bucket; two of them are examined if one is among the bucket's
//! first [`crate::groups::PIVOTS`] by digest, the same rule as in groups of equal fingerprints, so that a key which a
//! million pages of one template share costs 64 million candidates and not half a trillion. A pair is told once for each
//! key that proposes it. The rule reads nothing but the live set.

use crate::document::Id;
use crate::epoch::Epoch;
use crate::error::Result;
use crate::evidence::{EvidenceRow, row_keys};
use crate::groups::{Member, PIVOTS, change, members};
use crate::resolve::{Candidate, NO_DISTANCE};
use crate::store::table::{consolidate, table};

table! {
    /// A content under a key of one of its signatures.
    pub struct KeyRow in "keys", columns KeyColumns {
        key { /// The key.
              key: u64,
              /// The signature's number.
              kind: u8,
              /// The content.
              content: Id }
        value { }
        history { }
    }
}

/// A key that a content has now (+1) or took along when it went (-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct KeyTouch {
    /// The key, whose owner is told.
    pub key: u64,
    /// The content.
    pub content: Id,
    /// The signature's number.
    pub kind: u32,
    /// +1 or -1.
    pub diff: i32,
}

/// The keys of contents born and gone, as this worker's fresh evidence has them; nothing else of it is read.
pub fn touched(epoch: &Epoch, give: &mut dyn FnMut(KeyTouch)) -> Result<()> {
    let Some(fresh) = epoch.fresh::<EvidenceRow>("evidence")? else { return Ok(()) };
    for position in 0..fresh.len() {
        let (columns, row) = fresh.place(position);
        let (content, diff, keys) = row_keys(columns, row);
        for (kind, key) in keys {
            give(KeyTouch { key, content, kind: u32::from(kind), diff: i32::from(diff) });
        }
    }
    Ok(())
}

/// Calls `found` with every pair of a bucket's `members`, which ascend, that is examined only before (-1, if both live on)
/// or only after (+1), the lesser content first. Looks at the members that changed, and of these with others than
/// pivots only at those that are or were pivots.
fn candidates(members: &[Member], mut found: impl FnMut(Id, Id, i32)) {
    let pivots: Vec<Member> = members.iter().copied().filter(Member::was_or_is_pivot).collect();
    for member in members.iter().filter(|member| member.has_changed()) {
        let others = if member.was_or_is_pivot() { members } else { &pivots };
        for other in others {
            // Of two that changed and see each other the lesser tells.
            let sees = other.has_changed() && (other.was_or_is_pivot() || member.was_or_is_pivot());
            if other.content == member.content || sees && other.content < member.content {
                continue;
            }
            match change(member, other) {
                0 => {}
                diff => found(member.content.min(other.content), member.content.max(other.content), diff),
            }
        }
    }
}

/// Finds pairs in the buckets that this worker owns and stores the keys; `touched` are sorted.
pub fn keys(epoch: &Epoch, touched: &[KeyTouch], give: &mut dyn FnMut(Candidate)) -> Result<()> {
    let row = |touch: &KeyTouch| KeyRow {
        key: touch.key,
        kind: touch.kind as u8,
        content: touch.content,
        diff: touch.diff as i8,
    };
    let mut rows: Vec<KeyRow> = touched.iter().map(row).collect();
    rows.sort_unstable();
    let mut keys: Vec<u64> = rows.iter().map(|row| row.key).collect();
    keys.dedup();
    let before = epoch.before::<KeyRow>("keys")?.matching(&keys);
    let mut before = before.chunk_by(|a, b| (a.key, a.kind) == (b.key, b.kind)).peekable();
    let contents = |rows: &[KeyRow]| rows.iter().map(|row| row.content).collect::<Vec<Id>>();
    for changes in rows.chunk_by(|a, b| (a.key, a.kind) == (b.key, b.kind)) {
        let bucket = (changes[0].key, changes[0].kind);
        // The same key of other signatures was not touched.
        while before.next_if(|rows| (rows[0].key, rows[0].kind) < bucket).is_some() {}
        let old = before.next_if(|rows| (rows[0].key, rows[0].kind) == bucket).unwrap_or_default();
        let new = consolidate([old, changes].concat());
        let signature = u16::from(bucket.1);
        candidates(&members(&contents(old), &contents(&new)), |content, other, diff| {
            give(Candidate { content, other, diff, signature, distance: NO_DISTANCE });
            epoch.count(if diff > 0 { "key_candidates_new" } else { "key_candidates_dropped" }, 1);
        });
        if new.len() > PIVOTS {
            epoch.count("buckets_over_pivots", 1);
        }
    }
    epoch.write("keys", rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Whatever comes and goes, each pair that changes is told once, and as all pairs one by one tell it.
        #[test]
        fn candidates_are_those_of_all_pairs(
            before in prop::collection::btree_set(0u64..160, 0..120),
            after in prop::collection::btree_set(0u64..160, 0..120),
        ) {
            let ids = |set: &BTreeSet<u64>| set.iter().map(|&high| Id { high, low: 0 }).collect::<Vec<Id>>();
            let members = members(&ids(&before), &ids(&after));
            let mut found = Vec::new();
            candidates(&members, |a, b, diff| found.push((a, b, diff)));
            found.sort_unstable();
            let mut expected = Vec::new();
            for (i, a) in members.iter().enumerate() {
                let others = members[i + 1..].iter();
                expected.extend(others.map(|b| (a.content, b.content, change(a, b))).filter(|(_, _, diff)| *diff != 0));
            }
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
