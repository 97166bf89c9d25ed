use crate::chains;
use crate::random::Random;
use crate::workbench::{Bench, number};
use crate::world::World;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use workers::store::manifest::Op;

/// After any history of epochs the exports are the bytes of a store from scratch over one record
/// for each live page, and every table is the same multiset of rows. If the keep rule reads the
/// first epoch or the source of a page, the store from scratch gets the pages in that order and
/// from that source; if it reads the former representatives, it gets these pages first. In each
/// epoch the representative is the page that the keep rule names by the representatives before it.
///
/// Histories consist of pages that appear, change, disappear, are only seen, or expire by epochs or
/// days; records without a date, late archives, repeated bytes and renamed files; complete
/// snapshots of one of three sources, some with bad records; URLs that come twice; changed
/// decisions, keep rules and radii; rollbacks, of which some forget inputs; rebuilds, of which some
/// are interrupted; collected garbage; merged runs; and another number of workers each time.
/// `PAGEFOLD_HISTORIES` is their number.
#[test]
fn histories_equal_scratch() {
    let (mut kinds, mut merged, mut held) = (BTreeSet::new(), 0, 0);
    let histories = number("PAGEFOLD_HISTORIES", 6);
    for seed in 1..=histories {
        let mut world = World::new(seed);
        for step in 1..=12 {
            let kind = world.step();
            println!("step {step}: {kind}, {} pages, radius {:?}", world.pages(), world.radius());
            kinds.insert(kind);
            merged += u64::from(world.bench.head().manifest.op == Op::Merge);
            assert!(world.parted() == 0 || world.radius() != "0", "a component is one cluster");
            // A page that folds has an accepted pair with the page that it folds into, after any
            // history.
            assert!(
                world.radius() != "1" || chains::strangers(&world.bench) == 0,
                "seed {seed}, step {step}"
            );
            let scratch = world.scratch();
            world.bench.assert_same_tables(&scratch, &format!("seed {seed}, step {step}, {kind}"));
            assert_eq!(
                world.bench.multisets(),
                scratch.multisets(),
                "seed {seed}, step {step}, {kind}"
            );
        }
        world.assert_sound();
        held += world.held;
    }
    if histories < 6 {
        return;
    }
    assert!(kinds.len() >= 12, "nearly every kind of step came: {kinds:?}");
    assert!(merged > 0, "runs were merged");
    assert!(held > 0, "pages represented only because they had before");
}

/// Pages of texts that lie between two others, so that each could join one leader or the other.
fn between(random: &mut Random) -> String {
    let mut lines = String::new();
    let word = |random: &mut Random| {
        let letter = |_| char::from(b'a' + random.below(26) as u8);
        (0..7).map(letter).collect::<String>()
    };
    let mut pages = 0;
    for _ in 0..30 {
        let first: Vec<String> = (0..500).map(|_| word(random)).collect();
        let (mut last, mut middle) = (first.clone(), first.clone());
        for at in 0..50 {
            last[at * 10] = word(random);
            if at % 2 == 0 {
                middle[at * 10] = last[at * 10].clone();
            }
        }
        let mut texts = vec![middle];
        for text in [first, last] {
            for _ in 0..4 {
                let mut edited = text.clone();
                (0..25).for_each(|_| edited[random.below(500) as usize] = word(random));
                texts.push(edited);
            }
            texts.push(text);
        }
        for text in texts {
            pages += 1;
            let text = text.join(" ");
            writeln!(lines, "{{\"url\":\"http://a.example/{pages}\",\"text\":\"{text}\"}}")
                .expect("a string");
        }
    }
    lines
}

/// Another least similarity gave pairs another similarity, and texts of pairs that stayed accepted
/// stayed with a leader that was not the nearest any more. After each change the store is that of
/// a run from scratch.
#[test]
fn another_least_similarity_equals_scratch() {
    for seed in 1..=2 {
        println!("seed {seed}");
        let mut random = Random(seed);
        let inputs = between(&mut random);
        let bench = || {
            let bench = Bench::new(Path::new("in.jsonl"), "[confirm]\nfacts = \"off\"\n");
            std::fs::write(bench.at("in.jsonl"), &inputs).expect("written");
            bench
        };
        let changed = bench();
        for _ in 0..4 {
            let set = format!("confirm.similarity_min=0.{}", 66 + random.below(10));
            changed.run_well(&["--set", &set]);
            let scratch = bench();
            scratch.run_well(&["--set", &set]);
            changed.assert_same_tables(&scratch, &format!("seed {seed}, {set}"));
            assert_eq!(changed.multisets(), scratch.multisets(), "seed {seed}, {set}");
        }
    }
}
