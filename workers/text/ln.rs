//! Natural logarithms of integers.
//!
//! The last digit of a library's logarithm may differ between machines, and the words of a text
//! depend on it where two ways to cut it have equal frequencies. So the logarithm is computed from
//! integers and rounded once.

/// The bits behind the point.
const BITS: u32 = 100;
/// ln(2), rounded down.
const LN_2: u128 = 0xb_1721_7f7d_1cf7_9abc_9e3b_3980;

/// The floating-point number that is nearest to ln(n), for n > 0.
///
/// ln(n) is ln(2) for each doubling, and 2 atanh(z) for the rest, where z is at most 1/3. Errors
/// add up to less than 2^-90, so the nearest number is missed about once in 2^35 times.
pub(super) fn ln(n: u64) -> f64 {
    let doublings = n.ilog2();
    let power = 1 << doublings;
    let z = quotient(u128::from(n) - power, u128::from(n) + power);
    let square = product(z, z);
    let (mut term, mut sum, mut odd) = (z, 0, 1);
    while term > 0 {
        sum += term / odd;
        term = product(term, square);
        odd += 2;
    }
    (u128::from(doublings) * LN_2 + 2 * sum) as f64 / (1_u128 << BITS) as f64
}

/// a / b with [`BITS`] behind the point, for a < b < 2^65.
fn quotient(a: u128, b: u128) -> u128 {
    let (high, low) = (BITS - 37, 37);
    let (first, rest) = ((a << high) / b, (a << high) % b);
    (first << low) | ((rest << low) / b)
}

/// a b, for two numbers less than 1 with [`BITS`] behind the point.
fn product(a: u128, b: u128) -> u128 {
    let half = |x: u128| (x >> (BITS / 2), x & ((1 << (BITS / 2)) - 1));
    let ((a, a_low), (b, b_low)) = (half(a), half(b));
    a * b + ((a * b_low + a_low * b + ((a_low * b_low) >> (BITS / 2))) >> (BITS / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first digits are those of tables, the last one is never farther off than a library's.
    #[test]
    fn is_the_real_logarithm() {
        assert_eq!((ln(1), ln(2), ln(10)), (0.0, std::f64::consts::LN_2, std::f64::consts::LN_10));
        for n in (1..20_000).chain([60_101_964, (1 << 40) + 12_345, u64::MAX]) {
            let (real, ours) = ((n as f64).ln(), ln(n));
            assert!(
                ours.to_bits().abs_diff(real.to_bits()) <= 1,
                "ln({n}) = {ours:e} for {real:e}"
            );
        }
    }
}
