//! Pairs: in come `pairs`, `contents` and `fingerprint_contents`, out go the pairs that are stored and should not be, or should be stored
//! otherwise. Those that are not stored and should be are [`crate::verify::recall`]'s.

use crate::confirm::Options;
use crate::document::Id;
use crate::groups::PIVOTS;
use crate::ingest::TOO_SHORT;
use crate::pairs::{PairRow, decided};
use crate::verify::findings::Check;
use crate::verify::live::{Live, Tables, portions};

/// What the pair rule asks of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    content: Id,
    fingerprint: u64,
    too_short: bool,
    pivot: bool,
}

/// What is wrong with a pair whose contents stand so; none of a content that does not live.
fn wrong(row: &PairRow, a: Option<&Standing>, b: Option<&Standing>, k: u32, options: &Options) -> Option<String> {
    let (Some(a), Some(b)) = (a, b) else { return Some("of a content that does not live".into()) };
    if row.content == row.other {
        return Some("a content and itself".into());
    }
    if a.too_short || b.too_short {
        return Some("of a content that is too short to be compared".into());
    }
    let distance = (a.fingerprint ^ b.fingerprint).count_ones();
    if distance > k {
        return Some(format!("the fingerprints differ in {distance} bits, k is {k}"));
    }
    let again = decided(row.content, row.other, distance, options);
    (again != *row).then(|| format!("stored as {}, decided again it is {}", verdict(row), verdict(&again)))
}

fn verdict(row: &PairRow) -> String {
    let PairRow { distance, similarity, reason, accepted, signatures, .. } = row;
    format!(
        "distance {distance}, similarity {similarity}, reason {reason}, accepted {accepted}, signatures {signatures}"
    )
}

/// How `contents`, which ascend, stand; those that do not live are left out.
fn standings(tables: &Tables, contents: &[Id]) -> Vec<Standing> {
    let mut live = Live::of(&tables.contents);
    let rows = contents.iter().filter_map(|content| live.find(|row| row.content.cmp(content)));
    let mut standings: Vec<Standing> = rows
        .map(|row| Standing {
            content: row.content,
            fingerprint: row.fingerprint,
            too_short: row.flags & TOO_SHORT != 0,
            pivot: false,
        })
        .collect();
    let key = |standing: &Standing| tables.bands.key(0, standing.fingerprint);
    standings.sort_unstable_by_key(|standing| (key(standing), standing.content));
    let mut groups = Live::of(&tables.groups);
    for group in standings.chunk_by_mut(|a, b| a.fingerprint == b.fingerprint) {
        let key = key(&group[0]);
        groups.seek(|row| row.key.cmp(&key));
        for _ in 0..PIVOTS {
            let Some(pivot) = groups.next_if(|row| row.key.cmp(&key)) else { break };
            if let Ok(at) = group.binary_search_by_key(&pivot.content, |standing| standing.content) {
                group[at].pivot = true;
            }
        }
    }
    standings.sort_unstable_by_key(|standing| standing.content);
    standings
}

/// Every pair stands under both its contents with the same verdict, which is the one that is due (`pairs`), and the pivot rule
/// examines it (`pivots`).
pub fn pairs(tables: &Tables, options: &Options) -> [Check; 2] {
    let (mut check, mut pivots) = (Check::new("pairs"), Check::new("pivots"));
    for portion in portions(Live::of(&tables.pairs)) {
        let mut contents: Vec<Id> = portion.iter().flat_map(|row| [row.content, row.other]).collect();
        contents.sort_unstable();
        contents.dedup();
        let standings = standings(tables, &contents);
        let standing = |content| {
            standings.binary_search_by_key(&content, |standing| standing.content).ok().map(|at| &standings[at])
        };
        for row in &portion {
            let (a, b) = (standing(row.content), standing(row.other));
            let key = format_args!("{} {}", row.content, row.other).to_string();
            if let Some(what) = wrong(row, a, b, tables.bands.k(), options) {
                check.find("pairs", key, what);
            } else if !a.is_some_and(|a| a.pivot) && !b.is_some_and(|b| b.pivot) {
                pivots.find("pairs", key, "neither content is a pivot");
            }
        }
        mirrors(tables, portion, &mut check);
    }
    [check, pivots]
}

/// Seeks the other direction of each of `rows`.
fn mirrors(tables: &Tables, rows: Vec<PairRow>, check: &mut Check) {
    let mirrored = |row: PairRow| PairRow { content: row.other, other: row.content, ..row };
    let mut rows: Vec<PairRow> = rows.into_iter().map(mirrored).collect();
    rows.sort_unstable();
    let mut pairs = Live::of(&tables.pairs);
    for row in rows {
        let what = match pairs.find(|pair| (pair.content, pair.other).cmp(&(row.content, row.other))) {
            None => "missing, though the other direction is stored",
            Some(pair) if pair != row => "the other direction is stored otherwise",
            Some(_) => continue,
        };
        check.find("pairs", format_args!("{} {}", row.content, row.other), what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pair is right only if both contents live, are long enough, within k, and its verdict is the one that is due.
    #[test]
    fn what_is_wrong() {
        let id = |high| Id { high, low: 0 };
        let standing = |high, fingerprint| Standing { content: id(high), fingerprint, too_short: false, pivot: true };
        let options = Options::default();
        let (a, b, row) = (standing(1, 0b1100), standing(2, 0), decided(id(1), id(2), 2, &options));
        assert_eq!(wrong(&row, Some(&a), Some(&b), 3, &options), None);
        let told =
            |row: &PairRow, a: Option<Standing>, k| wrong(row, a.as_ref(), Some(&b), k, &options).expect("wrong");
        assert!(told(&row, None, 3).contains("not live"));
        assert!(told(&row, Some(Standing { too_short: true, ..a }), 3).contains("too short"));
        assert!(told(&row, Some(a), 1).contains("2 bits"));
        assert!(told(&PairRow { other: id(1), ..row.clone() }, Some(a), 3).contains("itself"));
        assert!(told(&PairRow { similarity: 1, ..row }, Some(a), 3).contains("similarity 1"));
    }
}
