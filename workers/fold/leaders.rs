//! Leaders: in comes a component whole, out goes who leads whom where the job sets a radius, so that a chain of texts, each
//! near the next, does not become one cluster. The first content by the keep rule leads and takes the others within the
//! radius; of those that are left the first leads, and so on: the leader algorithm (Hartigan, "Clustering Algorithms", 1975),
//! with pairs for distances and the keep rule for the order of the data, so that the page which represents a cluster is
//! always one of its leader's, and a radius of 1 gives it an accepted pair with every text that folds into it.
//!
//! Whoever comes late can change who leads whom in all of its component, so one that is touched is led anew, whole: a
//! component of a million contents with 64 pairs each takes its owner about 100 bytes a page and a pair (what tells it of
//! them), 16 more a pair and 200 a content while it is led, and time in the order of its pairs.

use crate::document::Id;
use crate::error::Result;
use crate::fold::epoch::Epoch;
use crate::graph::Graph;
use crate::graph::keep::Rank;
use crate::tables::{ComponentRow, LeaderRow};

/// A content and its leader, on the way to the content's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Led {
    /// The content.
    pub content: Id,
    /// The content that leads it, maybe itself.
    pub leader: Id,
}

/// A content in the order in which contents lead: the rank and the DocId of the page that the keep rule prefers of it.
pub type Turn = (Rank, Id);

/// Who leads whom: the content whose turn comes first leads, and takes every content that is at most `radius` of `pairs` away from
/// it by way of contents which nobody has taken; and so on, until all are taken. Neither order matters; what comes out
/// ascends by content.
pub fn lead(mut contents: Vec<(Id, Turn)>, pairs: impl Iterator<Item = (Id, Id)>, radius: u8) -> Vec<Led> {
    const NOBODY: u32 = u32::MAX;
    contents.sort_unstable();
    contents.dedup_by_key(|content| content.0);
    let ids: Vec<Id> = contents.iter().map(|content| content.0).collect();
    let graph = Graph::new(&ids, pairs);
    let mut turns: Vec<usize> = (0..ids.len()).collect();
    turns.sort_unstable_by_key(|&at| (contents[at].1, at));
    let mut leaders = vec![NOBODY; ids.len()];
    for leader in turns {
        if leaders[leader] != NOBODY {
            continue;
        }
        leaders[leader] = leader as u32;
        let mut outermost = vec![leader];
        for _ in 0..radius {
            let mut next = Vec::new();
            for at in outermost {
                for other in graph.neighbours(at) {
                    if leaders[other] == NOBODY {
                        leaders[other] = leader as u32;
                        next.push(other);
                    }
                }
            }
            outermost = next;
        }
    }
    ids.iter().zip(leaders).map(|(&content, leader)| Led { content, leader: ids[leader as usize] }).collect()
}

/// Stores what changed about the leaders of contents; `led` are this worker's own, sorted: all contents of touched components.
pub fn leaders(epoch: &Epoch, led: &[Led]) -> Result<()> {
    let table = epoch.before::<LeaderRow>()?;
    let mut contents: Vec<Id> = led.iter().map(|led| led.content).collect();
    if let Some(fresh) = epoch.fresh::<ComponentRow>()? {
        // Of these whoever is not led is in no component any more.
        contents.extend((0..fresh.len()).map(|at| fresh.key(at)));
    }
    let before = if epoch.shared.plan.view_changed {
        let (from, to) = epoch.id_range();
        table.range(from, to)
    } else {
        contents.sort_unstable();
        contents.dedup();
        table.matching(&contents)
    };
    epoch.write(changes(&before, led))
}

/// What turns the leaders `before` into those that `led` says; both ascend by content.
fn changes(before: &[LeaderRow], led: &[Led]) -> Vec<LeaderRow> {
    let new = |led: &Led| LeaderRow { content: led.content, leader: led.leader, diff: 1 };
    let (mut before, mut led) = (before.iter().peekable(), led.iter().map(new).peekable());
    let mut rows = Vec::new();
    while let Some(content) =
        [before.peek().map(|row| row.content), led.peek().map(|row| row.content)].into_iter().flatten().min()
    {
        let old = before.next_if(|row| row.content == content).cloned();
        let new = led.next_if(|row| row.content == content);
        if old != new {
            let from = rows.len();
            rows.extend(old.map(|row| LeaderRow { diff: -1, ..row }));
            rows.extend(new);
            rows[from..].sort_unstable();
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::clusters::RADIUS_MAX;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn id(n: u64) -> Id {
        Id { high: n, low: 0 }
    }

    type Pairs = BTreeSet<(u64, u64)>;

    /// The number of pairs on a shortest chain between two contents by way of `open` ones, itself among them.
    fn distance(from: u64, to: u64, open: &BTreeSet<u64>, pairs: &Pairs) -> Option<usize> {
        let mut near = BTreeSet::from([from]);
        for distance in 0..=open.len() {
            if near.contains(&to) {
                return Some(distance);
            }
            let next = pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).filter(|(a, _)| near.contains(a));
            let next: BTreeSet<u64> = next.map(|(_, b)| b).filter(|b| open.contains(b)).collect();
            near.extend(next);
        }
        None
    }

    /// The rule word by word.
    fn plain(turns: &[(u64, u64)], pairs: &Pairs, radius: u8) -> BTreeMap<u64, u64> {
        let mut order: Vec<(u64, u64)> = turns.iter().map(|&(content, turn)| (turn, content)).collect();
        order.sort_unstable();
        let mut open: BTreeSet<u64> = turns.iter().map(|turn| turn.0).collect();
        let mut led = BTreeMap::new();
        for (_, leader) in order {
            if !open.contains(&leader) {
                continue;
            }
            let within = |to: &u64| distance(leader, *to, &open, pairs).is_some_and(|far| far <= radius.into());
            let taken: Vec<u64> = open.iter().copied().filter(within).collect();
            taken.into_iter().for_each(|content| {
                open.remove(&content);
                led.insert(content, leader);
            });
        }
        led
    }

    fn told(turns: &[(u64, u64)], pairs: &[(u64, u64)], radius: u8) -> BTreeMap<u64, u64> {
        let contents: Vec<(Id, Turn)> = turns.iter().map(|&(n, turn)| (id(n), ([0, turn, 0, 0], id(n)))).collect();
        let led = lead(contents, pairs.iter().map(|&(a, b)| (id(a), id(b))), radius);
        assert!(led.is_sorted_by(|a, b| a.content < b.content));
        led.into_iter().map(|led| (led.content.high, led.leader.high)).collect()
    }

    proptest! {
        /// Whoever leads whom is what the rule says word by word, in whatever order and direction its input comes; each content is
        /// within the radius of its leader by way of its cluster, so that a cluster's diameter is twice the radius at most;
        /// no leader is within the radius of an earlier one by way of what that one could take.
        #[test]
        fn equals_the_rule(
            turns in prop::collection::vec(0u64..12, 1..24),
            pairs in prop::collection::vec((0u64..24, 0u64..24), 0..50),
            radius in 1u8..=RADIUS_MAX,
            turn in 0usize..50,
        ) {
            let turns: Vec<(u64, u64)> = turns.into_iter().enumerate().map(|(n, turn)| (n as u64, turn)).collect();
            let contents = turns.len() as u64;
            let pairs: Pairs = pairs.into_iter().filter(|(a, b)| a < b && *b < contents).collect();
            let list: Vec<(u64, u64)> = pairs.iter().copied().collect();
            let led = told(&turns, &list, radius);
            prop_assert_eq!(&led, &plain(&turns, &pairs, radius));

            let mut others = turns.clone();
            others.rotate_left(turn % turns.len());
            let mut mirrored: Vec<(u64, u64)> = list.iter().map(|&(a, b)| (b, a)).rev().collect();
            mirrored.extend(list.iter().take(3));
            prop_assert_eq!(&led, &told(&others, &mirrored, radius));

            let mut open: BTreeSet<u64> = led.keys().copied().collect();
            let mut leaders: Vec<u64> = led.iter().filter(|(content, leader)| content == leader).map(|(_, l)| *l).collect();
            leaders.sort_unstable_by_key(|leader| (turns[*leader as usize].1, *leader));
            for (nth, leader) in leaders.iter().enumerate() {
                let cluster: BTreeSet<u64> = led.iter().filter(|(_, l)| *l == leader).map(|(c, _)| *c).collect();
                for content in &cluster {
                    let far = distance(*leader, *content, &cluster, &pairs);
                    prop_assert!(far.is_some_and(|far| far <= radius.into()));
                }
                for later in &leaders[nth + 1..] {
                    let far = distance(*leader, *later, &open, &pairs);
                    prop_assert!(far.is_none_or(|far| far > radius.into()));
                }
                let ids: Vec<Id> = cluster.iter().map(|n| id(*n)).collect();
                let diameter = Graph::new(&ids, list.iter().map(|&(a, b)| (id(a), id(b)))).diameter();
                prop_assert!(diameter <= 2 * u32::from(radius));
                open.retain(|content| !cluster.contains(content));
            }
        }

        /// Changes lead from any leaders before to those that are told, and say nothing of what stays.
        #[test]
        fn changes_add_up(
            before in prop::collection::btree_map(0u64..30, 0u64..4, 0..20),
            after in prop::collection::btree_map(0u64..30, 0u64..4, 0..20),
        ) {
            let row = |(content, leader): (&u64, &u64)| LeaderRow { content: id(*content), leader: id(*leader), diff: 1 };
            let rows: Vec<LeaderRow> = before.iter().map(row).collect();
            let led: Vec<Led> = after.iter().map(|(c, l)| Led { content: id(*c), leader: id(*l) }).collect();
            let told = changes(&rows, &led);
            prop_assert!(told.is_sorted());
            let differ = |content: &u64| before.get(content) != after.get(content);
            prop_assert!(told.iter().all(|row| differ(&row.content.high)));
            let whole = crate::store::table::consolidate([rows, told].concat());
            prop_assert_eq!(whole, after.iter().map(row).collect::<Vec<_>>());
        }
    }

    /// A chain is one cluster without a radius; with one its first content takes its neighbours alone, and the next begins behind them.
    #[test]
    fn a_chain_is_cut() {
        let chain: Vec<(u64, u64)> = (1..9).map(|n| (n - 1, n)).collect();
        let turns: Vec<(u64, u64)> = (0..9).map(|n| (n, n)).collect();
        let leaders = |radius| told(&turns, &chain, radius).into_values().collect::<Vec<u64>>();
        assert_eq!(leaders(1), [0, 0, 2, 2, 4, 4, 6, 6, 8]);
        assert_eq!(leaders(2), [0, 0, 0, 3, 3, 3, 6, 6, 6]);
        assert_eq!(leaders(8), [0; 9]);
    }
}
