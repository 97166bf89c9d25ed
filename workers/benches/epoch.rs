//! Measures what an epoch costs.
//!
//! An epoch that adds one per cent of new and one per cent of changed documents to a store of many
//! is compared with a run from scratch over the same documents, in one process on all cores,
//! without exports. `cargo bench --bench epoch`; without `--bench` sizes are tiny.

use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;
use workers::commit::commit;
use workers::fold::failure::Failure;
use workers::fold::receipt::Receipt;
use workers::fold::{self, ProcessTask};
use workers::job::Job;
use workers::plan;
use workers::store::Store;
use workers::store::manifest::Head;

/// About 1 KB of made-up words of two Chinese characters, another text for each document and
/// edition; every fifth document is its predecessor with one word in fifty replaced. The recorded
/// figures were measured with these texts.
fn text(document: u64, edition: u64) -> String {
    let original = if document % 5 == 4 { document - 1 } else { document };
    let word = |seed: u64| {
        let hash = blake3::hash(&seed.to_le_bytes());
        let character = |at: usize| {
            let n = u32::from(u16::from_le_bytes([hash.as_bytes()[at], hash.as_bytes()[at + 1]]));
            char::from_u32(0x4e00 + n % 2500).unwrap_or('一')
        };
        [character(0), character(2)]
    };
    let mut text = String::new();
    for at in 0..170 {
        let seed = if at % 50 == 7 { document << 20 } else { original << 20 } | edition << 10 | at;
        // One word in three is in all texts.
        text.extend(word(if at % 3 == 0 { at } else { seed }));
    }
    text
}

/// Writes documents, each of an edition, as lines.
fn write(path: &Path, documents: impl Iterator<Item = (u64, u64)>) {
    let mut out = BufWriter::new(File::create(path).expect("created"));
    for (n, edition) in documents {
        let line =
            json!({ "url": format!("http://h{}.example/{n}", n % 100), "text": text(n, edition) });
        writeln!(out, "{line}").expect("written");
    }
    out.flush().expect("written");
}

fn job(folder: &Path, store: &str) -> Job {
    let job = json!({
        "store": folder.join(store), "read": { "inputs": [folder.join("in")] }, "output": { "dir": folder.join("out") },
    });
    serde_json::from_value(job).expect("a job")
}

/// One epoch over all new inputs: seconds of planning, work and commit, and the workers' receipts.
fn epoch(job: &Job) -> (f64, Vec<Receipt>, Head) {
    let store =
        Store::open_or_create(&job.store, &job.identity().expect("an identity")).expect("a store");
    let head = store.head().expect("readable");
    let start = Instant::now();
    let plan = plan::plan(job, &store, head.as_ref(), 0).expect("planned").expect("something new");
    let plan = plan.freeze(&job.store, 1).expect("frozen");
    let threads = workers::store::threads::processors();
    let task = ProcessTask {
        job: job.clone(),
        plan: plan.clone(),
        attempt: plan.attempt(&job.store),
        before: head.as_ref().map(|head| head.manifest.tables.clone()).unwrap_or_default(),
        threads,
        process: 0,
        processes: 1,
        mesh: None,
    };
    let receipts = fold::run(task, Default::default(), Failure::default(), |_| {}).expect("done");
    let committed = commit(job, &store, head.as_ref(), &plan, receipts.clone(), threads, &[])
        .expect("committed");
    (start.elapsed().as_secs_f64(), receipts, committed.head)
}

fn main() {
    let documents: u64 =
        if std::env::args().any(|argument| argument == "--bench") { 1_000_000 } else { 2_000 };
    let hundredth = documents / 100;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("in")).expect("made");
    let file = |name: &str| folder.path().join("in").join(name);
    for part in 0..8 {
        write(&file(&format!("{part}.jsonl")), (part..documents).step_by(8).map(|n| (n, 0)));
    }
    let job = job(folder.path(), "store");
    let (full, _, head) = epoch(&job);
    let bytes: u64 = head.manifest.tables.values().map(|table| table.bytes()).sum();
    println!(
        "{documents} documents of 1 KB from scratch: {full:.2} s, {:.0} bytes of store each",
        bytes as f64 / documents as f64
    );
    write(&file("new.jsonl"), (documents..documents + hundredth).map(|n| (n, 0)));
    write(&file("changed.jsonl"), (0..documents).step_by(100).map(|n| (n, 1)));
    let (delta, receipts, head) = epoch(&job);
    let counters = &head.manifest.counters;
    let counter = |name: &str| counters.get(name).copied().unwrap_or(0);
    println!("{} new, {} changed: {delta:.2} s", counter("pages_new"), counter("pages_changed"));
    println!("share of a run from scratch: {:.1} %", 100.0 * delta / full);
    println!(
        "components touched {} of {}",
        counter("components_touched"),
        head.manifest.tables.get("clusters").map_or(0, |table| table.rows)
    );
    let mut stages: Vec<(u64, &String)> = receipts
        .iter()
        .flat_map(|receipt| &receipt.spans)
        .map(|span| (span.ended_us / 1000, &span.operator))
        .collect();
    stages.sort_unstable();
    stages.iter().for_each(|(ms, stage)| println!("  {ms:>6} ms  {stage}"));
    for (name, table) in &head.manifest.tables {
        let read: u64 = receipts.iter().filter_map(|receipt| receipt.rows_read.get(name)).sum();
        println!("  {name:22} {read:>9} rows read of {:>9}", table.rows);
    }
}
