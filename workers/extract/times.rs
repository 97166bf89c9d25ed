//! Recognises lines that say when something was written.
//!
//! A full time ([`says_time`]) is a sign by itself. A brief one ([`is_stamp`]) is also the length
//! of a walk or a part of a name, so it counts only beside another sign.

use crate::extract::furniture;

/// The ends of words behind a number that say how long ago something was.
pub const AGO: [&str; 14] = [
    "秒前",
    "分钟前",
    "小时前",
    "天前",
    "周前",
    "月前",
    "年前",
    "分鐘前",
    "小時前",
    "minute",
    "hour",
    "day",
    "week",
    "month",
];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Whether a line has a clock, a day or `3 hours ago`.
pub fn says_time(line: &str) -> bool {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(u8::is_ascii_digit) {
        let start = at + found;
        let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        at = start + digits;
        let behind = &line[at..];
        let is_clock = has_clock_at(&line[start..])
            && !begins_range(&behind[3..])
            && !ends_range(&line[..start]);
        let is_day = digits <= 2 && behind.starts_with('月') && behind.contains('日');
        let is_date =
            furniture::begins_with_date(&bytes[start..]) || begins_with_day(&bytes[start..]);
        if is_clock || is_day || is_date {
            return true;
        }
        let word = behind.trim_start().trim_start_matches("个");
        if AGO.iter().any(|ago| word.starts_with(ago) && (!ago.is_ascii() || word.contains(" ago")))
        {
            return true;
        }
        // `5 March 2024` and `March 5, 2024`.
        let is_month = |word: &str| {
            word.get(..3).is_some_and(|start| {
                MONTHS.iter().any(|month| month[..3].eq_ignore_ascii_case(start))
            })
        };
        let before = line[..start].trim_end().rsplit(' ').next().unwrap_or_default();
        if digits <= 2 && (is_month(word) || is_month(before)) && has_year(line) {
            return true;
        }
    }
    false
}

/// What stands between two clocks that say when something is open.
const TO: [char; 8] = ['-', '–', '—', '~', '～', '至', '到', '―'];

/// Whether a clock before `behind` is the first of two: `8:00-17:30`.
fn begins_range(behind: &str) -> bool {
    let to = behind.trim_start().trim_start_matches(TO);
    let next = to.trim_start_matches(|c: char| c.is_whitespace() || "次日当晚".contains(c));
    to.len() < behind.trim_start().len() && has_clock_at(next)
}

/// Whether a clock behind `before` is the second of two.
fn ends_range(before: &str) -> bool {
    let before = before.trim_end_matches(|c: char| c.is_whitespace() || "次日当晚".contains(c));
    let first = before.trim_end_matches(TO);
    let of_clock = |c: char| c.is_ascii_digit() || c == ':';
    let last = first.trim_end().rsplit(|c| !of_clock(c)).next();
    first.len() < before.len() && last.is_some_and(has_clock_at)
}

/// Whether `text` begins with a clock.
fn has_clock_at(text: &str) -> bool {
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let minutes = behind.strip_prefix(':').unwrap_or_default().as_bytes();
    (1..=2).contains(&(text.len() - behind.len()))
        && minutes.len() >= 2
        && minutes[..2].iter().all(u8::is_ascii_digit)
}

/// Whether a line begins with a day that ends in its year: `03/12/2026`, `3.12.2026`.
fn begins_with_day(line: &[u8]) -> bool {
    let digits = |from: usize| line[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let first = digits(0);
    let Some(mark @ (b'/' | b'.' | b'-')) = line.get(first) else { return false };
    let second = digits(first + 1);
    let year = first + second + 2;
    (1..=2).contains(&first)
        && (1..=2).contains(&second)
        && line.get(year - 1) == Some(mark)
        && digits(year) == 4
        && (line[year..].starts_with(b"19") || line[year..].starts_with(b"20"))
}

/// The most bytes of a line with a brief time. A longer line is a sentence.
const STAMP_BYTES_MAX: usize = 48;
/// Days that a line may be all of.
const STAMPS: [&str; 8] = ["刚刚", "今天", "昨天", "前天", "just now", "now", "today", "yesterday"];
/// What may stand behind the number of a time that is abbreviated, as in `4h`.
const STAMP_UNITS: [&str; 11] = ["s", "m", "h", "d", "w", "y", "mo", "min", "hr", "yr", "mth"];

/// Whether a line is a brief time, perhaps behind a name: `4h`, `Ada · 1d`, `Mar 3`, `Mar '26`.
pub fn is_stamp(line: &str) -> bool {
    if line.len() > STAMP_BYTES_MAX {
        return false;
    }
    let last = line.rsplit(['·', '•', '|']).next().unwrap_or_default().trim();
    let unit = last.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = last.len() - unit.len();
    if STAMPS.iter().any(|stamp| stamp.eq_ignore_ascii_case(last))
        || (1..=2).contains(&digits) && STAMP_UNITS.contains(&unit)
    {
        return true;
    }
    let is_day = |word: &str| {
        let digits = word.trim_start_matches(['\'', '’']).trim_end_matches(',');
        (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_month = |word: &str| {
        let word = word.trim_end_matches(['.', ',']);
        let begins = |month: &&str| {
            month.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        word.len() >= 3 && MONTHS.iter().any(begins)
    };
    let words = || line.split_ascii_whitespace();
    words().zip(words().skip(1)).any(|(one, next)| {
        is_month(one) && is_day(next) || is_day(one) && !one.starts_with('\'') && is_month(next)
    })
}

/// Whether a line has a number of four digits.
fn has_year(line: &str) -> bool {
    line.split(|c: char| !c.is_ascii_digit()).any(|number| number.len() == 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A day that ends in its year was no time, and so replies with one stayed.
    #[test]
    fn times() {
        for line in [
            "2026-03-01",
            "03/12/2026",
            "3.12.2026",
            "Posted 03-12-2026 by Ada",
            "5 March 2024",
            "Mar 5, 2024",
            "10:02 PM",
            "3小时前",
            "2 days ago",
            "3月1日",
        ] {
            assert!(says_time(line), "{line}");
        }
        for line in [
            "1.2.3",
            "03/12/26",
            "03/12-2026",
            "3/4/20261",
            "4h",
            "Mar 3",
            "",
            "8:00-17:30",
            "开放时间：8:00—22:00",
            "9:00 至 16:30",
            "22:00 – 次日 6:00",
        ] {
            assert!(!says_time(line), "{line}");
        }
    }

    /// Times as forums write them today were none: without a year, or without a word.
    #[test]
    fn stamps() {
        for line in [
            "1d",
            "4h",
            "12mo",
            "Ada · 4h",
            "Mar 3",
            "3 Mar",
            "March 3",
            "Sept. 3,",
            "Mar '26",
            "Mar ’26",
            "Yesterday",
            "刚刚",
        ] {
            assert!(is_stamp(line), "{line}");
        }
        for line in [
            "3D",
            "a 4h walk",
            "123h",
            "h",
            "Marble 3",
            "Mar 345",
            "'26 Mar",
            "Ma 3",
            "on march",
            "",
        ] {
            assert!(!is_stamp(line), "{line}");
        }
    }
}
