//! `pagefold eval --ask`: asks whether pairs are the same, keeps the answers, and estimates
//! precision and recall from them.

use crate::cli;
use crate::opened;
use crate::terminal::explained;
use crate::terminal::paint::Paint;
use crate::terminal::print::{counted, grouped, print_json, show};
use clap::ColorChoice;
use serde_json::json;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, IsTerminal as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use workers::ask::index::Index;
use workers::ask::{page, pair};
use workers::error::{Error, Kind, Result};
use workers::eval::labels;
use workers::eval::survey::estimate::Interval;
use workers::eval::survey::{Findings, KnownAnswers, Question, Survey};
use workers::export::ours;
use workers::read::codec::Codec;
use workers::read::shell;

/// A person's answer about a pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Same,
    Different,
    Skip,
    Quit,
}

impl Answer {
    fn of(word: &str) -> Option<Answer> {
        match word.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Some(Answer::Same),
            "n" | "no" => Some(Answer::Different),
            "s" | "skip" => Some(Answer::Skip),
            "q" | "quit" => Some(Answer::Quit),
            _ => None,
        }
    }
}

/// `pagefold eval --ask`, of at most this many answers.
pub fn command(arguments: &cli::Eval, answers: u32) -> Result<()> {
    let (job, store, head) = opened::open(&arguments.shared)?;
    job.check_folded(store.root(), &head.manifest)?;
    let path = &arguments.labels;
    // The file is read only if it exists; the first answer makes it.
    let is_there = path.metadata().is_ok_and(|file| file.len() > 0);
    let known = match is_there {
        true => Some(KnownAnswers::new(labels::read(path, job.read.key.naming())?)),
        false => None,
    };
    let mut survey = Survey::new(&store, &head, &job.clusters, arguments.seed, answers)?;
    // Opened for the first question that the labels do not answer.
    let mut asking: Option<(Index, File)> = None;
    while let Some(question) = survey.next_question() {
        if let Some(same) = known.as_ref().and_then(|known| known.answer(&question)) {
            survey.answer(&question, Some(same));
            continue;
        }
        let (index, file) = match &mut asking {
            Some(open) => open,
            None => {
                if known.as_ref().is_some_and(|known| !known.is_judged())
                    || shell::codec(path) != Codec::Plain
                {
                    let why = "no answer can be added to it: give plain JSON lines with a, b and same, or a new file";
                    return Err(Error::new(
                        Kind::Usage,
                        format!("--labels {}: {why}", path.display()),
                    ));
                }
                ours::check_apart("--labels", path, &job)?;
                asking.insert((Index::open(&job, &store, &head)?, to_add(path)?))
            }
        };
        match ask(index, &question, (survey.answers() + 1, survey.wanted()), arguments.shared.json)?
        {
            Answer::Skip => survey.answer(&question, None),
            Answer::Quit => break,
            answer => {
                let same = answer == Answer::Same;
                let contents = question.contents.map(|content| content.to_string());
                let row = json!({
                    "a": question.a.0, "b": question.b.0, "same": same, "contents": contents,
                });
                writeln!(file, "{row}").map_err(|e| Error::io("write", path, e).as_output())?;
                survey.answer(&question, Some(same));
            }
        }
    }
    let findings = survey.findings(&head);
    if arguments.shared.json { print_json(&findings) } else { show(&as_text(&findings)) }
}

/// The file of answers, at the start of a new line.
fn to_add(path: &Path) -> Result<File> {
    let output = |e: std::io::Error| Error::io("write", path, e).as_output();
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).open(path).map_err(output)?;
    if file.metadata().map_err(output)?.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(output)?;
        if last != *b"\n" {
            file.write_all(b"\n").map_err(output)?;
        }
    }
    Ok(file)
}

/// Shows a pair and reads the answer. The end of stdin stops.
fn ask(
    index: &Index,
    question: &Question,
    (number, of): (u64, u64),
    is_json: bool,
) -> Result<Answer> {
    let found = [&question.a.0, &question.b.0].map(|url| page::find(index, url));
    let [a, b] = found;
    let (a, b) = (a?, b?);
    let explained = pair::explain(index, [&a, &b])?;
    let begins = [pair::begins(index, &a)?, pair::begins(index, &b)?];
    if is_json {
        print_json(&json!({
            "question": number, "of": of, "a": a.url, "b": b.url, "begins": begins, "parts": explained.parts,
        }))?;
    } else {
        let begins = [begins[0].as_deref(), begins[1].as_deref()];
        show(&format!(
            "\n{}",
            explained::question(&explained, begins, Paint::stdout(ColorChoice::Auto))
        ))?;
    }
    let stdin = std::io::stdin();
    loop {
        if !is_json {
            show(&format!("the same? y, n, s to skip, q to stop ({number} of {of}) "))?;
            // Without this, text without a newline would wait in the buffer of stdout.
            let _ = std::io::stdout().flush();
        }
        let mut line = String::new();
        let bytes = stdin.lock().read_line(&mut line);
        match bytes.map_err(|e| Error::new(Kind::Io, "cannot read stdin").caused_by(e))? {
            0 => return Ok(Answer::Quit),
            _ => match Answer::of(&line) {
                Some(answer) => return Ok(answer),
                None if stdin.is_terminal() => {}
                None => {
                    let line = format!("stdin: {:?} is neither y, n, s nor q", line.trim());
                    return Err(Error::new(Kind::Usage, line));
                }
            },
        }
    }
}

fn as_text(findings: &Findings) -> String {
    let Findings { accepted, refused, answers, skipped, estimate, strata, .. } = findings;
    let mut out = String::new();
    let share = |of: Option<Interval>| match of {
        None => "-".to_owned(),
        Some(of) => {
            format!("{:.4}, from {:.4} to {:.4} in 95 of 100 samples", of.value, of.low, of.high)
        }
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\npairs      {} of distinct texts accepted, {} refused",
        grouped(*accepted),
        grouped(*refused)
    );
    let _ = writeln!(out, "answers    {}, {} skipped", grouped(*answers), grouped(*skipped));
    if let Some(of) = estimate {
        let _ = writeln!(out, "precision  {}", share(of.precision));
        let _ = writeln!(out, "recall     {}", share(of.recall));
        let _ = writeln!(
            out,
            "           of the pairs that were compared; what no signature proposes is not asked"
        );
    }
    let missing = strata.iter().filter(|of| of.answers == 0).count() as u64;
    if missing > 0 && estimate.is_none_or(|of| of.recall.is_none()) {
        let rows = counted(missing, "row");
        let _ = writeln!(out, "too few    {rows} of this table without an answer");
    }
    let _ = writeln!(out, "\nverdict   similarity           pairs    answers       same");
    for of in strata {
        let verdict = if of.accepted { "accepted" } else { "refused" };
        let counts = [of.pairs, of.answers, of.same].map(|n| format!("{:>10}", grouped(n)));
        let (least, greatest) = (of.similarity_min, of.similarity_max);
        let _ = writeln!(out, "{verdict:<9} {least:.4} to {greatest:.4} {}", counts.join(" "));
    }
    out
}
