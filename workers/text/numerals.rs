//! Numerals: in comes a normalised text, out go 128 bits that stand for the set of its numbers (a Bloom filter of one
//! function, Bloom 1970). Two reports that differ in numbers on both sides are often the same bulletin of another day
//! or the same notice of another year, which nothing else tells apart. It compares sets, not places, knows no units,
//! and reads digits only: numbers in Chinese characters told no pair apart that digits did not, and parted pages that
//! were only reworded.

use xxhash_rust::xxh3::xxh3_64;

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 1;

/// The bits of the numbers in `normal`: runs of digits without zeros in front, commas between digits left out, one
/// point between digits kept. Full-width digits are plain ones in a normalised text.
pub fn bits(normal: &str) -> u128 {
    let mut bits = 0;
    numbers(normal, |number| {
        // Numbers that take each other's place, days, years, counts, are near each other: so they never share a bit.
        let bit = number.parse::<u64>().unwrap_or_else(|_| xxh3_64(number.as_bytes())) % 128;
        bits |= 1 << bit;
    });
    bits
}

/// Whether each side has numbers that the other lacks, by the bits of both. Symmetric. What it says is so; what it does
/// not say may be: a number falls on a bit of the other side by chance n in 128 times if that side has n numbers, so
/// that of texts with some hundreds it says nothing.
pub fn conflict(a: u128, b: u128) -> bool {
    a & !b != 0 && b & !a != 0
}

/// Calls `found` with every number of `normal`.
fn numbers(normal: &str, mut found: impl FnMut(&str)) {
    let mut number = String::new();
    let mut give = |digits: &str| {
        number.clear();
        number.extend(digits.chars().filter(|c| *c != ','));
        let short = number.trim_start_matches('0');
        // 0, 00 and 0.5 keep one zero.
        let zeros = number.len() - short.len();
        let start = zeros - usize::from(zeros > 0 && !short.starts_with(|c: char| c.is_ascii_digit()));
        if !number.is_empty() {
            found(&number[start..]);
        }
    };
    let mut rest = normal;
    while let Some(start) = rest.bytes().position(|byte| byte.is_ascii_digit()) {
        let run = &rest[start..];
        let end = run.bytes().position(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b',')).unwrap_or(run.len());
        rest = &run[end..];
        let run = run[..end].trim_end_matches(['.', ',']);
        if run.matches('.').count() == 1 {
            give(run);
        } else {
            run.split('.').for_each(&mut give);
        }
    }
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

    /// How a number is written does not matter, what it is does.
    #[test]
    fn numbers_of_a_text() {
        assert_eq!(listed("2022年07月1日，增长3.50%，共12,000人。"), ["2022", "7", "1", "3.50", "12000"]);
        assert_eq!(listed("1.2.3, 0 00 0.5 007. .5, v2,"), ["1", "2", "3", "0", "0", "0.5", "7", "5", "2"]);
        assert_eq!(listed("一二三 ... ,,, 。"), [""; 0]);
    }

    /// One more number on one side is no conflict; other numbers on both sides are.
    #[test]
    fn conflicts() {
        let of = |a: &str, b: &str| conflict(bits(a), bits(b));
        assert!(of("7月11日，气温30度", "7月12日，气温30度"));
        assert!(!of("7月11日，气温30度", "气温30度"));
        assert!(!of("气温", "7月11日"));
        assert!(!of("2022年07月11日", "2022 7 11"));
    }

    proptest! {
        /// Bits never see a conflict where the sets have none, and which side is which does not matter.
        #[test]
        fn conflicts_are_real(a in "[0-9., 年]{0,40}", b in "[0-9., 年]{0,40}") {
            let (x, y) = (listed(&a), listed(&b));
            let lacks = |x: &[String], y: &[String]| x.iter().any(|number| !y.contains(number));
            let said = conflict(bits(&a), bits(&b));
            prop_assert!(!said || lacks(&x, &y) && lacks(&y, &x));
            prop_assert_eq!(said, conflict(bits(&b), bits(&a)));
            prop_assert!(!conflict(bits(&a), bits(&a)));
        }

        /// Any text has numbers or none.
        #[test]
        fn any_text(text in "\\PC{0,60}") {
            bits(&text);
        }
    }
}
