//! Explanations as text for people.

use crate::terminal::paint::{Colour, Paint};
use crate::terminal::print::{Lines, counted, grouped};
use std::fmt::Write as _;
use workers::ask::page::Page;
use workers::ask::pair::{Fingerprints, Pair, Relation, Side, Why};
use workers::ask::rules::Rule;
use workers::confirm::kinds::PartKind;
use workers::confirm::parts::Part;

/// The parts that are shown; `--json` has more.
const PARTS_SHOWN: usize = 30;

/// The differences between the URL that was asked for and the URL of the page that is shown.
fn differs(lines: &mut Lines, differs_by: &[&str], url: &str, paint: Paint) {
    if !differs_by.is_empty() {
        let line =
            format!("the store lacks it; the nearest page differs by {}", differs_by.join(" and "));
        lines.painted("asked", format!("{}: {line}", paint.url(url)));
    }
}

/// One page.
pub fn page(page: &Page, paint: Paint) -> String {
    let mut lines = Lines::default();
    differs(&mut lines, &page.differs_by, &page.asked, paint);
    lines.painted("page", paint.url(&page.url));
    gone(&mut lines, page, paint);
    if let (Some(first), Some(last)) = (page.first_epoch, page.last_epoch) {
        let mut line = format!("seen first in epoch {first}, last in epoch {last}");
        let _ = page.last_seen.as_ref().map(|time| write!(line, " ({time})"));
        let _ = page.date.as_ref().map(|date| write!(line, "; dated {date}"));
        let _ = page.source.as_ref().map(|source| write!(line, "; source {source}"));
        lines.line("", line);
    }
    text(&mut lines, page, paint);
    cluster(&mut lines, page, paint);
    kept(&mut lines, page, paint);
    for (at, step) in page.history.iter().enumerate() {
        let time = step.time.as_deref().unwrap_or("");
        let by = match step.representative.as_deref() {
            Some(by) if by == page.url => "represents itself".to_owned(),
            Some(by) => format!("represented by {}", paint.url(by)),
            None => String::new(),
        };
        let name = if at == 0 { "history" } else { "" };
        let line = format!("epoch {:<4} {time:<20}  {:<8} {by}", step.epoch, step.what);
        lines.painted(name, line.trim_end());
    }
    lines.into_text()
}

/// Since when a page is gone, and why.
fn gone(lines: &mut Lines, page: &Page, paint: Paint) {
    let Some(gone) = &page.gone else { return };
    let cause = match gone.cause {
        "removed" => "a record said that it was removed",
        "missing" => "a complete snapshot of its source lacked it",
        "expired" => "it was last seen too long ago",
        _ => "the reason is not known",
    };
    let time = gone.time.as_deref().map_or(String::new(), |time| format!(", {time}"));
    let line = format!("gone since epoch {}{time}: {cause}", gone.epoch);
    lines.painted("", paint.of(Colour::Red, &line));
    if let Some(moved_to) = &gone.moved_to {
        let url = paint.url(moved_to);
        lines.painted("", format!("no live page has its text; redirects lead to {url}"));
    }
}

/// The text of a page, and which other pages have it.
fn text(lines: &mut Lines, page: &Page, paint: Paint) {
    let Some(text) = &page.text else { return lines.line("text", "none") };
    let mut line = text.content.clone();
    let _ = text.chars.map(|chars| write!(line, ", {}", counted(chars.into(), "character")));
    let _ =
        text.fingerprint.as_ref().map(|fingerprint| write!(line, ", fingerprint {fingerprint}"));
    if text.too_short {
        line.push_str("; too few words to be compared: it folds with identical texts only");
    } else if text.gathered {
        line.push_str("; gathered from whole pages: it folds with identical texts only");
    } else if text.cut {
        line.push_str("; longer than what is compared: it folds with identical texts only");
    }
    if text.says_little {
        line.push_str("; it says too little to tell pages by: its pages fold with none");
    }
    lines.line("text", line);
    match text.pages {
        0 => lines.line("", "no live page has this text any more"),
        pages if page.is_live && pages == 1 => lines.line("", "no other page has it"),
        pages => {
            let others = pages - u64::from(page.is_live);
            let such_as = match others > text.same_text.len() as u64 {
                true => ", such as",
                false if page.is_live => ", this one and",
                false => ":",
            };
            lines.line("", format!("on {}{such_as}", counted(pages, "page")));
        }
    }
    for other in &text.same_text {
        lines.painted("", format!("  {}", paint.url(other)));
    }
}

/// The cluster of a page, and the page that represents it.
fn cluster(lines: &mut Lines, page: &Page, paint: Paint) {
    let Some(cluster) = &page.cluster else { return };
    let what = if page.is_live { "cluster" } else { "lives on" };
    let line = format!(
        "{}, {}, {}",
        counted(cluster.pages.into(), "page"),
        counted(cluster.contents.into(), "text"),
        counted(cluster.hosts.into(), "host")
    );
    lines.line(what, line);
    let url = paint.url(&cluster.representative);
    let own = if cluster.representative == page.url { " (this page)" } else { "" };
    lines.painted("", format!("represented by {url}{own}"));
}

/// The step of the keep rule by which one page represents and not another.
fn kept(lines: &mut Lines, page: &Page, paint: Paint) {
    let Some(kept) = &page.kept else { return };
    let step = match kept.by {
        "near_all" => "only what is near the whole cluster may represent it",
        "leads" => {
            "only the text that leads the cluster, or one near the whole cluster, may represent it"
        }
        "hosts" => "it is earlier in [keep] hosts",
        "https" => "https comes before http",
        "shortest_url" => "its URL is shorter",
        "first_seen" => "it was known first",
        "sources" => "its source is earlier in [keep] sources",
        "score" => "its score is higher",
        "newest" => "it is newer",
        "oldest" => "it is older",
        "longest_text" => "its text is longer",
        "incumbent" => "it represented before",
        _ => "all else is equal, and its DocId is less",
    };
    let of = if kept.against == page.url { "this page" } else { "the next best:" };
    lines.line("because", format!("{step}: {}, against {} of {of}", kept.value, kept.other));
    if kept.against != page.url {
        lines.painted("", paint.url(&kept.against));
    }
    if !kept.is_whole {
        lines.line("", "(of its first pages; there are more)");
    }
}

fn side(lines: &mut Lines, name: &str, side: &Side, paint: Paint) {
    lines.painted(name, paint.url(&side.url));
    if !side.differs_by.is_empty() {
        let line = format!(
            "the store lacks the URL that was asked for; this one differs by {}",
            side.differs_by.join(" and ")
        );
        lines.line("", line);
    }
    let mut line = match side.content {
        None => "no text".to_owned(),
        Some(_) => counted(side.chars.into(), "character"),
    };
    if side.cluster.pages > 1 {
        let url = paint.url(&side.cluster.representative);
        let _ = write!(
            line,
            ", in a cluster of {}, represented by {url}",
            counted(side.cluster.pages.into(), "page")
        );
    } else {
        line.push_str(", in no cluster");
    }
    lines.painted("", line);
}

/// The first sentence about a pair.
fn together(pair: &Pair) -> String {
    match (pair.relation, pair.together) {
        (Relation::SamePage, _) => "yes: they are one page".into(),
        (Relation::Identical | Relation::Near, false)
            if pair.a.says_little || pair.b.says_little =>
        {
            "no: a text says too little to tell pages by ([clusters] letters_min)".into()
        }
        (Relation::Identical, _) => "yes: their texts are identical".into(),
        (Relation::Near, true) => "yes: their texts are near-duplicates".into(),
        (Relation::Near, false) => {
            "no: their texts are near-duplicates, but [clusters] radius puts them in two clusters"
                .into()
        }
        (Relation::Chain, _) if pair.chain_is_cut => {
            "yes: other texts join them, by a very long chain".into()
        }
        (Relation::Chain, _) => {
            format!(
                "yes: a chain of {} joins them",
                counted(pair.chain.len() as u64, "accepted pair")
            )
        }
        (Relation::Apart, true) => "yes".into(),
        (Relation::Apart, false) if !pair.chain.is_empty() => {
            format!(
                "no: a chain of {} joins them, and [clusters] radius cuts it",
                counted(pair.chain.len() as u64, "accepted pair")
            )
        }
        (Relation::Apart, false) => "no".into(),
    }
}

/// Why a pair has no verdict.
fn not_compared(why: Why) -> &'static str {
    match why {
        Why::Empty => "a page without text folds with none",
        Why::TooShort => "a text with too few words folds with identical ones only",
        Why::Gathered => "a text that was gathered from whole pages folds with identical ones only",
        Why::Cut => "a text longer than what is compared folds with identical ones only",
        Why::NotProposed => {
            "no signature proposes them: the fingerprints are too far apart, and no key is equal"
        }
        Why::PivotRule => "the pivot rule leaves them out: very many texts share what they share",
        Why::NearGroups => {
            "the pivot rule leaves them out: several texts have each of the two fingerprints"
        }
        Why::NearRule => "the near rule leaves them out: very many fingerprints are near theirs",
        Why::Lost => {
            "a rule compares them, but their pair is not stored; run `pagefold verify JOB --deep`"
        }
    }
}

fn verdict(rule: &Rule, paint: Paint) -> String {
    let (colour, word) =
        if rule.accepted { (Colour::Green, "accepted") } else { (Colour::Red, "refused") };
    format!("{} by {}: {}", paint.of(colour, word), rule.reason, rule.says)
}

/// Two pages.
pub fn pair(pair: &Pair, paint: Paint) -> String {
    let mut lines = Lines::default();
    side(&mut lines, "a", &pair.a, paint);
    side(&mut lines, "b", &pair.b, paint);
    lines.painted("together", paint.of(Colour::Bold, &together(pair)));
    if let Some(rule) = &pair.verdict {
        lines.painted("rule", verdict(rule, paint));
        lines.line("proposed", format!("by {}", pair.proposed_by.as_deref().unwrap_or_default()));
    }
    if let Some(why) = pair.not_compared {
        lines.line("no verdict", not_compared(why));
    }
    if let Some(rule) = &pair.if_compared {
        lines.painted("", format!("if they were compared: {}", verdict(rule, paint)));
    }
    if let Some(simhash) = &pair.simhash {
        fingerprints(&mut lines, simhash, paint);
    }
    for of in &pair.signatures {
        let [a, b] = of.keys;
        let shared = of.shared.len();
        let line = match of.shared.first() {
            None => format!("{a} and {b} keys, none equal"),
            Some(first) => {
                let more = if shared > 1 { ", ..." } else { "" };
                let left_out = if of.compared { "" } else { "; the pivot rule leaves the two out" };
                format!("{a} and {b} keys, {shared} equal: {first}{more}{left_out}")
            }
        };
        lines.line(of.signature, line);
    }
    for (at, link) in pair.chain.iter().enumerate() {
        if at == 0 {
            lines.painted("chain", paint.url(&link.from));
        }
        let rule = format!("{:.4} {}", link.rule.similarity, link.rule.reason);
        let (rule, url) = (paint.of(Colour::Faint, &rule), paint.url(&link.to));
        lines.painted("", format!("{rule} {url}"));
    }
    differences(&mut lines, pair, paint);
    lines.into_text()
}

/// Two pages for a person who says whether they are the same: how their texts begin and what
/// differs. The verdict of the store would influence the answer, and is not shown.
pub fn question(pair: &Pair, begins: [Option<&str>; 2], paint: Paint) -> String {
    let mut lines = Lines::default();
    for (name, side, begins) in [("a", &pair.a, begins[0]), ("b", &pair.b, begins[1])] {
        let url = paint.url(&side.url);
        lines.painted(name, format!("{url}, {}", counted(side.chars.into(), "character")));
        if let Some(text) = begins {
            lines.painted("", paint.of(Colour::Faint, text));
        }
    }
    if pair.parts.is_some() {
        differences(&mut lines, pair, paint);
    }
    lines.into_text()
}

/// The bits of both fingerprints, with spaces between the bands, and a mark under each bit that
/// differs.
fn fingerprints(lines: &mut Lines, of: &Fingerprints, paint: Paint) {
    let within = if of.distance <= of.k { "within" } else { "beyond" };
    let left_out = match of.left_out_by {
        None => "",
        Some(Why::NearRule) => "; left out where very many are near",
        Some(_) => "; the pivot rule leaves the two out",
    };
    let equal = of.bands.iter().filter(|(_, equal)| *equal).count();
    let bits = counted(of.distance.into(), "bit");
    lines.line(
        "simhash",
        format!(
            "differ in {bits}, {within} k = {}; {equal} of {} bands equal{left_out}",
            of.k,
            of.bands.len()
        ),
    );
    let number = |hex: &str| u64::from_str_radix(hex, 16).unwrap_or_default();
    let (a, b) = (number(&of.a), number(&of.b));
    let row = |digit: &dyn Fn(u64) -> String| {
        let (mut row, mut at) = (String::new(), 64);
        for (width, _) in of.bands.iter().rev() {
            if at < 64 {
                row.push(' ');
            }
            for _ in 0..*width {
                at -= 1;
                row.push_str(&digit(1 << at));
            }
        }
        row
    };
    let bit = |value: u64, mask: u64, colour: Colour| {
        let digit = if value & mask == 0 { "0" } else { "1" };
        if (a ^ b) & mask == 0 { digit.to_owned() } else { paint.of(colour, digit) }
    };
    let rows = [
        row(&|mask| bit(a, mask, Colour::Red)),
        row(&|mask| bit(b, mask, Colour::Green)),
        row(&|mask| if (a ^ b) & mask == 0 { " " } else { "^" }.to_owned()),
    ];
    rows.iter()
        .map(|row| row.trim_end())
        .filter(|row| !row.is_empty())
        .for_each(|row| lines.painted("", row));
}

fn differences(lines: &mut Lines, pair: &Pair, paint: Paint) {
    let Some(parts) = &pair.parts else {
        if let (Some(a), Some(b)) = (&pair.a.begins, &pair.b.begins) {
            lines.line("texts", "too different to be aligned; they begin");
            lines.painted("  a", paint.of(Colour::Red, a));
            lines.painted("  b", paint.of(Colour::Green, b));
        }
        return;
    };
    let counts = PartKind::ALL
        .map(|kind| (kind, parts.iter().filter(|part| part.kind == kind).count() as u64));
    let counts: Vec<String> =
        counts.iter().filter(|(_, n)| *n > 0).map(|(kind, n)| named(*n, *kind)).collect();
    let counts = if counts.is_empty() {
        "nothing but marks and spaces".to_owned()
    } else {
        counts.join(", ")
    };
    lines.line("differ in", counts);
    for part in parts.iter().take(PARTS_SHOWN) {
        lines.painted(&format!("  {}", part.kind.name()), part_line(part, paint));
    }
    if pair.parts_all > PARTS_SHOWN {
        let more = grouped((pair.parts_all - PARTS_SHOWN) as u64);
        lines.line("", format!("and {more} more; --json lists them"));
    }
}

/// This many parts of a kind.
fn named(n: u64, kind: PartKind) -> String {
    match kind {
        PartKind::Furniture => format!("{} of furniture", counted(n, "place")),
        kind => counted(n, kind.name()),
    }
}

fn part_line(part: &Part, paint: Paint) -> String {
    let mark = |colour, open: &str, text: &str, close: &str| match text.is_empty() {
        true => String::new(),
        false => paint.of(colour, &format!("{open}{text}{close}")),
    };
    let (a, b) = (mark(Colour::Red, "[-", &part.a, "-]"), mark(Colour::Green, "{+", &part.b, "+}"));
    let faint = |text: &str| paint.of(Colour::Faint, text);
    format!("{}{a}{b}{}", faint(&part.before), faint(&part.after))
}
