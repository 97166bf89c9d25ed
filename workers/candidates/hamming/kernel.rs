//! The inner loop of the pair search: finds the pairs of 32-bit lanes that are within k bits.
//!
//! A lane is a value folded to 32 bits. So every near pair of values is among the pairs found, and
//! `compare` in `mod.rs` then counts all 64 bits of each pair found. There is a form for each
//! generation of vector instructions; `plain` is the oracle of the others. For two given
//! fingerprints `text::simhash::distance` counts the bits.

/// A form of the inner loop. A value exists only for forms that this processor can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Form);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// The form that every processor can run, the oracle of the others.
    pub fn plain() -> Kernel {
        Kernel(Form::Plain)
    }

    /// The forms this processor can run, slowest first.
    pub fn available() -> Vec<Kernel> {
        #[allow(unused_mut)]
        let mut kernels = vec![Kernel::plain()];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                kernels.push(Kernel(Form::Avx2));
            }
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
                kernels.push(Kernel(Form::Avx512));
            }
        }
        kernels
    }

    /// The last of [`Kernel::available`].
    pub fn fastest() -> Kernel {
        Kernel::available().pop().unwrap_or(Kernel::plain())
    }

    /// The form's name, for reports.
    pub fn name(self) -> &'static str {
        match self.0 {
            Form::Plain => "plain",
            #[cfg(target_arch = "x86_64")]
            Form::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Form::Avx512 => "avx512",
        }
    }

    /// The threshold of division: the number of pairs compared in the time that counting, moving
    /// and visiting one value takes. At k = 3 buckets of more than 8 values for each unit are
    /// divided: 160, 320 and 960.
    ///
    /// Measured for each value and group: 9, 7 and 4 ns; for each pair: 0.45, 0.16 and 0.016 ns,
    /// the last with registers as wide as the vectors. Some processors split vectors in two and
    /// compare more slowly, hence 120 and not 240. On all others the division of a bucket whose
    /// size is between the two thresholds takes up to 1.6 times as long as comparing all its pairs.
    /// At k = 7 and 8 the 32-bit filter passes more pairs: 0.04 and 0.12 ns for each pair with
    /// AVX-512.
    pub(super) fn pairs_per_move(self, k: u32) -> u64 {
        match self.0 {
            Form::Plain if k > 7 => 15,
            Form::Plain => 20,
            #[cfg(target_arch = "x86_64")]
            Form::Avx2 => 40,
            #[cfg(target_arch = "x86_64")]
            Form::Avx512 => match k {
                0..=6 => 120,
                7 => 60,
                _ => 30,
            },
        }
    }

    /// The wanted number of values in a part of a divided bucket, as a power of two. With fewer
    /// values the loop over parts takes most of the time, with more the pairs in them. Measured at
    /// k = 3, from 2 to 7.
    pub(super) fn part_values_log2(self) -> u32 {
        match self.0 {
            Form::Plain => 2,
            #[cfg(target_arch = "x86_64")]
            Form::Avx2 => 3,
            #[cfg(target_arch = "x86_64")]
            Form::Avx512 => 5,
        }
    }

    /// Calls `hit(i, j)` for all i < j with `lanes[i]` and `lanes[j]` within `k` bits.
    #[inline]
    #[allow(unsafe_code, reason = "forms for processors with certain features")]
    pub(super) fn triangle(self, lanes: &[u32], k: u32, hit: &mut impl FnMut(usize, usize)) {
        match self.0 {
            Form::Plain => plain::triangle(lanes, k, hit),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernel::available` makes this form only where the features were detected.
            Form::Avx2 => unsafe { avx2::triangle(lanes, k, hit) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Form::Avx512 => unsafe { avx512::triangle(lanes, k, hit) },
        }
    }

    /// Calls `hit(i, j)` for all `rows[i]` and `columns[j]` within `k` bits.
    #[inline]
    #[allow(unsafe_code, reason = "forms for processors with certain features")]
    pub(super) fn rectangle(
        self,
        rows: &[u32],
        columns: &[u32],
        k: u32,
        hit: &mut impl FnMut(usize, usize),
    ) {
        match self.0 {
            Form::Plain => plain::rectangle(rows, columns, k, hit),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernel::available` makes this form only where the features were detected.
            Form::Avx2 => unsafe { avx2::rectangle(rows, columns, k, hit) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Form::Avx512 => unsafe { avx512::rectangle(rows, columns, k, hit) },
        }
    }
}

/// One row against all columns. Compilers turn the loop over a chunk into vector instructions.
mod plain {
    #[inline(always)]
    fn row(row: u32, columns: &[u32], k: u32, hit: &mut impl FnMut(usize)) {
        let (chunks, rest) = columns.as_chunks::<16>();
        for (at, chunk) in chunks.iter().enumerate() {
            if chunk.iter().fold(u32::MAX, |least, lane| least.min((row ^ lane).count_ones())) <= k
            {
                (0..16)
                    .filter(|&lane| (row ^ chunk[lane]).count_ones() <= k)
                    .for_each(|lane| hit(at * 16 + lane));
            }
        }
        for (lane, column) in rest.iter().enumerate() {
            if (row ^ column).count_ones() <= k {
                hit(chunks.len() * 16 + lane);
            }
        }
    }

    #[inline(always)]
    pub(super) fn triangle(lanes: &[u32], k: u32, hit: &mut impl FnMut(usize, usize)) {
        for (i, &lane) in lanes.iter().enumerate() {
            row(lane, &lanes[i + 1..], k, &mut |j| hit(i, i + 1 + j));
        }
    }

    #[inline(always)]
    pub(super) fn rectangle(
        rows: &[u32],
        columns: &[u32],
        k: u32,
        hit: &mut impl FnMut(usize, usize),
    ) {
        for (i, &lane) in rows.iter().enumerate() {
            row(lane, columns, k, &mut |j| hit(i, j));
        }
    }
}

/// The plain form, compiled for processors of 2013 and later.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::plain;

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn triangle(lanes: &[u32], k: u32, hit: &mut impl FnMut(usize, usize)) {
        plain::triangle(lanes, k, hit);
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn rectangle(
        rows: &[u32],
        columns: &[u32],
        k: u32,
        hit: &mut impl FnMut(usize, usize),
    ) {
        plain::rectangle(rows, columns, k, hit);
    }
}

/// Tiles of up to 8 rows by 16 columns in registers: one load, 8 differences and popcounts, and one
/// comparison for all of them.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    /// Columns of a tile: 32-bit lanes of a register.
    const COLUMNS: usize = 16;

    /// Up to 16 lanes from `at`, and the mask of those that exist.
    #[target_feature(enable = "avx512f")]
    #[inline]
    #[allow(unsafe_code, reason = "loads through pointers")]
    fn load(lanes: &[u32], at: usize) -> (__m512i, __mmask16) {
        let rest = &lanes[at..];
        let mask = if rest.len() >= COLUMNS { __mmask16::MAX } else { (1 << rest.len()) - 1 };
        // SAFETY: lanes outside the mask are not read, the others are in `rest`, and the load needs
        // no alignment.
        (unsafe { _mm512_maskz_loadu_epi32(mask, rest.as_ptr().cast()) }, mask)
    }

    /// The number of bits in which each column differs from the row.
    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    #[inline]
    fn distances(columns: __m512i, row: u32) -> __m512i {
        _mm512_popcnt_epi32(_mm512_xor_si512(columns, _mm512_set1_epi32(row.cast_signed())))
    }

    /// `R` rows against the columns from `first`.
    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    #[inline]
    fn strip<const R: usize>(
        rows: &[u32; R],
        columns: &[u32],
        first: usize,
        k: u32,
        hit: &mut impl FnMut(usize, usize),
    ) {
        let k = _mm512_set1_epi32(k.cast_signed());
        for at in (first..columns.len()).step_by(COLUMNS) {
            let (tile, mask) = load(columns, at);
            let mut least = distances(tile, rows[0]);
            for &row in &rows[1..] {
                least = _mm512_min_epu32(least, distances(tile, row));
            }
            if _mm512_mask_cmple_epu32_mask(mask, least, k) != 0 {
                for (i, &row) in rows.iter().enumerate() {
                    report(_mm512_mask_cmple_epu32_mask(mask, distances(tile, row), k), |lane| {
                        hit(i, at + lane)
                    });
                }
            }
        }
    }

    #[inline(always)]
    fn report(mut mask: __mmask16, mut hit: impl FnMut(usize)) {
        while mask != 0 {
            hit(mask.trailing_zeros() as usize);
            mask &= mask - 1;
        }
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    pub(super) fn triangle(lanes: &[u32], k: u32, hit: &mut impl FnMut(usize, usize)) {
        let k_lanes = _mm512_set1_epi32(k.cast_signed());
        for first in (0..lanes.len()).step_by(8) {
            let (tile, mask) = load(lanes, first);
            let rows = &lanes[first..lanes.len().min(first + 8)];
            for (i, &row) in rows.iter().enumerate() {
                let above = mask & (0xfffe << i);
                report(_mm512_mask_cmple_epu32_mask(above, distances(tile, row), k_lanes), |j| {
                    hit(first + i, first + j)
                });
            }
            if let Some(rows) = rows.first_chunk::<8>() {
                strip(rows, lanes, first + COLUMNS, k, &mut |i, j| hit(first + i, j));
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    pub(super) fn rectangle(
        rows: &[u32],
        columns: &[u32],
        k: u32,
        hit: &mut impl FnMut(usize, usize),
    ) {
        let (eights, rest) = rows.as_chunks::<8>();
        for (at, eight) in eights.iter().enumerate() {
            strip(eight, columns, 0, k, &mut |i, j| hit(at * 8 + i, j));
        }
        let (twos, ones) = rest.as_chunks::<2>();
        for (at, two) in twos.iter().enumerate() {
            strip(two, columns, 0, k, &mut |i, j| hit(eights.len() * 8 + at * 2 + i, j));
        }
        for one in ones {
            strip(&[*one], columns, 0, k, &mut |_, j| hit(rows.len() - 1, j));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Each form reports the same lanes as two nested loops, at every length around that of a tile.
    #[test]
    fn every_kernel_reports_what_the_loop_over_lanes_reports() {
        let mut random = Random(21);
        for length in 0..=67 {
            let lanes: Vec<u32> = (0..length)
                .map(|_| (random.next() & random.next() & random.next()) as u32)
                .collect();
            for k in 0..=8 {
                let close = |a: u32, b: u32| (a ^ b).count_ones() <= k;
                let (rows, columns) = lanes.split_at(length / 3);
                let index = |i| (0..length).map(move |j| (i, j));
                let all = (0..length).flat_map(index);
                let triangle: Vec<_> =
                    all.filter(|&(i, j)| i < j && close(lanes[i], lanes[j])).collect();
                let across = |&(i, j): &(usize, usize)| {
                    i < rows.len() && j < columns.len() && close(rows[i], columns[j])
                };
                let rectangle: Vec<_> = (0..length).flat_map(index).filter(across).collect();
                for kernel in Kernel::available() {
                    let mut reported = Vec::new();
                    kernel.triangle(&lanes, k, &mut |i, j| reported.push((i, j)));
                    reported.sort_unstable();
                    assert_eq!(reported, triangle, "triangle of {length}, k = {k}, {kernel:?}");
                    reported.clear();
                    kernel.rectangle(rows, columns, k, &mut |i, j| reported.push((i, j)));
                    reported.sort_unstable();
                    assert_eq!(reported, rectangle, "rectangle of {length}, k = {k}, {kernel:?}");
                }
            }
        }
    }
}
