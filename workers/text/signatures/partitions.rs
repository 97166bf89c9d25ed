//! Divides sizes into partitions such that two sizes of a given ratio lie in the same partition or
//! in adjacent ones.
//!
//! Similar texts have similar sizes. With the partition in the key, two texts meet only if their
//! sizes are similar: each text has keys for its own partition and for the next larger one
//! (Theobald, Siddharth, Paepcke: "SpotSigs", SIGIR 2008, section 4).

/// The partitions of a ratio.
#[derive(Clone, Debug)]
pub struct Partitions {
    /// The least ratio of two sizes, in percent.
    pub percent: u64,
    /// The least size in each partition, ascending from 1.
    starts: Vec<u64>,
}

impl Partitions {
    /// Partitions for sizes of which the lesser is at least `percent` of the greater.
    pub fn new(percent: u64) -> Partitions {
        let mut starts = vec![1];
        // Sizes smaller than `start` have no partner larger than start * 100 / percent. The
        // partition that begins at `start` reaches that far, so no partner of these sizes lies in a
        // later partition.
        while let Some(&start) = starts.last().filter(|start| **start < u64::from(u32::MAX)) {
            starts.push(start * 100 / percent + 1);
        }
        Partitions { percent, starts }
    }

    /// The partitions for which a text of `size` has keys: its own and the next, each with the
    /// least size of a partner in it. `None` for size 0.
    pub fn of(&self, size: u64) -> Option<[(usize, u64); 2]> {
        let own = self.starts.partition_point(|start| *start <= size).checked_sub(1)?;
        let next = self.starts.get(own + 1).copied().unwrap_or(u64::MAX);
        Some([(own, (size * self.percent).div_ceil(100)), (own + 1, next)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Partitions start at 1 and ascend, and partners at the threshold lie in adjacent ones.
    #[test]
    fn partners_are_adjacent() {
        for percent in 10..=95 {
            let partitions = Partitions::new(percent);
            assert!(partitions.starts.is_sorted() && partitions.starts[0] == 1);
            assert_eq!(partitions.of(0), None);
            let of = |size: u64| partitions.of(size).expect("a size")[0].0;
            for size in 1..2000 {
                assert!(of(size * 100 / percent) <= of(size) + 1, "{percent} %, size {size}");
            }
        }
    }
}
