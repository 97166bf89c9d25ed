//! Measures finding near pairs on one core, against plain buckets (4 x 16 bits, scalar popcount) in
//! the same run, because only the ratio can be compared between machines and hours.
//!
//! Prints seconds (least of the rounds) and ratios; the pairs found must be the same. `cargo bench
//! --bench pairs`; without `--bench`, as in `cargo test --benches`, sizes are tiny. With `-- large`
//! it compares 1,000,000 with 50,000,000 and does nothing else; this takes minutes, 3 GB of memory,
//! and as much of the temporary folder.

#[path = "../examples/support/random.rs"]
mod random;

use std::time::Instant;

use crate::random::Random;
use workers::candidates::bands::Bands;
use workers::candidates::hamming::{BucketRule, Kernel, Scratch, within};
use workers::fold::buckets::changed_pairs;
use workers::fold::groups::{GroupTouch, TouchedFingerprint};
use workers::id::Id;
use workers::store::manifest::{Run, TableState};
use workers::store::runs::Table;
use workers::store::segment;
use workers::store::table::Row;
use workers::tables::{BandRow, GroupRow};

const SEED: u64 = 42;

/// Distinct fingerprints in random order: 5 % are copies with 0 to 5 bits flipped, `hot_per_cent`
/// have one of four values in one band, and the others are uniform.
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

/// A digest of a set of pairs that does not depend on their order: their number and a sum.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct PairSetDigest(u64, u64);

impl PairSetDigest {
    fn add(&mut self, a: u64, b: u64) {
        self.0 += 1;
        self.1 = self.1.wrapping_add(Random(a.min(b) ^ a.max(b).rotate_left(7)).next());
    }

    fn plus(self, other: PairSetDigest) -> PairSetDigest {
        PairSetDigest(self.0 + other.0, self.1.wrapping_add(other.1))
    }
}

/// Calls `visit` with each bucket of each band of 16 bits, sorted by radix, and with the bands
/// before it.
fn for_each_bucket(values: &[u64], mut visit: impl FnMut(&[u64], u64, &[u64])) {
    let masks: Vec<u64> = (0..4).map(|band| 0xffff << (16 * band)).collect();
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
        for bucket in from.chunk_by(|a, b| (a ^ b) & masks[band] == 0) {
            visit(bucket, masks[band], &masks[..band]);
        }
    }
}

/// The baseline compares all pairs of a bucket with a scalar popcount.
#[allow(unsafe_code, reason = "a form for processors with popcount")]
fn plain_buckets(values: &[u64]) -> PairSetDigest {
    #[inline(always)]
    fn compare(bucket: &[u64], earlier: &[u64], found: &mut PairSetDigest) {
        for (at, &a) in bucket.iter().enumerate() {
            for &b in &bucket[at + 1..] {
                let differs = |mask: &u64| (a ^ b) & mask != 0;
                if (a ^ b).count_ones() <= 3 && earlier.iter().all(differs) {
                    found.add(a, b);
                }
            }
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    fn compare_popcnt(bucket: &[u64], earlier: &[u64], found: &mut PairSetDigest) {
        compare(bucket, earlier, found);
    }
    let mut found = PairSetDigest::default();
    for_each_bucket(values, |bucket, _, earlier| {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("popcnt") {
            // SAFETY: the feature was detected.
            return unsafe { compare_popcnt(bucket, earlier, &mut found) };
        }
        compare(bucket, earlier, &mut found);
    });
    found
}

fn ours(values: &[u64], kernel: Kernel) -> PairSetDigest {
    let (mut found, scratch) = (PairSetDigest::default(), &mut Scratch::with_kernel(kernel));
    for_each_bucket(values, |bucket, band, earlier| {
        let rule = BucketRule { k: 3, fixed: band, earlier };
        within(bucket, rule, scratch, &mut |a, b| found.add(a, b));
    });
    found
}

/// How long `run` takes: this thread's processor time if the system reports it, so that other load
/// counts little; otherwise the time of the clock.
fn seconds<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let on_processor = || {
        std::thread::yield_now(); // brings the account up to date
        let account = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        account.split(' ').next()?.parse::<u64>().ok()
    };
    let (start, before) = (Instant::now(), on_processor());
    let result = run();
    match before.zip(on_processor()) {
        Some((before, after)) => ((after - before) as f64 / 1e9, result),
        None => (start.elapsed().as_secs_f64(), result),
    }
}

fn compare(name: &str, values: &[u64], rounds: usize, with_plain: bool) {
    let mut least = vec![f64::INFINITY; Kernel::available().len() + 1];
    let mut found = Vec::new();
    for _ in 0..rounds {
        for (kernel, least) in Kernel::available().into_iter().zip(&mut least) {
            let (time, pairs) = seconds(|| ours(values, kernel));
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

/// When a stored fingerprint was written and retracted, as numbers of runs: half in the first run,
/// of which one in eight is retracted by a later one.
fn history(fingerprint: u64, runs: usize) -> (usize, Option<usize>) {
    let mut random = Random(fingerprint);
    if runs == 1 {
        return (0, None);
    }
    let later = 1 + random.below(runs - 1);
    match random.below(16) {
        0 => (0, Some(later)),
        1..8 => (0, None),
        _ => (later, None),
    }
}

/// The stored fingerprints in mapped tables of the store's form: band 0 with its contents, the
/// other bands without.
struct Stored {
    folder: tempfile::TempDir,
    states: Vec<TableState>,
}

impl Stored {
    fn write(stored: &[u64], runs: usize, bands: &Bands) -> Stored {
        let folder = tempfile::tempdir().expect("a folder");
        let content = |key| Id { high: Random(key).next(), low: key };
        let states = (0..bands.count()).map(|band| {
            let mut keys: Vec<u64> = stored.iter().map(|&value| bands.key(band, value)).collect();
            keys.sort_unstable();
            let mut state = TableState::default();
            for run in 0..runs {
                let diff = |&key: &u64| match history(bands.unkey(band, key), runs) {
                    (born, _) if born == run => Some((key, 1)),
                    (_, Some(gone)) if gone == run => Some((key, -1)),
                    _ => None,
                };
                let rows = keys.iter().filter_map(diff);
                let path = folder.path().join(band.to_string());
                let segment = match band {
                    0 => segment::write(
                        &path,
                        "",
                        rows.map(|(key, diff)| GroupRow { key, content: content(key), diff }),
                    ),
                    _ => segment::write(&path, "", rows.map(|(key, diff)| BandRow { key, diff })),
                };
                let segments = segment.expect("written").into_iter().collect();
                state.append(Run { epoch: run as u64 + 1, segments }).expect("appended");
            }
            state
        });
        let states = states.collect();
        Stored { folder, states }
    }

    fn open<R: Row>(&self, band: usize) -> Table<R> {
        Table::open(&self.folder.path().join(band.to_string()), Some(&self.states[band]))
            .expect("opened")
    }

    /// Opens the tables and finds the pairs of `touched` among themselves and with stored
    /// fingerprints.
    fn near(&self, touched: &[TouchedFingerprint], bands: &Bands) -> PairSetDigest {
        let (mut found, scratch) = (PairSetDigest::default(), &mut Scratch::new());
        for touched in touched.chunk_by(|a, b| a.band == b.band) {
            let band = touched[0].band as usize;
            let mut emit = Unkeyed { bands, band, found: &mut found };
            match band {
                0 => changed_pairs(
                    &self.open::<GroupRow>(band),
                    touched,
                    bands,
                    band,
                    scratch,
                    &mut emit,
                ),
                _ => changed_pairs(
                    &self.open::<BandRow>(band),
                    touched,
                    bands,
                    band,
                    scratch,
                    &mut emit,
                ),
            }
        }
        found
    }
}

/// Adds pairs of keys of a band as fingerprints.
struct Unkeyed<'a> {
    bands: &'a Bands,
    band: usize,
    found: &'a mut PairSetDigest,
}

impl workers::fold::buckets::PairSink for Unkeyed<'_> {
    fn pair(&mut self, a: u64, b: u64, _: [usize; 2]) {
        self.found.add(self.bands.unkey(self.band, a), self.bands.unkey(self.band, b));
    }

    fn earlier(&mut self, _: usize, _: usize) {}
}

/// The new fingerprints of one band by its 16 bits: bucket `b` is `chunks[starts[b]..starts[b +
/// 1]]`, filled up with values of another band. Lanes are values folded as `hamming` does, so that
/// a chunk is one vector.
struct Probed {
    starts: Vec<u32>,
    lanes: Vec<[u32; 16]>,
    values: Vec<[u64; 16]>,
}

fn folded(value: u64) -> u32 {
    (value ^ (value >> 32)) as u32
}

impl Probed {
    fn new(new: &[u64], band: usize) -> Probed {
        let mut sorted = new.to_vec();
        sorted.sort_unstable_by_key(|value| value >> (16 * band) & 0xffff);
        let mut probed = Probed { starts: vec![0], lanes: Vec::new(), values: Vec::new() };
        let mut buckets = sorted.chunk_by(|a, b| (a ^ b) >> (16 * band) & 0xffff == 0).peekable();
        for value in 0..1 << 16 {
            for chunk in buckets
                .next_if(|b| b[0] >> (16 * band) & 0xffff == value)
                .unwrap_or_default()
                .chunks(16)
            {
                let value = |i| chunk.get(i).copied().unwrap_or(!chunk[0]);
                probed.values.push(std::array::from_fn(value));
                probed.lanes.push(std::array::from_fn(|i| folded(value(i))));
            }
            probed.starts.push(probed.values.len() as u32);
        }
        probed
    }
}

/// The other baseline: for every stored fingerprint, in no order, the new ones that agree on a band
/// are looked up, band by band.
#[inline(always)]
fn scan_with(stored: &[u64], probed: &[Probed], found: &mut PairSetDigest) {
    // A block stays in the first cache while one band's table is in use.
    for block in stored.chunks(4096) {
        for (band, probed) in probed.iter().enumerate() {
            for &old in block {
                let bucket = (old >> (16 * band) & 0xffff) as usize;
                for chunk in probed.starts[bucket] as usize..probed.starts[bucket + 1] as usize {
                    let close = |lane: &u32| (lane ^ folded(old)).count_ones() <= 3;
                    if probed.lanes[chunk].iter().fold(false, |any, lane| any | close(lane)) {
                        let owns = |new: &&u64| {
                            let equal = |band: usize| (*new ^ old) >> (16 * band) & 0xffff == 0;
                            (*new ^ old).count_ones() <= 3 && equal(band) && !(0..band).any(equal)
                        };
                        probed.values[chunk]
                            .iter()
                            .filter(owns)
                            .for_each(|&new| found.add(new, old));
                    }
                }
            }
        }
    }
}

/// With the same vector instructions as ours.
#[allow(unsafe_code, reason = "forms for processors with certain features")]
fn scan(new: &[u64], stored: &[u64]) -> PairSetDigest {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,bmi1,bmi2,lzcnt,popcnt")]
    fn scan_avx512(stored: &[u64], probed: &[Probed], found: &mut PairSetDigest) {
        scan_with(stored, probed, found);
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt")]
    fn scan_avx2(stored: &[u64], probed: &[Probed], found: &mut PairSetDigest) {
        scan_with(stored, probed, found);
    }
    let probed: Vec<Probed> = (0..4).map(|band| Probed::new(new, band)).collect();
    let mut found = PairSetDigest::default();
    match Kernel::fastest().name() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the kernel of this name was chosen because the processor has its features. Some
        // processors with them lack others, which are asked for here.
        "avx512"
            if is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt") =>
        unsafe { scan_avx512(stored, &probed, &mut found) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the kernel of this name was chosen because the processor has both features.
        "avx2" => unsafe { scan_avx2(stored, &probed, &mut found) },
        _ => scan_with(stored, &probed, &mut found),
    }
    found
}

/// Compares new fingerprints with stored ones: as the stage `buckets` does, over mapped segments of
/// this many runs that are opened again in each round, including pairs among the new ones; and, if
/// `with_scan`, by a scan of the stored ones.
fn compare_stored(new: usize, stored: usize, runs: usize, rounds: usize, with_scan: bool) {
    let bands = Bands::new(3, None).expect("k = 3 is supported");
    let mut stored = fingerprints(new + stored, 0);
    let new = stored.split_off(stored.len() - new.min(stored.len()));
    let touch = |band, value| TouchedFingerprint {
        band: band as u64,
        key: bands.key(band, value),
        group: GroupTouch::CREATED | GroupTouch::PROBE,
    };
    let mut touched: Vec<TouchedFingerprint> = (0..bands.count())
        .flat_map(|band| new.iter().map(move |&value| touch(band, value)))
        .collect();
    touched.sort_unstable();
    let tables = Stored::write(&stored, runs, &bands);
    stored.retain(|&value| history(value, runs).1.is_none());
    let among_new = ours(&new, Kernel::fastest());

    let mut least = [f64::INFINITY; 2];
    let mut found = Vec::new();
    let mut keep = |form: usize, (time, pairs): (f64, PairSetDigest)| {
        least[form] = least[form].min(time);
        found.push(pairs);
    };
    for _ in 0..rounds {
        keep(0, seconds(|| tables.near(&touched, &bands)));
        if with_scan {
            keep(1, seconds(|| scan(&new, &stored).plus(among_new)));
        }
    }
    assert!(found.iter().all(|pairs| *pairs == found[0]), "forms differ: {found:?}");
    let [mapped, scan] = least;
    print!(
        "{} new against {} stored in {runs} runs, {} pairs: ",
        new.len(),
        stored.len(),
        found[0].0
    );
    print!("mapped {mapped:.4} s");
    println!(
        "{}",
        if with_scan {
            format!(", scan {scan:.3} s ({:.1}x)", scan / mapped)
        } else {
            String::new()
        }
    );
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let scale = if full { 1 } else { 1000 };
    if std::env::args().any(|argument| argument == "large") {
        compare_stored(1_000_000 / scale, 50_000_000 / scale, 1, 3, true);
        return compare_stored(1_000_000 / scale, 50_000_000 / scale, 5, 3, false);
    }
    compare("uniform", &fingerprints(1_000_000 / scale, 0), 5, true);
    compare("20 % in four hot bands", &fingerprints(1_000_000 / scale, 20), 2, true);
    compare("uniform", &fingerprints(10_000_000 / scale, 0), 2, true);
    compare_stored(100_000 / scale, 5_000_000 / scale, 1, 3, true);
    compare_stored(100_000 / scale, 5_000_000 / scale, 5, 3, false);
    compare_stored(20_000 / scale, 1_000_000 / scale, 5, 5, false);
}
