//! Binary logarithms of integers.
//!
//! Weights and verdicts must be the same on every machine, but the last digit of a library's
//! floating-point logarithm may differ.

/// log2(n) in units of 2^-`FRACTION_BITS`, rounded down, for n > 0.
///
/// Squaring a mantissa in [1, 2) doubles its logarithm; the carry is the next binary digit.
pub(super) fn log2<const FRACTION_BITS: u32>(n: u64) -> u64 {
    let whole = n.ilog2();
    let mut mantissa = if whole > 31 { n >> (whole - 31) } else { n << (31 - whole) };
    let mut log = u64::from(whole);
    for _ in 0..FRACTION_BITS {
        mantissa = (mantissa * mantissa) >> 31;
        let carry = mantissa >> 32;
        mantissa >>= carry;
        log = log << 1 | carry;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_real<const FRACTION_BITS: u32>(n: u64, units: f64) {
        let real = (n as f64).log2() * f64::from(1 << FRACTION_BITS);
        let ours = log2::<FRACTION_BITS>(n);
        assert!((ours as f64 - real).abs() <= units, "log2({n}) = {ours} for {real}");
    }

    /// The integer logarithm is the real one rounded down, within the errors of a mantissa of 31
    /// bits.
    #[test]
    fn is_the_real_logarithm() {
        for n in (1..5000).chain([1 << 33, (1 << 40) + 12345, u64::MAX >> 1]) {
            assert_real::<8>(n, 1.5);
            assert_real::<20>(n, 3.0);
        }
    }
}
