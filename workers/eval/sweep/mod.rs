//! Measures how right a store would be under other settings, changing one key of the job at a time.
//!
//! SimHash's k and MinHash's bins are tried in this way: the candidates of only that signature
//! among the scene's texts are computed by the pivot rule, and decided as the job decides.
//! Thresholds are tried over the stored pairs; so a threshold cannot find a pair that no signature
//! proposed. Nothing is written.

mod settings;
mod signatures;
mod thresholds;

use crate::error::Result;
use crate::eval::places::stored_evidence;
use crate::eval::scene::Scale;
use crate::eval::score::{same, true_text_pairs};
use crate::eval::sweep::settings::Frame;
pub use crate::eval::sweep::settings::{Knob, SettingScore};
use crate::eval::sweep::signatures::Verdicts;
use crate::eval::world::World;
use crate::job::Job;
use crate::judge::Judge;
use crate::store::Store;
use crate::store::manifest::Head;
use serde::Serialize;

/// All settings that were tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// The stored answers.
    pub stored: SettingScore,
    /// The settings, by key.
    pub knobs: Vec<Knob>,
    /// What was not tried, and why.
    pub notes: Vec<String>,
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
    let open = || stored_evidence(store, head);
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
    let evidence = open()?;
    knobs.extend(signatures::minhash(&frame, job, world, &evidence, &mut verdicts, &mut notes)?);
    knobs.extend(thresholds::thresholds(&frame, job, world, &evidence)?);
    Ok(Sweep { stored, knobs, notes })
}
