//! `pagefold eval`: measures the store's answers against labels, as tables, JSON or a plot.

use crate::cli;
use crate::commands::{eval_ask, eval_canonical};
use crate::opened;
use crate::terminal::paint::plain;
use crate::terminal::print::{counted, grouped, print_json, show};
use std::fmt::Write as _;
use workers::error::{Error, Result};
use workers::eval::differences::Differences;
use workers::eval::kinds::OfKind;
use workers::eval::score::{self, Levels, Measure, Score};
use workers::eval::sweep::{SettingScore, Sweep};
use workers::eval::{EvaluateOptions, Example, Report, evaluate, labels, plot};
use workers::export::ours;
use workers::store::durable;

/// `pagefold eval`.
pub fn command(arguments: &cli::Eval) -> Result<()> {
    if arguments.canonical {
        return eval_canonical::command(arguments);
    }
    if let Some(answers) = arguments.ask {
        return eval_ask::command(arguments, answers);
    }
    let (job, store, head) = opened::open(&arguments.shared)?;
    if let Some(path) = &arguments.plot {
        ours::check_named("--plot", path, plot::MARK, &job)?;
    }
    let labels = labels::read(&arguments.labels, job.read.key.naming())?;
    if let Some(path) = &arguments.plot {
        // A folder that cannot be made is told before the work.
        durable::create_folder(durable::folder_of(path)).map_err(Error::as_output)?;
    }
    let asked = EvaluateOptions { list: arguments.list as usize, sweep: arguments.sweep };
    let report = evaluate(&store, &head, &job, &labels, asked)?;
    if let (Some(path), Some(sweep)) = (&arguments.plot, &report.sweep) {
        let title = format!("{}, epoch {}", job.store.display(), report.epoch);
        durable::write(path, plot::svg(sweep, &title).as_bytes()).map_err(Error::as_output)?;
    }
    if arguments.shared.json { print_json(&report) } else { show(&as_text(&report)) }
}

/// A share with four digits, or a dash.
fn share(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{share:.4}"))
}

/// A ratio or a number of bytes with two digits, or a dash.
fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"))
}

fn measure(measure: &Measure) -> String {
    let Measure { precision, recall, f1, .. } = measure;
    format!("{:>9} {:>7} {:>7}", share(*precision), share(*recall), share(*f1))
}

const MEASURE: &str = "precision  recall      f1";

fn as_text(report: &Report) -> String {
    let mut out = String::new();
    let labels = &report.labels;
    let score = &report.score;
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "labels     {} rows of {} URLs ({})",
        grouped(labels.rows),
        grouped(labels.urls),
        labels.form
    );
    if labels.unknown.urls > 0 {
        let _ = writeln!(
            out,
            "unknown    {} URLs that the store does not have, and {} pairs with them; the first:",
            grouped(labels.unknown.urls),
            grouped(labels.unknown.pairs)
        );
        labels.unknown.first.iter().for_each(|url| _ = writeln!(out, "           {}", plain(url)));
    }
    if labels.unknown.outdated > 0 {
        let pairs = counted(labels.unknown.outdated, "pair");
        let _ =
            writeln!(out, "outdated   {pairs} whose pages had other texts when they were judged");
    }
    let (pages, texts) = (grouped(score.pages), grouped(score.texts - score.empty));
    let empty = match score.empty {
        0 => String::new(),
        n => format!(", {}", counted(n, "empty page")),
    };
    let _ = writeln!(
        out,
        "pages      {pages} of epoch {}, {texts} distinct texts{empty}",
        report.epoch
    );
    let (same, verified) = (grouped(score.all.pair.same), score.signatures.last());
    let _ = writeln!(
        out,
        "same       {same} page pairs, {} pairs of distinct texts",
        grouped(score.true_text_pairs)
    );
    let _ = writeln!(
        out,
        "verified   {} pairs of texts, {} for each true one",
        grouped(verified.map_or(0, |all| all.verified)),
        ratio(verified.and_then(|all| all.verified_per_true))
    );
    levels(&mut out, score);
    signatures(&mut out, score);
    if let Some(found) = &report.differences {
        differences(&mut out, found);
    }
    of_kinds(&mut out, &report.kinds);
    if let Some(sweep) = &report.sweep {
        swept(&mut out, sweep);
    }
    for (name, examples) in [
        ("joined by a pair, not the same", &report.false_accepts),
        ("the same, not joined by a pair", &report.misses),
    ] {
        listed(&mut out, name, examples);
    }
    out
}

fn levels(out: &mut String, score: &Score) {
    let _ = writeln!(out, "\npage pairs                   same     joined      right {MEASURE}");
    let mut line = |name: &str, level: &str, of: &Measure| {
        let counts = [of.same, of.joined, of.right].map(|n| format!("{:>10}", grouped(n)));
        let _ = writeln!(out, "{name:<14} {level:<7} {} {}", counts.join(" "), measure(of));
    };
    let mut both = |name: &str, of: &Levels| {
        line(name, "pair", &of.pair);
        line("", "cluster", &of.cluster);
    };
    both("all", &score.all);
    both("not identical", &score.distinct);
    for class in &score.by_length {
        let name = class
            .chars_below
            .map_or(format!("{} chars up", class.chars_min), |below| format!("< {below} chars"));
        both(&name, &class.levels);
    }
    both("one host", &score.same_host);
    both("two hosts", &score.other_host);
}

fn signatures(out: &mut String, score: &Score) {
    let _ = writeln!(out, "\n{:<36}| {:<25} | as confirmed", "", "if all were joined");
    let _ = writeln!(
        out,
        "{:<16} {:>10} {:>8}| {MEASURE} | {MEASURE}",
        "signature", "verified", "per true"
    );
    for of in &score.signatures {
        let _ = writeln!(
            out,
            "{:<16} {:>10} {:>8}| {} | {}",
            of.signature,
            grouped(of.verified),
            ratio(of.verified_per_true),
            measure(&of.proposed),
            measure(&of.confirmed)
        );
    }
    let _ = writeln!(out, "\n{:<18} {VERDICT}", "rule");
    for of in &score.reasons {
        let _ = writeln!(
            out,
            "{}",
            verdict(of.reason, of.accepted, [of.text_pairs, of.page_pairs, of.right])
        );
    }
}

const VERDICT: &str = "verdict   text pairs page pairs      right   share";

/// A row with the numbers of text pairs, of page pairs, and of page pairs for which the verdict is
/// right.
fn verdict(name: &str, accepted: bool, counts: [u64; 3]) -> String {
    let verdict = if accepted { "accepted" } else { "refused" };
    let right = score::share(counts[2], counts[1]);
    let counts = counts.map(|n| format!("{:>10}", grouped(n)));
    format!("{name:<18} {verdict:<9} {} {:>7}", counts.join(" "), share(right))
}

fn differences(out: &mut String, found: &Differences) {
    let (read, all) = (grouped(found.read), grouped(found.text_pairs));
    let _ = writeln!(out, "\n{:<18} {VERDICT}", "what differs");
    for of in &found.rows {
        let _ = writeln!(
            out,
            "{}",
            verdict(of.difference, of.accepted, [of.text_pairs, of.page_pairs, of.right])
        );
    }
    let _ = writeln!(
        out,
        "in {read} of {all} pairs that are accepted or refused for a fact; {} were not aligned",
        grouped(found.not_aligned)
    );
}

fn of_kinds(out: &mut String, kinds: &[OfKind]) {
    let Some(width) = kinds.iter().map(|of| of.kind.chars().count()).max() else { return };
    let width = width.max("kind of pair".len());
    let _ = writeln!(
        out,
        "\n{:<width$}       same  recall in clusters |     differ  joined in clusters | wrong by",
        "kind of pair"
    );
    for of in kinds {
        let Levels { pair, cluster } = of.levels;
        let joined = [pair, cluster]
            .map(|of_level| share(score::share(of_level.joined - of_level.right, of.differ)));
        let wrong: Vec<String> =
            of.wrong.iter().map(|(rule, pairs)| format!("{rule} {}", grouped(*pairs))).collect();
        let _ = writeln!(
            out,
            "{:<width$} {:>10} {:>7} {:>11} | {:>10} {:>7} {:>11} | {}",
            of.kind,
            grouped(pair.same),
            share(pair.recall),
            share(cluster.recall),
            grouped(of.differ),
            joined[0],
            joined[1],
            wrong.join(", ")
        );
    }
}

fn swept(out: &mut String, sweep: &Sweep) {
    let line = |out: &mut String, row: &SettingScore| {
        let mark = if row.is_job { "*" } else { " " };
        let _ = writeln!(
            out,
            "{mark} {:<12} {:>10} {:>10} {:>10} | {} | {:>12}",
            row.setting,
            grouped(row.verified),
            ratio(row.verified_per_true),
            share(row.proposed.recall),
            measure(&row.confirmed),
            ratio(row.bytes_per_text)
        );
    };
    let heads = ["verified", "per true", "recall max"].map(|head| format!("{head:>10}"));
    let _ = writeln!(out, "\nother settings {} | {MEASURE} | bytes a text", heads.join(" "));
    line(out, &sweep.stored);
    for knob in &sweep.knobs {
        let _ = writeln!(out, "{}", knob.key);
        knob.rows.iter().for_each(|row| line(out, row));
    }
    sweep.notes.iter().for_each(|note| _ = writeln!(out, "not tried: {note}"));
}

fn listed(out: &mut String, name: &str, examples: &[Example]) {
    if !examples.is_empty() {
        let _ = writeln!(out, "\n{name}: similarity, rule, page pairs of these texts, an example");
    }
    for example in examples {
        let Example { a, b, page_pairs, similarity, reason } = example;
        let (a, b) = (plain(a), plain(b));
        let _ = writeln!(
            out,
            "{:>7} {reason:<18} {:>6}  {a}\n{:>36}{b}",
            share(*similarity),
            grouped(*page_pairs),
            ""
        );
    }
}
