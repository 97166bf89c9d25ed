//! Tries the thresholds that decide, over the stored pairs.

use crate::confirm::{self, By, Facts, decide};
use crate::distinct::distinct;
use crate::error::Result;
use crate::eval::places::{Places, undamaged};
use crate::eval::sweep::settings::{Frame, Knob, Sums};
use crate::eval::world::World;
use crate::job::Job;
use crate::tables::evidence::{Content, StoredEvidence};

const SIMILARITY_MIN: [u16; 7] = [6000, 7000, 7500, 8000, 8500, 9000, 9500];
const WORDS_CHARS_MAX: [u32; 6] = [0, 150, 300, 600, 1200, u32::MAX];
const LEADING_TOKENS_MAX: [u32; 6] = [0, 15, 30, 60, 120, 240];

/// A setting of a threshold.
struct Tried {
    key: &'static str,
    setting: String,
    options: confirm::Options,
}

/// The settings of every threshold; each changes one value of `own`.
fn tried(own: &confirm::Options, k: u32) -> Vec<Tried> {
    let mut all = Vec::new();
    let mut try_all = |key, values: Vec<(String, confirm::Options)>| {
        all.extend(values.into_iter().map(|(setting, options)| Tried { key, setting, options }));
    };
    fn values<T: Ord + Copy>(list: &[T], own: T) -> Vec<T> {
        distinct(list.iter().copied().chain([own]))
    }
    if own.by == By::Fingerprint {
        let of = |max: u32| {
            (max.to_string(), confirm::Options { distance_max: Some(max), ..own.clone() })
        };
        try_all("confirm.distance_max", (0..=k).map(of).collect());
        return all;
    }
    let of = |min: u16| (min.to_string(), confirm::Options { similarity_min: min, ..own.clone() });
    try_all(
        "confirm.similarity_min",
        values(&SIMILARITY_MIN, own.similarity_min).into_iter().map(of).collect(),
    );
    let of = |max: u32| {
        let name = if max == u32::MAX { "no limit".to_owned() } else { max.to_string() };
        (name, confirm::Options { words_chars_max: max, ..own.clone() })
    };
    try_all(
        "confirm.words_chars_max",
        values(&WORDS_CHARS_MAX, own.words_chars_max).into_iter().map(of).collect(),
    );
    let of =
        |max: u32| (max.to_string(), confirm::Options { leading_tokens_max: max, ..own.clone() });
    try_all(
        "confirm.leading_tokens_max",
        values(&LEADING_TOKENS_MAX, own.leading_tokens_max).into_iter().map(of).collect(),
    );
    let facts = [
        ("off", Facts::Off),
        ("numbers", Facts::Numbers),
        ("names", Facts::Names),
        ("words", Facts::Words),
    ];
    let of =
        |(name, facts): (&str, Facts)| (name.to_owned(), confirm::Options { facts, ..own.clone() });
    try_all("confirm.facts", facts.into_iter().map(of).collect());
    all
}

/// Decides the stored pairs under every threshold. Evidence is read once.
pub(super) fn thresholds(
    frame: &Frame<'_>,
    job: &Job,
    world: &World,
    stored: &StoredEvidence,
) -> Result<Vec<Knob>> {
    let own = job.verdicts()?;
    let tried = tried(&own, job.simhash.k);
    let mut sums = vec![Sums::default(); tried.len()];
    let places = Places::of(world, stored)?;
    // Pairs with the same first text are adjacent, so its evidence is unpacked once.
    let mut first: Option<(u32, Content<'_>)> = None;
    for pair in &frame.scale.scene.pairs {
        if !frame.scale.is_judged(pair.a, pair.b) {
            continue;
        }
        if first.as_ref().is_none_or(|(text, _)| *text != pair.a) {
            first = Some((pair.a, places.read(pair.a)?));
        }
        let Some((_, a)) = &first else { continue };
        let b = places.read(pair.b)?;
        let distance = (a.fingerprint ^ b.fingerprint).count_ones();
        let joined = frame.scale.join(std::iter::once((pair.a, pair.b)));
        for (sums, tried) in sums.iter_mut().zip(&tried) {
            sums.add(joined, decide(a, &b, distance, &tried.options).accepted);
        }
        undamaged(world.texts[pair.a as usize].content, a)?;
        undamaged(world.texts[pair.b as usize].content, &b)?;
    }
    let mut knobs: Vec<Knob> = Vec::new();
    for (sums, tried) in sums.into_iter().zip(tried) {
        let row = frame.row(tried.setting, tried.options == own, sums, None);
        match knobs.last_mut().filter(|knob| knob.key == tried.key) {
            Some(knob) => knob.rows.push(row),
            None => knobs.push(Knob { key: tried.key, rows: vec![row] }),
        }
    }
    Ok(knobs)
}
