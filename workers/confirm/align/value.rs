//! The value of one number, in whole billionths.

use crate::confirm::align::digits::{HAN_DIGITS, digit_value, is_decimal_mark, is_minus_sign};
use xxhash_rust::xxh3::xxh3_64;

/// The number 1 in the unit of [`value`].
pub const ONE: i128 = 1_000_000_000;

/// The most digits before and behind the point for which [`value`] has room.
const DIGITS_MAX: [usize; 2] = [24, 9];

/// The value of one number with at most one point, in billionths: `1.2亿` is 120,000,000. What has
/// no room in 128 bits, and a number of many digits, has a great value that is drawn from its
/// characters, so that the keys of two parcels differ.
pub fn value(number: &str) -> i128 {
    if let Some(value) = value_of_many_digits(number) {
        return value;
    }
    let (mut total, mut section, mut digit) = (0i128, 0i128, 0i128);
    // The last magnitude of four digits or more: in 1亿2千万 the second one adds, in 1万亿 it
    // multiplies.
    let mut last = 0;
    // The magnitude before, of those below it.
    let mut small = 0;
    // What a digit behind the point is worth.
    let mut place = None;
    for c in number.chars() {
        let unit = match c {
            '十' => 10,
            '百' => 100,
            '千' => 1_000,
            '万' => 10_000,
            '亿' => 100_000_000,
            '兆' => 1_000_000_000_000,
            '.' => {
                place = Some(ONE / 10);
                continue;
            }
            _ => {
                let one = digit_of(c);
                digit = match &mut place {
                    Some(place) => {
                        let more = one * *place;
                        *place /= 10;
                        digit.saturating_add(more)
                    }
                    None => digit.saturating_mul(10).saturating_add(one * ONE),
                };
                continue;
            }
        };
        if unit < 10_000 && small > 0 && unit > small {
            // 三十八千米 are 38 kilometres.
            section = section.saturating_add(digit).saturating_mul(unit);
            small = unit;
        } else if unit < 10_000 {
            let digit = if digit == 0 { ONE } else { digit };
            section = section.saturating_add(digit.saturating_mul(unit));
            small = unit;
        } else {
            let section_of_it = section.saturating_add(digit);
            total = match unit < last {
                true => total.saturating_add(section_of_it.saturating_mul(unit)),
                false => total.saturating_add(section_of_it).saturating_mul(unit),
            };
            (section, small, last) = (0, 0, unit);
        }
        (digit, place) = (0, None);
    }
    let digit = digit.saturating_mul(worth_of_last_digit(number));
    let value = total.saturating_add(section).saturating_add(digit);
    let value = if value == i128::MAX { drawn(number) } else { value };
    if number.starts_with(is_minus_sign) { -value } else { value }
}

/// A great value for a number that has no room, so that two of them differ.
fn drawn(number: &str) -> i128 {
    i128::MAX - i128::from(xxh3_64(number.as_bytes()))
}

/// What the last digit counts: behind a magnitude, and without a zero between them, a tenth of it.
/// 一百五 is 150, 三万二 is 32,000.
fn worth_of_last_digit(number: &str) -> i128 {
    let mut behind = number.chars().rev();
    match (behind.next(), behind.next(), behind.next()) {
        (Some(digit), Some(magnitude), Some(_)) if is_spoken_digit(digit) => match magnitude {
            '百' => 10,
            '千' => 100,
            '万' => 1_000,
            '亿' => 10_000_000,
            _ => 1,
        },
        _ => 1,
    }
}

/// Whether `c` is a Chinese numeral from one to nine.
fn is_spoken_digit(c: char) -> bool {
    c == '两' || HAN_DIGITS.contains(c)
}

/// The value of a whole number that is not below zero.
pub fn whole_value(number: &str) -> Option<u64> {
    let value = value(number);
    (!number.contains(is_decimal_mark) && value % ONE == 0)
        .then(|| u64::try_from(value / ONE).ok())
        .flatten()
}

fn value_of_many_digits(number: &str) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() <= DIGITS_MAX[0] && fraction.len() <= DIGITS_MAX[1]
        || number.chars().any(|c| digit_value(c).is_none() && c != '.' && !is_minus_sign(c))
    {
        return None;
    }
    let digits = |part: &str| -> String {
        part.chars().filter_map(|c| char::from_digit(digit_value(c)?, 10)).collect()
    };
    let (whole, fraction) = (digits(whole), digits(fraction));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    if whole.len() <= DIGITS_MAX[0] && fraction.len() <= DIGITS_MAX[1] {
        return None;
    }
    let value = drawn(&format!("{whole}.{fraction}"));
    Some(if number.starts_with(is_minus_sign) { -value } else { value })
}

/// The value of one digit or Chinese numeral below ten; 0 of any other character.
fn digit_of(c: char) -> i128 {
    let of_numeral = || HAN_DIGITS.chars().position(|numeral| numeral == c);
    match c {
        '两' => 2,
        _ => match digit_value(c) {
            Some(digit) => digit.into(),
            None => of_numeral().map_or(0, |at| at as i128 + 1),
        },
    }
}
