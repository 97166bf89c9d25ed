//! Keeps, for each text that links to gone pages lead to, the live text that replaced it.
//!
//! A link to a page that is gone can lead to where its text is now. While another page has the
//! text, that follows from the live pages. When the last page of a content goes or changes, no
//! other table says where to. So the content gets a successor: a content that is live after the
//! epoch, and near it:
//!
//! - a content that was in its cluster, and with which it had an accepted pair (`choose`),
//! - or a content that the epoch made live and that is accepted with it
//!   ([`crate::fold::renewals`]).
//!
//! The most similar one is chosen, of equally similar ones the least. If there is none, it is the
//! least content of its cluster. Texts that say too little are in no cluster: they have no
//! successor and are no successor of their cluster.
//!
//! Only contents that dead links lead to have rows: the last contents of pages that went, and
//! successors of such contents. While such a content is live, its row names itself. If it died and
//! has no successor, its row says so, because its text may come back and be edited then. So an
//! epoch knows which of the contents that died need a successor; a page that is edited each night
//! leaves nothing. A successor may die in a later epoch and then gets a successor itself. So a
//! chain ends at a live content, or where all near contents went ([`crate::tables::successors`]). A
//! row is forgotten with the last page whose link leads to it, after the job's `[pages] gone_days`.
//! An epoch in which no such content dies reads nothing of the components.

use crate::distinct::distinct;
use crate::error::Result;
use crate::fold::epoch::{Epoch, SharedEpoch};
use crate::fold::passes::{PASS_ROWS, passes};
use crate::fold::touched::TouchedContent;
use crate::fold::wrong_clock::{corrected, seen_max};
use crate::id::Id;
use crate::plan::Plan;
use crate::store::column::KeyRange;
use crate::store::table::{Row as _, consolidate, replacement};
use crate::tables::pages::out_of_time;
use crate::tables::{
    ComponentRow, ContentRow, GoneRow, LeaderRow, MemberRow, PairRow, SuccessorRow,
};
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

/// An accepted pair, before the epoch, of a content that died, sent to the owner of the component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DeadPair {
    /// The component.
    pub component: Id,
    /// The content that died.
    pub died: Id,
    /// The other content.
    pub other: Id,
    /// Their similarity in 1/10,000.
    pub similarity: u64,
}

/// A content that died and a content that may be its successor, sent to the owner of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Succession {
    /// The content that died.
    pub content: Id,
    /// Its successor.
    pub successor: Id,
    /// The similarity of their accepted pair in 1/10,000; 0 if they have none.
    pub similarity: u64,
}

/// The successor of a content that dead links lead to, sent to the owner of the content. That of a
/// live content is the content itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Succeeded {
    /// The content.
    pub content: Id,
    /// Its successor.
    pub successor: Id,
    /// When the last page went whose link leads to the content, seconds since 1970.
    pub last_time: i64,
}

/// The contents of this worker that matter here, each list ascending.
#[derive(Default)]
pub struct Linked {
    /// The contents that died in the epoch.
    pub died: Vec<Id>,
    /// Those of them that dead links lead to, and when the last page went whose link does.
    pub due: Vec<(Id, i64)>,
    /// The live contents to which the links of pages lead that went in the epoch.
    pub live: Vec<Id>,
}

impl Linked {
    /// Whether dead links lead to `content`, which died.
    pub fn is_due(&self, content: Id) -> bool {
        self.due.binary_search_by_key(&content, |due| due.0).is_ok()
    }
}

/// The contents of this worker that the epoch made live (`diff` is +1), or whose last page went
/// (-1), ascending.
fn changed(epoch: &Epoch, diff: i8) -> Result<Vec<Id>> {
    let Some(fresh) = epoch.fresh::<ContentRow>()? else { return Ok(Vec::new()) };
    let mut rows = fresh.all_rows().peekable();
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

/// Whether the epoch may have to find a successor: the job remembers gone pages, and there are
/// contents.
pub fn may_be_due(epoch: &Epoch) -> bool {
    let SharedEpoch { plan, before, .. } = &*epoch.shared;
    // Of all workers: one that owns keys of a content may own no content.
    let has_contents = before.get(ContentRow::NAME).is_some_and(|table| table.rows > 0);
    plan.logical_time >= plan.gone_min && has_contents
}

/// Emits the last contents of the pages of this worker that went in the epoch.
pub fn went(epoch: &Epoch, emit: &mut dyn FnMut(Id)) -> Result<()> {
    let Some(fresh) = epoch.fresh::<GoneRow>()? else { return Ok(()) };
    let gone = fresh.all_rows().filter(|row| row.diff > 0 && !row.content.is_none());
    gone.for_each(|row| emit(row.content));
    Ok(())
}

/// Which contents dead links lead to. `went` ascend and are the last contents of pages that went.
pub fn linked(epoch: &Epoch, went: &[Id]) -> Result<Linked> {
    if !may_be_due(epoch) {
        return Ok(Linked::default());
    }
    let plan = &epoch.shared.plan;
    let before = epoch.before::<ContentRow>()?;
    let mut went = went.to_vec();
    went.dedup();
    let (died, new) = (changed(epoch, -1)?, changed(epoch, 1)?);
    let went_now = went.iter().filter(|content| died.binary_search(content).is_ok());
    let mut due: Vec<(Id, i64)> = went_now.map(|content| (*content, plan.logical_time)).collect();
    let remembered = epoch.before::<SuccessorRow>()?.matching(&died).into_iter();
    due.extend(remembered.filter_map(|row| Some((row.content, remembered_time(&row, plan)?))));
    due.sort_unstable_by_key(|(content, last_time)| (*content, Reverse(*last_time)));
    due.dedup_by_key(|due| due.0);
    let mut live: Vec<Id> = before.matching(&went).into_iter().map(|row| row.content).collect();
    live.retain(|content| died.binary_search(content).is_err());
    live.extend(went.into_iter().filter(|content| new.binary_search(content).is_ok()));
    live.sort_unstable();
    Ok(Linked { died, due, live })
}

/// The time of a row, if the job remembers it still.
fn remembered_time(row: &SuccessorRow, plan: &Plan) -> Option<i64> {
    let is_remembered = row.last_time >= plan.gone_min;
    is_remembered.then(|| corrected(row.last_time, seen_max(plan), plan.logical_time))
}

/// Emits the components, before the epoch, of the contents that are due.
pub fn touched(epoch: &Epoch, linked: &Linked, emit: &mut dyn FnMut(Id)) -> Result<()> {
    if linked.due.is_empty() {
        return Ok(());
    }
    let due: Vec<Id> = linked.due.iter().map(|due| due.0).collect();
    let rows = epoch.before::<ComponentRow>()?.matching(&due);
    distinct(rows.into_iter().map(|row| row.component)).into_iter().for_each(emit);
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

/// Emits `contents` with their leaders before the epoch, except contents that say too little, and
/// contents that died and are not due.
pub fn members(
    epoch: &Epoch,
    contents: &[TouchedContent],
    linked: &Linked,
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
        let lives = linked.died.binary_search(&content).is_err();
        let is_meant = lives || linked.is_due(content);
        if is_meant && row.is_some_and(|row| !row.says_little(&epoch.shared.job.clusters)) {
            emit(SuccessorCandidate { component, leader, content, lives: lives.into() });
        }
    }
    Ok(())
}

/// Emits the accepted pairs, before the epoch, of the contents among `contents` that are due.
pub fn pairs(
    epoch: &Epoch,
    contents: &[TouchedContent],
    linked: &Linked,
    emit: &mut dyn FnMut(DeadPair),
) -> Result<()> {
    if contents.is_empty() {
        return Ok(());
    }
    let contents: Vec<&TouchedContent> =
        contents.iter().filter(|one| linked.is_due(one.content)).collect();
    let ids: Vec<Id> = contents.iter().map(|one| one.content).collect();
    let rows = epoch.before::<PairRow>()?.matching(&ids);
    let mut rows = rows.chunk_by(|a, b| a.content == b.content).peekable();
    for &&TouchedContent { content, component } in &contents {
        let rows = rows.next_if(|rows| rows[0].content == content).unwrap_or_default();
        for row in rows.iter().filter(|row| row.is_accepted()) {
            emit(DeadPair {
                component,
                died: content,
                other: row.other,
                similarity: row.similarity.into(),
            });
        }
    }
    Ok(())
}

/// The successors, of their clusters, of the `members` that died, as the top of this file says.
/// `pairs` are their accepted pairs. Both are sorted.
pub(crate) fn choose(members: &[SuccessorCandidate], pairs: &[DeadPair]) -> Vec<Succession> {
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
                pairs.partition_point(|pair| (pair.component, pair.died) < (component, content));
            let own = pairs[from..]
                .iter()
                .take_while(|pair| (pair.component, pair.died) == (component, content));
            let near = own.filter(|pair| living.binary_search(&pair.other).is_ok());
            let (successor, similarity) = near
                .max_by_key(|pair| (pair.similarity, Reverse(pair.other)))
                .map_or((least, 0), |pair| (pair.other, pair.similarity));
            chosen.push(Succession { content, successor, similarity });
        }
    }
    chosen
}

/// Emits the best of the successors that were `found` for each content that is due, or that it has
/// none, and the live contents that dead links lead to. `found` is sorted.
pub fn best(epoch: &Epoch, found: &[Succession], linked: &Linked, emit: &mut dyn FnMut(Succeeded)) {
    let live = |content, last_time| Succeeded { content, successor: content, last_time };
    let mut found = found.chunk_by(|a, b| a.content == b.content).peekable();
    for &(content, last_time) in &linked.due {
        let found = found.next_if(|found| found[0].content == content).unwrap_or_default();
        let best = found.iter().max_by_key(|one| (one.similarity, Reverse(one.successor)));
        let successor = best.map_or(Id::NONE, |one| one.successor);
        emit(Succeeded { content, successor, last_time });
        if best.is_some() {
            emit(live(successor, last_time));
        }
    }
    linked.live.iter().for_each(|content| emit(live(*content, epoch.shared.plan.logical_time)));
}

/// The rows whose content is in `range`. `rows` ascend by content.
fn in_range<T>(rows: &[T], content: impl Fn(&T) -> Id, range: KeyRange) -> &[T] {
    let start = rows.partition_point(|row| content(row).high < range.from);
    let end = range.to.map_or(rows.len(), |to| rows.partition_point(|row| content(row).high < to));
    &rows[start..end]
}

/// Stores the successors that were `chosen`. A content that is back has itself as successor again.
/// A content whose links went too long ago is forgotten.
pub fn successors(epoch: &Epoch, chosen: &[Succeeded]) -> Result<()> {
    let plan = &epoch.shared.plan;
    let before = epoch.before::<SuccessorRow>()?;
    if before.is_empty() && chosen.is_empty() {
        return Ok(());
    }
    let back = if before.is_empty() { Vec::new() } else { changed(epoch, 1)? };
    let times = plan.gone_min..=seen_max(plan);
    let mut writer = epoch.writer::<SuccessorRow>()?;
    for range in passes(epoch, (before.rows() as u64).div_ceil(PASS_ROWS)) {
        let mut chosen = in_range(chosen, |one| one.content, range).iter().peekable();
        let back = in_range(&back, |content| *content, range);
        let rows = before.segments().iter().flat_map(|one| out_of_time(one, range, times.clone()));
        let out_of_time = consolidate(rows.collect()).into_iter().map(|row| row.content);
        let chosen_now = chosen.clone().map(|one| one.content);
        let contents = distinct(out_of_time.chain(chosen_now).chain(back.iter().copied()));
        let mut rows = before.matching(&contents).into_iter().peekable();
        for content in contents {
            epoch.record_progress();
            let old = rows.next_if(|row| row.content == content);
            let is_back = back.binary_search(&content).is_ok();
            let mut new = old.clone().and_then(|row| {
                Some(SuccessorRow {
                    successor: if is_back { content } else { row.successor },
                    epoch: if is_back { plan.epoch } else { row.epoch },
                    last_time: remembered_time(&row, plan)?,
                    ..row
                })
            });
            // Several contents that died may have the same live successor.
            while let Some(one) = chosen.next_if(|one| one.content == content) {
                let before = new.map_or(i64::MIN, |row| row.last_time);
                new = Some(SuccessorRow {
                    content,
                    successor: one.successor,
                    epoch: plan.epoch,
                    last_time: one.last_time.max(before),
                    diff: 1,
                });
            }
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
                is_pair.then(|| DeadPair { component: id(of), died: id(a), other: id(b), similarity })
            };
            let mut pairs: Vec<DeadPair> = similar.iter().filter_map(pair).collect();
            pairs.sort_unstable();
            let mut expected = BTreeMap::new();
            for (&n, &(component, leader, lives)) in &contents {
                let living = contents.iter().filter(|(_, of)| **of == (component, leader, true)).map(|(other, _)| *other);
                let best = living.min_by_key(|other| (Reverse(pairs.iter().filter(|pair| (pair.died, pair.other) == (id(n), id(*other))).map(|pair| pair.similarity).max()), *other));
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
