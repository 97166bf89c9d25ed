//! One setting and its measures.

use crate::eval::scene::{Joined, Scale};
use crate::eval::score::{Measure, share};
use serde::Serialize;

/// The measures of one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingScore {
    /// The value of the setting.
    pub setting: String,
    /// Whether it is the job's own.
    pub is_job: bool,
    /// The number of pairs of texts that are verified.
    pub verified: u64,
    /// The same for each true pair of texts.
    pub verified_per_true: Option<f64>,
    /// The measure if all verified pairs were joined, identical texts included.
    pub proposed: Measure,
    /// The measure if only the accepted pairs were joined, identical texts included.
    pub confirmed: Measure,
    /// The bytes that a signature takes for each text, as columns. `None` for a threshold.
    pub bytes_per_text: Option<f64>,
}

/// The settings of one key of the job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knob {
    /// The key.
    pub key: &'static str,
    /// One row for each setting.
    pub rows: Vec<SettingScore>,
}

/// What the measures of all settings share.
pub(super) struct Frame<'a> {
    pub(super) scale: &'a Scale<'a>,
    pub(super) same: u64,
    pub(super) true_text_pairs: u64,
    pub(super) identical: Joined,
}

impl Frame<'_> {
    pub(super) fn row(
        &self,
        setting: String,
        is_job: bool,
        sums: Sums,
        bytes_per_text: Option<f64>,
    ) -> SettingScore {
        let measure = |joined: Joined| {
            let joined = joined.plus(self.identical);
            Measure::new(self.same, joined.found.total(), joined.right.total())
        };
        SettingScore {
            setting,
            is_job,
            verified: sums.verified,
            verified_per_true: share(sums.verified, self.true_text_pairs),
            proposed: measure(sums.proposed),
            confirmed: measure(sums.confirmed),
            bytes_per_text,
        }
    }

    /// The sums over pairs of texts and whether each is accepted. Pairs that the labels do not
    /// judge are left out.
    pub(super) fn sums(&self, pairs: impl Iterator<Item = (u32, u32, bool)>) -> Sums {
        let mut sums = Sums::default();
        for (a, b, accepted) in pairs.filter(|(a, b, _)| self.scale.is_judged(*a, *b)) {
            sums.add(self.scale.join(std::iter::once((a, b))), accepted);
        }
        sums
    }
}

/// What a setting joins, without identical texts.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) verified: u64,
    pub(super) proposed: Joined,
    pub(super) confirmed: Joined,
}

impl Sums {
    pub(super) fn add(&mut self, joined: Joined, accepted: bool) {
        self.verified += 1;
        self.proposed = self.proposed.plus(joined);
        if accepted {
            self.confirmed = self.confirmed.plus(joined);
        }
    }
}
