//! Lines that are furniture only at the edges of a page: between its headline and its first
//! sentence, or behind its last one.
//!
//! The same lines are facts elsewhere: a diary has `8 march 2024`, a cast list `翻译: 王芳`, a price
//! list `Subscribe for $1 a week`. So their place decides, not their words alone
//! ([`super::SiteLines`] knows it), and their words are told by parts: what is said of a
//! name, by whom a reader is asked, what stands beside a date.

use crate::text::characters::{is_han, is_spaced_letter};
use crate::text::letters::weight;
use crate::text::lists::{WordSet, longest_first, of_kind};
use crate::text::site_lines::phrases::{Says, word};
use crate::text::site_lines::sum::Sum;
use std::sync::OnceLock;

/// The list.
const LIST: &str = include_str!("edges.txt");

/// The most letters, by [`weight`], of all names of a line, and of one that a space parts from what
/// it is the name of.
const NAMES_LETTERS_MAX: u32 = 20;
const NAME_LETTERS_MAX: u32 = 10;
/// The most words of a line about its author, of their names, and of the name of a source.
const WORDS_MAX: usize = 18;
const NAME_WORDS_MAX: usize = 6;
/// The most words of a name beside a date that may be that of an author or of a place.
const DATED_NAMES_MAX: usize = 4;
const SOURCE_WORDS_MAX: usize = 5;
/// The most words of a line that asks something, and of one that names a device.
const ASK_WORDS_MAX: usize = 10;
const DEVICE_WORDS_MAX: usize = 6;
/// The fewest bytes of the name of an account. `A7` is a road.
const ACCOUNT_BYTES_MIN: usize = 4;

/// The minutes of a clock that people choose for an event or a meeting are a multiple of these.
const EVENT_MINUTES: u32 = 15;
const MEETING_MINUTES: u32 = 5;

/// Marks that end a sentence.
const SENTENCE_ENDS: [char; 7] = ['。', '.', '!', '?', '！', '？', '…'];
/// Marks between the pieces of a line.
const BETWEEN: [&str; 7] = ["|", "·", "•", "-", "–", "—", "/"];
/// Marks between a role and its name.
const BEHIND_ROLE: [char; 5] = [':', '丨', '|', '/', '《'];

/// The list.
struct Lists {
    headings: Vec<&'static str>,
    roles: Vec<&'static str>,
    of: Vec<&'static str>,
    sources: Vec<&'static str>,
    from: Vec<&'static str>,
    openers: WordSet,
    before: WordSet,
    jobs: WordSet,
    joins: WordSet,
    asks: Vec<&'static str>,
    offers: Vec<&'static str>,
    sent: Vec<&'static str>,
    clients: WordSet,
}

fn lists() -> &'static Lists {
    static LISTS: OnceLock<Lists> = OnceLock::new();
    LISTS.get_or_init(|| {
        let sorted = |kind| longest_first(LIST, kind);
        let set = |kind| of_kind(LIST, kind).collect();
        Lists {
            headings: sorted("heading"),
            roles: sorted("role"),
            of: sorted("of"),
            sources: sorted("source"),
            from: sorted("from"),
            openers: set("opener"),
            before: set("before"),
            jobs: set("job"),
            joins: set("joins"),
            asks: sorted("asks"),
            offers: sorted("offers"),
            sent: sorted("sent"),
            clients: set("client"),
        }
    })
}

/// `text` without the longest of `phrases` that it begins with, if that is a whole word.
fn without<'t>(text: &'t str, phrases: &[&str]) -> Option<&'t str> {
    phrases.iter().find_map(|phrase| {
        let rest = text.strip_prefix(phrase)?;
        let is_cut = phrase.ends_with(is_spaced_letter) && rest.starts_with(is_spaced_letter);
        (!is_cut).then_some(rest)
    })
}

/// Whether `line`, in normal form, is a heading of titles of other pages and says nothing else.
pub fn is_heading(line: &str) -> bool {
    let mut rest = line.trim_matches(|c: char| !c.is_alphanumeric());
    let mut has_one = false;
    while let Some(behind) = without(rest, &lists().headings) {
        (rest, has_one) = (behind.trim_start_matches(|c: char| !c.is_alphanumeric()), true);
    }
    has_one && rest.is_empty()
}

/// Whether `line`, in normal form, is a date with its year and perhaps a clock, and says nothing
/// else. An event begins at a quarter of an hour.
pub fn is_date(line: &str) -> bool {
    let mut sum = Sum::default();
    sum.add_words(line) && sum.is_date_alone() && !is_of_event(line, EVENT_MINUTES)
}

/// Whether the clock of `line`, in normal form, is one that people choose: its minutes are a
/// multiple of `minutes`. Seconds and midnight are written by programs.
fn is_of_event(line: &str, minutes: u32) -> bool {
    let Some((hour, rest)) = line.split_once(':') else { return false };
    let (digits, behind) = rest.split_at_checked(2).unwrap_or((rest, ""));
    let minute = digits.parse::<u32>().ok();
    let hour = hour.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    let is_zero = hour.parse() == Ok(0) || hour == "12" && behind.trim_start().starts_with("a");
    let is_midnight = minute == Some(0) && is_zero;
    !behind.starts_with(':') && !is_midnight && minute.is_some_and(|n| n.is_multiple_of(minutes))
}

/// The bytes of the label that `line` begins with, if only a date is behind it: `日期:`, `date:`.
/// In the first line of a page this is its date.
pub fn label_of_date(line: &str, normal: &str) -> Option<usize> {
    let date = without(normal, &["日期", "时间", "date"])?.trim_start_matches([':', ' ']);
    let is_of_meeting = normal.starts_with("时间") && is_of_event(date, MEETING_MINUTES);
    let (label, rest) = line.split_at(line.find([':', '：'])?);
    let bytes = label.len() + rest.chars().next().map_or(0, char::len_utf8);
    (is_date(date) && !is_of_meeting && label.trim().chars().count() <= "date".len())
        .then_some(bytes)
}

/// What a line between a headline and its text is, if it is neither of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadLine {
    /// A date, alone or beside the name of a person or a place.
    Date,
    /// Who wrote the text, where it comes from, or when and how often it was read.
    Credit,
}

/// What `line` is between a headline and its text. There the name of an author stands alone, too:
/// `By Anna Holt`. Below a text such a line may be a fact: `By Order of the County Court`, `Clara
/// Meyer, Editor`. `normal` is the normal form of `line`.
pub fn head_line(line: &str, normal: &str) -> Option<HeadLine> {
    if is_date(normal) {
        return Some(HeadLine::Date);
    }
    let ends = line.trim_end().ends_with(SENTENCE_ENDS);
    if !ends && has_credit(line, normal) {
        return Some(HeadLine::Credit);
    }
    let said = Said::of(line)?;
    if !ends && (said.is_credit() || said.is_byline()) {
        return Some(HeadLine::Credit);
    }
    let is_dated = said.is_name_with_date() && !is_of_event(normal, EVENT_MINUTES);
    is_dated.then_some(HeadLine::Date)
}

/// Whether a line says who wrote a text, where it comes from, or when and how often it was read,
/// with names that no list has. `normal` is the normal form of `line`.
pub fn is_credit(line: &str, normal: &str) -> bool {
    let ends = line.trim_end().ends_with(SENTENCE_ENDS);
    !ends && (has_credit(line, normal) || Said::of(line).is_some_and(|said| said.is_credit()))
}

/// Whether words of the list say that a line is a credit.
fn has_credit(line: &str, normal: &str) -> bool {
    has_role(normal) || has_reporter(normal) || has_source(line)
}

/// Whether a line below a text is of the site: a credit, a device, or what asks the reader to pay.
pub fn is_of_site(line: &str, normal: &str) -> bool {
    is_credit(line, normal) || is_device(normal) || asks_reader(normal)
}

/// Whether `names` are names and nothing else: short, without numbers and sentences.
fn are_names(names: &str) -> bool {
    let is_odd = |c: char| c.is_numeric() || ",;。!?".contains(c);
    let letters = weight(names);
    (1..=NAMES_LETTERS_MAX).contains(&letters) && !names.contains(is_odd)
}

/// Whether `name` is a name of the usual length and nothing else.
fn is_name(name: &str) -> bool {
    weight(name) <= NAME_LETTERS_MAX && are_names(name)
}

/// Whether a line is roles, each with its name: `出处:楚风网`, `撰稿 沈海燕`, `(楚风网讯)`.
fn has_role(line: &str) -> bool {
    let line = line.trim();
    let inner =
        line.strip_prefix(['(', '[', '【']).and_then(|line| line.strip_suffix([')', ']', '】']));
    if let Some(inner) = inner {
        let is_message = inner.ends_with('讯') && is_name(inner);
        let is_behind = inner
            .split_once(' ')
            .is_some_and(|(name, role)| lists().roles.contains(&role) && is_name(name));
        return is_message || is_behind || is_role_with_names(inner);
    }
    // The name of an account.
    let is_account = line.strip_prefix('@').is_some_and(|name| !name.contains(' '));
    is_account && is_name(line) || is_role_with_names(line)
}

fn is_role_with_names(line: &str) -> bool {
    let Some((role, rest)) = role_of(line) else { return false };
    let names = rest.trim_start_matches(' ');
    let marked = names.trim_start_matches(BEHIND_ROLE);
    let has_mark = marked.len() < names.len();
    let behind = names.strip_prefix('《').unwrap_or(marked).trim();
    // A name may touch `本文作者`, and a space may part it from a longer word for a role.
    let is_parted = role.chars().count() > 1
        && (rest.starts_with(' ') || line.starts_with("本文"))
        && !behind.contains(' ')
        && weight(behind) <= NAME_LETTERS_MAX;
    // An exercise asks from which book a sentence comes.
    let is_book = role == "出处" && names.contains('《') && !names.ends_with("报》");
    let are_roles = behind.split(' ').all(|part| match part.split_once(':') {
        Some((role, _)) => lists().roles.contains(&role),
        None => true,
    });
    (has_mark || is_parted) && !is_book && are_roles && are_names(&behind.replace(':', " "))
}

/// The role that `line` begins with, and what is behind it.
fn role_of(line: &str) -> Option<(&'static str, &str)> {
    let roles = &lists().roles;
    let role_at = |line: &str| roles.iter().copied().find(|role| line.starts_with(*role));
    // `文字整理`, and `图片来源`
    let behind = without(line, &lists().of).filter(|rest| role_at(rest).is_some());
    let line = behind.unwrap_or(line);
    let role = role_at(line)?;
    Some((role, &line[role.len()..]))
}

/// Whether a line is a paper and its reporter: `楚风网 记者 郑梦洁`.
fn has_reporter(line: &str) -> bool {
    line.trim().split_once(" 记者 ").is_some_and(|(paper, name)| {
        is_name(paper)
            && !paper.contains(' ')
            && are_names(name)
            && name.chars().all(|c| is_han(c) || c == ' ')
    })
}

/// Whether a line is a word for a source and a name with capitals: `Courtesy of Westbury Post`,
/// `Source: BBC News`. One word without a mark begins other names, too: `Fonte Nova`.
fn has_source(line: &str) -> bool {
    const MARKS: [char; 5] = [':', '-', '–', '—', '：'];
    let line = line.trim().trim_matches(['(', ')', '[', ']']);
    let lower = line.to_lowercase();
    let marked =
        without(&lower, &lists().sources).filter(|behind| behind.trim_start().starts_with(MARKS));
    let Some(behind) = marked.or_else(|| without(&lower, &lists().from)) else { return false };
    // The lower case of few letters has another length.
    let rest = line.len().checked_sub(behind.len()).and_then(|at| line.get(at..));
    let Some(rest) = rest else { return false };
    let name = rest.trim_start_matches(|c| c == ' ' || MARKS.contains(&c));
    if rest.len() == name.len() || name.contains(char::is_numeric) {
        return false;
    }
    if name.starts_with(is_han) {
        return is_name(name) && !name.contains(' ');
    }
    let words = || name.split_whitespace();
    let is_of_name = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.is_empty() || word.starts_with(char::is_uppercase) || lists().joins.contains(word)
    };
    words().count() <= SOURCE_WORDS_MAX
        && name.contains(char::is_uppercase)
        && words().all(is_of_name)
}

/// Whether `word` is the name of an account: `bprice42`.
fn is_account(word: &str) -> bool {
    let has_digit = word.contains(|c: char| c.is_ascii_digit());
    has_digit && word.starts_with(char::is_alphabetic) && word.len() >= ACCOUNT_BYTES_MIN
}

/// What the words of a line in a script with capitals say of its author, and what sites put beside
/// that: `By Anna Holt | March 14, 2024`, `Clara Meyer · Mar 14 · 5 min read`.
#[derive(Default)]
struct Said {
    sum: Sum,
    words: usize,
    names: usize,
    /// Names behind the last mark or word that joins names.
    names_in_row: usize,
    /// A name of one word is joined to others: `Von Hamburg und Bremen`, `By Order of the Court`.
    joins_single: bool,
    /// A word that opens a name stands in front.
    opens: bool,
    /// A word that opens a name stands behind a date or a mark.
    opens_later: bool,
    has_mark: bool,
    has_comma: bool,
    has_job: bool,
    has_account: bool,
    /// The word before, in lower case; none behind a mark that stands alone.
    before: Option<String>,
}

impl Said {
    /// Adds a word with the marks around it. Returns whether it may be in such a line.
    fn add(&mut self, word: &str) -> bool {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let before = self.before.take();
        if bare.is_empty() {
            if BETWEEN.contains(&word) {
                self.has_mark = true;
                self.end_name();
            }
            return true;
        }
        let lower = bare.to_lowercase();
        self.before = Some(lower.clone());
        let (at, lists, before) = (self.words, lists(), before.as_deref());
        let is_behind_opener = before.is_some_and(|before| lists.openers.contains(before));
        self.words += 1;
        let is_join = lists.joins.contains(lower.as_str());
        if is_join {
            self.end_name();
        }
        let opens = lists.openers.contains(lower.as_str())
            || lists.before.contains(lower.as_str()) && word.ends_with([':', '：']);
        if opens {
            let may_open =
                at == 0 || at == 1 && before.is_some_and(|word| lists.before.contains(word));
            let is_behind_time = before.is_none_or(|word| word.contains(char::is_numeric));
            self.opens |= may_open;
            self.opens_later |= !may_open && (is_behind_time || self.has_mark);
        } else if lists.jobs.contains(lower.as_str()) {
            let is_behind_name = self.opens || self.has_mark || self.has_comma;
            self.has_job |= is_behind_name;
            self.names += usize::from(!is_behind_name);
        } else if is_behind_opener && is_account(bare) {
            self.has_account = true;
        } else if bare.starts_with(char::is_numeric) {
            return self.sum.add_words(&lower);
        } else if self.sum.add_words(&lower) || lists.before.contains(lower.as_str()) {
            // A section such as `News`.
        } else if bare.starts_with(char::is_uppercase) {
            self.names += 1;
            self.names_in_row += 1;
        } else if !is_join {
            return false;
        }
        if word.ends_with(',') {
            self.has_comma = true;
            self.end_name();
        }
        true
    }

    fn end_name(&mut self) {
        self.joins_single |= self.names_in_row == 1;
        self.names_in_row = 0;
    }

    /// What the line says, if it may be of an author.
    fn of(line: &str) -> Option<Said> {
        let mut said = Said::default();
        let is_whole =
            line.split_whitespace().all(|word| said.words <= WORDS_MAX && said.add(word));
        (is_whole && said.names <= NAME_WORDS_MAX).then_some(said)
    }

    /// Whether the line is about its author, or about when and how often the text was read. A place
    /// with a mark and a date is an event: `Eastmere Town Hall | 8 March 2024`.
    fn is_credit(&self) -> bool {
        let has_count = self.sum.has_count();
        let tells = self.sum.is_date() || has_count || self.sum.is_of_publishing();
        let is_of_author = self.opens_later || self.opens && self.names > 0;
        let says_no_name = self.names == 0 && !self.sum.is_date_alone();
        let is_marked = self.has_mark && (says_no_name || self.has_job || has_count);
        self.opens && self.has_account || tells && (is_of_author || is_marked)
    }

    /// Whether the line is a name and a date, parted by a mark.
    fn is_name_with_date(&self) -> bool {
        (1..=DATED_NAMES_MAX).contains(&self.names) && self.has_mark && self.sum.is_date()
    }

    /// Whether the line names an author, and says nothing else.
    fn is_byline(&self) -> bool {
        let has_name = self.names >= 2 && !self.joins_single;
        self.opens && has_name || self.has_job && (self.opens || self.names >= 2)
    }
}

/// Whether a line says with what a text was written: `Sent from my iPhone`.
fn is_device(line: &str) -> bool {
    let line = line.trim();
    let is_short = line.split(' ').count() <= DEVICE_WORDS_MAX && !line.contains(char::is_numeric);
    is_short && without(line, &lists().sent).is_some() || lists().clients.contains(line)
}

/// Whether a line asks the reader to pay for the site, or to read more of it.
fn asks_reader(line: &str) -> bool {
    let line = line.trim_matches(|c: char| !c.is_alphanumeric());
    let offers = |phrase: &&str| {
        line.match_indices(*phrase).any(|(at, _)| {
            let behind = &line[at + phrase.len()..];
            !line[..at].ends_with(char::is_alphabetic) && !behind.starts_with(char::is_alphabetic)
        })
    };
    let words = || line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    // With its time it is an event.
    words().count() <= ASK_WORDS_MAX
        && without(line, &lists().asks).is_some()
        && lists().offers.iter().any(offers)
        && !words().any(|each| word(each).is_some_and(Says::is_of_time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::normalize::{Options, normalize};

    fn is_credit_of_head(line: &str) -> bool {
        of_normal(line, head_line) == Some(HeadLine::Credit)
    }

    fn of_normal<T>(line: &str, tell: impl Fn(&str, &str) -> T) -> T {
        let mut normal = String::new();
        normalize(line, &Options::default(), &mut normal);
        tell(line, &normal)
    }

    /// Copies on two sites were refused, because each site names another author, paper, date or
    /// reading time in a line above or below the text, and no list has all names.
    #[test]
    fn credits_have_names_that_no_list_has() {
        for line in [
            "出处：楚风网",
            "原载：秦川都市网",
            "摘自《漠北日报》",
            "via: 秦川都市网",
            "From: 钱江时讯",
            "（漠北日报讯）",
            "（周立 整理）",
            "楚风网 记者 郑梦洁",
            "撰稿 沈海燕",
            "作者 | 卫一帆",
            "编审丨卫一帆",
            "本文作者卫一帆",
            "文字整理：周建国",
            "文：周立 图：王海燕",
            "编辑：周立 校阅：王海燕",
            "@滨海在线",
            "Source - BBC News",
            "(Source: Press Association)",
            "Originally published by The Conversation",
            "Courtesy of Westbury Post",
            "Posted by bprice42",
            "By Anna Holt | March 14, 2024",
            "Anna Holt · 3 min read",
            "Ben Price • 2 August 2023 • 12 comments",
            "March 14, 2024 by Anna Holt",
            "Posted by Ben Price on 02/08/2023 in News",
            "Clara Meyer · Mar 14 · 5 min read",
            "14 March 2024 | Local News | 3 comments",
            "Hugo Costa, Environment Editor · 14.03.2024",
            "News · August 2, 2023 · 1.2k views",
        ] {
            assert!(of_normal(line, is_credit), "{line}");
        }
        for line in [
            "By Anna Holt",
            "BY STAFF REPORTER",
            "By Anna Holt, Ben Price and Clara Meyer",
            "By Anna Holt for Daily Echo",
            "Anna Holt, Staff Writer",
            "Anna Holt | Environment correspondent",
            "Written by Clara Meyer",
            "Words: Clara Meyer Pictures: Hugo Costa",
            "Von Sabine Kurz, Lokalredaktion",
            "Por Ana Ruiz",
        ] {
            assert!(is_credit_of_head(line) && !of_normal(line, is_credit), "{line}");
        }
    }

    /// The same words say facts. Pages that differ only in such a line were taken for one: in a
    /// place and a date, in the route of a flight, in a card of another suit.
    #[test]
    fn other_lines_are_no_credits() {
        for line in [
            "Eastmere Town Hall | 8 March 2024",
            "Aug 2, 2023 at 9:12am · Ben Price",
            "Rovers – Albion 3:1, 14.03.2024",
            "Via Frankfurt",
            "Fonte Nova",
            "Source Arena",
            "Von Hamburg und Bremen",
            "By Order of the County Court",
            "By Air and Sea",
            "By 7 March",
            "By U2",
            "8 March 2024 | 19:30",
            "8 March 2024 – 10 March 2024",
            "出处：《论语》",
            "值班：王海燕",
            "译：我们明天回家",
            "主讲人：周立",
            "获奖者：周建国",
            "主演：蒋海燕",
            "联系人：周一帆",
            "编辑3人",
            "整理：请在3月5日前完成",
            "文化节 石桥镇",
            "图书馆 石桥镇",
            "记者 12 人",
            "Source of the Danube found",
            "Via Roma 12, Napoli",
            "By bus",
            "By next week the council has a budget",
            "Stand By Me",
            "Council Editor Quits",
            "Harbour Festival 14 March 2024",
            "Rovers 3 Albion 2",
            "Rovers · 3 · 14 March",
            "Doors open at 7 pm",
            "Bring a mat and a blanket",
        ] {
            assert!(!of_normal(line, is_credit) && !is_credit_of_head(line), "{line}");
        }
    }

    /// Sites ask their readers for money with another price each day.
    #[test]
    fn sites_ask_their_readers() {
        for line in [
            "Subscribe for $1 a week",
            "Subscribe now for just £4.99 a month",
            "Unlimited digital access for $12.99. Cancel anytime",
            "Start your free trial, then 9.95 per month",
            "Get 50% off an annual subscription",
            "Join 40,000 readers",
            "Donate $5 to support our work",
            "Download our app, rated 4.8 stars",
            "Already a subscriber? Log in",
            "Sent from my iPhone",
            "Twitter for Android",
        ] {
            assert!(of_normal(line, is_of_site), "{line}");
        }
        for line in [
            "Donate blood at the town hall on 5 March",
            "Get the flat for £900 a month",
            "Sign up for the race by 5 March",
            "Join the club for £5",
            "Subscribe to the talk on 5 March at 7 pm",
            "Get 50% off the second pair",
            "Insurance for the web of roads",
            "Full version for Mac",
            "Twitter for beginners",
            "Available for Android",
            "Sent via Royal Mail",
            "Get 6 months for £99",
            "Tickets for 12",
        ] {
            assert!(!of_normal(line, is_of_site), "{line}");
        }
    }

    /// A date alone has its year.
    #[test]
    fn dates_alone() {
        for line in [
            "8 March 2024",
            "2024-03-08 10:32",
            "2024年3月8日 星期五",
            "Fri, 8 Mar 2024",
            "14. März 2024",
            "14 марта 2024, 09:12",
            "2024-03-08 10:30:00",
            "2024-03-08 00:00",
            "March 14, 2024 12:00 AM",
        ] {
            assert!(of_normal(line, |_, normal| is_date(normal)), "{line}");
        }
        for line in [
            "8 March",
            "10:30",
            "2024",
            "March 2024",
            "8 March 2024 in Dover",
            "3月8日",
            "2024-03-08 12 comments",
            "8 March 2024, 10:00",
            "2024-03-08 19:45",
            "1.2.3",
        ] {
            assert!(!of_normal(line, |_, normal| is_date(normal)), "{line}");
        }
        let label = |line| of_normal(line, label_of_date);
        assert_eq!(label("日期：2024-03-08"), Some("日期：".len()));
        assert_eq!(label("Date: 8 March 2024"), Some("Date:".len()));
        assert_eq!(label("Date: 8 March"), None);
        assert_eq!(label("时间：2024-03-08 19:05"), None);
        assert_eq!(label("时间：2024-03-08 10:32"), Some("时间：".len()));
        assert_eq!(label("Exam date: 8 March 2024"), None);
    }

    /// A heading says nothing else.
    #[test]
    fn headings() {
        for line in [
            "相关阅读",
            "延伸阅读：",
            "上一篇／下一篇",
            "Related articles",
            "You may also like",
            "【猜你喜欢】",
        ] {
            assert!(of_normal(line, |_, normal| is_heading(normal)), "{line}");
        }
        for line in ["相关阅读：一周回顾", "Related", "Recommended", "Most popular", "推荐", "阅读"]
        {
            assert!(!of_normal(line, |_, normal| is_heading(normal)), "{line}");
        }
    }

    /// The list is in normal form, and each line has a known kind.
    #[test]
    fn the_list_is_well_formed() {
        let kinds = [
            "heading", "role", "of", "source", "from", "opener", "before", "job", "joins", "asks",
            "offers", "sent", "client",
        ];
        for line in crate::text::lists::lines(LIST) {
            let (kind, words) = line.split_once(' ').expect("a kind");
            assert!(kinds.contains(&kind), "{line}");
            for word in words.split(", ") {
                of_normal(word, |word, normal| assert_eq!(word, normal));
            }
        }
    }
}
