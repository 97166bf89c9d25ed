//! Adds up what the words, numbers and labels of a line say of it.

use crate::text::site_lines::phrases::{Label, Says, labelled, phrase_at};

/// Weak words count 2 and topics 1; a line of them needs this many points.
const POINTS_MIN: u32 = 5;

/// The labels of authors. Beside another label or a number they make a line of a site.
const AUTHORS: [&str; 4] = ["作者", "出处", "author", "by"];

/// What stands between a verb of publishing and its time.
const WHEN: [&str; 3] = ["时间", "日期", "于"];

/// Signs that stand beside counts.
const SIGNS: &str = "❤💗💙💚💛💜🧡🖤🤍👁👀💬🗨👍👎🔁";

/// What the items of a line say of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    is_sure: bool,
    has_counter: bool,
    has_number: bool,
    has_author: bool,
    has_aside: bool,
    has_part: bool,
    has_publish: bool,
    has_day: bool,
    has_time_word: bool,
    /// A day with its year in digits.
    has_date: bool,
    has_clock: bool,
    /// The parts of a date that names its month.
    has_year: bool,
    has_short_number: bool,
    points: u32,
}

impl Sum {
    pub(super) fn is_furniture(self) -> bool {
        // Parts of labels, and words of times, stand in sentences, too.
        let is_plain = !self.has_part && !self.has_time_word;
        let is_of_words = self.is_sure
            || self.has_author && (self.has_number || self.has_aside)
            || self.points >= POINTS_MIN;
        is_plain && is_of_words
            || self.is_count()
            || self.is_of_publishing()
            || is_plain && self.has_day && self.has_clock
    }

    /// Whether the line has a counter and a number.
    pub(super) fn has_count(self) -> bool {
        self.has_counter && self.has_number
    }

    /// Whether a line of these words is how often something was read. `Join the discussion at 7 pm`
    /// tells a time.
    fn is_count(self) -> bool {
        self.has_count() && !(self.has_time_word || self.has_part && self.has_clock)
    }

    /// Whether a line of these words is when a page was published: a verb for that, and a time.
    pub(super) fn is_of_publishing(self) -> bool {
        let has_time = self.has_date || self.has_clock || self.has_day || self.has_time_word;
        self.has_publish && self.has_number && has_time
    }

    /// Whether the line has a whole date.
    pub(super) fn is_date(self) -> bool {
        self.has_date || self.has_time_word && self.has_year && self.has_short_number
    }

    /// Whether the line has a whole date, and no words but those of times.
    pub(super) fn is_date_alone(self) -> bool {
        let has_other = self.is_sure
            || self.has_counter
            || self.has_author
            || self.has_aside
            || self.has_part
            || self.has_publish
            || self.has_day
            || self.points > 0;
        self.is_date() && !has_other
    }

    /// Adds a number, of which the marks of a date or a clock are part.
    fn add_number(&mut self, number: &str) {
        self.has_number = true;
        let is_parted = |marks: &[char]| {
            let parts = number.trim_end_matches(['.', ',', '日']).split(marks);
            let lengths: Vec<usize> = parts.map(str::len).collect();
            matches!(lengths[..], [4, 1..=2, 1..=2] | [1..=2, 1..=2, 4])
        };
        self.has_date |= [&['-'][..], &['/'], &['.'], &['年', '月']].into_iter().any(is_parted);
        self.has_clock |= number.split_once(':').is_some_and(|(hour, minute)| {
            let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
            (1..=2).contains(&hour.len()) && digits(minute) == 2
        });
        let bare = number.trim_end_matches([',', '.']);
        self.has_year |= bare.len() == 4 && (bare.starts_with("19") || bare.starts_with("20"));
        self.has_short_number |= (1..=2).contains(&bare.len());
    }

    fn add_label(&mut self, Label { name, says }: Label) {
        self.is_sure |= says.is_enough();
        let is_author = AUTHORS.contains(&name);
        self.has_author |= is_author;
        self.has_aside |= says == Says::Aside && !is_author;
    }

    /// Adds an item of the line, in normal form. Returns whether it may be furniture.
    pub(super) fn add(&mut self, item: &str) -> bool {
        // A heart or an eye counts who liked or saw a text.
        let has_sign = item.contains(|c| SIGNS.contains(c));
        let item = item.trim_matches(|c: char| !c.is_alphanumeric());
        self.has_counter |= has_sign;
        match labelled(item) {
            Some((label, value)) if label.says.may_have(value) => {
                // Behind the value may be another label.
                let mut sum = *self;
                match !label.says.is_enough() && sum.add_words(item) {
                    true => *self = sum,
                    false => self.add_label(label),
                }
                true
            }
            _ => self.add_words(item),
        }
    }

    /// Adds an item that consists of words of the list, numbers, marks, and labels with one word.
    pub(super) fn add_words(&mut self, item: &str) -> bool {
        let mut sum = *self;
        let mut rest = item;
        while let Some(c) = rest.chars().next() {
            if let Some((label, value)) = labelled(rest)
                && let (value, behind) = value.split_once(' ').unwrap_or((value, ""))
                && label.says.may_have(value)
            {
                sum.add_label(label);
                rest = behind;
            } else if let Some((word, says)) = phrase_at(rest, Says::is_word) {
                match says {
                    Says::Sure => sum.is_sure = true,
                    Says::Counter => sum.has_counter = true,
                    Says::Weak => sum.points += 2,
                    Says::Topic => sum.points += 1,
                    Says::Part => sum.has_part = true,
                    Says::Publish => sum.has_publish = true,
                    Says::Day => (sum.has_day, sum.points) = (true, sum.points + 1),
                    Says::Time => sum.has_time_word = true,
                    _ => {}
                }
                rest = &rest[word.len()..];
                if says == Says::Publish {
                    rest = WHEN.iter().find_map(|when| rest.strip_prefix(when)).unwrap_or(rest);
                }
            } else if c.is_numeric() {
                let behind = without_number(rest);
                sum.add_number(&rest[..rest.len() - behind.len()]);
                rest = behind;
            } else if c.is_alphanumeric() {
                return false;
            } else {
                rest = &rest[c.len_utf8()..];
            }
        }
        *self = sum;
        true
    }
}

/// `text` without the number that it begins with, its parts of a date or a clock, and its unit.
fn without_number(text: &str) -> &str {
    let is_part = |c: char| c.is_numeric() || "年月日时分秒万千k+%.,:-/".contains(c);
    let rest = text.trim_start_matches(is_part);
    // The `t` and the `z` of RFC 3339, and `09h12`.
    let of_time = |c: char| matches!(c, 't' | 'z' | 'h');
    match rest.strip_prefix(of_time) {
        Some(behind) if behind.starts_with(char::is_numeric) => without_number(behind),
        Some(behind) if !behind.starts_with(char::is_alphanumeric) => behind,
        _ => rest,
    }
}
