//! Near pairs on one core: ours against plain buckets (4 x 16 bits, scalar popcount) in the same run, because only the
//! ratio is comparable between machines and hours. Prints seconds (least of the rounds) and ratios; the pairs found must be
//! the same. `cargo bench --bench pairs`; without `--bench`, as in `cargo test --benches`, sizes are tiny.

use std::time::Instant;

use workers::bands::{Bands, all_pairs, new_against_stored};
use workers::hamming::{Kernel, Scratch, within_plain};

const SEED: u64 = 42;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// Distinct fingerprints in random order: 5 % are copies with 0 to 5 bits flipped, `hot_per_cent` have one of four values
/// in one band, the others are uniform.
fn fingerprints(count: usize, hot_per_cent: usize) -> Vec<u64> {
    let mut random = Random(SEED);
    let mut values: Vec<u64> = Vec::with_capacity(count);
    while values.len() < count {
        let dice = random.below(100);
        let mut value = random.next();
        if dice < 5 && !values.is_empty() {
            value = values[random.below(values.len())];
            for _ in 0..random.below(6) {
                value ^= 1 << random.below(64);
            }
        } else if dice < 5 + hot_per_cent {
            let band = 16 * random.below(4);
            value = value & !(0xffff << band) | (0x1234 * (1 + random.below(4) as u64)) << band;
        }
        values.push(value);
    }
    values.sort_unstable();
    values.dedup();
    for at in (1..values.len()).rev() {
        values.swap(at, random.below(at + 1));
    }
    values
}

/// Order-free digest of a set of pairs: how many, and a sum.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Found(u64, u64);

impl Found {
    fn add(&mut self, a: u64, b: u64) {
        self.0 += 1;
        self.1 = self.1.wrapping_add(Random(a.min(b) ^ a.max(b).rotate_left(7)).next());
    }
}

/// The yardstick: sort by band, compare all pairs of a bucket with a scalar popcount.
fn plain_buckets(values: &[u64]) -> Found {
    let masks: Vec<u64> = (0..4).map(|band| 0xffff << (16 * band)).collect();
    let mut found = Found::default();
    let (mut from, mut to) = (values.to_vec(), vec![0; values.len()]);
    for band in 0..4 {
        for shift in [16 * band, 16 * band + 8] {
            let mut next = [0usize; 257];
            from.iter().for_each(|value| next[(value >> shift) as usize % 256 + 1] += 1);
            (0..256).for_each(|digit| next[digit + 1] += next[digit]);
            for &value in &from {
                let next = &mut next[(value >> shift) as usize % 256];
                to[*next] = value;
                *next += 1;
            }
            std::mem::swap(&mut from, &mut to);
        }
        for bucket in from.chunk_by(|a, b| (a ^ b) >> (16 * band) & 0xffff == 0) {
            within_plain(bucket, 3, 0xffff << (16 * band), &masks[..band], &mut |a, b| found.add(a, b));
        }
    }
    found
}

fn ours(values: &[u64], bands: &Bands, kernel: Kernel) -> Found {
    let mut found = Found::default();
    all_pairs(values, bands, &mut Scratch::with_kernel(kernel), &mut |a, b| found.add(a, b));
    found
}

fn seconds<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed().as_secs_f64(), result)
}

fn compare(name: &str, values: &[u64], rounds: usize, with_plain: bool) {
    let bands = Bands::new(3, None).expect("k = 3 is supported");
    let mut least = vec![f64::INFINITY; Kernel::available().len() + 1];
    let mut found = Vec::new();
    for _ in 0..rounds {
        for (kernel, least) in Kernel::available().into_iter().zip(&mut least) {
            let (time, pairs) = seconds(|| ours(values, &bands, kernel));
            *least = least.min(time);
            found.push(pairs);
        }
        if with_plain {
            let (time, pairs) = seconds(|| plain_buckets(values));
            let last = least.last_mut().expect("one more than kernels");
            *last = last.min(time);
            found.push(pairs);
        }
    }
    assert!(found.iter().all(|pairs| *pairs == found[0]), "{name}: forms differ: {found:?}");
    let plain = least.pop().expect("one more than kernels");
    print!("{name:<22} {:>9} values {:>8} pairs", values.len(), found[0].0);
    for (kernel, time) in Kernel::available().into_iter().zip(&least) {
        print!("  {} {time:.3} s ({:.2}x)", kernel.name(), plain / time);
    }
    println!("  scalar buckets {plain:.3} s");
}

fn compare_stored(new: usize, stored: usize, rounds: usize) {
    let values = fingerprints(new + stored, 0);
    let (new, stored) = values.split_at(new.min(values.len()));
    let bands = Bands::new(3, None).expect("k = 3 is supported");
    let runs: Vec<Vec<u64>> = (0..bands.count())
        .map(|b| {
            let mut keys: Vec<u64> = stored.iter().map(|&value| bands.key(b, value)).collect();
            keys.sort_unstable();
            keys
        })
        .collect();
    for kernel in Kernel::available() {
        let mut least = f64::INFINITY;
        let mut pairs = 0;
        for _ in 0..rounds {
            pairs = 0;
            let scratch = &mut Scratch::with_kernel(kernel);
            least = least.min(seconds(|| new_against_stored(new, &runs, &bands, scratch, &mut |_, _| pairs += 1)).0);
        }
        println!("{} new against {} stored, {}: {least:.3} s, {pairs} pairs", new.len(), stored.len(), kernel.name());
    }
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let scale = if full { 1 } else { 1000 };
    compare("uniform", &fingerprints(1_000_000 / scale, 0), 5, true);
    compare("20 % in four hot bands", &fingerprints(1_000_000 / scale, 20), 2, true);
    compare("uniform", &fingerprints(10_000_000 / scale, 0), 2, true);
    compare_stored(100_000 / scale, 5_000_000 / scale, 3);
}
