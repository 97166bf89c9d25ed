//! The evidence of a world's texts, read where it is needed.

use crate::error::{Error, Result};
use crate::eval::candidates::Numbered;
use crate::eval::world::World;
use crate::id::Id;
use crate::store::Store;
use crate::store::lookup::Place;
use crate::store::manifest::Head;
use crate::store::open::OpenSegments;
use crate::tables::evidence::{self, Content, StoredEvidence};
use crate::tables::snapshot::Snapshot;
use std::sync::Arc;

/// The evidence of `head`.
pub(super) fn stored_evidence(store: &Store, head: &Head) -> Result<StoredEvidence> {
    let rows = Snapshot::of(store, head).lookup(&OpenSegments::default(), Arc::default())?;
    Ok(StoredEvidence::new(rows))
}

/// The texts that have evidence.
pub(super) fn known(world: &World) -> impl Iterator<Item = (Numbered, u64)> + '_ {
    let numbered = (0..).zip(&world.texts).filter(|(_, text)| text.is_known);
    numbered
        .map(|(number, text)| (Numbered { content: text.content, text: number }, text.fingerprint))
}

/// The places of the evidence of a world's texts.
pub(super) struct Places<'a> {
    world: &'a World,
    stored: &'a StoredEvidence,
    contents: Vec<Id>,
    places: Vec<Place>,
}

impl<'a> Places<'a> {
    pub(super) fn of(world: &'a World, stored: &'a StoredEvidence) -> Result<Places<'a>> {
        let mut contents: Vec<Id> = known(world).map(|(text, _)| text.content).collect();
        contents.sort_unstable();
        let places = stored.places(&contents)?;
        Ok(Places { world, stored, contents, places })
    }

    /// The evidence of a text that has some.
    pub(super) fn read(&self, text: u32) -> Result<Content<'a>> {
        let content = self.world.texts[text as usize].content;
        let at = self
            .contents
            .binary_search(&content)
            .map_err(|_| evidence::damaged(content, "is missing"))?;
        self.stored.read(content, self.places[at])
    }
}

/// An error if `evidence`, of `content`, turned out to be damaged while it was read.
pub(super) fn undamaged(content: Id, evidence: &Content<'_>) -> Result<()> {
    if evidence.is_damaged() {
        Err::<(), Error>(evidence::damaged(content, "is damaged"))
    } else {
        Ok(())
    }
}
