//! Compares the tables of a store's head with one another, and a sample of fingerprints and keys
//! with all.
//!
//! [`crate::verify::verify`] has found the bytes sound before. Tables are streamed. A check holds
//! one row of each segment and a portion of at most 65,536 rows or keys of at most 96 bytes. The
//! check of clusters holds up to 100 MB of pairs, or the largest component: about 256 bytes for
//! each of its pages and 100 for each accepted pair.

use crate::candidates::near::NearRule;
use crate::error::Result;
use crate::id::{Id, hex};
use crate::job::Job;
use crate::keep::KeepRule;
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::open::OpenSegments;
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::tables::mapped::Mapped;
use crate::tables::snapshot::Snapshot;
use crate::tables::{EvidenceRow, band_table};
use crate::verify::findings::{Check, Deep};
use crate::verify::large_buckets;
use crate::verify::live::Live;
use crate::verify::{bands, clusters, components, evidence, pages, pairs, recall};

/// Compares the tables of `head` with one another, and `sample` fingerprints and keys with all.
///
/// # Errors
///
/// `Config` if the job's decisions or view differ from the head's, because then nothing can be
/// computed again. `Io` if a segment cannot be mapped.
pub fn deep(store: &Store, head: &Head, job: &Job, sample: usize) -> Result<Deep> {
    job.check_decided(store.root(), &head.manifest)?;
    let snapshot = Snapshot::of(store, head);
    let (tables, texts) =
        (Mapped::open(&snapshot, job.bands()?, &OpenSegments::default())?, snapshot.table()?);
    let rows = rows(&tables, &texts);
    if rows.found > 0 {
        return Ok(Deep { checks: vec![rows], recall: None });
    }
    let mut checks = vec![rows, pages::urls(&tables), pages::gone(&tables)];
    checks.extend([
        pages::content_pages(&tables),
        pages::contents(&tables),
        pages::successors(&tables),
    ]);
    checks.extend([bands::fingerprint_contents(&tables), bands::bands(&tables, head)]);
    checks.extend([evidence::evidence(&tables, &texts, job), evidence::keys(&tables, &texts)]);
    let near = large_buckets::near_rule(&tables.bands, &tables.groups, &tables.band);
    checks.extend(pairs::pairs(store, head, (&tables, &texts), &near, job)?);
    checks.extend([components::components(&tables), components::component_members(&tables)]);
    let rule = KeepRule::new(&job.keep, &head.manifest.source_names());
    checks.extend(clusters::clusters(&tables, &rule, &job.clusters));
    checks.extend([folded(&tables, head), unexamined(&tables, &near, head)]);
    let (missing, recall) = recall::recall(&tables, &near, &head.digest, sample);
    checks.push(missing);
    checks.push(recall::key_recall(&tables, &head.digest, sample));
    Ok(Deep { checks, recall: Some(recall) })
}

/// The manifest's number of folded pages is that of the clusters: all pages except the
/// representatives.
fn folded(tables: &Mapped, head: &Head) -> Check {
    let mut check = Check::new("folded");
    let (stored, counted) = (
        head.manifest.folded,
        Live::of(&tables.clusters).map(|row| u64::from(row.pages.saturating_sub(1))).sum::<u64>(),
    );
    if stored != counted {
        check.find_in("manifest", "folded", format_args!("{stored}, the clusters say {counted}"));
    }
    check
}

/// The manifest's sums of unexamined pairs are those of the tables.
fn unexamined(tables: &Mapped, near: &NearRule, head: &Head) -> Check {
    let mut check = Check::new("unexamined");
    let (stored, counted) =
        (&head.manifest.unexamined, large_buckets::counted(&tables.groups, &tables.keys, near));
    for (name, stored, counted) in
        stored.keys().chain(counted.keys()).map(|name| (name, stored.get(name), counted.get(name)))
    {
        if stored != counted && check.findings.iter().all(|finding| finding.key != *name) {
            check.find_in("manifest", name, format_args!("{stored:?}, the tables say {counted:?}"));
        }
    }
    check
}

/// In every table the diffs of a row sum to 0 or 1, and no key has two rows.
fn rows(tables: &Mapped, texts: &Table<EvidenceRow>) -> Check {
    let mut check = Check::new("rows");
    add_up(&tables.pages, Row::key, |doc| doc.to_string(), &mut check);
    add_up(&tables.urls, Row::key, |doc| doc.to_string(), &mut check);
    add_up(&tables.gone, Row::key, |doc| doc.to_string(), &mut check);
    add_up(&tables.content_pages, |row| [row.content, row.doc], both, &mut check);
    add_up(&tables.contents, Row::key, |content| content.to_string(), &mut check);
    let group = |key: (u64, Id)| format!("{} {}", hex(tables.bands.unkey(0, key.0)), key.1);
    add_up(&tables.groups, |row| (row.key, row.content), group, &mut check);
    for (band, table) in (1..).zip(&tables.band) {
        add_up_named(
            table,
            &band_table(band),
            Row::key,
            |key| hex(tables.bands.unkey(band, key)).to_string(),
            &mut check,
        );
    }
    add_up(texts, Row::key, |content| content.to_string(), &mut check);
    let key = |(key, kind, content): (u64, u8, Id)| format!("{} {kind} {content}", hex(key));
    add_up(&tables.keys, |row| (row.key, row.kind, row.content), key, &mut check);
    add_up(&tables.pairs, |row| [row.content, row.other], both, &mut check);
    add_up(&tables.components, Row::key, |content| content.to_string(), &mut check);
    add_up(&tables.members, |row| [row.component, row.content], both, &mut check);
    add_up(&tables.leaders, Row::key, |content| content.to_string(), &mut check);
    add_up(&tables.clusters, |row| [row.component, row.leader], both, &mut check);
    add_up(&tables.successors, Row::key, |content| content.to_string(), &mut check);
    check
}

fn both([a, b]: [Id; 2]) -> String {
    format!("{a} {b}")
}

/// Checks one table. `key` occurs once in it; `name` shows it in findings.
fn add_up<R: Row, K: Copy + PartialEq>(
    table: &Table<R>,
    key: impl Fn(&R) -> K,
    name: impl Fn(K) -> String,
    check: &mut Check,
) {
    add_up_named(table, R::NAME, key, name, check);
}

/// The same under a given name, because the tables of all bands have one row type.
fn add_up_named<R: Row, K: Copy + PartialEq>(
    table: &Table<R>,
    table_name: &str,
    key: impl Fn(&R) -> K,
    name: impl Fn(K) -> String,
    check: &mut Check,
) {
    let mut live = Live::of(table);
    let mut last = None;
    while let Some((row, sum)) = live.next_sum() {
        let key = key(&row);
        match sum {
            0 => continue,
            1 if last.replace(key) == Some(key) => {
                check.find_in(table_name, name(key), "the key has two rows")
            }
            1 => {}
            sum => check.find_in(table_name, name(key), format_args!("a row is there {sum} times")),
        }
    }
}
