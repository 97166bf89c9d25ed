//! Finds which pages of touched components represented pages before the epoch, and how many.
//!
//! A page that was in no cluster counts as having represented itself, so that a new mirror does not
//! take its place. A page that folded, was gone or had no text represented nothing. A page that has
//! another text now takes the pages of its cluster along only if another text of its component is
//! in its component now. Otherwise it counts as having represented itself: it came from elsewhere.
//!
//! All this is read from the tables before the epoch, so rows that a killed attempt wrote do not
//! count. The row of the page has its former content, the row of the content its component and
//! leader, and these two find the row of the cluster. The search begins with the pages and not with
//! the clusters, because a page that was in no cluster has no row in `clusters`. Without
//! `incumbent` in the keep rule no row is read or sent.

use crate::error::Result;
use crate::fold::epoch::Epoch;
use crate::fold::touched::{TOUCHED_ROWS, TouchedContent, TouchedPage};
use crate::id::Id;
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
    /// The component of its text after the epoch, if that is another text; otherwise [`Id::NONE`].
    pub moved_to: Id,
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
    /// As in [`EarlierPage`].
    pub moved_to: Id,
}

/// Two components that have a content in common, sent to the owner of the one before the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SharedContent {
    /// The component before the epoch; the content if it was in none.
    pub before: Id,
    /// The component after the epoch.
    pub after: Id,
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
        let mut rows = before.matching(&docs).into_iter().peekable();
        for touched in touched {
            let Some(page) = rows.next_if(|page| page.doc == touched.doc) else { continue };
            let (content, doc) = (page.content, page.doc);
            let moved_to = if content == touched.content { Id::NONE } else { touched.component };
            if !content.is_none() {
                emit(EarlierPage { content, doc, moved_to });
            }
        }
    }
    Ok(())
}

/// Emits the components before and after the epoch of the `touched` contents.
pub fn shared(
    epoch: &Epoch,
    touched: &[TouchedContent],
    emit: &mut dyn FnMut(SharedContent),
) -> Result<()> {
    if epoch.keep_rule().incumbent_slot().is_none() {
        return Ok(());
    }
    let contents: Vec<Id> = touched.iter().map(|touched| touched.content).collect();
    let mut components = epoch.before::<ComponentRow>()?.matching(&contents).into_iter().peekable();
    for &TouchedContent { content, component } in touched {
        let row = components.next_if(|row| row.content == content);
        emit(SharedContent { before: row.map_or(content, |row| row.component), after: component });
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
    for &EarlierPage { content, doc, moved_to } in pages {
        let component = components.binary_search_by_key(&content, |row| row.content).ok();
        let leader = leaders.binary_search_by_key(&content, |row| row.content).ok();
        let (component, leader) = ClusterRow::place_of(
            content,
            component.map(|at| &components[at]),
            leader.map(|at| &leaders[at]),
        );
        emit(EarlierMember { component, leader, doc, moved_to });
    }
    Ok(())
}

/// Emits the `members` that represented their cluster or were in none. `shared` are the contents
/// that components before and after the epoch have in common. Both ascend.
pub fn incumbents(
    epoch: &Epoch,
    members: &[EarlierMember],
    shared: &[SharedContent],
    emit: &mut dyn FnMut(Incumbent),
) -> Result<()> {
    let mut components: Vec<Id> = members.iter().map(|member| member.component).collect();
    components.dedup();
    let rows = epoch.before::<ClusterRow>()?.matching(&components);
    for &EarlierMember { component, leader, doc, moved_to } in members {
        let stayed = || shared.binary_search(&SharedContent { before: component, after: moved_to });
        // A row sorts by component and leader.
        match rows.binary_search_by_key(&(component, leader), ClusterRow::place) {
            Ok(at) if rows[at].representative == doc => {
                let is_with_them = moved_to.is_none() || stayed().is_ok();
                emit(Incumbent { doc, pages: if is_with_them { rows[at].pages.into() } else { 1 } })
            }
            Ok(_) => {}
            Err(_) => emit(Incumbent { doc, pages: 1 }),
        }
    }
    Ok(())
}
