//! Random scenes, and the truth about two pages by definition, for tests.

use crate::eval::scene::{Page, Scene, TextPair, Truth};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Whether two pages are the same by `truth`, by definition.
pub fn judge(truth: &Truth, x: u32, y: u32) -> Option<bool> {
    let pair = (x.min(y), x.max(y));
    match truth {
        Truth::Labels(labels) => Some(labels[x as usize] == labels[y as usize]),
        Truth::Judged(pairs) => pairs.iter().find(|p| (p.0, p.1) == pair).map(|p| p.2),
        Truth::Listed(pairs) => Some(pairs.contains(&pair)),
    }
}

/// The content of all texts from this number on.
const LITTLE: u32 = 4;

fn content(text: u32) -> u32 {
    text.min(LITTLE)
}

/// Scenes of up to 14 pages, with every form of labels. Two texts have one content, which says too
/// little.
pub fn scenes() -> impl Strategy<Value = Scene> {
    let lengths = prop_oneof![0u32..300, 400u32..4000];
    let pages = prop::collection::vec((0u64..3, 0u32..6, 0u32..4), 0..14);
    let chars = prop::collection::vec(lengths, 6);
    let pairs =
        prop::collection::btree_map((0u32..6, 0u32..6), (any::<bool>(), 1u8..5, 1u64..4), 0..12);
    let clusters = prop::collection::vec(0u32..4, 6);
    let labelled = prop::collection::btree_map((0u32..14, 0u32..14), any::<bool>(), 0..30);
    (pages, chars, clusters, pairs, labelled, 0..3).prop_map(
        |(pages, chars, clusters, pairs, labelled, form)| {
            let truth = match form {
                0 => Truth::Labels(pages.iter().map(|page| page.2).collect()),
                _ => {
                    let alive = |(x, y): &(u32, u32)| x < y && (*y as usize) < pages.len();
                    let labelled: BTreeMap<(u32, u32), bool> =
                        labelled.into_iter().filter(|(pair, _)| alive(pair)).collect();
                    match form {
                        1 => Truth::Judged(
                            labelled.into_iter().map(|((x, y), same)| (x, y, same)).collect(),
                        ),
                        _ => Truth::Listed(labelled.into_keys().collect()),
                    }
                }
            };
            let used: BTreeSet<u32> = pages.iter().map(|page| page.1).collect();
            let known = |a: u32, b: u32| {
                a < b && used.contains(&a) && used.contains(&b) && content(a) != content(b)
            };
            let pairs = pairs.into_iter().filter(|((a, b), _)| known(*a, *b)).map(
                |((a, b), (accepted, reason, by))| {
                    let proposals = [1, 0x0200, 0x0101, 0x01_0000_0000][by as usize];
                    TextPair {
                        a,
                        b,
                        similarity: 7000 + 100 * a as u16 + b as u16,
                        reason,
                        accepted,
                        proposals,
                    }
                },
            );
            // Pages of one text are in one cluster. Texts of one content do not fold.
            let page = |&(host, text, _): &(u64, u32, u32)| Page {
                host,
                text,
                content: content(text),
                cluster: if content(text) == LITTLE { text } else { clusters[text as usize] },
            };
            Scene { pages: pages.iter().map(page).collect(), chars, pairs: pairs.collect(), truth }
        },
    )
}
