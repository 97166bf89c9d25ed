//! Splits a component around leaders if the job sets a radius.
//!
//! Without a radius a chain of texts, each near the next, becomes one cluster. With one, the first
//! content by the keep rule leads all contents within the radius; the first of the remaining
//! contents leads next, and so on. This is the leader algorithm (Hartigan, "Clustering Algorithms",
//! 1975), where distance is the number of accepted pairs on a path and the data are ordered by the
//! keep rule. So the page that represents a cluster is always a page of its leader, and with a
//! radius of 1 its text has an accepted pair with every other text of the cluster.
//!
//! One new content can change all leaders of its component, so a touched component is computed
//! again as a whole. The owner of a component needs about 100 bytes for each page and each pair
//! that it receives, 16 more for each pair and 200 for each content during the computation, and
//! time proportional to the pairs.

use crate::document::Id;
use crate::error::Result;
use crate::fold::epoch::Epoch;
use crate::graph::Graph;
use crate::graph::representative::Rank;
use crate::tables::{ComponentRow, LeaderRow};

/// A content and its leader, sent to the content's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Led {
    /// The content.
    pub content: Id,
    /// Its leader, which may be the content itself.
    pub leader: Id,
}

/// The place of a content in the order of leaders: rank and DocId of its page that the keep rule
/// prefers.
pub type Precedence = (Rank, Id);

/// Assigns a leader to each content; the result ascends by content.
///
/// The first content by precedence leads every content that is at most `radius` of `pairs` away on
/// a path through contents without a leader. Then the next content without a leader leads, until
/// all have one. The order of `contents` and of `pairs` does not matter.
pub fn lead(mut contents: Vec<(Id, Precedence)>, pairs: impl Iterator<Item = (Id, Id)>, radius: u8) -> Vec<Led> {
    const NONE: u32 = u32::MAX;
    contents.sort_unstable();
    contents.dedup_by_key(|content| content.0);
    let ids: Vec<Id> = contents.iter().map(|content| content.0).collect();
    let graph = Graph::new(&ids, pairs);
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by_key(|&at| (contents[at].1, at));
    let mut leaders = vec![NONE; ids.len()];
    for leader in order {
        if leaders[leader] != NONE {
            continue;
        }
        leaders[leader] = leader as u32;
        let mut outermost = vec![leader];
        for _ in 0..radius {
            let mut next = Vec::new();
            for at in outermost {
                for other in graph.neighbours(at) {
                    if leaders[other] == NONE {
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

/// Stores the changed leaders. `led` are all contents of touched components that this worker owns.
pub fn leaders(epoch: &Epoch, led: &[Led]) -> Result<()> {
    let table = epoch.before::<LeaderRow>()?;
    let mut contents: Vec<Id> = led.iter().map(|led| led.content).collect();
    if let Some(fresh) = epoch.fresh::<ComponentRow>()? {
        // A content that is in no component any more has no leader either.
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

/// The changes from the leaders `before` to `led`. Both ascend by content.
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

    /// The length of a shortest path between two contents that passes through `open` contents only.
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

    /// The rule, literally.
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

    fn computed(turns: &[(u64, u64)], pairs: &[(u64, u64)], radius: u8) -> BTreeMap<u64, u64> {
        let contents: Vec<(Id, Precedence)> =
            turns.iter().map(|&(n, turn)| (id(n), ([0, turn, 0, 0], id(n)))).collect();
        let led = lead(contents, pairs.iter().map(|&(a, b)| (id(a), id(b))), radius);
        assert!(led.is_sorted_by(|a, b| a.content < b.content));
        led.into_iter().map(|led| (led.content.high, led.leader.high)).collect()
    }

    proptest! {
        /// Leaders equal those of the literal rule, for any order and direction of the input. Each
        /// content is within the radius of its leader on a path inside its cluster, so the diameter
        /// of a cluster is at most twice the radius. No leader is within the radius of an earlier
        /// one on a path through contents that the earlier one could lead.
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
            let led = computed(&turns, &list, radius);
            prop_assert_eq!(&led, &plain(&turns, &pairs, radius));

            let mut others = turns.clone();
            others.rotate_left(turn % turns.len());
            let mut mirrored: Vec<(u64, u64)> = list.iter().map(|&(a, b)| (b, a)).rev().collect();
            mirrored.extend(list.iter().take(3));
            prop_assert_eq!(&led, &computed(&others, &mirrored, radius));

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

        /// The changes turn any old leaders into any new ones, and list only contents whose leader
        /// changed.
        #[test]
        fn changes_add_up(
            before in prop::collection::btree_map(0u64..30, 0u64..4, 0..20),
            after in prop::collection::btree_map(0u64..30, 0u64..4, 0..20),
        ) {
            let row = |(content, leader): (&u64, &u64)| LeaderRow { content: id(*content), leader: id(*leader), diff: 1 };
            let rows: Vec<LeaderRow> = before.iter().map(row).collect();
            let led: Vec<Led> = after.iter().map(|(c, l)| Led { content: id(*c), leader: id(*l) }).collect();
            let changes = changes(&rows, &led);
            prop_assert!(changes.is_sorted());
            let differ = |content: &u64| before.get(content) != after.get(content);
            prop_assert!(changes.iter().all(|row| differ(&row.content.high)));
            let whole = crate::store::table::consolidate([rows, changes].concat());
            prop_assert_eq!(whole, after.iter().map(row).collect::<Vec<_>>());
        }
    }

    /// A chain is cut into clusters: its first content leads only contents within the radius, and
    /// the next content after them leads again.
    #[test]
    fn a_chain_is_cut() {
        let chain: Vec<(u64, u64)> = (1..9).map(|n| (n - 1, n)).collect();
        let turns: Vec<(u64, u64)> = (0..9).map(|n| (n, n)).collect();
        let leaders = |radius| computed(&turns, &chain, radius).into_values().collect::<Vec<u64>>();
        assert_eq!(leaders(1), [0, 0, 2, 2, 4, 4, 6, 6, 8]);
        assert_eq!(leaders(2), [0, 0, 0, 3, 3, 3, 6, 6, 6]);
        assert_eq!(leaders(8), [0; 9]);
    }
}
