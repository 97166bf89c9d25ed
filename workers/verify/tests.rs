//! Deep looks at a store of several epochs, unchanged and with changed tables. The changes are
//! written with the crate's own writer and committed with right digests and sums, so that no digest
//! shows them.

use crate::absent::NO_SCORE;
use crate::commit::commit;
use crate::fold::failure::Failure;
use crate::fold::operators::OPERATORS;
use crate::fold::splits::{self, SplitDone};
use crate::fold::{self, ProcessTask};
use crate::id::Id;
use crate::job::Job;
use crate::page_url::host_key;
use crate::plan::{self, consumed::Taken};
use crate::progress::Progress;
use crate::random::Random;
use crate::store::fsyncs::Fsyncs;
use crate::store::manifest::{self, Head};
use crate::store::runs::Table;
use crate::store::{Store, digest, durable, segment};
use crate::tables::snapshot::Snapshot;
use crate::tables::visits::{PAGE, REMOVED, TOO_SHORT};
use crate::tables::{ClusterRow, EvidenceRow, Visit};
use crate::text::signatures::SignatureKind;
use crate::verify::deep::deep;
use crate::verify::files::{Depth, verify};
use crate::verify::findings::Deep;
use crate::verify::live::Live;
use crate::verify::recall::choose;
use crate::verify::tampers::{Case, LED_TAMPERS, TAMPERS, Tamper};
use crate::visit::counts::Counts;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Contents 0 to 149 form two groups, of 80 and 70, whose fingerprints differ in two bits. Contents
/// 150 to 299 have fingerprints of their own, some near others. The rest is too short.
const CONTENTS: u64 = 330;
/// Pages 0 to 149 keep the content of their number, so that both groups always have more contents
/// than pivots. The others change.
const PAGES: u64 = 450;
const K: u32 = 3;

struct World {
    _folder: tempfile::TempDir,
    job: Job,
    store: Store,
    head: Head,
    /// The content of each page; `None` for a page without text.
    live: BTreeMap<u64, Option<u64>>,
    fingerprints: Vec<u64>,
}

fn id(n: u64) -> Id {
    Id::of(&n.to_le_bytes())
}

impl World {
    /// A store of four epochs, folded by one to four workers.
    fn new(radius: u8) -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("in")).expect("made");
        let job: Job = serde_json::from_value(json!({
            "store": at("store"), "read": { "inputs": [at("in")] }, "output": { "dir": at("out") },
            "simhash": { "k": K }, "features": { "unit": "characters" }, "confirm": { "by": "fingerprint" },
            "clusters": { "radius": radius },
        }))
        .expect("a job");
        let store = Store::open_or_create(&job.store, &job.identity().expect("an identity"))
            .expect("a store");
        let mut random = Random(5);
        let mut fingerprints: Vec<u64> =
            (0..150).map(|n| if n < 80 { 0xabcd } else { 0xabce }).collect();
        for n in 150..CONTENTS {
            let flipped = 1 << random.below(64) | 1 << random.below(64);
            let fingerprint =
                if n % 3 == 0 { fingerprints[n as usize - 1] ^ flipped } else { random.next() };
            fingerprints.push(fingerprint);
        }
        let mut live = BTreeMap::new();
        let mut head = None;
        for number in 1..=4u64 {
            let mut visits = Vec::new();
            for page in 0..PAGES {
                if number > 1 && random.below(3) > 0 {
                    continue;
                }
                let content = 150 + random.below(CONTENTS as usize - 150) as u64;
                let content =
                    if page < 150 { Some(page) } else { Some(content).filter(|n| n % 40 != 0) };
                if page >= 150 && random.below(6) == 0 {
                    live.remove(&page);
                    visits.push(visit(page, None, REMOVED, &fingerprints));
                } else {
                    live.insert(page, content);
                    visits.push(visit(page, content, PAGE, &fingerprints));
                }
            }
            std::fs::write(at("in").join(format!("{number}.jsonl")), number.to_string())
                .expect("written");
            head = Some(epoch(&job, &store, head.as_ref(), visits, number as usize));
        }
        World { _folder: folder, job, store, head: head.expect("four epochs"), live, fingerprints }
    }

    fn deep(&self, head: &Head, sample: usize) -> Deep {
        let report = verify(&self.store, Depth::Bytes).expect("readable");
        assert_eq!(report.findings, [], "--full finds nothing");
        assert_eq!(report.head.expect("an epoch").digest, head.digest);
        deep(&self.store, head, &self.job, sample).expect("looked at")
    }

    /// The pairs by definition, as (fingerprint, fingerprint).
    fn pairs(&self) -> Vec<(u64, u64)> {
        let contents: BTreeSet<u64> =
            self.live.values().flatten().copied().filter(|n| *n < 300).collect();
        let fingerprint = |n: u64| self.fingerprints[n as usize];
        let mut groups: BTreeMap<u64, BTreeSet<Id>> = BTreeMap::new();
        contents.iter().for_each(|&n| _ = groups.entry(fingerprint(n)).or_default().insert(id(n)));
        // Ranks count from 1.
        let rank =
            |n: u64| groups[&fingerprint(n)].iter().take_while(|other| **other <= id(n)).count();
        let examined = |a: u64, b: u64| match fingerprint(a) == fingerprint(b) {
            true => rank(a).min(rank(b)) <= 4 || rank(a) * rank(b) <= 64 * 64,
            false => rank(a) * rank(b) <= 64,
        };
        let near = |&(a, b): &(u64, u64)| {
            a < b && (fingerprint(a) ^ fingerprint(b)).count_ones() <= K && examined(a, b)
        };
        let all = contents.iter().flat_map(|&a| contents.iter().map(move |&b| (a, b)));
        all.filter(near).map(|(a, b)| (fingerprint(a), fingerprint(b))).collect()
    }
}

fn visit(page: u64, content: Option<u64>, kind: u8, fingerprints: &[u64]) -> Visit {
    let (host, https) = (format!("h{}.example", page % 7), page % 2 == 1);
    let url = format!("{}://{host}/{page}", if https { "https" } else { "http" });
    Visit {
        doc: Id::of(url.as_bytes()),
        date: 5,
        kind,
        content: content.map_or(Id::NONE, id),
        moved_to: Id::NONE,
        fingerprint: content.map_or(0, |n| fingerprints[n as usize]),
        chars: content.map_or(0, |n| 100 + n as u32),
        letters: content.map_or(0, |n| 100 + n as u32),
        flags: if content.is_some_and(|n| n >= 300) { TOO_SHORT } else { 0 },
        host: host_key(&host),
        https: https.into(),
        url: url.into_bytes().into(),
        score: NO_SCORE,
        input: 0,
        position: page,
        diff: 1,
    }
}

/// The evidence of content `n` if one of `visits` has it. Three consecutive contents of 240 to 299
/// share a key.
fn evidence(n: u64, visits: &[Visit]) -> Option<(Id, EvidenceRow)> {
    let visit = visits.iter().find(|visit| visit.content == id(n))?;
    let key = |key: u64| [&[SignatureKind::MinHash.number()][..], &key.to_le_bytes()].concat();
    let keys = if n < 240 { Box::default() } else { [key(n / 3), key(n + 1000)].concat().into() };
    let (fingerprint, sketches) = (visit.fingerprint, vec![0; 24].into());
    let row =
        EvidenceRow::new(visit.content, fingerprint, visit.chars, keys, sketches, Box::default());
    Some((visit.content, row))
}

/// Folds `visits` as if they had been read.
fn epoch(
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    mut visits: Vec<Visit>,
    workers: usize,
) -> Head {
    let plan = plan::plan(job, store, head, 1000).expect("planned").expect("a new input");
    let plan = plan.freeze(&job.store, 1).expect("frozen");
    let attempt = plan.attempt(&job.store);
    visits.sort_unstable();
    let counts =
        Counts { read: visits.len() as u64, accepted: visits.len() as u64, ..Counts::default() };
    let evidence: BTreeMap<Id, EvidenceRow> =
        (0..300).map(|n| evidence(n, &visits)).collect::<Vec<_>>().into_iter().flatten().collect();
    let evidence =
        segment::write(&attempt.join("evidence"), "test", evidence.into_values()).expect("written");
    let part =
        segment::write(&attempt.join("visits"), "test", visits).expect("written").expect("visits");
    let done = SplitDone {
        visits: vec![part],
        evidence: evidence.into_iter().collect(),
        taken: [(0, Taken { accepted: counts.accepted, rejected: 0 })].into(),
        counts,
        rejects_digest: digest::of_bytes(b""),
        left: BTreeSet::new(),
    };
    durable::create_folder(&attempt.join("split")).expect("made");
    let rejects = splits::rejects_path(&attempt, 0, &done.rejects_digest);
    durable::write(&rejects, b"").expect("written");
    done.write(&Fsyncs::default(), &attempt, 0).expect("written");
    let before = head.map_or_else(BTreeMap::new, |head| head.manifest.tables.clone());
    let (job_too, plan_too) = (job.clone(), plan.clone());
    let task = ProcessTask {
        job: job_too,
        plan: plan_too,
        attempt,
        before,
        threads: workers,
        process: 0,
        processes: 1,
        mesh: None,
    };
    let progress = std::sync::Arc::<Progress>::default();
    let receipts = fold::run(task, progress, Failure::default(), |_| {}).expect("folded");
    // Every worker ran each of the listed operators.
    let operators = BTreeSet::from(OPERATORS);
    for receipt in &receipts {
        let spans: BTreeSet<&str> =
            receipt.spans.iter().map(|span| span.operator.as_str()).collect();
        assert_eq!((&spans, receipt.spans.len()), (&operators, operators.len()));
    }
    commit(job, store, head, &plan, receipts, workers, &[]).expect("committed").head
}

/// A store of several epochs, folded by any number of workers, has no findings. Its recall is that
/// of brute force over the live contents, for a sample of all fingerprints and for smaller ones.
#[test]
fn a_sound_store_has_no_findings() {
    let world = World::new(0);
    let pairs = world.pairs();
    assert!(pairs.len() > 5000, "{}", pairs.len());
    let fingerprints: BTreeSet<u64> = world
        .live
        .values()
        .flatten()
        .filter(|n| **n < 300)
        .map(|n| world.fingerprints[*n as usize])
        .collect();
    let bands = world.job.bands().expect("bands");
    for sample in [1, 10, 40, 1000] {
        let deep = world.deep(&world.head, sample);
        let wrong: Vec<_> = deep.checks.iter().filter(|check| check.found > 0).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(deep.found(), 0);
        let mut keys: Vec<u64> = fingerprints.iter().map(|f| bands.key(0, *f)).collect();
        keys.sort_unstable();
        let (sampled, _) =
            choose(keys.iter().map(|key| bands.unkey(0, *key)), &world.head.digest, sample);
        let near =
            pairs.iter().filter(|(a, b)| sampled.contains(a) || sampled.contains(b)).count() as u64;
        let recall = deep.recall.expect("checked");
        assert_eq!((recall.near_pairs, recall.stored), (near, near), "sample {sample}");
        assert_eq!(
            (recall.sampled, recall.fingerprints),
            (sampled.len() as u64, fingerprints.len() as u64)
        );
        assert_eq!(sampled.len(), sample.min(fingerprints.len()));
    }
}

/// A full look finds no change whose digests and sums are right. A deep look finds each, by exactly
/// the expected checks, and every check finds some change.
#[test]
fn tampers_are_found() {
    let found_by = tamper(&World::new(0), TAMPERS);
    assert_eq!(found_by.len(), 19, "{found_by:?}");
}

/// A manifest whose number of folded pages is not that of the clusters is found.
#[test]
fn a_wrong_number_of_folded_pages_is_found() {
    let world = World::new(0);
    let mut manifest = world.head.manifest.clone();
    (manifest.version, manifest.previous) = (manifest.version + 1, world.head.digest.clone());
    manifest.folded += 1;
    let head = manifest::commit(world.store.root(), &manifest).expect("committed");
    let deep = world.deep(&head, 10);
    let found: Vec<&str> =
        deep.checks.iter().filter(|check| check.found > 0).map(|check| check.name).collect();
    assert_eq!(found, ["folded"]);
}

/// The same with leaders; the store is sound before.
#[test]
fn tampers_with_leaders_are_found() {
    for radius in [2, 1] {
        let world = World::new(radius);
        let deep = world.deep(&world.head, 10);
        assert_eq!(deep.found(), 0, "{:?}", deep.checks);
        if radius == 1 {
            tamper(&world, LED_TAMPERS);
        }
    }
}

/// Makes each of `tampers` in turn; returns the checks that found something.
fn tamper(world: &World, tampers: &[Case]) -> BTreeSet<&'static str> {
    let mut head = world.head.clone();
    let mut found_by: BTreeSet<&str> = BTreeSet::new();
    let mut wrong = Vec::new();
    for (what, change, expected) in tampers {
        let tables = world.head.manifest.tables.clone();
        let mut tamper = Tamper { store: &world.store, tables };
        change(&mut tamper);
        let mut manifest = head.manifest.clone();
        (manifest.version, manifest.previous, manifest.tables) =
            (manifest.version + 1, head.digest, tamper.tables);
        // The sums of a changed table are right, so that only its rows can tell.
        let clusters: Table<ClusterRow> =
            Snapshot::new(world.store.data(), &manifest.tables).table().expect("mapped");
        manifest.folded =
            Live::of(&clusters).map(|row| u64::from(row.pages.saturating_sub(1))).sum();
        head = manifest::commit(world.store.root(), &manifest).expect("committed");
        let deep = world.deep(&head, 1000);
        let found: BTreeSet<&str> =
            deep.checks.iter().filter(|check| check.found > 0).map(|check| check.name).collect();
        if !found.iter().eq(*expected) {
            wrong.push(format!(
                "{what}: found by {found:?}, not by {expected:?}: {:?}",
                deep.checks
            ));
        }
        found_by.extend(found);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    found_by
}

/// A job that would decide or rank differently is refused.
#[test]
fn another_view_is_refused() {
    let world = World::new(0);
    let mut job = world.job.clone();
    job.keep.hosts = vec!["h1.example".into()];
    let error = deep(&world.store, &world.head, &job, 10).expect_err("refused");
    assert!(error.to_string().contains("keep.hosts"), "{error}");
    let mut job = world.job.clone();
    job.clusters.radius = 1;
    let error = deep(&world.store, &world.head, &job, 10).expect_err("refused");
    assert!(error.to_string().contains("clusters.radius"), "{error}");
}
