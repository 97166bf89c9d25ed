//! Galloping search: finds a bound in sorted positions in time logarithmic in the distance to it.
//!
//! A merge of a short list with a long one moves forward in small steps mostly. The search doubles
//! its step until it is past the bound, then bisects the last step (Bentley, Yao: "An almost
//! optimal algorithm for unbounded searching", Information Processing Letters 5(3), 1976).

use std::ops::Range;

/// The first position in `from..end` that is not `before` the bound, or `end`.
///
/// `before` must be true for a prefix of the positions from `from` on, and false for the rest.
pub(crate) fn gallop(end: usize, from: usize, before: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    let mut low = from;
    while low + step <= end && before(low + step - 1) {
        low += step;
        step *= 2;
    }
    bisect(low..(low + step).min(end), before)
}

/// The same in `range`, for a bound that is near `guess`, on either side of it.
pub(crate) fn gallop_around(
    range: Range<usize>,
    guess: usize,
    before: impl Fn(usize) -> bool,
) -> usize {
    if guess < range.end && before(guess) {
        return gallop(range.end, guess + 1, before);
    }
    let (mut high, mut step) = (guess.min(range.end), 1);
    while high > range.start {
        let low = high.saturating_sub(step).max(range.start);
        if before(low) {
            return bisect(low + 1..high, before);
        }
        high = low;
        step *= 2;
    }
    high
}

/// The first position in `range` that is not `before` the bound, or its end.
fn bisect(range: Range<usize>, before: impl Fn(usize) -> bool) -> usize {
    let Range { start: mut low, end: mut high } = range;
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Galloping finds the same bound as a binary search of the whole rest, from every start and
    /// around every guess.
    #[test]
    fn is_binary_search() {
        for length in 0..40u64 {
            let sorted: Vec<u64> = (0..length).map(|value| value / 2 * 2).collect();
            for bound in 0..=length + 1 {
                for from in 0..=sorted.len() {
                    let plain = from + sorted[from..].partition_point(|&value| value < bound);
                    assert_eq!(gallop(sorted.len(), from, |at| sorted[at] < bound), plain);
                    for guess in from..=sorted.len() {
                        let range = from..sorted.len();
                        assert_eq!(gallop_around(range, guess, |at| sorted[at] < bound), plain);
                    }
                }
            }
        }
    }
}
