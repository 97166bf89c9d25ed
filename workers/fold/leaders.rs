//! Splits a component into clusters, each around a leader.
//!
//! Accepted pairs make chains: each text is near the next, but the ends need not be alike. So a
//! component is not one cluster. Leaders are chosen by how many contents they cover. The content
//! with the most accepted pairs to uncovered contents becomes a leader and covers these; this is
//! repeated until all contents are covered. This is the greedy algorithm for a dominating set
//! (Chvatal, "A Greedy Heuristic for the Set-Covering Problem", Mathematics of Operations Research
//! 4(3), 1979); we differ in that a covered content does not lead. Between equals the keep rule
//! decides by their pages. With a radius of 1 each content then joins the most similar of the
//! leaders with which it has an accepted pair. So a text folds into a text with which it has an
//! accepted pair, and few texts are left over.
//!
//! With a larger radius a leader covers contents that are at most that many accepted pairs away, on
//! paths of uncovered contents. With a radius of 0 it covers all that it reaches.
//!
//! One new content can change all leaders of its component, so a touched component is computed
//! again as a whole. The owner of a component needs about 120 bytes for each page and 60 for each
//! pair that it receives, 24 more for each pair and 250 for each content during the computation.
//! The time is proportional to the pairs, times the logarithm of the contents.

use crate::distinct::distinct;
use crate::error::Result;
use crate::fold::epoch::Epoch;
use crate::graph::Graph;
use crate::id::Id;
use crate::keep::Rank;
use crate::store::table::replacement;
use crate::tables::{ComponentRow, LeaderRow};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A content and its leader, sent to the content's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Led {
    /// The content.
    pub content: Id,
    /// Its leader, which may be the content itself.
    pub leader: Id,
}

/// The place of a content in the order of leaders: the rank and DocId of the page that the keep
/// rule prefers among its pages.
pub type Precedence = (Rank, Id);

/// An accepted pair and its similarity in 1/10,000.
pub type Joined = (Id, Id, u64);

/// No leader yet.
const NONE: u32 = u32::MAX;

/// Assigns a leader to each content, as the top of this file says; the result ascends by content.
/// A `radius` of 0 is no limit. The order of `contents` and of `pairs` does not matter.
pub fn lead(mut contents: Vec<(Id, Precedence)>, pairs: &[Joined], radius: u8) -> Vec<Led> {
    contents.sort_unstable();
    contents.dedup_by_key(|content| content.0);
    let ids: Vec<Id> = contents.iter().map(|content| content.0).collect();
    let pairs = numbered(&ids, pairs);
    let edges = pairs.iter().map(|&(a, b, _)| (a as u32, b as u32));
    let graph = Graph::of_numbers(ids.len(), edges);
    let mut leaders = cover(&graph, &contents, radius);
    if radius == 1 {
        join_the_nearest(&mut leaders, &contents, &pairs);
    }
    ids.iter()
        .zip(leaders)
        .map(|(&content, leader)| Led { content, leader: ids[leader as usize] })
        .collect()
}

/// The pairs of `ids` among `pairs`, by number, each once.
fn numbered(ids: &[Id], pairs: &[Joined]) -> Vec<(usize, usize, u64)> {
    let number = |id: Id| ids.binary_search(&id).ok();
    let numbered = pairs.iter().filter_map(|&(a, b, similarity)| {
        let (a, b) = (number(a)?, number(b)?);
        (a != b).then_some((a.min(b), a.max(b), similarity))
    });
    let mut numbered: Vec<(usize, usize, u64)> = numbered.collect();
    numbered.sort_unstable_by_key(|&(a, b, similarity)| (a, b, Reverse(similarity)));
    numbered.dedup_by_key(|&mut (a, b, _)| (a, b));
    numbered
}

/// The leader of each content by the greedy rule, by number.
fn cover(graph: &Graph, contents: &[(Id, Precedence)], radius: u8) -> Vec<u32> {
    let mut leaders = vec![NONE; graph.len()];
    // For each content the number of its neighbours that are not covered.
    let mut open: Vec<usize> = (0..graph.len()).map(|at| graph.neighbours(at).count()).collect();
    let mut queue: BinaryHeap<(usize, Reverse<(Precedence, usize)>)> =
        (0..graph.len()).map(|at| (open[at], Reverse((contents[at].1, at)))).collect();
    while let Some((count, Reverse((precedence, at)))) = queue.pop() {
        if leaders[at] != NONE {
            continue;
        }
        // Other leaders have covered some of its neighbours since. This happens at most once for
        // each pair.
        if count != open[at] {
            queue.push((open[at], Reverse((precedence, at))));
            continue;
        }
        let mut outermost = vec![at];
        leaders[at] = at as u32;
        for step in 0u32.. {
            let mut next = Vec::new();
            for from in outermost {
                for other in graph.neighbours(from) {
                    open[other] -= 1;
                    if leaders[other] == NONE && (radius == 0 || step < radius.into()) {
                        leaders[other] = at as u32;
                        next.push(other);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            outermost = next;
        }
    }
    leaders
}

/// Moves each content that does not lead to the leader to which it is most similar. Between equally
/// similar leaders the keep rule decides.
fn join_the_nearest(
    leaders: &mut [u32],
    contents: &[(Id, Precedence)],
    pairs: &[(usize, usize, u64)],
) {
    type Nearness = (u64, Reverse<Precedence>);
    let mut nearest: Vec<Option<(Nearness, u32)>> = vec![None; leaders.len()];
    for &(a, b, similarity) in pairs {
        for (content, leader) in [(a, b), (b, a)] {
            if leaders[leader] == leader as u32 && leaders[content] != content as u32 {
                let found = Some(((similarity, Reverse(contents[leader].1)), leader as u32));
                nearest[content] = nearest[content].max(found);
            }
        }
    }
    for (leader, nearest) in leaders.iter_mut().zip(nearest) {
        if let Some((_, nearest)) = nearest {
            *leader = nearest;
        }
    }
}

/// Stores the changed leaders. `led` are all contents of touched components that this worker owns.
pub fn leaders(epoch: &Epoch, led: &[Led]) -> Result<()> {
    let table = epoch.before::<LeaderRow>()?;
    let mut contents: Vec<Id> = led.iter().map(|led| led.content).collect();
    if let Some(fresh) = epoch.fresh::<ComponentRow>()? {
        // A content that is in no component any more loses its leader.
        contents.extend(fresh.all_keys());
    }
    let before = if epoch.shared.plan.view_changed {
        let (from, to) = epoch.range().ids();
        table.range(from, to)
    } else {
        table.matching(&distinct(contents))
    };
    epoch.write(changes(&before, led))
}

/// The changes from the leaders `before` to `led`. Both ascend by content.
fn changes(before: &[LeaderRow], led: &[Led]) -> Vec<LeaderRow> {
    let new = |led: &Led| LeaderRow { content: led.content, leader: led.leader, diff: 1 };
    let (mut before, mut led) = (before.iter().peekable(), led.iter().map(new).peekable());
    let mut rows = Vec::new();
    while let Some(content) =
        [before.peek().map(|row| row.content), led.peek().map(|row| row.content)]
            .into_iter()
            .flatten()
            .min()
    {
        let old = before.next_if(|row| row.content == content).cloned();
        let new = led.next_if(|row| row.content == content);
        rows.extend(replacement(old, new));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::clusters::RADIUS_MAX;
    use crate::store::table::consolidate;
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
            let next =
                pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).filter(|(a, _)| near.contains(a));
            let next: BTreeSet<u64> = next.map(|(_, b)| b).filter(|b| open.contains(b)).collect();
            near.extend(next);
        }
        None
    }

    /// The rule, literally: the leader of each content that is covered.
    fn covered(turns: &[(u64, u64)], pairs: &Pairs, radius: u8) -> BTreeMap<u64, u64> {
        let mut open: BTreeSet<u64> = turns.iter().map(|turn| turn.0).collect();
        let mut led = BTreeMap::new();
        while !open.is_empty() {
            let near = |to: u64| {
                open.iter()
                    .filter(|other| pairs.contains(&(to.min(**other), to.max(**other))))
                    .count()
            };
            let rank = |content: &&u64| {
                (near(**content), Reverse(turns[**content as usize].1), Reverse(**content))
            };
            let leader = *open.iter().max_by_key(rank).expect("one is open");
            let most = if radius == 0 { usize::MAX } else { radius.into() };
            let within =
                |to: &u64| distance(leader, *to, &open, pairs).is_some_and(|far| far <= most);
            let taken: Vec<u64> = open.iter().copied().filter(within).collect();
            taken.into_iter().for_each(|content| {
                open.remove(&content);
                led.insert(content, leader);
            });
        }
        led
    }

    /// The rule, literally. Pairs have the similarity of `similarity`.
    fn plain(turns: &[(u64, u64)], pairs: &Pairs, radius: u8) -> BTreeMap<u64, u64> {
        let mut led = covered(turns, pairs, radius);
        let leaders: BTreeSet<u64> = led.values().copied().collect();
        if radius == 1 {
            for (content, leader) in &mut led {
                let joins =
                    |leader: &&u64| pairs.contains(&(*content.min(leader), *content.max(leader)));
                let rank = |leader: &&u64| {
                    (
                        similarity(*content, **leader),
                        Reverse(turns[**leader as usize].1),
                        Reverse(**leader),
                    )
                };
                if !leaders.contains(content) {
                    *leader =
                        *leaders.iter().filter(joins).max_by_key(rank).expect("a leader covers it");
                }
            }
        }
        led
    }

    /// A similarity that has few different values, so that some are equal.
    fn similarity(a: u64, b: u64) -> u64 {
        8000 + a.min(b) * 7 % 5 + a.max(b) * 11 % 3
    }

    fn turn_of(turn: u64) -> Rank {
        let mut rank = Rank::default();
        rank[1] = turn;
        rank
    }

    fn computed(turns: &[(u64, u64)], pairs: &[(u64, u64)], radius: u8) -> BTreeMap<u64, u64> {
        let contents: Vec<(Id, Precedence)> =
            turns.iter().map(|&(n, turn)| (id(n), (turn_of(turn), id(n)))).collect();
        let pairs: Vec<Joined> =
            pairs.iter().map(|&(a, b)| (id(a), id(b), similarity(a, b))).collect();
        let led = lead(contents, &pairs, radius);
        assert!(led.is_sorted_by(|a, b| a.content < b.content));
        led.into_iter().map(|led| (led.content.high, led.leader.high)).collect()
    }

    proptest! {
        /// Leaders equal those of the literal rule, for any order and direction of the input. Each
        /// content is within the radius of its leader on a path inside its cluster, so the diameter
        /// of a cluster is at most twice the radius. With a radius of 1 a content has an accepted
        /// pair with its leader, and there is no other leader with an accepted pair to which it is
        /// more similar.
        #[test]
        fn equals_the_rule(
            turns in prop::collection::vec(0u64..12, 1..24),
            pairs in prop::collection::vec((0u64..24, 0u64..24), 0..50),
            radius in 0u8..=RADIUS_MAX,
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

            let leaders: BTreeSet<u64> = led.values().copied().collect();
            for leader in &leaders {
                prop_assert_eq!(led[leader], *leader);
                let cluster: BTreeSet<u64> = led.iter().filter(|(_, l)| *l == leader).map(|(c, _)| *c).collect();
                for content in &cluster {
                    let far = distance(*leader, *content, &cluster, &pairs).expect("a path");
                    prop_assert!(radius == 0 || far <= radius.into());
                    if radius == 1 && content != leader {
                        let others = leaders.iter().filter(|other| pairs.contains(&(*content.min(other), *content.max(other))));
                        let nearest = others.map(|other| similarity(*content, *other)).max();
                        prop_assert_eq!(nearest, Some(similarity(*content, *leader)));
                    }
                }
                let ids: Vec<Id> = cluster.iter().map(|n| id(*n)).collect();
                let diameter = Graph::new(&ids, list.iter().map(|&(a, b)| (id(a), id(b)))).diameter();
                prop_assert!(radius == 0 || diameter <= 2 * u32::from(radius));
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
            let whole = consolidate([rows, changes].concat());
            prop_assert_eq!(whole, after.iter().map(row).collect::<Vec<_>>());
        }
    }

    /// A chain is cut into clusters around contents that cover their neighbours, and without a
    /// radius it is one cluster. The hub of a star leads, though the keep rule prefers a leaf.
    #[test]
    fn a_chain_is_cut() {
        let chain: Vec<(u64, u64)> = (1..9).map(|n| (n - 1, n)).collect();
        let turns: Vec<(u64, u64)> = (0..9).map(|n| (n, n)).collect();
        let clusters = |radius| {
            let led = covered(&turns, &chain.iter().copied().collect(), radius);
            assert!(radius == 1 || led == computed(&turns, &chain, radius));
            led.into_values().collect::<Vec<u64>>()
        };
        assert_eq!(clusters(1), [1, 1, 1, 4, 4, 4, 7, 7, 7]);
        assert_eq!(clusters(2), [1, 1, 1, 1, 5, 5, 5, 5, 8]);
        assert_eq!(clusters(0), [1; 9]);
        let star: Vec<(u64, u64)> = (0..8).map(|leaf| (leaf, 8)).collect();
        assert_eq!(computed(&turns, &star, 1).into_values().collect::<Vec<_>>(), [8; 9]);
    }
}
