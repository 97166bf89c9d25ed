//! Remembers the successor of a content that no page has any more.
//!
//! A link to a page that is gone can lead to where its text is now. While another page has the
//! text, that follows from the live pages. When the last page of a content goes, its cluster may
//! stay, and no other table says which cluster that was. So the content gets a successor: a content
//! that was in its cluster before the epoch and is live after it. The successor is the most similar
//! of the contents with which it had an accepted pair, or the least of equally similar ones.
//! Without such a pair it is the least content of the cluster (`choose`). Texts that say too little
//! are in no cluster: they have no successor and are no successor.
//!
//! A successor may go in a later epoch and then gets a successor itself. So a chain ends at a live
//! content, or where a whole cluster went ([`crate::tables::successors`]). A content that comes
//! back needs no successor. Rows are forgotten like pages that went at the same time, after the
//! job's `[pages] gone_days`. An epoch in which no content goes reads nothing of the components.

use crate::document::Id;
use crate::error::Result;
use crate::fold::epoch::Epoch;
use crate::fold::passes::{PASS_ROWS, passes};
use crate::fold::touched::{AcceptedPair, TouchedContent};
use crate::fold::wrong_clock::{corrected, seen_max};
use crate::store::table::{consolidate, replacement};
use crate::tables::pages::out_of_time;
use crate::tables::{ComponentRow, ContentRow, LeaderRow, MemberRow, PairRow, SuccessorRow};
use std::cmp::Reverse;

/// A content that was, before the epoch, in a component of which a content died. Sent to the owner
/// of the component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SuccessorCandidate {
    /// The component.
    pub component: Id,
    /// The leader of the content, which tells the cluster within the component.
    pub leader: Id,
    /// The content.
    pub content: Id,
    /// 1 if it lives after the epoch, 0 if it died.
    pub lives: u64,
}

/// A content that died and its successor, sent to the owner of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Succession {
    /// The content that died.
    pub content: Id,
    /// Its successor.
    pub successor: Id,
}

/// The contents of this worker that the epoch made live (`diff` is +1), or whose last page went
/// (-1), ascending.
fn changed(epoch: &Epoch, diff: i8) -> Result<Vec<Id>> {
    let Some(fresh) = epoch.fresh::<ContentRow>()? else { return Ok(Vec::new()) };
    let mut rows = (0..fresh.len()).map(|at| fresh.row(at)).peekable();
    let mut contents = Vec::new();
    // A content that is live before and after, but changed, has two rows.
    while let Some(row) = rows.next() {
        let sum =
            row.diff + rows.next_if(|next| next.content == row.content).map_or(0, |next| next.diff);
        if sum == diff {
            contents.push(row.content);
        }
    }
    Ok(contents)
}

/// The contents of this worker that died in the epoch, ascending. Empty if the job remembers
/// nothing that is gone.
pub fn died(epoch: &Epoch) -> Result<Vec<Id>> {
    let plan = &epoch.shared.plan;
    if plan.logical_time < plan.gone_min || epoch.before::<ContentRow>()?.is_empty() {
        return Ok(Vec::new());
    }
    changed(epoch, -1)
}

/// Emits the components, before the epoch, of the contents that `died`.
pub fn touched(epoch: &Epoch, died: &[Id], emit: &mut dyn FnMut(Id)) -> Result<()> {
    let rows = epoch.before::<ComponentRow>()?.matching(died);
    let mut components: Vec<Id> = rows.into_iter().map(|row| row.component).collect();
    components.sort_unstable();
    components.dedup();
    components.into_iter().for_each(emit);
    Ok(())
}

/// Emits the contents of `components`, which ascend, before the epoch.
pub fn contents(
    epoch: &Epoch,
    components: &[Id],
    emit: &mut dyn FnMut(TouchedContent),
) -> Result<()> {
    let mut components = components.to_vec();
    components.dedup();
    let rows = epoch.before::<MemberRow>()?.matching(&components).into_iter();
    rows.for_each(|row| emit(TouchedContent { component: row.component, content: row.content }));
    Ok(())
}

/// Emits `contents` with their leaders before the epoch, except contents that say too little.
pub fn members(
    epoch: &Epoch,
    contents: &[TouchedContent],
    died: &[Id],
    emit: &mut dyn FnMut(SuccessorCandidate),
) -> Result<()> {
    if contents.is_empty() {
        return Ok(());
    }
    let ids: Vec<Id> = contents.iter().map(|one| one.content).collect();
    let mut rows = epoch.before::<ContentRow>()?.matching(&ids).into_iter().peekable();
    let mut leaders = epoch.before::<LeaderRow>()?.matching(&ids).into_iter().peekable();
    for &TouchedContent { content, component } in contents {
        let row = rows.next_if(|row| row.content == content);
        let leader =
            leaders.next_if(|row| row.content == content).map_or(component, |row| row.leader);
        if row.is_some_and(|row| !row.says_little(&epoch.shared.job.clusters)) {
            let lives = died.binary_search(&content).is_err().into();
            emit(SuccessorCandidate { component, leader, content, lives });
        }
    }
    Ok(())
}

/// Emits the accepted pairs, before the epoch, of the contents among `contents` that `died`. The
/// content that died comes first.
pub fn pairs(
    epoch: &Epoch,
    contents: &[TouchedContent],
    died: &[Id],
    emit: &mut dyn FnMut(AcceptedPair),
) -> Result<()> {
    if contents.is_empty() {
        return Ok(());
    }
    let dead = |one: &&TouchedContent| died.binary_search(&one.content).is_ok();
    let contents: Vec<&TouchedContent> = contents.iter().filter(dead).collect();
    let ids: Vec<Id> = contents.iter().map(|one| one.content).collect();
    let rows = epoch.before::<PairRow>()?.matching(&ids);
    let mut rows = rows.chunk_by(|a, b| a.content == b.content).peekable();
    for &&TouchedContent { content, component } in &contents {
        let rows = rows.next_if(|rows| rows[0].content == content).unwrap_or_default();
        for row in rows.iter().filter(|row| row.accepted == 1) {
            emit(AcceptedPair {
                component,
                a: content,
                b: row.other,
                similarity: row.similarity.into(),
            });
        }
    }
    Ok(())
}

/// The successors of the `members` that died, as the top of this file says. `pairs` are their
/// accepted pairs, each with the content that died as `a`. Both are sorted.
pub(crate) fn choose(members: &[SuccessorCandidate], pairs: &[AcceptedPair]) -> Vec<Succession> {
    let mut chosen = Vec::new();
    for cluster in members.chunk_by(|a, b| (a.component, a.leader) == (b.component, b.leader)) {
        let living: Vec<Id> = cluster
            .iter()
            .filter(|member| member.lives == 1)
            .map(|member| member.content)
            .collect();
        let Some(&least) = living.first() else { continue };
        for &SuccessorCandidate { component, content, .. } in
            cluster.iter().filter(|member| member.lives == 0)
        {
            let from =
                pairs.partition_point(|pair| (pair.component, pair.a) < (component, content));
            let own = pairs[from..]
                .iter()
                .take_while(|pair| (pair.component, pair.a) == (component, content));
            let near = own.filter(|pair| living.binary_search(&pair.b).is_ok());
            let successor = near
                .max_by_key(|pair| (pair.similarity, Reverse(pair.b)))
                .map_or(least, |pair| pair.b);
            chosen.push(Succession { content, successor });
        }
    }
    chosen
}

/// The rows whose content is in `[from, to)`. `rows` ascend by content.
fn in_range<T>(rows: &[T], content: impl Fn(&T) -> Id, from: u64, to: Option<u64>) -> &[T] {
    let start = rows.partition_point(|row| content(row).high < from);
    let end = to.map_or(rows.len(), |to| rows.partition_point(|row| content(row).high < to));
    &rows[start..end]
}

/// Stores the successors that were `chosen`, and forgets the successors of contents that are back
/// or died too long ago.
pub fn successors(epoch: &Epoch, chosen: &[Succession]) -> Result<()> {
    let plan = &epoch.shared.plan;
    let before = epoch.before::<SuccessorRow>()?;
    if before.is_empty() && chosen.is_empty() {
        return Ok(());
    }
    let back = if before.is_empty() { Vec::new() } else { changed(epoch, 1)? };
    let (gone_min, seen_max) = (plan.gone_min, seen_max(plan));
    let mut writer = epoch.writer::<SuccessorRow>()?;
    for (from, to) in passes(epoch, (before.rows() as u64).div_ceil(PASS_ROWS)) {
        let mut due = in_range(chosen, |one| one.content, from, to).iter().peekable();
        let back = in_range(&back, |content| *content, from, to);
        let rows =
            before.segments().iter().flat_map(|one| out_of_time(one, from, to, gone_min, seen_max));
        let mut contents: Vec<Id> =
            consolidate(rows.collect()).into_iter().map(|row| row.content).collect();
        contents.extend(due.clone().map(|one| one.content));
        contents.extend(back);
        contents.sort_unstable();
        contents.dedup();
        let mut rows = before.matching(&contents).into_iter().peekable();
        for content in contents {
            epoch.advanced();
            let old = rows.next_if(|row| row.content == content);
            let new = match due.next_if(|one| one.content == content) {
                Some(&Succession { content, successor }) => Some(SuccessorRow {
                    content,
                    successor,
                    epoch: plan.epoch,
                    last_time: plan.logical_time,
                    diff: 1,
                }),
                None if back.binary_search(&content).is_ok() => None,
                None => {
                    old.clone().filter(|row| row.last_time >= gone_min).map(|row| SuccessorRow {
                        last_time: corrected(row.last_time, seen_max, plan.logical_time),
                        ..row
                    })
                }
            };
            replacement(old, new).try_for_each(|row| writer.push(row))?;
        }
    }
    epoch.finish(writer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn id(n: u64) -> Id {
        Id { high: n, low: 0 }
    }

    proptest! {
        /// Each content that died has the successor that the rule names, read literally: the living
        /// content of its cluster that comes first by whether it had an accepted pair, by its
        /// similarity, and by its id. It has none if no other of its cluster lives.
        #[test]
        fn equals_the_rule(
            contents in prop::collection::btree_map(0u64..30, (0u64..3, 0u64..3, prop::bool::ANY), 0..24),
            similar in prop::collection::btree_map((0u64..30, 0u64..30), 7000u64..7004, 0..80),
        ) {
            let member = |(&n, &(component, leader, lives)): (&u64, &(u64, u64, bool))| {
                SuccessorCandidate { component: id(component), leader: id(10 * component + leader), content: id(n), lives: lives.into() }
            };
            let mut members: Vec<SuccessorCandidate> = contents.iter().map(member).collect();
            members.sort_unstable();
            // Pairs are within a component, and may be of two clusters.
            let pair = |(&(a, b), &similarity): (&(u64, u64), &u64)| {
                let (&(of, _, lives), &(other, ..)) = (contents.get(&a)?, contents.get(&b)?);
                let is_pair = a != b && of == other && !lives;
                is_pair.then(|| AcceptedPair { component: id(of), a: id(a), b: id(b), similarity })
            };
            let mut pairs: Vec<AcceptedPair> = similar.iter().filter_map(pair).collect();
            pairs.sort_unstable();
            let mut expected = BTreeMap::new();
            for (&n, &(component, leader, lives)) in &contents {
                let living = contents.iter().filter(|(_, of)| **of == (component, leader, true)).map(|(other, _)| *other);
                let best = living.min_by_key(|other| (Reverse(pairs.iter().filter(|pair| (pair.a, pair.b) == (id(n), id(*other))).map(|pair| pair.similarity).max()), *other));
                if let Some(best) = best.filter(|_| !lives) {
                    expected.insert(id(n), id(best));
                }
            }
            let chosen = choose(&members, &pairs);
            prop_assert_eq!(chosen.len(), expected.len());
            prop_assert_eq!(chosen.into_iter().map(|one| (one.content, one.successor)).collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
