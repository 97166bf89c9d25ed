//! Says which worker owns a key.

/// The worker that owns `top`, the most significant bits of a key that is spread evenly over 64
/// bits. Each of the `peers` workers owns one contiguous range, so that the segments of a run are
/// disjoint.
pub fn owner(top: u64, peers: usize) -> u64 {
    ((u128::from(top) * peers as u128) >> 64) as u64
}

/// The least `top` that worker `index` of `peers` owns; the inverse of [`owner`].
pub fn range_start(index: usize, peers: usize) -> u64 {
    ((index as u128) << 64).div_ceil(peers as u128) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ownership is monotone and covers every worker, and its ranges start at `range_start`.
    #[test]
    fn ranges_are_contiguous() {
        for peers in 1..=9 {
            assert_eq!(range_start(0, peers), 0);
            for index in 1..peers {
                let start = range_start(index, peers);
                assert_eq!(owner(start, peers), index as u64);
                assert_eq!(owner(start - 1, peers), index as u64 - 1);
            }
            assert_eq!(owner(u64::MAX, peers), peers as u64 - 1);
        }
    }
}
