//! Tells commas between thousands from decimal commas: `14,990` and `149,90`.
//!
//! Half of the world writes the one, half the other. The place of the commas tells them apart.
//! Commas between thousands group the digits of a whole number by three; in India the digits before
//! the last three are grouped by two. In other places between digits a comma is a decimal mark or
//! parts a list. Points between thousands are recognised where there are two of them or where a
//! decimal comma follows.

use crate::confirm::align::digits::{digit_value, is_decimal_mark, is_minus_sign};
use crate::confirm::align::value::value;
use std::ops::Range;

/// The answer for all commas of one run of digits and commas, so that the run is read once.
#[derive(Default)]
pub struct Thousands {
    /// The bytes of the run, from its first comma on.
    run: Range<usize>,
    grouped: bool,
}

impl Thousands {
    /// Whether the comma at the byte `at` of `text`, between two digits, groups thousands. Callers
    /// ask for the commas of a text in order.
    pub fn have_comma(&mut self, text: &str, at: usize) -> bool {
        if !self.run.contains(&at) {
            let of_run = |c: char| c == ',' || digit_value(c).is_some();
            let behind = text[at..].trim_start_matches(of_run);
            self.run = at..text.len() - behind.len();
            self.grouped = are_grouped(&text[..at], &text[self.run.clone()]);
        }
        self.grouped
    }
}

/// Whether `run`, which begins with the comma behind the digits that end `before`, has groups of
/// digits as whole numbers have them.
fn are_grouped(before: &str, run: &str) -> bool {
    let is_digit = |c: char| digit_value(c).is_some();
    let front = before.trim_end_matches(is_digit);
    let first = &before[front.len()..];
    let is_fraction =
        front.strip_suffix(is_decimal_mark).is_some_and(|rest| rest.ends_with(is_digit));
    let has_zero_in_front = first.chars().next().and_then(digit_value) == Some(0);
    if is_fraction || has_zero_in_front {
        return false;
    }
    let first = first.chars().take(4).count();
    let groups = || run.trim_end_matches(',').split(',').skip(1).map(|group| group.chars().count());
    let mut of_india = groups().skip_while(|digits| *digits == 2);
    first <= 3 && groups().all(|digits| digits == 3)
        || first <= 2 && of_india.next() == Some(3) && of_india.next().is_none()
}

/// The value of a number whose points may stand between thousands, perhaps with a decimal comma
/// behind them, and whether this is certain. It is certain if there are two points, or the comma.
/// `1.250` may be a fraction.
pub fn with_points_in_thousands(number: &str) -> Option<(i128, bool)> {
    let (whole, fraction) = number.split_once(',').unwrap_or((number, ""));
    let mut groups = whole.split('.');
    let first = groups.next()?.trim_start_matches(is_minus_sign);
    let points = whole.matches('.').count();
    let is_grouped = points > 0
        && (1..=3).contains(&first.len())
        && groups.all(|group| group.len() == 3)
        && !fraction.contains(is_decimal_mark);
    let marks = number.matches(is_decimal_mark).count();
    is_grouped.then(|| (value(&format!("{}.{fraction}", whole.replace('.', ""))), marks > 1))
}

/// Whether two numbers are equal if their points stand between thousands, and one of them shows
/// that they do: `1.250,00` and `1.250`.
pub fn same_thousands(left: &str, right: &str) -> bool {
    let both = with_points_in_thousands(left).zip(with_points_in_thousands(right));
    both.is_some_and(|((x, is_sure), (y, too))| x == y && (is_sure || too))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All commas between digits grouped thousands, and `3,5` was 35.
    #[test]
    fn commas_of_numbers() {
        let grouped = |text: &str| {
            let mut thousands = Thousands::default();
            let commas = text.match_indices(',').map(|(at, _)| thousands.have_comma(text, at));
            let answers: Vec<bool> = commas.collect();
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{text}");
            answers[0]
        };
        for text in ["1,234", "12,345,678", "1,25,000", "12,34,567 and", "١,٢٣٤", "a1,234.5"] {
            assert!(grouped(text), "{text}");
        }
        for text in [
            "3,5",
            "149,90",
            "14,9901",
            "1234,567",
            "0,125",
            "1.234,567",
            "1,2,3",
            "1,23",
            "123,45,678",
        ] {
            assert!(!grouped(text), "{text}");
        }
    }

    /// Each run of digits has an answer of its own, and a comma at its end is none of it.
    #[test]
    fn runs_are_apart() {
        let text = "1,234, 3,5 12,345";
        let mut thousands = Thousands::default();
        let answers: Vec<bool> = [1, 8, 13].map(|at| thousands.have_comma(text, at)).into();
        assert_eq!(answers, [true, false, true]);
    }
}
