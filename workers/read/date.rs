//! Parses the dates that crawls write, without a clock or a time zone database.
//!
//! A date without a zone counts as UTC. These forms are understood: WARC-Date (ISO 8601 in the W3C
//! profile, which may be cut short, <https://www.w3.org/TR/NOTE-datetime>), the digits of ARC, RFC
//! 2822 and HTTP, `YYYY-MM-DD[ HH:MM[:SS]]`, and whole numbers since 1970: seconds or, depending on
//! their size, milli-, micro- or nanoseconds.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};
use jiff::fmt::{rfc2822, temporal};

/// The longest text that can be a date, in bytes.
const DATE_BYTES_MAX: usize = 64;

/// The seconds from the year 1 to the year 9999. A number outside counts smaller units.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// The seconds of 400 years.
const CALENDAR_SECONDS: i64 = 146_097 * 86_400;

/// The second 0.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The years in which long digits can be a date of a crawl. Otherwise they count since 1970.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2199;

/// Seconds since 1970. The meaning of plain digits depends on their number: 4 are a year, 6 a
/// month, 8 a day; 12 minutes and 14 to 18 seconds (fractions are dropped) of the years 1900 to
/// 2199; all others count since 1970, see [`since_1970`].
///
/// ```
/// use workers::read::date::parse;
///
/// assert_eq!(parse("2008-04-30T22:48:25+02:00"), Some(1_209_588_505));
/// assert_eq!(parse("20080430204825"), Some(1_209_588_505));
/// assert_eq!(parse("Wed, 30 Apr 2008 20:48:25 GMT"), Some(1_209_588_505));
/// assert_eq!(parse("2016-10"), parse("2016-10-01T00:00:00Z"));
/// assert_eq!(parse("1209588505000"), Some(1_209_588_505));
/// assert_eq!(parse("blue monday"), None);
/// ```
pub fn parse(text: &str) -> Option<i64> {
    any_year(text).and_then(seconds)
}

/// Seconds since 1970 in ISO 8601, in UTC. `jiff::Timestamp` lacks the last day of the year 9999.
///
/// ```
/// use workers::read::date::iso_text;
///
/// assert_eq!(iso_text(1_209_588_505), "2008-04-30T20:48:25Z");
/// ```
pub fn iso_text(seconds: i64) -> String {
    format!("{}Z", EPOCH.saturating_add(SignedDuration::from_secs(seconds)))
}

fn any_year(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() || text.len() > DATE_BYTES_MAX {
        return None;
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return match text.len() {
            4 | 6 | 8 => digits(text),
            12 | 14..=18 if YEARS.contains(&text[..4].parse().ok()?) => digits(text),
            _ => since_1970(text.parse().ok()?),
        };
    }
    if let Some(negative) =
        text.strip_prefix('-').filter(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    {
        return since_1970(-negative.parse::<i64>().ok()?);
    }
    iso(text).or_else(|| mail(text))
}

/// A date of RFC 2822. `jiff::Timestamp` lacks the last day of the year 9999. In 400 years the
/// calendar comes again, with its days of the week.
fn mail(text: &str) -> Option<i64> {
    let second = |text: &str| Some(rfc2822::parse(text).ok()?.timestamp().as_second());
    second(text).or_else(|| Some(second(&text.replacen(" 9999 ", " 9599 ", 1))? + CALENDAR_SECONDS))
}

/// `count` as seconds since 1970, if they fall into the years 1 to 9999.
pub fn seconds(count: i64) -> Option<i64> {
    SECONDS.contains(&count).then_some(count)
}

/// `count` as seconds since 1970 if they fall into the years 1 to 9999, or else as milli-, micro-
/// or nanoseconds, rounded down to a second. So milliseconds before 1978 are taken for seconds.
///
/// ```
/// use workers::read::date::since_1970;
///
/// let second = Some(1_700_000_000);
/// let same = [1_700_000_000, 1_700_000_000_123, 1_700_000_000_123_456];
/// assert_eq!(same.map(since_1970), [second; 3]);
/// assert_eq!(since_1970(i64::MAX), Some(9_223_372_036));
/// ```
pub fn since_1970(count: i64) -> Option<i64> {
    [1, 1_000, 1_000_000, 1_000_000_000]
        .into_iter()
        .find_map(|unit| seconds(count.div_euclid(unit)))
}

/// A whole number as a date: digits that are a date of the years 1900 to 2199, as databases write
/// days, are that date. All others count since 1970, see [`since_1970`].
///
/// ```
/// use workers::read::date::{number, parse};
///
/// assert_eq!(number(20_240_518), parse("2024-05-18"));
/// assert_eq!(number(1_209_588_505), Some(1_209_588_505));
/// ```
pub fn number(count: i64) -> Option<i64> {
    let text = count.to_string();
    let may_be_date = matches!(text.len(), 4 | 6 | 8 | 12 | 14..=18)
        && text[..4].parse().is_ok_and(|year| YEARS.contains(&year));
    digits(&text).filter(|_| may_be_date).or_else(|| since_1970(count))
}

/// `YYYYMMDDhhmmss`, which may be cut short or have a fraction.
fn digits(text: &str) -> Option<i64> {
    let part = |from: usize, none: i8| match text.get(from..from + 2) {
        Some(two) => two.parse().ok(),
        None => Some(none),
    };
    let year = text.get(..4)?.parse().ok()?;
    let civil =
        DateTime::new(year, part(4, 1)?, part(6, 1)?, part(8, 0)?, part(10, 0)?, part(12, 0)?, 0)
            .ok()?;
    Some(utc(civil))
}

fn iso(text: &str) -> Option<i64> {
    static PARSER: temporal::DateTimeParser = temporal::DateTimeParser::new();
    if let Ok(stamp) = PARSER.parse_timestamp(text) {
        return Some(stamp.as_second());
    }
    // A zone's name without an offset: `2024-05-18T10:30:00[Asia/Shanghai]`.
    if text.contains('[') {
        return None;
    }
    let unzoned = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    if let Ok(civil) = PARSER.parse_datetime(unzoned) {
        return Some(utc(civil));
    }
    let mut parts = unzoned.splitn(3, '-');
    let mut number = |digits| parts.next().filter(|part| part.len() == digits)?.parse::<i16>().ok();
    let (year, month) = (number(4)?, number(2)?);
    let first = Date::new(year, i8::try_from(month).ok()?, 1).ok()?;
    match parts.next() {
        None => Some(utc(first.to_datetime(Default::default()))),
        Some(rest) => day_of_year(first, rest),
    }
}

/// ClueWeb09 wrote the day of the year in place of the day of the month:
/// `2009-03-65T08:43:19-0800`.
fn day_of_year(first: Date, rest: &str) -> Option<i64> {
    let (day, time) = rest.split_once('T')?;
    let day = day.parse().ok().filter(|day| (32..=366).contains(day))?;
    let date = Date::new(first.year(), 1, 1).ok()?.with().day_of_year(day).build().ok()?;
    if date.month() == first.month() { iso(&format!("{date}T{time}")) } else { None }
}

fn utc(civil: DateTime) -> i64 {
    civil.duration_since(EPOCH).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every form in which crawls write a second is read as that second.
    #[test]
    fn forms_of_one_second() {
        for text in [
            "2008-04-30T20:48:25Z",
            "2008-04-30T20:48:25.999Z",
            "2008-04-30T20:48:25.123456789Z",
            "2008-04-30T22:48:25+02:00",
            "2008-04-30T13:48:25-0700",
            "2008-04-121T13:48:25-0700",
            "2008-04-30T20:48:25",
            "2008-04-30 20:48:25",
            "20080430204825",
            "20080430204825000",
            "Wed, 30 Apr 2008 20:48:25 GMT",
            "30 Apr 2008 22:48:25 +0200",
            "1209588505",
            "1209588505999",
            "1209588505999999",
            "1209588505999999999",
            " 2008-04-30T20:48:25Z\r\n",
        ] {
            assert_eq!(parse(text), Some(1_209_588_505), "{text}");
        }
    }

    /// A date cut short is read as its first second.
    #[test]
    fn cut_short() {
        for (text, full) in [
            ("2016", "20160101000000"),
            ("2016-10", "20161001000000"),
            ("201610", "20161001000000"),
            ("2016-10-17", "20161017000000"),
            ("20161017", "20161017000000"),
            ("2016-10-17T14:57Z", "20161017145700"),
            ("2016-10-17 14:57", "20161017145700"),
            ("201610171457", "20161017145700"),
        ] {
            assert_eq!(parse(text), parse(full), "{text}");
            assert!(parse(text).is_some(), "{text}");
        }
    }

    /// A number is read as its digits are as a text; a day was taken for seconds of 1970, and an
    /// older record held.
    #[test]
    fn numbers() {
        for digits in ["2024", "202405", "20240518", "202405181030", "20240518103000"] {
            assert_eq!(number(digits.parse().unwrap()), parse(digits), "{digits}");
        }
        for count in [0, -1, 20_241_399, 99_991_231, 1_700_000_000, 1_700_000_000_123, i64::MAX] {
            assert_eq!(number(count), since_1970(count), "{count}");
        }
    }

    /// The last day of the year 9999, with which databases say never, was no date as a text, and
    /// results had a number in place of its text. Years before the year 1 were dates.
    #[test]
    fn the_ends_of_time() {
        for (text, at) in
            [("0001-01-01T00:00:00Z", *SECONDS.start()), ("9999-12-31T23:59:59Z", *SECONDS.end())]
        {
            assert_eq!((parse(text), &*iso_text(at)), (Some(at), text));
        }
        assert_eq!(parse("Fri, 31 Dec 9999 23:59:59 GMT"), Some(*SECONDS.end()));
        for text in ["Thu, 31 Dec 9999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 -0100"] {
            assert_eq!(parse(text), None, "{text}");
        }
        for text in ["0000", "0000-12-31", "Sat, 01 Jan 0000 00:00:00 +2359"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    /// An invalid date gives no date, never a wrong one.
    #[test]
    fn no_dates() {
        for text in [
            "",
            "-",
            "blue monday",
            "2008-10-94T05:21:46-0700",
            "2008-10-294",
            "12-05",
            "0-05",
            "20081332000000",
            "2016-13",
            "2023-02-30",
            "99999999999999999999",
            "2016-10-17T25:00:00Z",
            "2009-01-05Tnoon",
            // The zone was left out, so the time was eight hours wrong.
            "2024-05-18T10:30:00[Asia/Shanghai]",
            "2009-03-65Tnoon",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        /// No text makes the parser panic, and its results lie in the years 1 to 9999.
        #[test]
        fn any_text(text in "\\PC{0,40}|[0-9TZ:+. -]{0,30}") {
            if let Some(found) = parse(&text) {
                prop_assert!(SECONDS.contains(&found));
            }
        }

        /// Digits and ISO 8601 of a moment both parse to that moment.
        #[test]
        fn there_and_back(at in 0i64..4_000_000_000) {
            let iso = jiff::Timestamp::from_second(at).unwrap().to_string();
            prop_assert_eq!(parse(&iso), Some(at));
            let digits: String = iso.chars().filter(char::is_ascii_digit).collect();
            prop_assert_eq!(parse(&digits), Some(at));
        }
    }
}
