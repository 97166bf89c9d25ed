//! Finds which pages of touched components represented pages before the epoch, and how many.
//!
//! A page that was in no cluster counts as having represented itself, so that a new mirror does not
//! take its place. A page that folded, was gone or had no text represented nothing.
//!
//! All this is read from the tables before the epoch, so rows that a killed attempt wrote do not
//! count. The row of the page has its former content, the row of the content its component and
//! leader, and these two find the row of the cluster. The search begins with the pages and not with
//! the clusters, because a page that was in no cluster has no row in `clusters`. Without
//! `incumbent` in the keep rule no row is read or sent.

use crate::document::Id;
use crate::error::Result;
use crate::fold::epoch::Epoch;
use crate::fold::touched::{TOUCHED_ROWS, TouchedPage};
use crate::tables::{ClusterRow, ComponentRow, LeaderRow, PageRow};

/// A page of a touched component that lived before the epoch, sent to the owner of the content that
/// it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct EarlierPage {
    /// The content before the epoch.
    pub content: Id,
    /// The page.
    pub doc: Id,
}

/// Such a page with its former cluster, sent to the owner of the component before the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct EarlierMember {
    /// The component before the epoch; the content if it was in none.
    pub component: Id,
    /// The leader of the content before the epoch.
    pub leader: Id,
    /// The page.
    pub doc: Id,
}

/// A page that represented pages before the epoch, sent to the page's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Incumbent {
    /// The page.
    pub doc: Id,
    /// The number of pages that it represented.
    pub pages: u64,
}

/// Emits the `touched` pages that had a text before the epoch.
pub fn pages(
    epoch: &Epoch,
    touched: &[TouchedPage],
    emit: &mut dyn FnMut(EarlierPage),
) -> Result<()> {
    if epoch.keep_rule().incumbent_slot().is_none() {
        return Ok(());
    }
    let before = epoch.before::<PageRow>()?;
    for touched in touched.chunks(TOUCHED_ROWS) {
        let docs: Vec<Id> = touched.iter().map(|touched| touched.doc).collect();
        let rows = before.matching(&docs).into_iter().filter(|page| !page.content.is_none());
        rows.for_each(|page| emit(EarlierPage { content: page.content, doc: page.doc }));
    }
    Ok(())
}

/// Emits the `pages` with the clusters that they were in.
pub fn members(
    epoch: &Epoch,
    pages: &[EarlierPage],
    emit: &mut dyn FnMut(EarlierMember),
) -> Result<()> {
    let mut contents: Vec<Id> = pages.iter().map(|page| page.content).collect();
    contents.dedup();
    let components = epoch.before::<ComponentRow>()?.matching(&contents);
    let leaders = epoch.before::<LeaderRow>()?.matching(&contents);
    for &EarlierPage { content, doc } in pages {
        let component = components.binary_search_by_key(&content, |row| row.content).ok();
        let leader = leaders.binary_search_by_key(&content, |row| row.content).ok();
        let (component, leader) = ClusterRow::place_of(
            content,
            component.map(|at| &components[at]),
            leader.map(|at| &leaders[at]),
        );
        emit(EarlierMember { component, leader, doc });
    }
    Ok(())
}

/// Emits the `members` that represented their cluster or were in none.
pub fn incumbents(
    epoch: &Epoch,
    members: &[EarlierMember],
    emit: &mut dyn FnMut(Incumbent),
) -> Result<()> {
    let mut components: Vec<Id> = members.iter().map(|member| member.component).collect();
    components.dedup();
    let rows = epoch.before::<ClusterRow>()?.matching(&components);
    for &EarlierMember { component, leader, doc } in members {
        // A row sorts by component and leader.
        match rows.binary_search_by_key(&(component, leader), ClusterRow::place) {
            Ok(at) if rows[at].representative == doc => {
                emit(Incumbent { doc, pages: rows[at].pages.into() })
            }
            Ok(_) => {}
            Err(_) => emit(Incumbent { doc, pages: 1 }),
        }
    }
    Ok(())
}
