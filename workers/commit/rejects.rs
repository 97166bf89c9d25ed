//! Words the refusal of an epoch with too many rejected records, which `guards.rs` decides.
//!
//! The refusal says what would help. It advises to let the records pass only if most others were
//! good, with the remedy for a damaged file or a limit before it. If hardly any record was good,
//! the job reads the wrong field, and a commit would consume the inputs for nothing.

use crate::figures::{counted, grouped};
use crate::fold::splits::RejectLine;
use crate::job::Job;
use crate::plain::plain;
use crate::read::documents::{self, WhyRead};
use crate::read::likely::{IDS, TEXTS, URLS};
use crate::read::record::DETAIL_BYTES_MAX;
use crate::read::{json, parquet, shell};
use crate::visit::counts::Counts;
use std::path::{Path, PathBuf};

/// The most characters of a record's detail that a message repeats.
const DETAIL_CHARS_MAX: usize = 160;

/// The rejected records of an epoch, for a message.
#[derive(Clone, Debug, Default)]
pub struct Rejects {
    /// The number of rejected records.
    pub rejected: u64,
    /// How many records became visits.
    pub accepted: u64,
    /// Their reasons and numbers, as text.
    pub reasons: String,
    /// A record that was rejected for the most frequent reason.
    pub example: Option<RejectLine>,
    /// How the job came to read the file of the example.
    pub why_read: WhyRead,
    /// The file that lists them, once the epoch is refused.
    pub list: PathBuf,
}

impl Rejects {
    /// The rejected records of an epoch of `job`: one of them as an `example`, all in the file
    /// `list`.
    pub fn of(job: &Job, counts: &Counts, example: Option<RejectLine>, list: PathBuf) -> Rejects {
        let why_read = example.as_ref().map_or(WhyRead::Named, |line| {
            let path = Path::new(&line.file);
            let reads_lines = || job.spoils_file(&shell::beside(path, "jsonl")).is_some();
            if job.names(path) {
                WhyRead::Named
            } else {
                WhyRead::Among { reads_lines: reads_lines() }
            }
        });
        let reasons: Vec<String> =
            counts.rejected.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        Rejects {
            rejected: counts.rejected.values().sum(),
            accepted: counts.accepted,
            reasons: reasons.join(", "),
            example,
            why_read,
            list,
        }
    }

    /// What happened, and what would help. The advice `allow` is given only if most of the records
    /// were good.
    pub fn refusal(&self, read: u64, allow: &str) -> String {
        let first = self.example.as_ref().map_or(String::new(), |line| {
            let detail = shortened(&line.detail);
            let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
            let such =
                format!("; such as {} at {}, {}{detail}", line.file, line.offset, line.reason);
            // The detail quotes a page, which may hold anything.
            plain(&such)
        });
        let remedy = self.document().unwrap_or_else(|| {
            match (self.accepted < self.rejected, self.concerns_a_file()) {
                (true, _) => self.remedy(),
                (false, true) => format!("{}. {allow}", self.remedy()),
                (false, false) => allow.to_owned(),
            }
        });
        format!(
            "{} of {} {} rejected ({}{first}); nothing was committed. {remedy}{}",
            grouped(self.rejected),
            counted(read, "record"),
            if self.rejected == 1 { "was" } else { "were" },
            self.reasons,
            self.listed()
        )
    }

    /// The end of a refusal: where all rejected records are listed. Empty if there are none.
    pub fn listed(&self) -> String {
        if self.rejected == 0 {
            String::new()
        } else {
            format!(". Rejected records: {}", self.list.display())
        }
    }

    /// Whether the example is from a JSON document, which is one bad record, whatever it holds.
    pub fn are_of_document(&self) -> bool {
        self.example.as_ref().is_some_and(|line| is_of_document(&line.reason, &line.detail))
    }

    /// The command that turns a JSON document into lines, if the example is from one.
    fn document(&self) -> Option<String> {
        let RejectLine { file, reason, detail, .. } = self.example.as_ref()?;
        is_of_document(reason, detail)
            .then(|| documents::remedy(Path::new(file), self.why_read).ok().flatten())
            .flatten()
    }

    /// Whether the remedy for the example helps also if most records are good, because it concerns
    /// a limit, or one file, and not what the job reads of all.
    fn concerns_a_file(&self) -> bool {
        let of_files = ["long_line", "too_long", "bomb", "bad_row_group", "bad_file"];
        self.example.as_ref().is_some_and(|line| of_files.contains(&line.reason.as_str()))
    }

    fn remedy(&self) -> String {
        let Some(RejectLine { file, reason, detail, .. }) = &self.example else {
            return "Almost all records were rejected".into();
        };
        let fields: Vec<&str> =
            detail.rsplit_once(json::HAS).map_or(vec![], |(_, names)| names.split(", ").collect());
        let among = |likely: &[&str]| {
            let found = likely.iter().find(|name| fields.contains(name));
            found.map_or("FIELD".to_owned(), |name| (*name).to_owned())
        };
        match reason.as_str() {
            "no_url" => format!(
                "The records have no URL where the job looks for it. Name its field, [read.fields] url = [\"{}\"], \
                 or, for a corpus without URLs, that of an id, [read] key = \"{}\"; with [read] key = \"row\" \
                 each record is a page",
                among(&URLS),
                among(&IDS)
            ),
            "no_key" => format!(
                "Name a field that every record has, [read] key = \"{}\"; with [read] key = \"row\" each record is \
                 a page",
                among(&IDS)
            ),
            "no_text" => format!(
                "The job reads another field than the records have. Name that of the text: [read.fields] text = \"{}\"",
                among(&TEXTS)
            ),
            "bad_field" => {
                "A field that the job reads holds something else. Name the right one in \
                            [read.fields], or change its values to texts"
                    .into()
            }
            "nul" | "bad_utf8" if detail.contains(json::UTF_16) => {
                format!("{file} is no UTF-8: write it again as its detail says")
            }
            "bad_utf8" => {
                "The files are in another charset, or a field of texts has other bytes: write \
                            them in UTF-8, or name another field in [read.fields]"
                    .into()
            }
            "long_line" => "If such lines are records, raise [read.limits] line_bytes_max".into(),
            "too_long" => "If such records are wanted, raise [read.limits] record_bytes_max".into(),
            "bomb" => "If the files are yours, raise [read.limits] ratio_max".into(),
            // The detail says what to do.
            "bad_row_group" if detail.ends_with(parquet::ENCRYPTED) => {
                format!("{file} has encrypted columns")
            }
            "bad_row_group" => format!("{file} is damaged; fetch it or write it again"),
            "bad_file" => remedy_of_file(detail),
            _ => "Almost all records were rejected: look at some of them; perhaps the job names the wrong files".into(),
        }
    }
}

/// What helps if files with these columns lack one that the job reads.
fn remedy_of_file(detail: &str) -> String {
    match among_columns(detail, &URLS) {
        Some(name) if detail.contains(parquet::OF_URL) => format!(
            "The files have no URL where the job looks for it. Name its column: \
                     [read.fields] url = [\"{name}\"]"
        ),
        None if detail.contains(parquet::NO_COLUMN) && detail.contains(parquet::OF_URL) => {
            format!(
                "The files have no URL where the job looks for it. If they are a corpus, name the \
                     column of an id, [read] key = \"{}\"; with [read] key = \"row\" each row is a page",
                among_columns(detail, &IDS).unwrap_or("FIELD")
            )
        }
        _ if detail.contains(parquet::OF_KEY) => format!(
            "Name a column that every row has, [read] key = \"{}\"; with [read] key = \"row\" each \
                     row is a page",
            among_columns(detail, &IDS).unwrap_or("FIELD")
        ),
        _ => match among_columns(detail, &TEXTS) {
            Some(name) if detail.contains(parquet::OF_TEXT) => format!(
                "The job reads another column than the files have. Name that of the text: \
                         [read.fields] text = \"{name}\""
            ),
            _ => "Take such files out of [read] inputs, or convert them".into(),
        },
    }
}

/// A record's detail, cut between words if it is too long or was already cut when it was written.
fn shortened(detail: &str) -> String {
    // A detail that was cut has that many bytes, less at most the bytes of one character.
    let was_cut = detail.len() + 4 > DETAIL_BYTES_MAX;
    if !was_cut && detail.chars().count() <= DETAIL_CHARS_MAX {
        return detail.to_owned();
    }
    let cut: String = detail.chars().take(DETAIL_CHARS_MAX).collect();
    match cut.rsplit_once(' ') {
        Some((words, _)) => format!("{} ...", words.trim_end_matches([',', ';', ':'])),
        None => cut + "...",
    }
}

/// Whether a reject may be from a JSON file that does not have one object a line.
pub fn is_of_document(reason: &str, detail: &str) -> bool {
    let starts = [json::ARRAY, json::PRINTED, json::SEVERAL];
    reason == "bad_json" && starts.iter().any(|start| detail.starts_with(start))
        || reason == "long_line" && detail.ends_with(json::ARRAY)
}

/// The first of the `likely` names that is a column of the file, whose columns `detail` lists.
fn among_columns(detail: &str, likely: &[&'static str]) -> Option<&'static str> {
    let (_, columns) = detail.rsplit_once(parquet::COLUMNS)?;
    let columns = columns.split("; ").next().unwrap_or(columns);
    likely.iter().find(|name| columns.split(", ").any(|column| column == **name)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of columns was cut within a name, so that a part of it looked like a column. It is
    /// cut between words.
    #[test]
    fn long_details_are_cut_between_words() {
        assert_eq!(shortened("a short one, that stays"), "a short one, that stays");
        let columns = "its columns are ".to_owned() + &"column, ".repeat(30);
        let said = shortened(&columns);
        assert!(
            said.ends_with("column, column ...") && said.len() <= DETAIL_CHARS_MAX + 4,
            "{said}"
        );
        assert_eq!(shortened(&"漢".repeat(170)), "漢".repeat(DETAIL_CHARS_MAX) + "...");
    }

    /// If hardly any record was accepted, to let the epoch pass would consume the inputs for
    /// nothing. The refusal names the line of the job to change, and does not advise to allow it.
    #[test]
    fn the_remedy_fits() {
        let of = |accepted: u64, reason: &str, detail: &str| {
            let example = RejectLine {
                file: "p/x.json".into(),
                offset: 7,
                reason: reason.into(),
                detail: detail.into(),
            };
            let (reasons, list) = (format!("{reason} 10"), "a/rejects.jsonl".into());
            let (why_read, example) = (WhyRead::Named, Some(example));
            let rejects = Rejects { rejected: 10, accepted, reasons, example, why_read, list };
            rejects.refusal(accepted + 10, "ALLOW")
        };
        assert_eq!(
            of(90, "bad_json", "EOF"),
            "10 of 100 records were rejected (bad_json 10; such as p/x.json at 7, bad_json: EOF); nothing was committed. \
             ALLOW. Rejected records: a/rejects.jsonl"
        );
        for (reason, detail, remedy) in [
            ("too_long", "more than 9 bytes", "If such records are wanted, raise [read.limits]"),
            ("bad_row_group", "x", "p/x.json is damaged; fetch it or write it again"),
        ] {
            let said = of(90, reason, detail);
            assert!(said.contains(remedy) && said.contains(". ALLOW. "), "{said}");
        }
        for (reason, detail, remedy) in [
            ("no_url", "no `url`; it has id, metadata, text", "[read] key = \"id\""),
            ("no_url", "no `url`; it has link, text", "[read.fields] url = [\"link\"]"),
            ("no_url", "no `url`; it has a, b", "[read.fields] url = [\"FIELD\"]"),
            ("no_key", "no `id`; it has a, uuid", "[read] key = \"uuid\""),
            ("no_text", "u; it has content, url", "[read.fields] text = \"content\""),
            ("bad_json", "a JSON array; one object", "Almost all records were rejected"),
            ("long_line", "more than 9 bytes", "[read.limits] line_bytes_max"),
            ("bomb", "x", "[read.limits] ratio_max"),
            ("bad_field", "`text` has", "[read.fields]"),
            ("bad_row_group", "x", "p/x.json is damaged"),
            (
                "bad_file",
                "no column `url`, which [read.fields] url names; its columns are uri, text; a corpus",
                "[read.fields] url = [\"uri\"]",
            ),
            (
                "bad_file",
                "no column `url`, which [read.fields] url names; its columns are id, text; a corpus",
                "[read] key = \"id\"",
            ),
            (
                "bad_file",
                "no column `nope`, which [read] key names; its columns are uuid, text",
                "[read] key = \"uuid\"",
            ),
            ("bad_file", "is unknown", "Take such files out"),
            ("bad_member", "x", "Almost all records were rejected"),
        ] {
            for accepted in [0, 9] {
                let said = of(accepted, reason, detail);
                assert!(said.contains(remedy) && !said.contains("ALLOW"), "{said}");
            }
        }
    }
}
