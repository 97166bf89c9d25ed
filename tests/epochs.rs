use crate::chains;
use crate::workbench::number;
use crate::world::World;
use std::collections::BTreeSet;
use workers::store::manifest::Op;

/// After any history of epochs the exports are the bytes of a store from scratch over one record
/// for each live page, and every table is the same multiset of rows. Where the keep rule reads the
/// first epoch or the source of a page, the store from scratch gets the pages in that order and
/// from that source; where it reads who represented a cluster before, it gets those pages first. In
/// each epoch the page represents that the keep rule names by the pages that represented before it.
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
            // What folds has an accepted pair with what it folds into, whatever the history.
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
