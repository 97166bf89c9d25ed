//! Turns pairs of near fingerprints into pairs of contents that SimHash begins or ceases to
//! propose.
//!
//! The two groups of a pair may have different owners. So the pivots of one group are sent to the
//! owner of the other, where the pivot rule ([`crate::candidates::pivots`]) is applied to both.

use crate::candidates::ranks::{Member, changes_between, changes_within, members, pivots_end};
use crate::error::Result;
use crate::fold::buckets::NearFingerprints;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::id::Id;
use crate::store::runs::Table;
use crate::tables::GroupRow;
use std::collections::BTreeMap;

/// A member of one group, sent to the owner of a group with a near fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct GroupMember {
    /// The near fingerprint, as the sort key of band 0.
    pub to: u64,
    /// The member's own fingerprint, as the sort key of band 0.
    pub from: u64,
    /// The content.
    pub content: Id,
    /// Its rank before the epoch, if it was live.
    pub before: GroupRank,
    /// Its rank after the epoch, if it is live.
    pub after: GroupRank,
    /// [`NearFingerprints::product_max`] of both fingerprints.
    pub product_max: [u32; 2],
}

/// The rank of a content in its group, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct GroupRank(u64);

impl GroupRank {
    const NONE: u64 = u64::MAX;

    /// This rank.
    pub fn of(rank: Option<usize>) -> GroupRank {
        GroupRank(rank.map_or(GroupRank::NONE, |rank| rank as u64))
    }

    /// The rank, if there is one.
    pub fn get(self) -> Option<usize> {
        (self.0 != GroupRank::NONE).then_some(self.0 as usize)
    }
}

/// The number of bits in which two fingerprints differ, if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Distance(u16);

impl Distance {
    /// The distance if the fingerprints are not known.
    pub const UNKNOWN: Distance = Distance(u16::MAX);

    /// A distance of this many bits.
    pub fn of(bits: u32) -> Distance {
        Distance(bits as u16)
    }

    /// The number of bits; `None` if it is not known.
    pub fn get(self) -> Option<u32> {
        (self != Distance::UNKNOWN).then_some(self.0.into())
    }
}

/// Two contents that a signature begins (+1) or ceases (-1) to propose, sent to the owner of one of
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Candidate {
    /// The content whose owner decides the pair: [`decided_at`].
    pub content: Id,
    /// The other content.
    pub other: Id,
    /// +1 or -1.
    pub diff: i32,
    /// The signature's number, 0 for SimHash.
    pub signature: u16,
    /// The number of bits in which the fingerprints differ, if the signature knows it.
    pub distance: Distance,
}

impl Candidate {
    /// The pair of `a` and `b`, in either order.
    pub fn new(a: Id, b: Id, diff: i32, signature: u16, distance: Distance) -> Candidate {
        let (content, other) = decided_at(a, b);
        Candidate { content, other, diff, signature, distance }
    }
}

/// The two contents of a pair. The owner of the first one decides the pair. Symmetric.
///
/// Each content is first in half of its pairs, so that all workers decide about as many pairs. If
/// the lesser content were always first, the first of two workers would decide three quarters.
pub fn decided_at(a: Id, b: Id) -> (Id, Id) {
    let (lesser, greater) = (a.min(b), a.max(b));
    // Contents are digests, so each bit is set in half of them.
    if (a.low ^ b.low) & 1 == 0 { (lesser, greater) } else { (greater, lesser) }
}

/// The contents of a fingerprint before and after the epoch.
struct Group {
    members: Vec<Member>,
    pivots_end: usize,
}

impl Group {
    /// The first members, among which are all that are or were pivots.
    fn pivots(&self) -> &[Member] {
        &self.members[..self.pivots_end]
    }
}

/// The groups of `keys`.
fn lookup(epoch: &Epoch, keys: &[u64]) -> Result<BTreeMap<u64, Group>> {
    let before: Table<GroupRow> = epoch.before()?;
    let after: Table<GroupRow> = epoch.after()?;
    let (before, after) = (before.matching(keys), after.matching(keys));
    let mut old = before.chunk_by(|a, b| a.key == b.key).peekable();
    let mut new = after.chunk_by(|a, b| a.key == b.key).peekable();
    let group = |&key: &u64| {
        let old = old.next_if(|rows| rows[0].key == key).unwrap_or_default();
        let new = new.next_if(|rows| rows[0].key == key).unwrap_or_default();
        let members = members(old, new, |row: &GroupRow| row.content);
        (key, Group { pivots_end: pivots_end(&members), members })
    };
    Ok(keys.iter().map(group).collect())
}

/// Emits the pivots of the first group of each pair. This worker owns the first groups.
pub fn group_members(
    epoch: &Epoch,
    pairs: &[NearFingerprints],
    emit: &mut dyn FnMut(GroupMember),
) -> Result<()> {
    let mut keys: Vec<u64> = pairs.iter().map(|pair| pair.a).collect();
    keys.dedup();
    let groups = lookup(epoch, &keys)?;
    for pair in pairs {
        // A group that is compared with itself is known to its owner. One member is enough to
        // announce it.
        let needed = if pair.a == pair.b { 1 } else { usize::MAX };
        let rank_end = pair.product_max[0].max(pair.product_max[1]) as usize;
        let pivots = groups[&pair.a].pivots().iter();
        for member in pivots.filter(|member| member.was_or_is_below(rank_end)).take(needed) {
            let (before, after) = (GroupRank::of(member.before), GroupRank::of(member.after));
            let (content, product_max) = (member.content, pair.product_max);
            emit(GroupMember { to: pair.b, from: pair.a, content, before, after, product_max });
        }
    }
    Ok(())
}

/// Compares the `received` members with the group that they were sent to, and emits the pairs that
/// begin or cease to be proposed. `distance` counts the bits in which two fingerprints differ, as
/// sort keys of band 0.
pub fn resolve(
    epoch: &Epoch,
    received: &[GroupMember],
    distance: impl Fn(u64, u64) -> u32,
    emit: &mut dyn FnMut(Candidate),
) -> Result<()> {
    let mut keys: Vec<u64> = received.iter().map(|member| member.to).collect();
    keys.dedup();
    let groups = lookup(epoch, &keys)?;
    let (mut added, mut dropped) = (0, 0);
    let member = |m: &GroupMember| Member {
        content: m.content,
        before: m.before.get(),
        after: m.after.get(),
    };
    for received in received.chunk_by(|a, b| (a.to, a.from) == (b.to, b.from)) {
        let (to, from) = (received[0].to, received[0].from);
        let distance = Distance::of(distance(to, from));
        let others: Vec<Member> = received.iter().map(member).collect();
        let mut found = |content: Id, other: Id, diff: i32| {
            emit(Candidate::new(content, other, diff, 0, distance));
            *(if diff > 0 { &mut added } else { &mut dropped }) += 1;
        };
        match to == from {
            true => changes_within(&groups[&to].members, &mut found),
            false => changes_between(
                &others,
                groups[&to].pivots(),
                received[0].product_max.map(|product| product as usize),
                &mut found,
            ),
        }
    }
    epoch.count_any(Counter::CandidatesNew, added);
    epoch.count_any(Counter::CandidatesDropped, dropped);
    Ok(())
}
