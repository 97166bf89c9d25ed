//! Reads the score of a row: a decimal number, in fixed point of 1/1,000,000.
//!
//! Scores order pages, so they are whole numbers from here on. A binary number is converted to the
//! shortest decimal text that gives it back, and this is rounded to six digits after the point,
//! half away from zero: `0.1` is 100,000 in JSON and in a column of 32 or 64 bits alike.

use crate::absent::NO_SCORE;
use crate::read::value::Value;

/// The units of a whole number.
const ONE: i64 = 1_000_000;
/// The greatest score; its negative is the least. Beyond, binary numbers skip thousandths.
pub const SCORE_MAX: i64 = 9_000_000_000_000;

/// A value that is no score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoScore;

/// The score of `value` in 1/1,000,000; `None` if there is no score: null, or an empty text.
///
/// # Errors
///
/// If it is neither a number nor the text of a number, or is beyond [`SCORE_MAX`].
pub fn read(value: &Value<'_>) -> Result<Option<i64>, NoScore> {
    match value {
        Value::Null => Ok(None),
        Value::Text(text) if text.trim().is_empty() => Ok(None),
        Value::Integer(number) if (-SCORE_MAX..=SCORE_MAX).contains(number) => {
            Ok(Some(number * ONE))
        }
        Value::Float(number) => fixed(*number).map(Some).ok_or(NoScore),
        Value::Text(text) => text.trim().parse().ok().and_then(fixed).map(Some).ok_or(NoScore),
        _ => Err(NoScore),
    }
}

/// `number` in 1/1,000,000; `None` if it is not finite or is too large.
fn fixed(number: f64) -> Option<i64> {
    if !number.is_finite() || number.abs() > SCORE_MAX as f64 {
        return None;
    }
    // The text never has an exponent or more digits than needed.
    let digits = number.abs().to_string();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let digit = |at: usize| fraction.as_bytes().get(at).map_or(0, |digit| i64::from(digit - b'0'));
    let millionths = (0..6).fold(0, |sum, at| sum * 10 + digit(at)) + i64::from(digit(6) >= 5);
    let sum = whole.parse::<i64>().ok()?.checked_mul(ONE)?.checked_add(millionths)?;
    const { assert!(-SCORE_MAX * ONE > NO_SCORE) };
    Some(if number < 0.0 { -sum } else { sum })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(value: Value<'_>) -> Result<Option<i64>, NoScore> {
        read(&value)
    }

    /// A number has the same score however it is written, rounded to six digits after the point.
    #[test]
    fn numbers() {
        for (number, score) in [
            (0.1, 100_000),
            (-0.1, -100_000),
            (0.999_999_4, 999_999),
            (0.999_999_5, 1_000_000),
            (1e-7, 0),
            (5e-7, 1),
            (-5e-7, -1),
            (-0.0, 0),
            (12.5, 12_500_000),
            (9e12, 9_000_000_000_000_000_000),
        ] {
            assert_eq!(of(Value::Float(number)), Ok(Some(score)), "{number}");
            assert_eq!(of(Value::Text(format!(" {number}").into())), Ok(Some(score)), "{number}");
        }
        assert_eq!(of(Value::Integer(-7)), of(Value::Float(-7.0)));
        assert_eq!(of(Value::Float(f64::from(0.1f32))), Ok(Some(100_000)));
        assert_eq!(of(Value::Text("2.5e-1".into())), Ok(Some(250_000)));
    }

    /// A missing value is no score. A value that is no number, or too large, is reported as bad.
    #[test]
    fn no_numbers() {
        for none in [Value::Null, Value::Text("".into()), Value::Text(" ".into())] {
            assert_eq!(of(none), Ok(None));
        }
        for bad in [
            Value::Bool(true),
            Value::Other,
            Value::Seconds(5),
            Value::Text("good".into()),
            Value::Float(f64::NAN),
            Value::Float(f64::INFINITY),
            Value::Text("NaN".into()),
            Value::Text("inf".into()),
            Value::Float(9.1e12),
            Value::Integer(SCORE_MAX + 1),
            Value::Integer(i64::MIN),
        ] {
            assert_eq!(of(bad.clone()), Err(NoScore), "{bad:?}");
        }
    }

    proptest! {
        /// A greater number never has a lesser score, and numbers that differ in the first six
        /// digits after the point have different scores.
        #[test]
        fn order_is_kept(a in -9e12f64..9e12, b in -9e12f64..9e12, near in -1.0f64..1.0) {
            for (a, b) in [(a, b), (near, near + 3e-6), (near, near + 1e-9)] {
                let (low, high) = (fixed(a.min(b)).expect("a score"), fixed(a.max(b)).expect("a score"));
                prop_assert!(low <= high);
            }
            prop_assert!(fixed(near) < fixed(near + 3e-6));
        }
    }
}
