//! Tries SimHash's k and MinHash's bins, each signature alone.

use crate::candidates::bands::K_MAX;
use crate::confirm::{self, By};
use crate::distinct::distinct;
use crate::error::Result;
use crate::eval::candidates::{CANDIDATES_MAX, Numbered, keyed, near};
use crate::eval::places::{Places, known, undamaged};
use crate::eval::sweep::settings::{Frame, Knob};
use crate::eval::world::World;
use crate::job::Job;
use crate::judge::{Judge, PairToDecide};
use crate::tables::evidence::StoredEvidence;
use crate::text::signatures::{self, Shinglings, Text, minhash};
use std::collections::BTreeMap;

/// MinHash's bins and bins of a key.
const MINHASH: [(usize, usize); 7] =
    [(12, 4), (16, 4), (24, 3), (24, 4), (24, 6), (32, 4), (48, 4)];

/// The bytes of a text as columns: its fingerprint in `evidence`, its row of
/// `fingerprint_contents`, and its row for each further band.
const SIMHASH_BYTES: [u32; 3] = [8, 25, 9];
/// The bytes of a key: in `evidence`, and its row of `keys`.
const KEY_BYTES: [u32; 2] = [9, 26];

/// The verdicts on pairs of texts under the job's own rules. Stored verdicts are reused, and each
/// other pair is decided once.
pub(super) struct Verdicts<'a> {
    world: &'a World,
    judge: Judge<'a>,
    known: BTreeMap<(u32, u32), bool>,
}

impl<'a> Verdicts<'a> {
    pub(super) fn new(world: &'a World, judge: Judge<'a>) -> Verdicts<'a> {
        let known =
            world.scene.pairs.iter().map(|pair| ((pair.a, pair.b), pair.accepted)).collect();
        Verdicts { world, judge, known }
    }

    /// Decides those of `pairs` that have no verdict yet.
    fn decide(&mut self, pairs: impl Iterator<Item = (u32, u32)>) -> Result<()> {
        let content = |text: u32| self.world.texts[text as usize].content;
        let new = pairs.filter(|pair| !self.known.contains_key(pair));
        let due = distinct(
            new.map(|(a, b)| (content(a).min(content(b)), content(a).max(content(b)), (a, b))),
        );
        let asked: Vec<PairToDecide> =
            due.iter().map(|&(a, b, _)| PairToDecide { a, b, distance: None }).collect();
        let known = &mut self.known;
        self.judge.verdicts(&asked, |at, _, verdict| {
            known.insert(due[at].2, verdict.accepted);
            Ok(())
        })
    }

    fn accepts(&self, a: u32, b: u32) -> bool {
        self.known.get(&(a, b)).copied().unwrap_or(false)
    }
}

/// Tries every k.
pub(super) fn simhash(
    frame: &Frame<'_>,
    job: &Job,
    world: &World,
    verdicts: &mut Verdicts<'_>,
    notes: &mut Vec<String>,
) -> Result<Knob> {
    let texts: Vec<(u64, Numbered)> =
        known(world).map(|(text, fingerprint)| (fingerprint, text)).collect();
    // The greatest k whose candidates fit in memory.
    let mut k_max = K_MAX;
    let pairs = loop {
        match near(&texts, k_max) {
            Some(pairs) => break pairs,
            None if k_max == 0 => break Vec::new(),
            None => k_max -= 1,
        }
    };
    if k_max < K_MAX {
        notes.push(format!("simhash.k beyond {k_max}: more than {CANDIDATES_MAX} candidates"));
    }
    verdicts.decide(pairs.iter().map(|(a, b, _)| (*a, *b)))?;
    // If only fingerprints decide, k is also the limit of the verdict.
    let k_decides = job.confirm.by == By::Fingerprint && job.confirm.distance_max.is_none();
    let rows = (0..=k_max).map(|k| {
        let within = pairs.iter().filter(|(_, _, distance)| *distance <= k);
        let sums = frame.sums(within.map(|&(a, b, _)| (a, b, k_decides || verdicts.accepts(a, b))));
        let [fingerprint, group, band] = SIMHASH_BYTES;
        frame.row(
            k.to_string(),
            k == job.simhash.k,
            sums,
            Some(f64::from(fingerprint + group + band * k)),
        )
    });
    Ok(Knob { key: "simhash.k", rows: rows.collect() })
}

/// Tries every MinHash of the list and the job's own, over the texts that the store has kept.
pub(super) fn minhash(
    frame: &Frame<'_>,
    job: &Job,
    world: &World,
    stored: &StoredEvidence,
    verdicts: &mut Verdicts<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<Knob>> {
    let own = job.signatures.iter().find_map(|options| match options {
        signatures::Options::MinHash(options) => Some((options.bins, options.bins_per_key)),
        _ => None,
    });
    let settings: Vec<(usize, usize)> = distinct(MINHASH.into_iter().chain(own));
    let mut makers: Vec<minhash::MinHash> = settings
        .iter()
        .map(|&(bins, bins_per_key)| {
            minhash::MinHash::new(&minhash::Options { bins, bins_per_key })
        })
        .collect();
    let mut keys: Vec<Vec<(u64, Numbered)>> = vec![Vec::new(); makers.len()];
    let (mut kept, mut lost) = (0u64, 0u64);
    let (mut shinglings, mut made) = (Shinglings::default(), Vec::new());
    let places = Places::of(world, stored)?;
    for (text, _) in known(world) {
        let evidence = places.read(text.text)?;
        let Some(normal) = confirm::Evidence::text(&evidence) else {
            lost += 1;
            continue;
        };
        kept += 1;
        let mut normal = Text::new(&normal, &[], &mut shinglings);
        for (maker, keys) in makers.iter_mut().zip(&mut keys) {
            made.clear();
            maker.keys(&mut normal, &mut made);
            made.sort_unstable();
            made.dedup();
            keys.extend(made.iter().map(|key| (*key, text)));
        }
        undamaged(text.content, &evidence)?;
    }
    if lost > 0 {
        notes.push(format!(
            "minhash: {lost} of {} texts are not kept ([contents] text): no keys of theirs",
            lost + kept
        ));
    }
    if kept == 0 {
        return Ok(None);
    }
    let mut rows = Vec::new();
    for (&(bins, bins_per_key), keys) in settings.iter().zip(keys) {
        let setting = format!("{bins}x{bins_per_key}");
        let bytes = keys.len() as f64 * f64::from(KEY_BYTES.iter().sum::<u32>()) / kept as f64;
        let Some(pairs) = keyed(keys) else {
            notes.push(format!("minhash {setting}: more than {CANDIDATES_MAX} candidates"));
            continue;
        };
        verdicts.decide(pairs.iter().copied())?;
        let sums = frame.sums(pairs.iter().map(|&(a, b)| (a, b, verdicts.accepts(a, b))));
        rows.push(frame.row(setting, own == Some((bins, bins_per_key)), sums, Some(bytes)));
    }
    Ok(Some(Knob { key: "minhash.bins x bins_per_key", rows }))
}
