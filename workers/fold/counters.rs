//! What an epoch counts.
//!
//! The manifest keeps the counts and `summary.json` shows them, so each has a fixed name. A name that is typed wrong does not
//! compile.

use crate::candidates::pivots::{self, UnexaminedChange};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

macro_rules! counters {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Something that an epoch counts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Counter {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Counter {
            /// Its name in manifests and summaries.
            pub fn name(self) -> &'static str {
                match self {
                    $(Counter::$variant => $name,)*
                }
            }
        }
    };
}

counters! {
    /// Visits of a URL that another visit of the same epoch replaced.
    VisitsSuperseded = "visits_superseded",
    /// Visits that only saw or removed a page which the store does not have.
    PagesUnknown = "pages_unknown",
    /// Pages that the store did not have.
    PagesNew = "pages_new",
    /// Pages with another text than before.
    PagesChanged = "pages_changed",
    /// Pages with the same text as before.
    PagesSeen = "pages_seen",
    /// Pages that a visit removed.
    PagesRemoved = "pages_removed",
    /// Pages that were not seen for too long.
    PagesExpired = "pages_expired",
    /// Pages that a complete snapshot lacks.
    PagesMissing = "pages_missing",
    /// Pages of the source before a complete snapshot of it.
    PagesKnown = "pages_known",
    /// Contents that got their first page.
    ContentsNew = "contents_born",
    /// Contents that lost their last page.
    ContentsGone = "contents_gone",
    /// Pairs of fingerprints that the epoch found within k.
    FingerprintPairs = "fingerprint_pairs",
    /// Groups of equal fingerprints that are too large to be examined whole.
    GroupsOverPivots = "groups_over_pivots",
    /// Buckets of equal keys that are too large to be examined whole.
    BucketsOverPivots = "buckets_over_pivots",
    /// Pairs that SimHash began to propose.
    CandidatesNew = "candidates_new",
    /// Pairs that SimHash ceased to propose.
    CandidatesDropped = "candidates_dropped",
    /// Pairs that an equal key began to propose.
    KeyCandidatesNew = "key_candidates_new",
    /// Pairs that an equal key ceased to propose.
    KeyCandidatesDropped = "key_candidates_dropped",
    /// Pairs that were decided for the first time.
    PairsNew = "pairs_new",
    /// Pairs that were deleted.
    PairsGone = "pairs_gone",
    /// Pairs that were decided again, with another verdict.
    PairsRedecided = "pairs_redecided",
    /// Pairs that other signatures propose than before.
    PairsReproposed = "pairs_reproposed",
    /// Components that were computed or removed.
    ComponentsTouched = "components_touched",
    /// Components that union-find computed.
    ComponentsJoined = "components_joined",
    /// Components that propagation computed.
    ComponentsPropagated = "components_propagated",
    /// Pages folded by clusters that are new or changed.
    FoldedMore = "folded_more",
    /// Pages folded by the same clusters before.
    FoldedLess = "folded_less",
}

/// The counts of one worker, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    counts: BTreeMap<Counter, u64>,
    /// By the signature's number.
    unexamined: BTreeMap<u8, UnexaminedChange>,
}

impl Counters {
    /// Adds `n` to `counter`, which is then listed even if it is 0.
    pub fn count(&mut self, counter: Counter, n: u64) {
        *self.counts.entry(counter).or_default() += n;
    }

    /// Adds the change of a bucket of `signature` from `before` contents to `after`.
    pub fn bucket(&mut self, signature: u8, before: usize, after: usize) {
        let change = UnexaminedChange::of(before, after);
        if change != UnexaminedChange::default() {
            self.unexamined.entry(signature).or_default().add(change);
        }
    }

    /// Adds another worker's counts.
    pub fn add(&mut self, other: &Counters) {
        other.counts.iter().for_each(|(counter, n)| self.count(*counter, *n));
        for (signature, change) in &other.unexamined {
            self.unexamined.entry(*signature).or_default().add(*change);
        }
    }

    /// The count of `counter`, 0 if it was never counted.
    pub fn get(&self, counter: Counter) -> u64 {
        self.counts.get(&counter).copied().unwrap_or(0)
    }

    /// How the epoch changed what is unexamined, by the signature's number.
    pub fn unexamined(&self) -> &BTreeMap<u8, UnexaminedChange> {
        &self.unexamined
    }

    /// All counts by name, as the manifest keeps them.
    pub fn named(&self) -> BTreeMap<String, u64> {
        let mut named: BTreeMap<String, u64> =
            self.counts.iter().map(|(counter, n)| (counter.name().to_owned(), *n)).collect();
        for (signature, change) in &self.unexamined {
            let signature = pivots::name(*signature);
            let counts = change.named().into_iter().filter(|(_, n)| *n > 0);
            named.extend(counts.map(|(what, n)| (format!("unexamined_{what}.{signature}"), n)));
        }
        named
    }
}
