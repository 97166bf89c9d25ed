//! Follows the chains of the table `successors`.

use crate::distinct::distinct;
use crate::id::Id;
use crate::store::runs::Table;
use crate::tables::SuccessorRow;
use std::collections::BTreeMap;

/// For each of `contents` the end of its chain of successors, or the content itself if it has no
/// successor.
///
/// A live content has no successor, so the end is a live content unless all near contents died.
/// Each step leads to a content that is live or died in a later epoch, so every chain ends. In a
/// damaged table a step to an earlier epoch ends the chain, too. All chains take a step at once,
/// and chains that have ended are looked up no more.
pub fn ends(successors: &Table<SuccessorRow>, contents: &[Id]) -> BTreeMap<Id, Id> {
    ends_of(|contents| successors.matching(contents), contents)
}

/// As [`ends`], with the look-up of the rows of ascending contents.
fn ends_of(look_up: impl Fn(&[Id]) -> Vec<SuccessorRow>, contents: &[Id]) -> BTreeMap<Id, Id> {
    let mut ends: BTreeMap<Id, Id> = contents.iter().map(|content| (*content, *content)).collect();
    // The end and the epoch of each chain that has not ended, with its first content.
    let mut open: Vec<(Id, u32, Id)> = ends.keys().map(|content| (*content, 0, *content)).collect();
    while !open.is_empty() {
        let rows = look_up(&distinct(open.iter().map(|(end, ..)| *end)));
        open.retain_mut(|(end, epoch, first)| {
            let next = rows.binary_search_by_key(end, |row| row.content).ok().map(|at| &rows[at]);
            let next = next.filter(|next| next.epoch > *epoch && !next.successor.is_none());
            let Some(next) = next else { return false };
            (*end, *epoch) = (next.successor, next.epoch);
            ends.insert(*first, *end);
            true
        });
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::segment::{self, Segment};

    /// Chains are followed to their ends over runs. A content without a successor is its own end. A
    /// circle in a damaged table ends, too.
    #[test]
    fn chains_end() {
        let id = |high| Id { high, low: 0 };
        let row = |content, successor, epoch, diff| {
            let (content, successor) = (id(content), id(successor));
            SuccessorRow { content, successor, epoch, last_time: 0, diff }
        };
        let folder = tempfile::tempdir().expect("a folder");
        let mut table = Table::default();
        for run in [
            vec![
                row(1, 2, 1, 1),
                row(3, 9, 1, 1),
                row(5, 6, 3, 1),
                row(6, 5, 4, 1),
                row(7, 7, 1, 1),
            ],
            vec![row(2, 4, 2, 1), row(3, 9, 1, -1)],
            vec![row(4, 8, 5, 1)],
        ] {
            let written =
                segment::write(folder.path(), "test", run).expect("written").expect("rows");
            table.push(Segment::open(folder.path(), &written).expect("opened"));
        }
        let contents: Vec<Id> = (1..=8).map(id).collect();
        let found: Vec<u64> = ends(&table, &contents).into_values().map(|end| end.high).collect();
        assert_eq!(found, [8, 8, 3, 8, 5, 5, 7, 8]);
        assert!(ends(&table, &[]).is_empty());
    }

    /// All chains were looked up as often as the longest one has steps.
    #[test]
    fn ended_chains_are_not_looked_up() {
        let id = |high| Id { high, low: 0 };
        let row = |at: u64| {
            let (content, successor) = (id(at), id(at + 1));
            SuccessorRow { content, successor, epoch: at as u32, last_time: 0, diff: 1 }
        };
        let looked_up = std::cell::Cell::new(0);
        let look_up = |contents: &[Id]| {
            looked_up.set(looked_up.get() + contents.len());
            let has_row = |content: &&Id| (1..50).contains(&content.high);
            contents.iter().filter(has_row).map(|content| row(content.high)).collect()
        };
        let contents: Vec<Id> = [1].into_iter().chain(100..200).map(id).collect();
        let ends = ends_of(look_up, &contents);
        assert!(ends[&id(1)] == id(50) && ends[&id(150)] == id(150));
        assert_eq!(looked_up.get(), 100 + 50);
    }
}
