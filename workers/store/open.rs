//! The segments that a process has mapped.
//!
//! Every worker of a process reads the segments of every run. If each mapped them for itself, the
//! number of maps would grow with the square of the workers, and Linux allows a process 65,530. So
//! the workers of a process share open segments: a segment is mapped once, and its batches are
//! checked once. The heads that a server asks one after the other share them, too.

use crate::error::Result;
use crate::locks::lock;
use crate::store::segment::SegmentRef;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The segments that stay mapped while no worker reads them, so that the next stage need not map
/// them again.
pub const IDLE_MAX: usize = 16_384;

/// An open segment, as one of the types that read segments.
type Opened = Arc<dyn Any + Send + Sync>;
/// A segment that is open, or that a thread is opening while it holds the lock.
type Slot = Arc<Mutex<Option<Opened>>>;

/// The segments that are open, by path and by the type that reads them.
#[derive(Default)]
pub struct OpenSegments(Mutex<HashMap<(PathBuf, TypeId), Slot>>);

impl OpenSegments {
    /// The reader of `segment` in the table's `folder`: the one that is open, or what `open`
    /// returns.
    pub fn get<T: Send + Sync + 'static>(
        &self,
        folder: &Path,
        segment: &SegmentRef,
        open: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        let slot = self.slot((segment.path(folder), TypeId::of::<T>()));
        let mut slot = lock(&slot);
        if let Some(opened) = slot.clone().and_then(|opened| opened.downcast::<T>().ok()) {
            return Ok(opened);
        }
        let opened = Arc::new(open()?);
        *slot = Some(opened.clone());
        Ok(opened)
    }

    /// Closes the segments that are not in use. Files that garbage collection deleted take space
    /// until then.
    pub fn close_idle(&self) {
        lock(&self.0).retain(|_, slot| is_used(slot));
    }

    fn slot(&self, key: (PathBuf, TypeId)) -> Slot {
        let mut slots = lock(&self.0);
        if slots.len() > IDLE_MAX && !slots.contains_key(&key) {
            slots.retain(|_, slot| is_used(slot));
        }
        slots.entry(key).or_default().clone()
    }
}

/// Whether another thread holds the slot or its segment is in use.
fn is_used(slot: &Slot) -> bool {
    Arc::strong_count(slot) > 1
        || lock(slot).as_ref().is_some_and(|opened| Arc::strong_count(opened) > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::table::MultisetHash;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn segment(n: usize) -> SegmentRef {
        let multiset = MultisetHash::default();
        SegmentRef {
            digest: n.to_string(),
            bytes: 1,
            rows: 1,
            live: 1,
            multiset,
            first: 0,
            last: 0,
        }
    }

    /// Workers that open a segment at the same time share one, and each reader type has its own.
    #[test]
    fn a_segment_is_opened_once() {
        let (open, opened) = (OpenSegments::default(), AtomicUsize::new(0));
        let folder = Path::new("table");
        let count = || {
            opened.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(20));
            Ok(7u64)
        };
        std::thread::scope(|scope| {
            (0..8).for_each(|_| {
                drop(
                    scope.spawn(|| {
                        assert_eq!(*open.get(folder, &segment(1), count).expect("open"), 7)
                    }),
                )
            });
        });
        assert_eq!(opened.load(Ordering::Relaxed), 1);
        assert_eq!(*open.get(folder, &segment(1), || Ok(8u32)).expect("open"), 8);
        assert!(
            open.get::<u64>(folder, &segment(2), || Err(crate::error::Error::internal("no")))
                .is_err()
        );
        assert_eq!(*open.get(folder, &segment(2), || Ok(9u64)).expect("open"), 9);
    }

    /// Segments that are not in use are closed when there are too many, and no others.
    #[test]
    fn idle_segments_are_closed() {
        let open = OpenSegments::default();
        let folder = Path::new("table");
        let used = open.get(folder, &segment(0), || Ok(0usize)).expect("open");
        for n in 1..IDLE_MAX + 10 {
            open.get(folder, &segment(n), || Ok(n)).expect("open");
        }
        assert!(lock(&open.0).len() < 20);
        let again = open.get(folder, &segment(0), || Ok(1usize)).expect("open");
        assert!(Arc::ptr_eq(&used, &again));
        open.close_idle();
        assert_eq!(lock(&open.0).len(), 1);
    }
}
