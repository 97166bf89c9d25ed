//! The counts of an epoch.
//!
//! They are kept in the manifest and shown in `summary.json`, so their names are part of the
//! format. Each count is a variant of [`Counter`], so a misspelt one does not compile.

use crate::candidates::near;
use crate::candidates::pivots::{self, UnexaminedChange};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

macro_rules! counters {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A count of an epoch.
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
    /// Visits that say exactly what another visit of the epoch says. The commit adds them to the
    /// note `repeated`, which a split counts for its own visits.
    VisitsRepeated = "visits_repeated",
    /// Visits of a URL that another visit of the same epoch replaced.
    VisitsSuperseded = "visits_superseded",
    /// Superseded visits that have another text than the visit that replaced them, and the same
    /// date or none.
    VisitsOverwritten = "visits_overwritten",
    /// Superseded visits that have another text than the visit that replaced them, and an earlier
    /// date, or one too far ahead.
    VisitsReplaced = "visits_replaced",
    /// Replaced visits that are in another input than the visit that replaced them, and not in the
    /// inbox of a server.
    VisitsReplacedElsewhere = "visits_replaced_elsewhere",
    /// Superseded visits and removals without a date that say something else than the visit that
    /// replaced them, which has no date either and is in another input.
    VisitsUndatedElsewhere = "visits_undated_elsewhere",
    /// Visits that are older than what the store has of the URL.
    VisitsOutdated = "visits_outdated",
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
    /// Pages that were last seen too long ago.
    PagesExpired = "pages_expired",
    /// Pages that a complete snapshot lacks.
    PagesMissing = "pages_missing",
    /// Pages that a complete snapshot lacks and that stay, because some of its records do not say
    /// which page they are about.
    PagesMissingKept = "pages_missing_kept",
    /// Live pages of a source before the epoch that read a complete snapshot of it.
    PagesKnown = "pages_known",
    /// Contents that got their first page.
    ContentsNew = "contents_born",
    /// Contents that lost their last page.
    ContentsGone = "contents_gone",
    /// Pairs of fingerprints within k bits that the epoch found and looked at.
    FingerprintPairs = "fingerprint_pairs",
    /// Touched groups of equal fingerprints that are too large to compare all pairs.
    GroupsOverPivots = "groups_over_pivots",
    /// Touched buckets of equal keys that are too large to compare all pairs.
    BucketsOverPivots = "buckets_over_pivots",
    /// Pairs that SimHash proposes and did not propose before.
    CandidatesNew = "candidates_new",
    /// Pairs that SimHash proposed before and does not propose any more.
    CandidatesDropped = "candidates_dropped",
    /// Pairs that an equal key proposes and did not propose before.
    KeyCandidatesNew = "key_candidates_new",
    /// Pairs that an equal key proposed before and does not propose any more.
    KeyCandidatesDropped = "key_candidates_dropped",
    /// Pairs that were decided for the first time.
    PairsNew = "pairs_new",
    /// Pairs that were deleted.
    PairsGone = "pairs_gone",
    /// Pairs that were decided again and got another verdict.
    PairsRedecided = "pairs_redecided",
    /// Pairs whose proposing signatures changed.
    PairsReproposed = "pairs_reproposed",
    /// Components that were computed or removed.
    ComponentsTouched = "components_touched",
    /// Components that union-find computed.
    ComponentsJoined = "components_joined",
    /// Components that label propagation computed.
    ComponentsPropagated = "components_propagated",
    /// Pages that fold into another, in clusters that are new or changed.
    FoldedMore = "folded_more",
    /// Pages that folded into another before, in clusters that were deleted or changed.
    FoldedLess = "folded_less",
}

/// The counts of one worker, or the sums over all workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    counts: BTreeMap<Counter, u64>,
    /// Keyed by the signature's number.
    unexamined: BTreeMap<u8, UnexaminedChange>,
}

impl Counters {
    /// Adds `n` to `counter`. A counter that was counted is listed even if it is 0.
    pub fn count(&mut self, counter: Counter, n: u64) {
        *self.counts.entry(counter).or_default() += n;
    }

    /// Adds the change of a bucket of `signature` from `before` contents to `after`.
    pub fn bucket(&mut self, signature: u8, before: usize, after: usize) {
        self.unexamined(signature, UnexaminedChange::of(before, after));
    }

    /// Adds the change of a fingerprint from `before` earlier fingerprints, by the near rule, to
    /// `after`.
    pub fn near(&mut self, before: usize, after: usize) {
        self.unexamined(
            pivots::NEAR,
            UnexaminedChange::between(near::unexamined(before), near::unexamined(after)),
        );
    }

    fn unexamined(&mut self, signature: u8, change: UnexaminedChange) {
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

    /// The changes of the unexamined pairs, keyed by the signature's number.
    pub fn unexamined_changes(&self) -> &BTreeMap<u8, UnexaminedChange> {
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
