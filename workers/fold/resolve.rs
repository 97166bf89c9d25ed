//! Resolve: in come pairs of near fingerprints, out go the pairs of contents that the pivot rule begins or ceases to examine. The first members of
//! one group travel to the owner of the other and meet its members there.

use crate::candidates::ranks::{Member, changes_between, changes_within, members};
use crate::document::Id;
use crate::error::Result;
use crate::fold::buckets::NearFingerprints;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::store::runs::Table;
use crate::tables::GroupRow;
use std::collections::BTreeMap;

/// A member of one group on its way to the owner of a near one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Visitor {
    /// The near fingerprint, as band 0's key.
    pub to: u64,
    /// The member's own.
    pub from: u64,
    /// The content.
    pub content: Id,
    /// Its rank before, `u64::MAX` if it was not alive.
    pub before: u64,
    /// Its rank after.
    pub after: u64,
}

const NO_RANK: u64 = u64::MAX;

/// Two contents that a signature proposes (+1) or proposes no longer (-1), told to the owner of the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Candidate {
    /// The lesser content.
    pub content: Id,
    /// The other.
    pub other: Id,
    /// +1 or -1.
    pub diff: i32,
    /// The signature's number, 0 for SimHash; or [`GONE`].
    pub signature: u16,
    /// Bits in which the fingerprints differ, or [`NO_DISTANCE`].
    pub distance: u16,
}

/// `signature` of a stored pair of which a content is gone: it goes, whatever proposes it.
pub const GONE: u16 = u16::MAX;
/// `distance` where the fingerprints are not at hand.
pub const NO_DISTANCE: u16 = u16::MAX;

/// The groups of some keys, before and after the epoch.
fn lookup(epoch: &Epoch, keys: &[u64]) -> Result<BTreeMap<u64, Vec<Member>>> {
    let before: Table<GroupRow> = epoch.before()?;
    let after: Table<GroupRow> = epoch.after()?;
    let (before, after) = (before.matching(keys), after.matching(keys));
    let mut old = before.chunk_by(|a, b| a.key == b.key).peekable();
    let mut new = after.chunk_by(|a, b| a.key == b.key).peekable();
    let group = |&key: &u64| {
        let old = old.next_if(|rows| rows[0].key == key).unwrap_or_default();
        let new = new.next_if(|rows| rows[0].key == key).unwrap_or_default();
        (key, members(old, new, |row: &GroupRow| row.content))
    };
    Ok(keys.iter().map(group).collect())
}

/// Sends the members of each pair's first group that may meet others to the second; `pairs` are sorted and this worker owns their firsts.
pub fn visitors(epoch: &Epoch, pairs: &[NearFingerprints], give: &mut dyn FnMut(Visitor)) -> Result<()> {
    let mut keys: Vec<u64> = pairs.iter().map(|pair| pair.a).collect();
    keys.dedup();
    let groups = lookup(epoch, &keys)?;
    let rank = |rank: Option<usize>| rank.map_or(NO_RANK, |rank| rank as u64);
    for pair in pairs {
        // A group that is to be held against itself is at home: one member calls for that.
        let travel = if pair.a == pair.b { 1 } else { usize::MAX };
        for member in groups[&pair.a].iter().filter(|member| member.was_or_is_pivot()).take(travel) {
            let (before, after) = (rank(member.before), rank(member.after));
            give(Visitor { to: pair.b, from: pair.a, content: member.content, before, after });
        }
    }
    Ok(())
}

/// Lets visitors meet the members of the group that they come to; `visitors` are sorted and this worker owns the groups. `distance`
/// counts the bits in which two fingerprints, as band 0's keys, differ.
pub fn resolve(
    epoch: &Epoch,
    visitors: &[Visitor],
    distance: impl Fn(u64, u64) -> u32,
    give: &mut dyn FnMut(Candidate),
) -> Result<()> {
    let mut keys: Vec<u64> = visitors.iter().map(|visitor| visitor.to).collect();
    keys.dedup();
    let groups = lookup(epoch, &keys)?;
    let rank = |rank: u64| (rank != NO_RANK).then_some(rank as usize);
    for visitors in visitors.chunk_by(|a, b| (a.to, a.from) == (b.to, b.from)) {
        let (to, from) = (visitors[0].to, visitors[0].from);
        let distance = distance(to, from);
        let guests: Vec<Member> = visitors
            .iter()
            .map(|v| Member { content: v.content, before: rank(v.before), after: rank(v.after) })
            .collect();
        let mut found = |content: Id, other: Id, diff: i32| {
            give(Candidate { content, other, diff, signature: 0, distance: distance as u16 });
            epoch.count(if diff > 0 { Counter::CandidatesNew } else { Counter::CandidatesDropped }, 1);
        };
        match to == from {
            true => changes_within(&groups[&to], &mut found),
            false => changes_between(&guests, &groups[&to], &mut found),
        }
    }
    Ok(())
}
