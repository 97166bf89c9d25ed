//! Measures how right a store would be under other settings, changing one key of the job at a time.
//!
//! SimHash's k and MinHash's bins are tried by computing the candidates of that signature alone
//! among the scene's texts, by the pivot rule, and deciding them as the job decides. Thresholds are
//! tried over the stored pairs; so a threshold cannot find a pair that no signature proposed.
//! Nothing is written.

use crate::candidates::bands::K_MAX;
use crate::confirm::{self, By, Veto, decide};
use crate::document::Id;
use crate::error::{Error, Result};
use crate::eval::candidates::{CANDIDATES_MAX, Numbered, keyed, near};
use crate::eval::scene::{Joined, Scale};
use crate::eval::score::{Measure, same, share, true_text_pairs};
use crate::eval::world::World;
use crate::fold::pairs::Judge;
use crate::job::Job;
use crate::store::Store;
use crate::store::lookup::Place;
use crate::store::manifest::Head;
use crate::tables::evidence;
use crate::tables::evidence::{Archive, Content};
use crate::tables::snapshot::Snapshot;
use crate::text::signatures::{self, Shinglings, Text, minhash};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// MinHash's bins and bins of a key.
const MINHASH: [(usize, usize); 7] = [(12, 4), (16, 4), (24, 3), (24, 4), (24, 6), (32, 4), (48, 4)];
const SIMILARITY_MIN: [u16; 7] = [6000, 7000, 7500, 8000, 8500, 9000, 9500];
const COVERAGE_MIN: [u16; 7] = [8500, 8800, 9000, 9200, 9400, 9600, 9800];
const COVERAGE_CHARS_MAX: [u32; 7] = [0, 80, 160, 320, 640, 1280, u32::MAX];
const LEADING_TOKENS_MAX: [u32; 6] = [0, 15, 30, 60, 120, 240];

/// The bytes of a text as columns: its fingerprint in `evidence`, its row of
/// `fingerprint_contents`, its row of each further band.
const SIMHASH_BYTES: [u32; 3] = [8, 25, 9];
/// The bytes of a key: in `evidence`, and its row of `keys`.
const KEY_BYTES: [u32; 2] = [9, 26];

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
    fn row(&self, setting: String, is_job: bool, sums: Sums, bytes_per_text: Option<f64>) -> SettingScore {
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
pub fn sweep(store: &Store, head: &Head, job: &Job, world: &World, scale: &Scale<'_>) -> Result<Sweep> {
    let snapshot = Snapshot::of(store, head);
    let open = || -> Result<Archive> { Ok(Archive::new(snapshot.lookup(Arc::default())?)) };
    let frame = Frame {
        scale,
        same: same(scale).total(),
        true_text_pairs: true_text_pairs(scale),
        identical: scale.identical(),
    };
    let (mut knobs, mut notes) = (Vec::new(), Vec::new());
    let stored = scale.scene.pairs.iter().map(|pair| (pair.a, pair.b, pair.accepted));
    let stored = frame.row("as stored".into(), true, frame.sums(stored), None);
    let mut verdicts = Verdicts::new(world, Judge::new(job.verdicts(), open));
    knobs.push(simhash(&frame, job, world, &mut verdicts, &mut notes)?);
    let archive = open()?;
    knobs.extend(minhash_knob(&frame, job, world, &archive, &mut verdicts, &mut notes)?);
    knobs.extend(thresholds(&frame, job, world, &archive)?);
    Ok(Sweep { stored, knobs, notes })
}

/// The verdicts on pairs of texts under the job's own rules. Stored verdicts are reused, and each
/// other pair is decided once.
struct Verdicts<'a> {
    world: &'a World,
    judge: Judge<'a>,
    known: BTreeMap<(u32, u32), bool>,
}

impl<'a> Verdicts<'a> {
    fn new(world: &'a World, judge: Judge<'a>) -> Verdicts<'a> {
        let known = world.scene.pairs.iter().map(|pair| ((pair.a, pair.b), pair.accepted)).collect();
        Verdicts { world, judge, known }
    }

    /// Decides those of `pairs` that have no verdict yet.
    fn decide(&mut self, pairs: impl Iterator<Item = (u32, u32)>) -> Result<()> {
        let content = |text: u32| self.world.texts[text as usize].content;
        let new = pairs.filter(|pair| !self.known.contains_key(pair));
        let mut due: Vec<(Id, Id, (u32, u32))> =
            new.map(|(a, b)| (content(a).min(content(b)), content(a).max(content(b)), (a, b))).collect();
        due.sort_unstable();
        due.dedup();
        let asked: Vec<(Id, Id, Option<u32>)> = due.iter().map(|(a, b, _)| (*a, *b, None)).collect();
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

/// The texts that have evidence.
fn known(world: &World) -> impl Iterator<Item = (Numbered, u64)> + '_ {
    let numbered = (0..).zip(&world.texts).filter(|(_, text)| text.is_known);
    numbered.map(|(number, text)| (Numbered { content: text.content, text: number }, text.fingerprint))
}

fn simhash(
    frame: &Frame<'_>,
    job: &Job,
    world: &World,
    verdicts: &mut Verdicts<'_>,
    notes: &mut Vec<String>,
) -> Result<Knob> {
    let texts: Vec<(u64, Numbered)> = known(world).map(|(text, fingerprint)| (fingerprint, text)).collect();
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
    // If fingerprints alone decide, another k is another limit.
    let k_decides = job.confirm.by == By::Fingerprint && job.confirm.distance_max.is_none();
    let rows = (0..=k_max).map(|k| {
        let within = pairs.iter().filter(|(_, _, distance)| *distance <= k);
        let sums = frame.sums(within.map(|&(a, b, _)| (a, b, k_decides || verdicts.accepts(a, b))));
        let [fingerprint, group, band] = SIMHASH_BYTES;
        frame.row(k.to_string(), k == job.simhash.k, sums, Some(f64::from(fingerprint + group + band * k)))
    });
    Ok(Knob { key: "simhash.k", rows: rows.collect() })
}

/// Tries every MinHash of the list and the job's own, over the texts that the store has kept.
fn minhash_knob(
    frame: &Frame<'_>,
    job: &Job,
    world: &World,
    archive: &Archive,
    verdicts: &mut Verdicts<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<Knob>> {
    let own = job.signatures.iter().find_map(|options| match options {
        signatures::Options::MinHash(options) => Some((options.bins, options.bins_per_key)),
        _ => None,
    });
    let mut settings: Vec<(usize, usize)> = MINHASH.into_iter().chain(own).collect();
    settings.sort_unstable();
    settings.dedup();
    let mut makers: Vec<minhash::MinHash> = settings
        .iter()
        .map(|&(bins, bins_per_key)| minhash::MinHash::new(&minhash::Options { bins, bins_per_key }))
        .collect();
    let mut keys: Vec<Vec<(u64, Numbered)>> = vec![Vec::new(); makers.len()];
    let (mut kept, mut lost) = (0u64, 0u64);
    let (mut shinglings, mut made) = (Shinglings::default(), Vec::new());
    let places = Places::of(world, archive)?;
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

/// The places of the evidence of a world's texts.
struct Places<'a> {
    world: &'a World,
    archive: &'a Archive,
    contents: Vec<Id>,
    places: Vec<Place>,
}

impl<'a> Places<'a> {
    fn of(world: &'a World, archive: &'a Archive) -> Result<Places<'a>> {
        let mut contents: Vec<Id> = known(world).map(|(text, _)| text.content).collect();
        contents.sort_unstable();
        let places = archive.places(&contents)?;
        Ok(Places { world, archive, contents, places })
    }

    /// The evidence of a text that has some.
    fn read(&self, text: u32) -> Result<Content<'a>> {
        let content = self.world.texts[text as usize].content;
        let at = self.contents.binary_search(&content).map_err(|_| evidence::damaged(content, "is missing"))?;
        self.archive.read(content, self.places[at])
    }
}

fn undamaged(content: Id, evidence: &Content<'_>) -> Result<()> {
    if evidence.is_damaged() { Err::<(), Error>(evidence::damaged(content, "is damaged")) } else { Ok(()) }
}

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
        let mut values: Vec<T> = list.iter().copied().chain([own]).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
    if own.by == By::Fingerprint {
        let of = |max: u32| (max.to_string(), confirm::Options { distance_max: Some(max), ..own.clone() });
        try_all("confirm.distance_max", (0..=k).map(of).collect());
        return all;
    }
    let of = |min: u16| (min.to_string(), confirm::Options { similarity_min: min, ..own.clone() });
    try_all("confirm.similarity_min", values(&SIMILARITY_MIN, own.similarity_min).into_iter().map(of).collect());
    let of = |min: u16| (min.to_string(), confirm::Options { coverage_min: min, ..own.clone() });
    try_all("confirm.coverage_min", values(&COVERAGE_MIN, own.coverage_min).into_iter().map(of).collect());
    let of = |max: u32| {
        let name = if max == u32::MAX { "no limit".to_owned() } else { max.to_string() };
        (name, confirm::Options { coverage_chars_max: max, ..own.clone() })
    };
    try_all(
        "confirm.coverage_chars_max",
        values(&COVERAGE_CHARS_MAX, own.coverage_chars_max).into_iter().map(of).collect(),
    );
    let of = |max: u32| (max.to_string(), confirm::Options { leading_tokens_max: max, ..own.clone() });
    try_all(
        "confirm.leading_tokens_max",
        values(&LEADING_TOKENS_MAX, own.leading_tokens_max).into_iter().map(of).collect(),
    );
    let numerals = [("off", Veto::Off), ("short", Veto::Short), ("on", Veto::On)];
    let of = |(name, numerals): (&str, Veto)| (name.to_owned(), confirm::Options { numerals, ..own.clone() });
    try_all("confirm.numerals", numerals.into_iter().map(of).collect());
    all
}

/// Decides the stored pairs under every threshold. Evidence is read once.
fn thresholds(frame: &Frame<'_>, job: &Job, world: &World, archive: &Archive) -> Result<Vec<Knob>> {
    let own = job.verdicts();
    let tried = tried(&own, job.simhash.k);
    let mut sums = vec![Sums::default(); tried.len()];
    let places = Places::of(world, archive)?;
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
