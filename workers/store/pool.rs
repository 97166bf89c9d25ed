//! Keeps a bounded number of segments mapped, for all workers of a process together.
//!
//! Linux lets a process have some 65,000 maps (`vm.max_map_count`), and an epoch may read more
//! segments than that, each by every worker. So the workers of a process share one map of a
//! segment, and beyond a limit the oldest map is closed when another one is opened. A segment that
//! is closed while a worker reads it stays mapped until that worker is done.

use crate::error::Result;
use crate::locks::lock;
use crate::store::segment::SegmentRef;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The most segments of one pool that are mapped at the same time. An epoch has two pools, of
/// visits and of evidence, so half of what Linux allows is left for the tables of the store.
pub const MAPS_MAX: usize = 16_384;

/// Segments of one folder, which are opened as `S` when they are needed.
pub struct Pool<S> {
    folder: PathBuf,
    segments: Vec<SegmentRef>,
    open: fn(&Path, &SegmentRef) -> Result<S>,
    maps_max: usize,
    mapped: Mutex<Mapped<S>>,
}

struct Mapped<S> {
    open: BTreeMap<usize, Arc<S>>,
    /// The numbers of `open`, the one opened first in front.
    order: VecDeque<usize>,
}

impl<S> Pool<S> {
    /// The `segments` of `folder`, of which at most [`MAPS_MAX`] are mapped at the same time.
    pub fn new(
        folder: PathBuf,
        segments: Vec<SegmentRef>,
        open: fn(&Path, &SegmentRef) -> Result<S>,
    ) -> Pool<S> {
        let mapped = Mutex::new(Mapped { open: BTreeMap::new(), order: VecDeque::new() });
        Pool { folder, segments, open, maps_max: MAPS_MAX, mapped }
    }

    /// The segments, by their numbers.
    pub fn segments(&self) -> &[SegmentRef] {
        &self.segments
    }

    /// The segment with this number, opened now if it is not mapped.
    pub fn get(&self, number: usize) -> Result<Arc<S>> {
        let mut mapped = lock(&self.mapped);
        if let Some(segment) = mapped.open.get(&number) {
            return Ok(segment.clone());
        }
        // Opened under the lock: otherwise each worker could map the same segment.
        let segment = Arc::new((self.open)(&self.folder, &self.segments[number])?);
        if mapped.order.len() >= self.maps_max
            && let Some(first) = mapped.order.pop_front()
        {
            mapped.open.remove(&first);
        }
        mapped.order.push_back(number);
        mapped.open.insert(number, segment.clone());
        Ok(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::table::MultisetHash;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Segments of the test that are mapped, and the most that ever were.
    static MAPPED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

    struct Counted(u64);

    impl Drop for Counted {
        fn drop(&mut self) {
            MAPPED[0].fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn open(_: &Path, segment: &SegmentRef) -> Result<Counted> {
        MAPPED[1].fetch_max(MAPPED[0].fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Ok(Counted(segment.rows))
    }

    /// Every worker mapped every segment, and an epoch of many files failed because there were not
    /// enough maps. Now all workers together have no more maps than the limit and one for each
    /// worker, and each worker reads every segment nevertheless.
    #[test]
    fn workers_share_a_bounded_number_of_maps() {
        let multiset = MultisetHash(0);
        let segment = |rows| SegmentRef {
            digest: String::new(),
            bytes: 0,
            rows,
            live: 0,
            multiset,
            first: 0,
            last: 0,
        };
        let mut pool = Pool::new(PathBuf::new(), (0..500).map(segment).collect(), open);
        pool.maps_max = 8;
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let pool = &pool;
                scope.spawn(move || {
                    for at in (0..500).map(|at| (at * 7 + worker * 11) % 500) {
                        assert_eq!(pool.get(at).expect("opened").0, at as u64);
                    }
                });
            }
        });
        // A worker still reads one segment while the next is opened for it.
        assert!(MAPPED[1].load(Ordering::SeqCst) <= 8 + 4 + 1, "{MAPPED:?}");
        drop(pool);
        assert_eq!(MAPPED[0].load(Ordering::SeqCst), 0);
    }
}
