//! Follows the chains of the table `successors`.

use crate::document::Id;
use crate::store::runs::Table;
use crate::tables::SuccessorRow;
use std::collections::BTreeMap;

/// For each of `contents` the end of its chain of successors, or the content itself if it has no
/// successor.
///
/// A live content has no successor, so the end is a live content unless a whole cluster died. Each
/// step leads to a content that is live or died in a later epoch, so every chain ends. In a damaged
/// table a step to an earlier epoch ends the chain, too. All chains take a step at once, so there
/// are as many look-ups as the longest chain has steps.
pub fn ends(successors: &Table<SuccessorRow>, contents: &[Id]) -> BTreeMap<Id, Id> {
    let mut ends: BTreeMap<Id, (Id, u32)> =
        contents.iter().map(|content| (*content, (*content, 0))).collect();
    loop {
        let mut at: Vec<Id> = ends.values().map(|(end, _)| *end).collect();
        at.sort_unstable();
        at.dedup();
        let rows = successors.matching(&at);
        let mut has_moved = false;
        for end in ends.values_mut() {
            let next =
                rows.binary_search_by_key(&end.0, |row| row.content).ok().map(|at| &rows[at]);
            if let Some(next) = next.filter(|next| next.epoch > end.1) {
                *end = (next.successor, next.epoch);
                has_moved = true;
            }
        }
        if !has_moved {
            return ends.into_iter().map(|(content, (end, _))| (content, end)).collect();
        }
    }
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
}
