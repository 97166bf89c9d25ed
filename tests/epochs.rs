use crate::world::World;
use std::collections::BTreeSet;

/// After any history of epochs the exports are the bytes of a run from scratch over one record for
/// each live page, and every table is the same multiset of rows.
///
/// Histories consist of pages that appear, change, disappear, are only seen, or expire by epochs or
/// days; records without a date, late archives, repeated bytes and renamed files; complete snapshots
/// of one of three sources, some with bad records; URLs that come twice; changed decisions, views
/// and radii; rollbacks; merged runs; collected garbage; and another number of workers each time.
#[test]
fn histories_equal_scratch() {
    let (mut kinds, mut merged, mut parted) = (BTreeSet::new(), 0, 0);
    for seed in 1..=6 {
        let mut world = World::new(seed);
        for step in 1..=12 {
            let kind = world.step();
            println!("step {step}: {kind}, {} pages, radius {:?}", world.pages(), world.radius());
            kinds.insert(kind);
            parted += world.parted();
            assert!(world.parted() == 0 || !world.radius().is_empty(), "a component is one cluster");
            let scratch = world.scratch();
            world.bench.assert_same_tables(&scratch, &format!("seed {seed}, step {step}, {kind}"));
            assert_eq!(world.bench.multisets(), scratch.multisets(), "seed {seed}, step {step}, {kind}");
        }
        let head = world.bench.head().manifest;
        merged += u64::from(head.version > head.epoch);
        world.assert_sound();
    }
    assert_eq!(kinds.len(), 10, "every kind of step came: {kinds:?}");
    assert!(merged > 0, "runs were merged");
    assert!(parted > 0, "some component was several clusters");
}
