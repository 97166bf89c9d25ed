//! Checks that every stored pair may be stored, and is stored with the right verdict.
//!
//! Pairs that are missing are found by [`crate::verify::recall`].

use crate::candidates::near::NearRule;
use crate::candidates::pivots::{examined_before, examined_between};
use crate::distinct::distinct;
use crate::error::Result;
use crate::id::{Id, hex};
use crate::job::Job;
use crate::judge::{Judge, PairToDecide};
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::open::OpenSegments;
use crate::store::runs::Table;
use crate::tables::evidence;
use crate::tables::evidence::StoredEvidence;
use crate::tables::mapped::Mapped;
use crate::tables::pairs::proposed_by;
use crate::tables::snapshot::Snapshot;
use crate::tables::{EvidenceRow, KeyRow, PairRow};
use crate::text::simhash;
use crate::verify::findings::Check;
use crate::verify::live::{Live, PORTION_ROWS, portions};
use std::cmp::Ordering;
use std::sync::Arc;

/// The pairs whose keys are held in memory at once. A content has up to 320 keys of 40 bytes each.
const KEYED_PAIRS_MAX: usize = PORTION_ROWS.div_ceil(16);

/// All tables, and that of evidence.
type KnownTexts<'a> = (&'a Mapped, &'a Table<EvidenceRow>);

/// What the checks of a pair need of each content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    content: Id,
    fingerprint: u64,
    is_comparable: bool,
    /// The rank by digest in the group.
    rank: usize,
}

/// Whether two contents of fingerprints within k bits are examined, by the near rule and by the
/// pivot rule.
fn examined(a: &Standing, b: &Standing, near: &NearRule) -> bool {
    match a.fingerprint == b.fingerprint {
        true => a.rank.min(b.rank) < examined_before(a.rank.max(b.rank)),
        false => examined_between(a.rank, b.rank, near.product_max(a.fingerprint, b.fingerprint)),
    }
}

/// For [`Live::next_if`]: `Equal` accepts a row, `Greater` does not.
fn lesser(is: bool) -> Ordering {
    if is { Ordering::Equal } else { Ordering::Greater }
}

/// What is wrong with a pair, apart from its verdict and its keys. `None` stands for a content that
/// does not live.
fn wrong(
    row: &PairRow,
    a: Option<&Standing>,
    b: Option<&Standing>,
    k: u32,
    near: &NearRule,
) -> Option<String> {
    let (Some(a), Some(b)) = (a, b) else { return Some("of a content that does not live".into()) };
    if row.content == row.other {
        return Some("a content and itself".into());
    }
    if !a.is_comparable || !b.is_comparable {
        return Some("of a content that is not compared: too short, or gathered".into());
    }
    let distance = simhash::distance(a.fingerprint, b.fingerprint);
    match proposed_by(row.proposals, 0) {
        _ if distance != u32::from(row.distance) => {
            Some(format!("the fingerprints differ in {distance} bits, not in {}", row.distance))
        }
        0 if distance <= k && examined(a, b, near) => {
            Some("stored as if SimHash did not propose it".into())
        }
        1 if distance > k => Some(format!("the fingerprints differ in {distance} bits, k is {k}")),
        2.. => Some("SimHash proposes it more than once".into()),
        _ if row.proposals == 0 => Some("no signature proposes it".into()),
        _ => None,
    }
}

fn verdict(row: &PairRow) -> String {
    let PairRow { distance, similarity, reason, accepted, .. } = row;
    format!("distance {distance}, similarity {similarity}, reason {reason}, accepted {accepted}")
}

/// The standings of `contents` (ascending) that live.
fn standings(tables: &Mapped, contents: &[Id]) -> Vec<Standing> {
    let mut live = Live::of(&tables.contents);
    let rows = contents.iter().filter_map(|content| live.find(|row| row.content.cmp(content)));
    let mut standings: Vec<Standing> = rows
        .map(|row| Standing {
            content: row.content,
            fingerprint: row.fingerprint,
            is_comparable: row.is_comparable(),
            rank: 0,
        })
        .collect();
    let key = |standing: &Standing| tables.bands.key(0, standing.fingerprint);
    standings.sort_unstable_by_key(|standing| (key(standing), standing.content));
    let mut groups = Live::of(&tables.groups);
    for group in standings.chunk_by_mut(|a, b| a.fingerprint == b.fingerprint) {
        let key = key(&group[0]);
        groups.seek(|row| row.key.cmp(&key));
        let mut rank = 0;
        for standing in group {
            while groups
                .next_if(|row| lesser(row.key == key && row.content < standing.content))
                .is_some()
            {
                rank += 1;
            }
            standing.rank = rank;
        }
    }
    standings.sort_unstable_by_key(|standing| standing.content);
    standings
}

/// A key of a content, and the content's rank by digest in the key's bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Keyed {
    content: Id,
    kind: u8,
    key: u64,
    rank: usize,
}

/// Counts rows of `keys` from one place to a later one, in time that does not grow with the rows
/// between them.
struct Counter<'a> {
    keys: &'a Table<KeyRow>,
    /// The place in each segment.
    at: Vec<usize>,
}

impl Counter<'_> {
    fn new(keys: &Table<KeyRow>) -> Counter<'_> {
        Counter { keys, at: vec![0; keys.segments().len()] }
    }

    /// The live rows from the present place up to the first row that is not `before`, which becomes
    /// the present place.
    fn count(&mut self, before: impl Fn(&KeyRow) -> bool) -> usize {
        let counts = self.keys.segments().iter().zip(&mut self.at).map(|(segment, at)| {
            let from = std::mem::replace(at, segment.seek_by(*at, |at| before(&segment.row(at))));
            segment.sum_of_diffs(from..*at)
        });
        usize::try_from(counts.sum::<i64>()).unwrap_or(0)
    }
}

/// The keys of `contents` (ascending), by content.
fn keyed((tables, texts): KnownTexts<'_>, contents: &[Id]) -> Vec<Keyed> {
    let mut keyed = Vec::new();
    let mut rows = Live::of(texts);
    for content in contents {
        let row = rows.find(|row| row.content.cmp(content));
        let keys = row.iter().flat_map(|row| evidence::keys(&row.keys));
        keyed.extend(keys.map(|(kind, key)| Keyed { content: *content, kind, key, rank: 0 }));
    }
    keyed.sort_unstable_by_key(|keyed| (keyed.key, keyed.kind, keyed.content));
    let mut counter = Counter::new(&tables.keys);
    for bucket in keyed.chunk_by_mut(|a, b| (a.key, a.kind) == (b.key, b.kind)) {
        let key = (bucket[0].key, bucket[0].kind);
        counter.count(|row| (row.key, row.kind) < key);
        let mut rank = 0;
        for keyed in bucket {
            rank += counter.count(|row| ((row.key, row.kind), row.content) < (key, keyed.content));
            keyed.rank = rank;
        }
    }
    keyed.sort_unstable();
    keyed
}

/// The signatures except SimHash that propose two contents with these keys, in the form of
/// [`PairRow::proposals`].
fn proposals(a: &[Keyed], b: &[Keyed]) -> u64 {
    let mut bytes = [0u8; 8];
    for one in a {
        let same = b.binary_search_by_key(&(one.kind, one.key), |other| (other.kind, other.key));
        if same.is_ok_and(|at| one.rank.min(b[at].rank) < examined_before(one.rank.max(b[at].rank)))
            && let Some(byte) = bytes.get_mut(usize::from(one.kind))
        {
            *byte = byte.saturating_add(1);
        }
    }
    u64::from_le_bytes(bytes)
}

/// Every pair is stored under both contents, with the verdict that the evidence gives and the
/// signatures that propose it (check `pairs`). If SimHash proposes it, the pivot rule examines it
/// (check `pivots`).
///
/// # Errors
///
/// `Io` if a segment cannot be mapped, or if a stored text cannot be read though its bytes are
/// sound.
pub fn pairs(
    store: &Store,
    head: &Head,
    known: KnownTexts<'_>,
    near: &NearRule,
    job: &Job,
) -> Result<[Check; 2]> {
    let (tables, _) = known;
    let (mut check, mut pivots) = (Check::new("pairs"), Check::new("pivots"));
    let snapshot = Snapshot::of(store, head);
    let open =
        || Ok(StoredEvidence::new(snapshot.lookup(&OpenSegments::default(), Arc::default())?));
    let (judge, stored) = (Judge::new(job.verdicts()?, open), open()?);
    for portion in portions(Live::of(&tables.pairs)) {
        let contents = contents_of(&portion);
        let standings = standings(tables, &contents);
        let standing = |content| {
            standings
                .binary_search_by_key(&content, |standing| standing.content)
                .ok()
                .map(|at| &standings[at])
        };
        let readable = if job.contents.evidence {
            stored.readable(&contents)
        } else {
            vec![true; contents.len()]
        };
        let is_known = |content: Id| contents.binary_search(&content).is_ok_and(|at| readable[at]);
        let mut sound: Vec<&PairRow> = Vec::new();
        for row in &portion {
            let (a, b) = (standing(row.content), standing(row.other));
            if let Some(what) = wrong(row, a, b, tables.bands.k(), near) {
                check.find::<PairRow>(name(row), what);
            } else if proposed_by(row.proposals, 0) > 0
                && !a.zip(b).is_some_and(|(a, b)| examined(a, b, near))
            {
                pivots.find::<PairRow>(
                    name(row),
                    "the pivot rule or the near rule does not examine it",
                );
            } else if row.content < row.other && is_known(row.content) && is_known(row.other) {
                // The check of `evidence` finds contents without evidence, and `mirrors` checks the
                // other direction.
                sound.push(row);
            }
        }
        for rows in sound.chunks(KEYED_PAIRS_MAX) {
            proposed(known, rows, &mut check);
        }
        let ask = |row: &&PairRow| PairToDecide {
            a: row.content,
            b: row.other,
            distance: Some(row.distance.into()),
        };
        judge.verdicts(&sound.iter().map(ask).collect::<Vec<_>>(), |at, distance, again| {
            let row = sound[at];
            let (similarity, reason, accepted) =
                (again.similarity, again.reason as u8, again.accepted.into());
            let again =
                PairRow { distance: distance as u8, similarity, reason, accepted, ..row.clone() };
            if again != *row {
                let what =
                    format!("stored as {}, decided again it is {}", verdict(row), verdict(&again));
                check.find::<PairRow>(name(row), what);
            }
            Ok(())
        })?;
        mirrors(tables, portion, &mut check);
    }
    Ok([check, pivots])
}

fn name(row: &PairRow) -> String {
    format!("{} {}", row.content, row.other)
}

/// The contents of pairs, ascending.
fn contents_of<'a>(rows: impl IntoIterator<Item = &'a PairRow>) -> Vec<Id> {
    distinct(rows.into_iter().flat_map(|row| [row.content, row.other]))
}

/// Compares the stored proposals of `rows`, SimHash's aside, with the contents' keys.
fn proposed(known: KnownTexts<'_>, rows: &[&PairRow], check: &mut Check) {
    let keyed = keyed(known, &contents_of(rows.iter().copied()));
    let of = |content: Id| {
        let start = keyed.partition_point(|keyed| keyed.content < content);
        let end = keyed.partition_point(|keyed| keyed.content <= content);
        &keyed[start..end]
    };
    for row in rows {
        let (stored, due) = (row.proposals & !0xff, proposals(of(row.content), of(row.other)));
        if stored != due {
            check.find::<PairRow>(
                name(row),
                format!("proposed by {}, by keys it is {}", hex(stored), hex(due)),
            );
        }
    }
}

/// Checks that the other direction of each of `rows` is stored.
fn mirrors(tables: &Mapped, rows: Vec<PairRow>, check: &mut Check) {
    let mirrored = |row: PairRow| PairRow { content: row.other, other: row.content, ..row };
    let mut rows: Vec<PairRow> = rows.into_iter().map(mirrored).collect();
    rows.sort_unstable();
    let mut pairs = Live::of(&tables.pairs);
    for row in rows {
        let what =
            match pairs.find(|pair| (pair.content, pair.other).cmp(&(row.content, row.other))) {
                None => "missing, though the other direction is stored",
                Some(pair) if pair != row => "the other direction is stored otherwise",
                Some(_) => continue,
            };
        check.find::<PairRow>(name(&row), what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::bands::Bands;

    /// A pair is right only if both contents live, are long enough and have its distance, and if a
    /// signature that may propose it does.
    #[test]
    fn wrong_pairs_are_named() {
        let id = |high| Id { high, low: 0 };
        let standing = |high, fingerprint| Standing {
            content: id(high),
            fingerprint,
            is_comparable: true,
            rank: 0,
        };
        let row = PairRow {
            content: id(1),
            other: id(2),
            distance: 2,
            similarity: 9952,
            reason: 1,
            accepted: 1,
            proposals: 1,
            diff: 1,
        };
        let (a, b) = (standing(1, 0b1100), standing(2, 0));
        let near = NearRule::new(Bands::new(3, None).expect("bands"));
        assert_eq!(wrong(&row, Some(&a), Some(&b), 3, &near), None);
        assert_eq!(
            wrong(&PairRow { proposals: 0x100, ..row.clone() }, Some(&a), Some(&b), 1, &near),
            None
        );
        let what = |row: &PairRow, a: Option<Standing>, k| {
            wrong(row, a.as_ref(), Some(&b), k, &near).expect("wrong")
        };
        assert!(what(&row, None, 3).contains("not live"));
        assert!(
            what(&row, Some(Standing { is_comparable: false, ..a }), 3).contains("not compared")
        );
        assert!(what(&row, Some(a), 1).contains("k is 1"));
        assert!(what(&PairRow { other: id(1), ..row.clone() }, Some(a), 3).contains("itself"));
        assert!(what(&PairRow { distance: 1, ..row.clone() }, Some(a), 3).contains("not in 1"));
        assert!(
            what(&PairRow { proposals: 0x100, ..row.clone() }, Some(a), 3)
                .contains("did not propose")
        );
        assert!(
            what(&PairRow { proposals: 0, ..row.clone() }, Some(a), 1).contains("no signature")
        );
        assert!(what(&PairRow { proposals: 2, ..row }, Some(a), 3).contains("more than once"));
    }

    /// Each common key proposes a pair once, if the pivot rule examines the ranks.
    #[test]
    fn keys_propose() {
        let keyed = |kind, key, rank| Keyed { content: Id::NONE, kind, key, rank };
        let a = [keyed(1, 5, 0), keyed(1, 6, 9999), keyed(1, 7, 99), keyed(2, 8, 0)];
        let b = [keyed(1, 5, 9999), keyed(1, 6, 3), keyed(1, 7, 98), keyed(1, 8, 0)];
        assert_eq!(proposals(&a, &b), 0x0200);
        assert_eq!(proposals(&b, &a), 0x0200);
    }
}
