//! Finds the pairs of one bucket that are within k bits, exactly and each once.
//!
//! The values are fingerprints that share a band, or their sort keys (see
//! [`crate::candidates::bands`]). No pair is skipped because a bucket is large, and only empty
//! buffers are kept between calls.
//!
//! A small bucket is compared pair by pair, 128 pairs at a time where the processor counts bits in
//! vectors. A large bucket is divided once more: two values within k bits agree on at least one of
//! k + 1 disjoint groups of bits (Manku, Jain, Das Sarma: "Detecting near-duplicates for web
//! crawling", WWW 2007, section 3). The paper keeps sorted tables for every choice of groups. We
//! divide only the buckets that need it, on several levels, by the bits that vary in them. So a
//! band value that a fifth of the crawl shares costs a linear number of moves, not a quadratic
//! number of comparisons.
//!
//! This is one of the three modules that may use `unsafe`. Every form of the inner loop is tested
//! against [`Kernel::plain`].

mod kernel;

pub use crate::candidates::hamming::kernel::Kernel;

use crate::text::hash::GOLDEN_RATIO;

/// Bits of a fingerprint.
const BITS: u32 = u64::BITS;

/// The most levels of division. Scratch memory is at most this many copies of the largest bucket:
/// for each level 8 bytes a value and up to 0.6 MB of counters.
const DEPTH_MAX: usize = 8;

/// The most bits in a digit. The counters and write positions of 4,096 parts fit the first-level
/// cache.
const DIGIT_BITS_MAX: u32 = 12;

/// The number of values that are sampled to find the bits that vary enough to divide by.
const SAMPLE_VALUES: usize = 64;

/// A lively bit is set in at least this many values of the sample and clear in at least as many: 1
/// in 16. A few outliers do not reach this.
const LIVELY_VALUES_MIN: usize = 4;

/// Up to this many pairs are compared without vectors.
const PAIRS_DIRECT_MAX: u64 = 6;

/// Buffers, the kernel and a counter, reused from call to call. Each thread has its own.
#[derive(Debug)]
pub struct Scratch {
    kernel: Kernel,
    left: Vec<u32>,
    right: Vec<u32>,
    levels: Vec<Level>,
    depth: usize,
    compared: u64,
}

impl Scratch {
    /// Empty buffers and the fastest kernel of this processor.
    pub fn new() -> Scratch {
        Scratch::with_kernel(Kernel::fastest())
    }

    /// Empty buffers and the given kernel. All kernels find the same pairs.
    pub fn with_kernel(kernel: Kernel) -> Scratch {
        Scratch {
            kernel,
            left: Vec::new(),
            right: Vec::new(),
            levels: Vec::new(),
            depth: 0,
            compared: 0,
        }
    }

    /// The number of pairs compared so far. It shows the cost of skew and the gain of division.
    pub fn compared(&self) -> u64 {
        self.compared
    }
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch::new()
    }
}

/// The rule by which a bucket owns a pair: it is within `k` bits and agrees on the bits of `fixed`,
/// and not on all bits of a mask in `earlier`, because the lowest equal band owns it.
#[derive(Clone, Copy, Debug)]
pub struct BucketRule<'a> {
    /// The most bits in which a pair differs.
    pub k: u32,
    /// The bits on which a pair agrees. The search is fastest if all values agree on them, as those
    /// of a bucket do. May be 0.
    pub fixed: u64,
    /// The masks of the bands below that of the bucket.
    pub earlier: &'a [u64],
}

/// Emits every pair of `bucket` that the bucket owns by `rule`, each once, in no particular order.
/// The values are distinct.
///
/// ```
/// use workers::candidates::hamming::{BucketRule, Scratch, within};
///
/// let mut pairs = Vec::new();
/// let mut scratch = Scratch::new();
/// let rule = BucketRule { k: 3, fixed: 0, earlier: &[] };
/// within(&[0b0000, 0b0111, 0b1111], rule, &mut scratch, &mut |a, b| pairs.push((a, b)));
/// // Distances are 3, 4 and 1 bits.
/// assert_eq!(pairs, [(0b0000, 0b0111), (0b0111, 0b1111)]);
/// ```
pub fn within<F: FnMut(u64, u64)>(
    bucket: &[u64],
    rule: BucketRule<'_>,
    scratch: &mut Scratch,
    emit: &mut F,
) {
    search(bucket, None, rule, scratch, emit);
}

/// As [`within`], between two sets of values of one bucket. Pairs are emitted as (new, old). A
/// value that is in both sets is a pair with itself, at distance 0.
pub fn between<F: FnMut(u64, u64)>(
    new: &[u64],
    old: &[u64],
    rule: BucketRule<'_>,
    scratch: &mut Scratch,
    emit: &mut F,
) {
    search(new, Some(old), rule, scratch, emit);
}

impl BucketRule<'_> {
    #[inline(always)]
    fn owns(&self, difference: u64) -> bool {
        difference.count_ones() <= self.k
            && difference & self.fixed == 0
            && self.earlier.iter().all(|mask| difference & mask != 0)
    }
}

/// Searches `left`, or `left` against `right`: compares all pairs, or divides where that is
/// cheaper.
fn search<F: FnMut(u64, u64)>(
    left: &[u64],
    right: Option<&[u64]>,
    rule: BucketRule<'_>,
    scratch: &mut Scratch,
    emit: &mut F,
) {
    let values = (left.len() + right.map_or(0, <[u64]>::len)) as u64;
    let pairs = pair_count(left.len(), right.map(<[u64]>::len));
    if pairs <= PAIRS_DIRECT_MAX {
        scratch.compared += pairs;
        return compare_direct(left, right, rule, emit);
    }
    let moves_min = u64::from(rule.k + 1) * values;
    if pairs > moves_min * scratch.kernel.pairs_per_move(rule.k) && scratch.depth < DEPTH_MAX {
        let mut level = scratch.levels.pop().unwrap_or_default();
        scratch.depth += 1;
        let done = divide(left, right, rule, &mut level, scratch, emit);
        scratch.depth -= 1;
        scratch.levels.push(level);
        if done {
            return;
        }
    }
    scratch.compared += pairs;
    compare(left, right, rule, scratch, emit);
}

fn pair_count(left: usize, right: Option<usize>) -> u64 {
    match right {
        None => left as u64 * (left as u64).saturating_sub(1) / 2,
        Some(right) => left as u64 * right as u64,
    }
}

/// Compares all pairs, value by value.
#[inline(always)]
fn compare_direct<F: FnMut(u64, u64)>(
    left: &[u64],
    right: Option<&[u64]>,
    rule: BucketRule<'_>,
    emit: &mut F,
) {
    for (at, &a) in left.iter().enumerate() {
        for &b in right.unwrap_or(&left[at + 1..]) {
            if rule.owns(a ^ b) {
                emit(a, b);
            }
        }
    }
}

/// Compares all pairs with the kernel, as a filter, and checks what it reports.
///
/// The kernel compares values folded to 32 bits, `low ^ high`. Folded values never differ in more
/// bits, so the filter loses no pair, and it uses all 64 bits equally, whichever of them are fixed.
fn compare<F: FnMut(u64, u64)>(
    left: &[u64],
    right: Option<&[u64]>,
    rule: BucketRule<'_>,
    scratch: &mut Scratch,
    emit: &mut F,
) {
    to_lanes(left, &mut scratch.left);
    let others = right.unwrap_or(left);
    let mut hit = |i: usize, j: usize| {
        if rule.owns(left[i] ^ others[j]) {
            emit(left[i], others[j]);
        }
    };
    match right {
        None => scratch.kernel.triangle(&scratch.left, rule.k, &mut hit),
        Some(right) => {
            to_lanes(right, &mut scratch.right);
            scratch.kernel.rectangle(&scratch.left, &scratch.right, rule.k, &mut hit);
        }
    }
}

fn to_lanes(values: &[u64], lanes: &mut Vec<u32>) {
    lanes.clear();
    lanes.extend(values.iter().map(|&value| (value ^ (value >> 32)) as u32));
}

/// The buffers of one level of division.
#[derive(Debug, Default)]
struct Level {
    digits: Vec<Digit>,
    earlier: Vec<u64>,
    /// The counts of the values of every digit.
    left_counts: Vec<usize>,
    right_counts: Vec<usize>,
    left: Vec<u64>,
    right: Vec<u64>,
}

/// Divides by several groups of bits in turn and searches the parts.
///
/// Returns false, without having emitted a pair, if division costs more than comparing all pairs.
/// This happens where so many values agree on most bits that most pairs are near.
fn divide<F: FnMut(u64, u64)>(
    left: &[u64],
    right: Option<&[u64]>,
    rule: BucketRule<'_>,
    level: &mut Level,
    scratch: &mut Scratch,
    emit: &mut F,
) -> bool {
    let varying = varying(left.iter().chain(right.unwrap_or(&[])));
    if rule.earlier.iter().any(|mask| mask & varying == 0) {
        return true; // Another bucket owns every pair.
    }
    plan(left, right, rule, varying, scratch.kernel.part_values_log2(), &mut level.digits);
    let mut cost = 0;
    level.left_counts.clear();
    level.right_counts.clear();
    for digit in &level.digits {
        let left_counts = count(left.iter().copied(), digit, &mut level.left_counts);
        let right_counts =
            right.map(|right| count(right.iter().copied(), digit, &mut level.right_counts));
        cost += (left.len() + right.map_or(0, <[u64]>::len)) as u64
            * scratch.kernel.pairs_per_move(rule.k);
        cost += (0..digit.values())
            .map(|d| pair_count(left_counts[d], right_counts.map(|c| c[d])))
            .sum::<u64>();
    }
    if level.digits.is_empty() || cost >= pair_count(left.len(), right.map(<[u64]>::len)) {
        return false;
    }
    level.earlier.clear();
    level.earlier.extend(rule.earlier);
    let mut first = 0;
    for digit in &level.digits {
        let rule = BucketRule { fixed: rule.fixed | digit.mask, earlier: &level.earlier, ..rule };
        let left_ends = &mut level.left_counts[first..first + digit.values()];
        scatter(left.iter().copied(), digit, left_ends, &mut level.left);
        if let Some(right) = right {
            let right_ends = &mut level.right_counts[first..first + digit.values()];
            scatter(right.iter().copied(), digit, right_ends, &mut level.right);
            let (mut left_start, mut right_start) = (0, 0);
            for (&left_end, &right_end) in left_ends.iter().zip(right_ends.iter()) {
                let right = &level.right[right_start..right_end];
                search(&level.left[left_start..left_end], Some(right), rule, scratch, emit);
                (left_start, right_start) = (left_end, right_end);
            }
        } else {
            let mut left_start = 0;
            for &left_end in left_ends.iter() {
                search(&level.left[left_start..left_end], None, rule, scratch, emit);
                left_start = left_end;
            }
        }
        first += digit.values();
        level.earlier.push(digit.mask);
    }
    true
}

/// The bits that are not the same in all `values`.
fn varying<'a>(values: impl Iterator<Item = &'a u64>) -> u64 {
    let (all, any) = values.fold((u64::MAX, 0), |(all, any), value| (all & value, any | value));
    any & !all
}

/// The bits that are set in at least [`LIVELY_VALUES_MIN`] of `values` and clear in as many.
///
/// The plain form counts each bit by itself. This function counts all 64 bits at once, up to the
/// minimum, by bit operations.
fn lively<'a>(values: impl Iterator<Item = &'a u64>) -> u64 {
    // Bit b of rung r is set if bit b was seen more than r times.
    let mut set = [0; LIVELY_VALUES_MIN];
    let mut clear = [0; LIVELY_VALUES_MIN];
    let climb = |rungs: &mut [u64; LIVELY_VALUES_MIN], seen: u64| {
        for rung in (1..LIVELY_VALUES_MIN).rev() {
            rungs[rung] |= rungs[rung - 1] & seen;
        }
        rungs[0] |= seen;
    };
    for value in values {
        climb(&mut set, *value);
        climb(&mut clear, !value);
    }
    set[LIVELY_VALUES_MIN - 1] & clear[LIVELY_VALUES_MIN - 1]
}

/// Plans the digits to divide by: k + 1 disjoint groups of equal width of the bits that vary and
/// are not fixed.
///
/// Each group gets its share of lively bits, because a group in which nearly all values agree
/// divides nothing. If the values do not agree on `fixed`, then `fixed` is the only digit. There is
/// no digit if too few bits vary.
fn plan(
    left: &[u64],
    right: Option<&[u64]>,
    rule: BucketRule<'_>,
    varying: u64,
    part_values_log2: u32,
    digits: &mut Vec<Digit>,
) {
    digits.clear();
    let values = left.len() + right.map_or(0, <[u64]>::len);
    let width_wanted = (values.ilog2().saturating_sub(part_values_log2)).clamp(1, DIGIT_BITS_MAX);
    if varying & rule.fixed != 0 {
        digits.push(Digit::new(rule.fixed, width_wanted));
        return;
    }
    let groups = rule.k + 1;
    let width = width_wanted.min(varying.count_ones() / groups);
    if width == 0 {
        return;
    }
    let step = values / SAMPLE_VALUES + 1;
    let mut lively = self::lively(left.iter().chain(right.unwrap_or(&[])).step_by(step)) & varying;
    let mut dull = varying & !lively;
    let width_lively = width.min(lively.count_ones() / groups);
    let mut masks: Vec<u64> = (0..groups).map(|_| take_lowest(&mut lively, width_lively)).collect();
    dull |= lively;
    for mask in &mut masks {
        *mask |= take_lowest(&mut dull, width - width_lively);
    }
    digits.extend(masks.into_iter().map(|mask| Digit::new(mask, width)));
}

/// Removes the lowest `count` bits from `pool` and returns them.
fn take_lowest(pool: &mut u64, count: u32) -> u64 {
    let before = *pool;
    for _ in 0..count {
        *pool &= pool.wrapping_sub(1);
    }
    before & !*pool
}

/// A number of `bits` bits that is computed from the bits of `mask`.
///
/// Values that agree on the mask have the same digit. If the mask is `bits` contiguous bits, the
/// digit is their value. Otherwise it is a hash of them, and different values may have the same
/// digit.
#[derive(Clone, Copy, Debug)]
struct Digit {
    mask: u64,
    shift: u32,
    factor: u64,
    bits: u32,
}

impl Digit {
    /// `mask` is not 0 and `bits` is 1 to 63.
    fn new(mask: u64, bits: u32) -> Digit {
        let shift = mask.trailing_zeros();
        let contiguous = mask >> shift == (1 << bits) - 1;
        // The multiples of the golden ratio are uniform in the top bits. A power of two moves a
        // contiguous digit there unchanged.
        let factor = if contiguous { 1 << (BITS - bits) } else { GOLDEN_RATIO };
        Digit { mask, shift, factor, bits }
    }

    /// The number of values of the digit.
    fn values(&self) -> usize {
        1 << self.bits
    }

    #[inline(always)]
    fn of(&self, value: u64) -> usize {
        (((value & self.mask) >> self.shift).wrapping_mul(self.factor) >> (BITS - self.bits))
            as usize
    }
}

/// Appends the number of occurrences of each value of the digit to `counts` and returns the new
/// part.
fn count<'a>(
    values: impl Iterator<Item = u64>,
    digit: &Digit,
    counts: &'a mut Vec<usize>,
) -> &'a [usize] {
    let first = counts.len();
    counts.resize(first + digit.values(), 0);
    let new = &mut counts[first..];
    values.for_each(|value| new[digit.of(value)] += 1);
    new
}

/// Writes `values` to `parts` in order of their digit and turns its `counts` into the ends of the
/// parts.
///
/// `parts` only grows. Values after the last part are stale.
fn scatter(
    values: impl Iterator<Item = u64>,
    digit: &Digit,
    counts: &mut [usize],
    parts: &mut Vec<u64>,
) {
    let mut total = 0;
    for count in counts.iter_mut() {
        total += std::mem::replace(count, total);
    }
    if parts.len() < total {
        parts.resize(total, 0);
    }
    values.for_each(|value| {
        let next = &mut counts[digit.of(value)];
        parts[*next] = value;
        *next += 1;
    });
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    use crate::random::Random;

    /// `value` with up to `bits` of its bits flipped.
    fn flipped(random: &mut Random, value: u64, bits: u32) -> u64 {
        (0..bits).fold(value, |value, _| value ^ 1 << random.below(64))
    }

    /// Sets of up to `count` distinct values in random order, each with its kind of skew.
    pub(crate) fn samples(count: usize, seed: u64) -> Vec<(&'static str, Vec<u64>)> {
        let mut random = Random(seed);
        let center = random.next();
        let mut previous = center;
        let mut sample = |next: &mut dyn FnMut(&mut Random) -> u64| {
            let mut values: Vec<u64> = (0..count).map(|_| next(&mut random)).collect();
            for at in 0..count / 10 {
                let bits = random.below(10);
                values[at] = flipped(&mut random, values[count - 1 - at], bits);
            }
            values.sort_unstable();
            values.dedup();
            (1..values.len()).rev().for_each(|at| values.swap(at, random.below(at + 1)));
            values
        };
        vec![
            ("uniform", sample(&mut |random| random.next())),
            (
                "hot band",
                sample(&mut |r| if r.below(5) == 0 { r.next() & !0xffff_0000 } else { r.next() }),
            ),
            (
                "hot 24 bits and strays",
                sample(&mut |r| {
                    if r.below(99) > 0 { r.next() | 0xfff_0f0f_00f0 } else { r.next() }
                }),
            ),
            (
                "biased bits",
                sample(&mut |random| center ^ (random.next() & random.next() & random.next())),
            ),
            (
                "chain of one-bit steps",
                sample(&mut |random| {
                    previous = flipped(random, previous, 1);
                    previous
                }),
            ),
            (
                "ball",
                sample(&mut |random| {
                    let bits = random.below(4);
                    flipped(random, center, bits)
                }),
            ),
            ("cube", sample(&mut |random| center ^ (random.next() & 0x8421_0000_0c30_0103))),
        ]
    }

    /// The pairs in one order, for comparison. Duplicates stay.
    pub(crate) fn sorted(mut pairs: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
        pairs.sort_unstable();
        pairs
    }

    pub(crate) fn ordered((a, b): (u64, u64)) -> (u64, u64) {
        (a.min(b), a.max(b))
    }

    /// [`within`] by its definition.
    pub(crate) fn brute_force(
        values: &[u64],
        k: u32,
        fixed: u64,
        earlier: &[u64],
        mut emit: impl FnMut(u64, u64),
    ) {
        for (at, &a) in values.iter().enumerate() {
            for &b in &values[at + 1..] {
                let differs = |mask: &u64| (a ^ b) & mask != 0;
                if (a ^ b).count_ones() <= k && !differs(&fixed) && earlier.iter().all(differs) {
                    emit(a, b);
                }
            }
        }
    }

    fn found(values: &[u64], rule: BucketRule<'_>, kernel: Kernel) -> Vec<(u64, u64)> {
        let mut pairs = Vec::new();
        let scratch = &mut Scratch::with_kernel(kernel);
        within(values, rule, scratch, &mut |a, b| pairs.push(ordered((a, b))));
        sorted(pairs)
    }

    /// Every pair within k that the bucket owns is found once, for every k, kernel, skew and choice
    /// of bits.
    #[test]
    fn finds_what_brute_force_finds() {
        for (seed, count) in [(1, 0), (2, 1), (3, 2), (4, 37), (5, 700), (6, 1500)] {
            println!("seed {seed}");
            for (name, values) in samples(count, seed) {
                let masks = [0, 0xffff, 0xffff_0000, 0x8000_0001_0000_0100];
                for (k, fixed, earlier) in
                    (0..=8).map(|k| (k, masks[k as usize % 4], &masks[1..][..k as usize % 3]))
                {
                    let mut expected = Vec::new();
                    brute_force(&values, k, fixed, earlier, |a, b| expected.push(ordered((a, b))));
                    let expected = sorted(expected);
                    for kernel in Kernel::available() {
                        let found = found(&values, BucketRule { k, fixed, earlier }, kernel);
                        assert!(
                            found == expected,
                            "{name}, k = {k}, {kernel:?}: {} of {}",
                            found.len(),
                            expected.len()
                        );
                    }
                }
            }
        }
    }

    /// `between` finds the pairs of `within` with one value in each set, as (new, old), each once.
    #[test]
    fn between_is_within_restricted_to_pairs_across() {
        for (seed, count) in [(11, 3), (12, 90), (13, 2500)] {
            println!("seed {seed}");
            for (name, values) in samples(count, seed) {
                for (part, k) in [(1, 3), (2, 0), (2, 3), (9, 8), (30, 5)] {
                    let (new, old) = values.split_at(values.len() / part);
                    let mut expected = Vec::new();
                    brute_force(&values, k, 0, &[0xffff], |a, b| expected.push((a, b)));
                    expected.retain(|(a, b)| new.contains(a) && old.contains(b));
                    let expected = sorted(expected);
                    for kernel in Kernel::available() {
                        let mut found = Vec::new();
                        let scratch = &mut Scratch::with_kernel(kernel);
                        let rule = BucketRule { k, fixed: 0, earlier: &[0xffff] };
                        between(new, old, rule, scratch, &mut |new, old| found.push((new, old)));
                        assert!(
                            sorted(found) == expected,
                            "{name}, 1 of {part}, k = {k}, {kernel:?}"
                        );
                    }
                }
            }
        }
    }

    /// A bit is lively if and only if it is set in at least four values and clear in at least four.
    #[test]
    fn lively_bits_are_counted() {
        let mut random = Random(33);
        for length in 0..200 {
            let values: Vec<u64> =
                (0..length).map(|_| random.next() & random.next() & random.next()).collect();
            for bit in 0..64 {
                let set = values.iter().filter(|&&value| value >> bit & 1 == 1).count();
                assert_eq!(lively(values.iter()) >> bit & 1 == 1, set >= 4 && length - set >= 4);
            }
        }
    }

    /// A large bucket is not compared pair by pair, even if many bits hardly vary.
    #[test]
    fn skew_does_not_cost_squares() {
        let mut random = Random(31);
        let dull = 0x0ff0_0000_0f00_fff0;
        let mut value =
            || if random.below(100) == 0 { random.next() } else { random.next() & !dull };
        let values: Vec<u64> = (0..100_000).map(|_| value()).collect();
        for kernel in Kernel::available() {
            let mut scratch = Scratch::with_kernel(kernel);
            let rule = BucketRule { k: 3, fixed: 0, earlier: &[] };
            within(&values, rule, &mut scratch, &mut |_, _| {});
            let all = pair_count(values.len(), None);
            assert!(
                scratch.compared() < all / 100,
                "{kernel:?}: {} of {all} pairs",
                scratch.compared()
            );
        }
    }
}
