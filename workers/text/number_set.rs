//! Summarises the numbers of a text, to tell issues of one bulletin apart.
//!
//! Two texts that each have numbers the other lacks are often the same bulletin of another day, or
//! the same notice of another year. No other signal separates them. The set of numbers is kept as
//! 128 bits, a Bloom filter with one hash function (Bloom: "Space/time trade-offs in hash coding
//! with allowable errors", CACM 13(7), 1970).
//!
//! Numbers are compared as sets, without their places and units, and only digits are read. This
//! summary decides only where a text is not kept. `confirm/numbers` reads the texts.

use xxhash_rust::xxh3::xxh3_64;

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 1;

/// The set of the numbers in the normalised text `normal`, a bit for each.
///
/// A number is a run of digits, without leading zeros, without the commas in it, and with at most
/// one decimal point.
///
/// ```
/// use workers::text::number_set::{bits, conflict};
///
/// let (monday, tuesday) = (bits("july 11: 30 degrees"), bits("july 12: 30 degrees"));
/// assert_eq!(monday.count_ones(), 2);
/// assert!(conflict(monday, tuesday), "11 and 12 are each on one side only");
/// assert!(!conflict(monday, bits("30 degrees")));
/// ```
pub fn bits(normal: &str) -> u128 {
    let mut bits = 0;
    numbers(normal, |number| {
        // Numbers that replace each other, such as days, years and counts, are near each other.
        // Modulo 128 they do not share a bit; hashes might.
        let bit = number.parse::<u64>().unwrap_or_else(|_| xxh3_64(number.as_bytes())) % 128;
        bits |= 1 << bit;
    });
    bits
}

/// Whether each side has numbers that the other lacks, by the bits of both. Symmetric.
///
/// A reported conflict is always real, but conflicts may be missed: with n other numbers on a side,
/// the bit of a number is set there by chance in about n of 128 cases. So texts with hundreds of
/// numbers never conflict.
pub fn conflict(a: u128, b: u128) -> bool {
    a & !b != 0 && b & !a != 0
}

/// Calls `found` with every number of `normal`.
fn numbers(normal: &str, mut found: impl FnMut(&str)) {
    let mut number = String::new();
    let mut emit = |digits: &str| {
        number.clear();
        number.extend(digits.chars().filter(|c| *c != ','));
        let short = number.trim_start_matches('0');
        // 0, 00 and 0.5 keep one zero in front.
        let zeros = number.len() - short.len();
        let start =
            zeros - usize::from(zeros > 0 && !short.starts_with(|c: char| c.is_ascii_digit()));
        if !number.is_empty() {
            found(&number[start..]);
        }
    };
    let mut rest = normal;
    while let Some(start) = first_digit(rest.as_bytes()) {
        let run = &rest[start..];
        let end = run
            .bytes()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b','))
            .unwrap_or(run.len());
        rest = &run[end..];
        let run = run[..end].trim_end_matches(['.', ',']);
        if run.matches('.').count() == 1 {
            emit(run);
        } else {
            // Not a decimal but a date or a version, whose parts are numbers.
            run.split('.').for_each(&mut emit);
        }
    }
}

/// The position of the first digit. Digits are rare, so 32 bytes are tested together.
fn first_digit(bytes: &[u8]) -> Option<usize> {
    let (parts, _) = bytes.as_chunks::<32>();
    let has_digit =
        |part: &[u8; 32]| part.iter().fold(false, |has, byte| has | byte.is_ascii_digit());
    let passed = 32 * parts.iter().take_while(|part| !has_digit(part)).count();
    bytes[passed..].iter().position(u8::is_ascii_digit).map(|at| passed + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn listed(text: &str) -> Vec<String> {
        let mut list = Vec::new();
        numbers(text, |number| list.push(number.to_owned()));
        list
    }

    /// Numbers are found however they are written.
    #[test]
    fn numbers_of_a_text() {
        assert_eq!(
            listed("2022年07月1日，增长3.50%，共12,000人。"),
            ["2022", "7", "1", "3.50", "12000"]
        );
        assert_eq!(
            listed("1.2.3, 0 00 0.5 007. .5, v2,"),
            ["1", "2", "3", "0", "0", "0.5", "7", "5", "2"]
        );
        assert_eq!(listed("一二三 ... ,,, 。"), [""; 0]);
    }

    /// Additional numbers on one side are no conflict; different numbers on both sides are.
    #[test]
    fn conflicts() {
        let of = |a: &str, b: &str| conflict(bits(a), bits(b));
        assert!(of("7月11日，气温30度", "7月12日，气温30度"));
        assert!(!of("7月11日，气温30度", "气温30度"));
        assert!(!of("气温", "7月11日"));
        assert!(!of("2022年07月11日", "2022 7 11"));
    }

    proptest! {
        /// Bits report no conflict that the sets do not have, and the comparison is symmetric.
        #[test]
        fn conflicts_are_real(a in "[0-9., 年]{0,40}", b in "[0-9., 年]{0,40}") {
            let (x, y) = (listed(&a), listed(&b));
            let lacks = |x: &[String], y: &[String]| x.iter().any(|number| !y.contains(number));
            let reported = conflict(bits(&a), bits(&b));
            prop_assert!(!reported || lacks(&x, &y) && lacks(&y, &x));
            prop_assert_eq!(reported, conflict(bits(&b), bits(&a)));
            prop_assert!(!conflict(bits(&a), bits(&a)));
        }

        /// The first digit is found wherever it is.
        #[test]
        fn first_digit_is_first(text in "[a-z年]{0,70}[0-9:/]{0,2}[a-z年]{0,40}") {
            prop_assert_eq!(first_digit(text.as_bytes()), text.find(|c: char| c.is_ascii_digit()));
        }

        /// No text makes it panic.
        #[test]
        fn any_text(text in "\\PC{0,60}") {
            bits(&text);
        }
    }
}
