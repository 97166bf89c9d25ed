//! Prints what each signature of a store costs and proposes: `cargo run --release --example
//! signature_cost -- STORE`.
//!
//! The table has, for each document (a content that is not too short), the bytes in the tables that
//! the signature fills, its keys, and its candidate pairs: all, those that no other signature
//! proposes, and the share that was accepted. The other parts of evidence follow. All is counted
//! exactly over the rows of the store's head. For a crawl of any size:
//!
//! ```text
//! cargo run --release --example synth -- --docs 1000000 --out out/million/ \
//!     --truth out/million.jsonl
//! pagefold lexicon JOB --out words.tsv
//! pagefold run JOB           with all signatures in [[signatures]]
//! cargo run --release --example signature_cost -- STORE
//! ```

use std::error::Error;
use std::path::Path;
use workers::store::Store;
use workers::store::table::Row;
use workers::tables::evidence::{KEY_BYTES, keys};
use workers::tables::pairs::proposed_by;
use workers::tables::snapshot::Snapshot;
use workers::tables::{EvidenceRow, GroupRow, KeyRow, PairRow};
use workers::text::signatures::SignatureKind;

/// The most rows of a segment that are held at once, and the most rows of `evidence`, which are
/// large.
const PORTION_ROWS: usize = 1 << 16;
const EVIDENCE_ROWS: usize = 1 << 12;

/// Candidate pairs of one signature.
#[derive(Clone, Copy, Default)]
struct Proposed {
    all: u64,
    alone: u64,
    accepted: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("signature_cost STORE")?;
    let store = Store::open(Path::new(&path), None)?;
    let head = store.head()?.ok_or("no epoch yet")?;
    let snapshot = Snapshot::of(&store, &head);
    let table_bytes = |name: &str| head.manifest.tables.get(name).map_or(0, |table| table.bytes());

    let mut key_counts = [0u64; 1 + SignatureKind::ALL.len()];
    let (mut documents, mut key_bytes, mut sketch_bytes, mut text_bytes, mut texts) =
        (0u64, 0, 0, 0, 0u64);
    for row in snapshot.table::<EvidenceRow>()?.portions(EVIDENCE_ROWS).flatten() {
        documents += 1;
        key_bytes += row.keys.len();
        sketch_bytes += row.sketches.len();
        text_bytes += row.text.len();
        texts += u64::from(!row.text.is_empty());
        for (kind, _) in keys(&row.keys) {
            *key_counts.get_mut(usize::from(kind)).ok_or("a key of an unknown signature")? += 1;
        }
    }
    let mut proposed = [Proposed::default(); 1 + SignatureKind::ALL.len()];
    let (mut pairs, mut accepted) = (0u64, 0u64);
    for row in snapshot
        .table::<PairRow>()?
        .portions(PORTION_ROWS)
        .flatten()
        .filter(|row| row.content < row.other)
    {
        pairs += 1;
        accepted += u64::from(row.accepted);
        let by: Vec<usize> =
            (0..proposed.len()).filter(|n| proposed_by(row.proposals, *n as u8) > 0).collect();
        for &signature in &by {
            let proposed = &mut proposed[signature];
            proposed.all += 1;
            proposed.alone += u64::from(by.len() == 1);
            proposed.accepted += u64::from(row.accepted);
        }
    }

    let each = |n: u64| n as f64 / (documents as f64).max(1.0);
    println!(
        "{documents} documents, {pairs} pairs, {accepted} of them accepted, {:.1} bytes a document in `pairs`\n",
        each(table_bytes(PairRow::NAME))
    );
    println!(
        "| signature | keys | bytes in `keys` or bands | bytes in `evidence` | candidates | of these alone | accepted |"
    );
    println!("|---|---|---|---|---|---|---|");
    let row = |name: &str, keys: f64, tables: f64, evidence: f64, proposed: Proposed| {
        let share = proposed.accepted as f64 / (proposed.all as f64).max(1.0);
        let (all, alone) = (each(proposed.all), each(proposed.alone));
        println!(
            "| {name} | {keys:.1} | {tables:.1} | {evidence:.1} | {all:.3} | {alone:.3} | {share:.3} |"
        );
    };
    let bands: u64 = head
        .manifest
        .tables
        .keys()
        .filter(|name| name.starts_with("band_") || *name == GroupRow::NAME)
        .map(|name| table_bytes(name))
        .sum();
    let in_bands = head.manifest.tables.keys().filter(|name| name.starts_with("band_")).count() + 1;
    row("simhash", in_bands as f64, each(bands), 8.0, proposed[0]);
    let all_keys: u64 = key_counts.iter().sum();
    for kind in SignatureKind::ALL {
        let n = usize::from(kind.number());
        // All rows of `keys` have the same size: a signature has its share of the bytes.
        let share = key_counts[n] as f64 / (all_keys as f64).max(1.0);
        let evidence = each(key_counts[n] * KEY_BYTES as u64);
        row(
            kind.name(),
            each(key_counts[n]),
            each(table_bytes(KeyRow::NAME)) * share,
            evidence,
            proposed[n],
        );
    }
    println!(
        "\nevidence, {:.1} bytes a document as it lies on disk, of them",
        each(table_bytes(EvidenceRow::NAME))
    );
    println!("- keys of all signatures {:.1}", each(key_bytes as u64));
    println!("- sketches {:.1}", each(sketch_bytes as u64));
    println!("- kept text {:.1}, of {texts} documents", each(text_bytes as u64));
    println!(
        "- without text {:.1}",
        each(table_bytes(EvidenceRow::NAME).saturating_sub(text_bytes as u64))
    );
    let store_bytes: u64 = head.manifest.tables.values().map(|table| table.bytes()).sum();
    println!("\nthe store's tables, {:.1} bytes a document", each(store_bytes));
    Ok(())
}
