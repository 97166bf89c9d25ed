//! Measures how right a store would be under other settings, changing one key of the job at a time.
//!
//! SimHash's k and MinHash's bins are tried by computing the candidates of that signature alone
//! among the scene's texts, by the pivot rule, and deciding them as the job decides. Thresholds are
//! tried over the stored pairs; so a threshold cannot find a pair that no signature proposed.
//! Nothing is written.

mod signatures;
mod thresholds;

use crate::error::Result;
use crate::eval::places::archive;
use crate::eval::scene::{Joined, Scale};
use crate::eval::score::{Measure, same, share, true_text_pairs};
use crate::eval::world::World;
use crate::job::Job;
use crate::store::Store;
use crate::store::manifest::Head;
use crate::tables::judge::Judge;
use serde::Serialize;
use signatures::Verdicts;

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
    /// The measure if the accepted of them were joined, identical texts included.
    pub confirmed: Measure,
    /// The bytes that a signature takes for each text, as columns. None for a threshold.
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

/// All that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// The stored answers.
    pub stored: SettingScore,
    /// The settings, by key.
    pub knobs: Vec<Knob>,
    /// What was not tried, and why.
    pub notes: Vec<String>,
}

/// What the measures of all settings share.
struct Frame<'a> {
    scale: &'a Scale<'a>,
    same: u64,
    true_text_pairs: u64,
    identical: Joined,
}

impl Frame<'_> {
    fn row(
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
    fn sums(&self, pairs: impl Iterator<Item = (u32, u32, bool)>) -> Sums {
        let mut sums = Sums::default();
        for (a, b, accepted) in pairs.filter(|(a, b, _)| self.scale.is_judged(*a, *b)) {
            sums.add(self.scale.join(std::iter::once((a, b))), accepted);
        }
        sums
    }
}

/// What a setting joins, without identical texts.
#[derive(Clone, Copy, Default)]
struct Sums {
    verified: u64,
    proposed: Joined,
    confirmed: Joined,
}

impl Sums {
    fn add(&mut self, joined: Joined, accepted: bool) {
        self.verified += 1;
        self.proposed = self.proposed.plus(joined);
        if accepted {
            self.confirmed = self.confirmed.plus(joined);
        }
    }
}

/// Tries other settings over the head of `store`.
///
/// # Errors
///
/// `Io` if evidence cannot be mapped or is damaged.
pub fn sweep(
    store: &Store,
    head: &Head,
    job: &Job,
    world: &World,
    scale: &Scale<'_>,
) -> Result<Sweep> {
    let open = || archive(store, head);
    let frame = Frame {
        scale,
        same: same(scale).total(),
        true_text_pairs: true_text_pairs(scale),
        identical: scale.identical(),
    };
    let (mut knobs, mut notes) = (Vec::new(), Vec::new());
    let stored = scale.scene.pairs.iter().map(|pair| (pair.a, pair.b, pair.accepted));
    let stored = frame.row("as stored".into(), true, frame.sums(stored), None);
    if !job.contents.evidence {
        notes.push("other settings, as the store keeps no evidence to decide by".into());
        return Ok(Sweep { stored, knobs, notes });
    }
    let mut verdicts = Verdicts::new(world, Judge::new(job.verdicts()?, open));
    knobs.push(signatures::simhash(&frame, job, world, &mut verdicts, &mut notes)?);
    let archive = open()?;
    knobs.extend(signatures::minhash(&frame, job, world, &archive, &mut verdicts, &mut notes)?);
    knobs.extend(thresholds::thresholds(&frame, job, world, &archive)?);
    Ok(Sweep { stored, knobs, notes })
}
