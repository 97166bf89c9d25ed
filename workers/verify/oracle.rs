//! Compares the fold with brute force over random histories.
//!
//! Pages get and lose contents with fingerprints and keys. Any number of workers folds them over
//! the store's tables, epoch after epoch. After each epoch the stored pairs, the signatures that
//! propose them and the components are those that the definitions give. At the end every table
//! equals that of one epoch over an empty store.

use crate::candidates::bands::Bands;
use crate::candidates::pivots::{self, BySignature, Unexamined};
use crate::fold::counters::{Counter, Counters};
use crate::fold::dataflow::Dataflow;
use crate::fold::epoch::{Epoch, SharedEpoch};
use crate::fold::failure::Failure;
use crate::fold::gather::produce;
use crate::fold::pages::PageContent;
use crate::fold::receipt::{Receipt, counters};
use crate::fold::splits::{SharedSplits, SplitDone};
use crate::fold::stages::{components_dataflow, pages_to_pairs};
use crate::graph::unionfind;
use crate::id::Id;
use crate::job::Job;
use crate::plan::inputs::Looks;
use crate::plan::listing::LeftOut;
use crate::plan::{Plan, PlannedSplit};
use crate::progress::Progress;
use crate::random::Random;
use crate::store::consumed::Retention;
use crate::store::fsyncs::Fsyncs;
use crate::store::manifest::{Run, TableState};
use crate::store::open::OpenSegments;
use crate::store::runs::Table;
use crate::store::table::{MultisetHash, Row};
use crate::store::{durable, segment};
use crate::tables::snapshot::Snapshot;
use crate::tables::{ComponentRow, EvidenceRow, GroupRow, KeyRow, PairRow};
use crate::text::signatures::{self, Shinglings, Signer, Text, minhash};
use crate::verify::large_buckets;
use crate::verify::oracle::definition::{Live, id};
use crate::visit::counts::Counts;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod definition;

type Tables = BTreeMap<String, TableState>;

fn job(store: &Path, k: u32, bands: Option<usize>) -> Job {
    serde_json::from_value(json!({
        "store": store, "read": { "inputs": ["unused"] }, "output": { "dir": "unused" }, "simhash": { "k": k, "bands": bands },
        "confirm": { "by": "fingerprint" },
    }))
    .expect("a job")
}

/// The unexamined pairs, counted from the whole tables.
fn unexamined(store: &Path, bands: &Bands, tables: &Tables) -> BySignature {
    let snapshot = Snapshot::new(store.join("data"), tables);
    let groups = snapshot.table().expect("groups");
    let tables: Vec<_> =
        (1..bands.count()).map(|band| snapshot.band(band).expect("a band")).collect();
    let near = large_buckets::near_rule(bands, &groups, &tables);
    large_buckets::counted(&groups, &snapshot.table().expect("keys"), &near)
}

/// Folds `changes` over `before` with this many workers; returns the tables after. `live` has the
/// contents.
fn epoch(
    job: &Job,
    number: u32,
    before: &Tables,
    live: &Live,
    changes: &[PageContent],
    workers: usize,
) -> Tables {
    counted_epoch(job, number, before, live, changes, workers).0
}

/// A folder with one finished split. It has the evidence of all contents of `live`, of some twice.
fn attempt(job: &Job, number: u32, live: &Live) -> PathBuf {
    let attempt = job.store.join(format!("attempt/{number}"));
    let mut rows: Vec<EvidenceRow> = live.evidence().collect();
    rows.sort_unstable();
    let write = |rows: Vec<EvidenceRow>| {
        segment::write(&attempt.join("evidence"), "test", rows).expect("written")
    };
    let again = rows.iter().step_by(3).cloned().collect();
    let evidence = [write(rows), write(again)].into_iter().flatten().collect();
    let done = SplitDone {
        visits: Vec::new(),
        evidence,
        counts: Counts::default(),
        taken: BTreeMap::new(),
        rejects_digest: String::new(),
        left: BTreeSet::new(),
    };
    durable::create_folder(&attempt.join("split")).expect("made");
    done.write(&Fsyncs::default(), &attempt, 0).expect("written");
    attempt
}

/// The same with the counters.
fn counted_epoch(
    job: &Job,
    number: u32,
    before: &Tables,
    live: &Live,
    changes: &[PageContent],
    workers: usize,
) -> (Tables, Counters) {
    watched_epoch(job, number, before, live, changes, workers, Arc::default())
}

/// The same, with its progress.
fn watched_epoch(
    job: &Job,
    number: u32,
    before: &Tables,
    live: &Live,
    changes: &[PageContent],
    workers: usize,
    progress: Arc<Progress>,
) -> (Tables, Counters) {
    let plan = Plan {
        digest: format!("test{number}"),
        store: String::new(),
        epoch: number,
        version: u64::from(number),
        previous: String::new(),
        config: String::new(),
        decision_changed: false,
        view: String::new(),
        view_changed: false,
        source: 0,
        sources: Vec::new(),
        complete: false,
        replays: false,
        snapshot: String::new(),
        replaced: None,
        inputs: Vec::new(),
        splits: vec![PlannedSplit { parts: Vec::new() }],
        same_bytes: Vec::new(),
        renamed: Vec::new(),
        reads_otherwise: false,
        passed: Vec::new(),
        absent: Vec::new(),
        left_out: LeftOut::default(),
        retention: Retention::default(),
        epoch_min_useless: 0,
        gone_min: i64::MIN,
        logical_time: 0,
        comes_back: false,
    };
    let failure = Failure::default();
    let shared = Arc::new(SharedEpoch {
        plan,
        job: job.clone(),
        attempt: attempt(job, number, live),
        before: before.clone(),
        progress,
        failure: failure.clone(),
        splits: SharedSplits::new(1),
        looks: Looks::default(),
        open: OpenSegments::default(),
        fsyncs: Fsyncs::default(),
    });
    let changes = Arc::new(changes.to_vec());
    let receipts = timely::execute(timely::Config::process(workers), move |worker| {
        let (index, peers) = (worker.index(), worker.peers());
        let epoch = Epoch::new(index, peers, shared.clone());
        let bands = epoch.shared.job.bands().expect("bands");
        let changes = changes.clone();
        let decided = pages_to_pairs(worker, &epoch, &bands, |_, scope| {
            produce(scope, "changes", move |emit| {
                changes.iter().skip(index).step_by(peers).for_each(|change| emit(*change));
            })
        });
        let dataflow = Dataflow::new(&epoch);
        worker.dataflow::<(), _, _>(|scope| components_dataflow(&dataflow, decided.method, scope));
        while !dataflow.probe().done() {
            worker.step_or_park(None);
        }
        epoch.receipt()
    })
    .expect("workers start");
    let mut receipts: Vec<Receipt> =
        receipts.join().into_iter().map(|receipt| receipt.expect("no panic")).collect();
    assert!(!failure.is_set(), "{:?}", failure.take());
    receipts.sort_by_key(|receipt| receipt.worker);
    let mut tables = before.clone();
    let names: BTreeSet<&String> =
        receipts.iter().flat_map(|receipt| receipt.segments.keys()).collect();
    for name in names {
        let segments =
            receipts.iter().filter_map(|receipt| receipt.segments.get(name).cloned()).collect();
        tables
            .entry(name.clone())
            .or_default()
            .append(Run { epoch: u64::from(number), segments })
            .expect("appended");
    }
    (tables, counters(&receipts, workers).expect("a receipt of each"))
}

/// A fingerprint of a skewed distribution: copies of others with a few bits flipped, one frequent
/// value in the lowest band, and one fingerprint that many contents share.
fn fingerprint(random: &mut Random, known: &BTreeMap<u64, (u64, bool)>, k: u32) -> u64 {
    let any = random.next();
    match random.below(10) {
        0..=3 if !known.is_empty() => {
            let at = random.below(known.len());
            let (mut near, _) = *known.values().nth(at).expect("in range");
            for _ in 0..random.below(k as usize + 3) {
                near ^= 1 << random.below(64);
            }
            near
        }
        4..=5 => any & !0xffff | 0x1234,
        6 => 0x0f0f_1234_5678_9abc,
        _ => any,
    }
}

/// Keys of a skewed distribution, for up to three signatures: one that a third of the contents
/// have, some that a few share, and unique ones. The same number is another key for another
/// signature.
fn keys(random: &mut Random) -> BTreeSet<(u8, u64)> {
    let count = random.below(6);
    let mut key = || match random.below(10) {
        0..=2 => 0x1234_5678_9abc_def0,
        3..=7 => (random.below(60) as u64) << 58 | 5,
        _ => random.next(),
    };
    let keys: Vec<u64> = (0..count).map(|_| key()).collect();
    keys.into_iter().map(|key| (1 + random.below(3) as u8, key)).collect()
}

fn check(store: &Path, job: &Job, live: &Live, tables: &Tables, seed: u64) {
    let snapshot = Snapshot::new(store.join("data"), tables);
    let pairs: Table<PairRow> = snapshot.table().expect("pairs");
    let rows: Vec<PairRow> = pairs.portions(1000).flatten().collect();
    let (k, bands) = (job.simhash.k, job.bands().expect("bands"));
    let found: Vec<(Id, Id, u64, u32, bool)> = rows
        .iter()
        .map(|row| {
            (row.content, row.other, row.proposals, u32::from(row.distance), row.is_accepted())
        })
        .collect();
    let mut mirrored: Vec<(Id, Id, u64, u32, bool)> = Vec::new();
    for ((a, b), (proposals, distance)) in live.proposed(&bands) {
        mirrored.extend([(a, b), (b, a)].map(|(a, b)| (a, b, proposals, distance, distance <= k)));
    }
    mirrored.sort_unstable();
    assert!(
        found == mirrored,
        "seed {seed}: pairs, {} found, {} expected",
        found.len(),
        mirrored.len()
    );
    let table: Table<ComponentRow> = snapshot.table().expect("components");
    let found: Vec<(Id, Id)> =
        table.portions(1000).flatten().map(|row| (row.content, row.component)).collect();
    let edges: Vec<(Id, Id)> = live.pairs(&bands).into_iter().collect();
    assert_eq!(found, unionfind::components(&edges), "seed {seed}: components");
}

/// The number and multiset hash of the live rows of each table that has some.
fn live_rows(tables: &Tables) -> BTreeMap<&str, (u64, MultisetHash)> {
    let live = tables.iter().filter(|(_, table)| table.rows > 0);
    live.map(|(name, table)| (name.as_str(), (table.rows, table.multiset))).collect()
}

fn history(k: u32, bands: Option<usize>, keyed: bool, pages: u64, epochs: u32, seed: u64) {
    println!("history: k {k}, keys {keyed}, {pages} pages, {epochs} epochs, seed {seed}");
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().to_owned();
    let job = job(&store, k, bands);
    let mut random = Random(seed);
    // A page here and there has its text from the whole page.
    let (mut live, mut tables, mut left) = (
        Live { gathered_every: 2 * (seed % 3), ..Live::default() },
        Tables::new(),
        BySignature::new(),
    );
    for number in 1..=epochs {
        let mut changes = Vec::new();
        let share = if number == 1 { pages } else { pages / 4 };
        for _ in 0..share {
            let page = random.below(pages as usize) as u64;
            if random.below(5) == 0 && number > 1 {
                live.set(page, None, &mut changes);
                continue;
            }
            // Contents return, so that one can be deleted and created again.
            let content = random.below(pages as usize) as u64;
            if !live.facts.contains_key(&content) {
                let fact = (fingerprint(&mut random, &live.facts, k), random.below(20) == 0);
                live.facts.insert(content, fact);
                if keyed {
                    live.keys.insert(content, keys(&mut random));
                }
            }
            live.set(page, Some(content), &mut changes);
        }
        // The stage of pages emits net changes. So a page's contents within the epoch do not
        // matter.
        let mut net: BTreeMap<(Id, Id), PageContent> = BTreeMap::new();
        for change in changes {
            let entry = net
                .entry((change.doc, change.content))
                .or_insert(PageContent { diff: 0, ..change });
            let diff = entry.diff + change.diff;
            *entry = PageContent { diff, ..if change.diff > 0 { change } else { *entry } };
        }
        let net: Vec<PageContent> = net.into_values().filter(|change| change.diff != 0).collect();
        let workers = 1 + random.below(4);
        let (after, counters) = counted_epoch(&job, number, &tables, &live, &net, workers);
        tables = after;
        check(&store, &job, &live, &tables, seed);
        left = pivots::after(&left, counters.unexamined_changes());
        assert_eq!(
            left,
            unexamined(&store, &job.bands().expect("bands"), &tables),
            "seed {seed}: what is unexamined"
        );
    }
    let scratch = epoch(&job, epochs + 1, &Tables::new(), &live, &live.as_one_epoch(), 3);
    assert_eq!(live_rows(&tables), live_rows(&scratch), "seed {seed}: live rows by table");
}

/// After any history pairs and components equal brute force over the live contents, and tables
/// equal a run from scratch, for every k and with more bands than needed.
#[test]
fn histories_equal_brute_force_and_scratch() {
    for (k, bands) in
        [(0, None), (1, None), (2, Some(5)), (3, None), (3, Some(6)), (5, None), (8, None)]
    {
        for seed in 0..3 {
            history(k, bands, false, 400, 5, 1000 * u64::from(k) + seed);
        }
    }
}

/// The same with keys of several signatures, some shared by more contents than there are pivots. A
/// pair that several signatures propose is one pair that counts each proposal.
#[test]
fn histories_with_keys_equal_brute_force_and_scratch() {
    for k in [0, 3] {
        for seed in 0..4 {
            history(k, None, true, 400, 5, 77_000 + 1000 * u64::from(k) + seed);
        }
    }
}

/// The same for groups with many more contents than pivots, where contents are created and deleted
/// on both sides of the pivots' last rank.
#[test]
fn large_groups_follow_the_pivot_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = job(folder.path(), 3, None);
    let mut random = Random(7);
    let (mut live, mut tables, mut left) = (Live::default(), Tables::new(), BySignature::new());
    for content in 0..300 {
        // Three groups: two within k of each other, one far away.
        let fingerprint = [0xabcd, 0xabcf, !0xabcd][(content % 3) as usize];
        live.facts.insert(content, (fingerprint, false));
    }
    for number in 1..=6 {
        let mut changes = Vec::new();
        for content in 0..300 {
            let alive = random.below(10) < 7;
            live.set(content, alive.then_some(content), &mut changes);
        }
        let (after, counters) =
            counted_epoch(&job, number, &tables, &live, &changes, 1 + number as usize % 3);
        tables = after;
        check(folder.path(), &job, &live, &tables, 7);
        left = pivots::after(&left, counters.unexamined_changes());
        assert_eq!(left, unexamined(folder.path(), &job.bands().expect("bands"), &tables));
    }
}

/// To compare many fingerprints near each other would take quadratic time. When some of them come
/// and go, the near rule is followed through every change, with any number of workers, and the
/// result is that of a run from scratch.
#[test]
fn crowds_of_fingerprints_follow_the_near_rule() {
    for (seed, k, bands) in [(1, 3, None), (2, 3, Some(6)), (3, 4, None)] {
        let folder = tempfile::tempdir().expect("a folder");
        let job = job(folder.path(), k, bands);
        let mut random = Random(seed);
        let (mut live, mut tables, mut left) = (Live::default(), Tables::new(), BySignature::new());
        // Ten bits vary. They lie in two bands, so that both own pairs.
        for content in 0..900 {
            let fingerprint = random.next() & 0x07c0_0000_0000_001f ^ 0x1234_5678_9abc_def0;
            live.facts.insert(content, (fingerprint, content % 50 == 0));
        }
        for number in 1..=6 {
            let mut changes = Vec::new();
            // Almost all, then few, then none of them, and back.
            let share = [9, 10, 1, 0, 8, 9][number as usize - 1];
            for content in 0..900 {
                let alive =
                    if number == 2 { random.below(300) > 0 } else { random.below(10) < share };
                live.set(content, alive.then_some(content), &mut changes);
            }
            let workers = 1 + number as usize % 3;
            let (after, counters) = counted_epoch(&job, number, &tables, &live, &changes, workers);
            tables = after;
            check(folder.path(), &job, &live, &tables, seed);
            left = pivots::after(&left, counters.unexamined_changes());
            assert_eq!(
                left,
                unexamined(folder.path(), &job.bands().expect("bands"), &tables),
                "seed {seed}"
            );
            let crowded = left.contains_key("simhash_near");
            assert_eq!(crowded, share > 5, "seed {seed}, epoch {number}: {left:?}");
        }
        let scratch = epoch(&job, 7, &Tables::new(), &live, &live.as_one_epoch(), 2);
        assert_eq!(live_rows(&tables), live_rows(&scratch), "seed {seed}: live rows by table");
    }
}

/// The candidates of a template's variants grow in proportion to their number, a few for each
/// content of a bucket, in one epoch or in several. The unexamined pairs are counted.
#[test]
fn a_template_costs_in_proportion() {
    const VARIANTS: u64 = 5000;
    let folder = tempfile::tempdir().expect("a folder");
    let job = job(folder.path(), 3, None);
    let options = minhash::Options { bins: 8, ..minhash::Options::default() };
    let mut signer =
        Signer::new(&[signatures::Options::MinHash(options)], &job.normalize).expect("a signer");
    let template: String = (0..200).map(|word| format!("word{} ", word * 7919 % 1009)).collect();
    let (mut live, mut shinglings) = (Live::default(), Shinglings::default());
    for variant in 0..VARIANTS {
        let text = format!("{template}{variant}");
        let mut keys = Vec::new();
        signer.sign(&mut Text::new(&text, &[], &mut shinglings), &mut keys);
        live.facts.insert(variant, (0xabcd, false));
        live.keys.insert(variant, keys.iter().map(|key| (key.kind.number(), key.key)).collect());
    }
    let (mut tables, mut left, mut counted) = (Tables::new(), BySignature::new(), BTreeMap::new());
    for (number, to) in [(1, VARIANTS / 2), (2, VARIANTS)] {
        let mut changes = Vec::new();
        for variant in live.pages.len() as u64..to {
            live.set(variant, Some(variant), &mut changes);
        }
        let (after, counters) = counted_epoch(&job, number, &tables, &live, &changes, 2);
        tables = after;
        left = pivots::after(&left, counters.unexamined_changes());
        for counter in [Counter::CandidatesNew, Counter::KeyCandidatesNew] {
            *counted.entry(counter.name()).or_insert(0) += counters.get(counter);
        }
        let rows = |name: &str| 64 * tables[name].rows;
        // A content that is no longer a pivot loses what it proposed, so a second epoch may propose
        // some pairs again.
        for (name, rows) in
            [("candidates_new", rows(GroupRow::NAME)), ("key_candidates_new", rows(KeyRow::NAME))]
        {
            println!("{to} variants: {} {name}, at most {rows}", counted[name]);
            assert!(counted[name] <= rows / 4 && counted[name] > rows / 32, "{name}");
        }
    }
    // Ranks count from 1.
    let unseen = |a: u64| (a + 1..=VARIANTS).filter(|b| a * b > 64 * 64).count() as u64;
    assert_eq!(left["simhash"], Unexamined { buckets: 1, pairs: (5..=VARIANTS).map(unseen).sum() });
    assert!(left["minhash"].buckets > 0);
    assert_eq!(left, unexamined(folder.path(), &job.bands().expect("bands"), &tables));
}

/// One epoch over many fingerprints is exact where buckets are large enough to be divided.
#[test]
fn many_fingerprints_equal_all_pairs() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = job(folder.path(), 3, None);
    let mut random = Random(11);
    let mut live = Live::default();
    for content in 0..20_000 {
        let hot = if content % 2 == 0 { random.next() & !0xffff | 0x77 } else { random.next() };
        let near =
            live.facts.get(&(content / 2)).map_or(hot, |known| known.0 ^ 1 << random.below(64));
        live.facts.insert(content, (if content % 7 == 0 { near } else { hot }, false));
        live.pages.insert(content, content);
    }
    let tables = epoch(&job, 1, &Tables::new(), &live, &live.as_one_epoch(), 2);
    let bands = Bands::new(3, None).expect("bands");
    assert_eq!(bands.count(), 4);
    check(folder.path(), &job, &live, &tables, 11);
}

/// A stage of a sound epoch was one turn however long it took, and the supervisor took the worker
/// for stuck. Portions of work within a stage are turns.
#[test]
fn portions_of_work_are_turns() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = job(folder.path(), 3, None);
    let mut live = Live::default();
    for content in 0..2_000 {
        live.facts.insert(content, (id(content / 2).high, false));
        live.pages.insert(content, content);
    }
    let progress: Arc<Progress> = Arc::default();
    watched_epoch(&job, 1, &Tables::new(), &live, &live.as_one_epoch(), 2, progress.clone());
    // Its evidence is copied, its rows are sent and written, and its pairs are decided.
    assert!(progress.busy_turns() > 10 * 2_000, "{progress:?}");
    assert_eq!(progress.turns().len(), 2);
    assert!(progress.turns().iter().all(|(_, turns)| *turns > 5_000), "{progress:?}");
}

/// Epochs that only add accepted pairs join forests, and epochs that retract some propagate, on all
/// workers alike. Each component that a changed pair touches is counted once.
#[test]
fn both_ways_to_components_are_taken() {
    for workers in 1..=4 {
        let folder = tempfile::tempdir().expect("a folder");
        let job = job(folder.path(), 3, None);
        let mut random = Random(workers as u64);
        let (mut live, mut tables) = (Live::default(), Tables::new());
        for number in 1..=6 {
            let before = live.pairs(&job.bands().expect("bands"));
            let mut changes = Vec::new();
            if number % 2 == 0 {
                let pages: Vec<u64> =
                    live.pages.keys().copied().filter(|_| random.below(8) == 0).collect();
                pages.into_iter().for_each(|page| live.set(page, None, &mut changes));
            }
            for n in 0..30 {
                let content = u64::from(number) * 100 + n;
                live.facts.insert(content, (fingerprint(&mut random, &live.facts, 3), false));
                live.set(content, Some(content), &mut changes);
            }
            let (after_tables, counters) =
                counted_epoch(&job, number, &tables, &live, &changes, workers);
            tables = after_tables;
            check(folder.path(), &job, &live, &tables, workers as u64);

            let after = live.pairs(&job.bands().expect("bands"));
            assert_eq!(
                before.is_subset(&after),
                number % 2 == 1,
                "odd epochs take nothing back, even ones do"
            );
            let changed: BTreeSet<Id> =
                before.symmetric_difference(&after).flat_map(|&(a, b)| [a, b]).collect();
            let touched = |pairs: BTreeSet<(Id, Id)>| -> BTreeSet<Id> {
                let components = unionfind::components(&pairs.into_iter().collect::<Vec<_>>());
                components
                    .into_iter()
                    .filter(|(content, _)| changed.contains(content))
                    .map(|(_, of)| of)
                    .collect()
            };
            let (before, after) = (touched(before), touched(after));
            let of = [
                Counter::ComponentsJoined,
                Counter::ComponentsPropagated,
                Counter::ComponentsTouched,
            ];
            let counted = of.map(|counter| counters.get(counter) as usize);
            let all = before.union(&after).count();
            let expected =
                if number % 2 == 1 { [after.len(), 0, all] } else { [0, after.len(), all] };
            assert_eq!(counted, expected, "epoch {number}, {workers} workers");
            assert!(!after.is_empty(), "epoch {number} has something to find");
        }
    }
}
