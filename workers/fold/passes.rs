//! Divides the rows of a worker into passes of bounded memory.

use crate::fold::epoch::Epoch;
use crate::store::column::KeyRange;

/// Rows, such as visits, that a worker has in memory at once. There are more if one URL has more,
/// because all rows of a URL are decided together.
pub const PASS_ROWS: u64 = 1 << 19;

/// Divides the keys of this worker into `n` equal passes, but at least one.
pub fn passes(epoch: &Epoch, n: u64) -> Vec<KeyRange> {
    let KeyRange { from, to } = epoch.range();
    let n = n.max(1);
    let width = (to.map_or(1 << 64, u128::from) - u128::from(from)) / u128::from(n);
    let cut = |i: u64| from + (width * u128::from(i)) as u64;
    let end = |i: u64| if i + 1 < n { Some(cut(i + 1)) } else { to };
    (0..n).map(|i| KeyRange { from: cut(i), to: end(i) }).collect()
}
