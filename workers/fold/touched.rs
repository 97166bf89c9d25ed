//! The rows that are sent of the components that an epoch touched: their contents, pages and
//! accepted pairs.

use crate::id::Id;

/// The most rows that are held in memory at once where every cluster is made again.
pub const TOUCHED_ROWS: usize = 1 << 16;

/// A content of a touched component, sent to the content's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct TouchedContent {
    /// The content.
    pub content: Id,
    /// The component; the content itself if it is in none.
    pub component: Id,
}

/// A page of a touched component, sent to the page's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct TouchedPage {
    /// The page.
    pub doc: Id,
    /// The component.
    pub component: Id,
    /// The page's content.
    pub content: Id,
    /// The content's length in characters.
    pub chars: u64,
}

/// An accepted pair of a touched component, sent to the component's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct AcceptedPair {
    /// The component.
    pub component: Id,
    /// The lesser content.
    pub a: Id,
    /// The greater content.
    pub b: Id,
    /// Their similarity in 1/10,000.
    pub similarity: u64,
}
