//! Recognises rows whose text is in several fields or in a list of texts or messages, and gives the
//! command that makes one text of them.

use crate::read::Format;
use crate::read::shell::{beside, fed, word, written};
use std::path::Path;

/// Names of lists of texts, or of messages with a text each.
const LISTS: [&str; 6] =
    ["messages", "conversations", "conversation", "text", "content", "paragraphs"];
/// Fields from which a text is made, in their order.
const FIELDS: [&str; 12] = [
    "system",
    "instruction",
    "question",
    "prompt",
    "input",
    "context",
    "chosen",
    "rejected",
    "output",
    "response",
    "completion",
    "answer",
];

/// A sentence with the command that makes rows with a `text` from the file at `path`, whose rows
/// have the fields `names` and the lists `lists`; `None` if they have no such fields.
pub fn remedy(path: &Path, format: Format, names: &[String], lists: &[String]) -> Option<String> {
    let is_in = |name: &str, names: &[String]| names.iter().any(|found| found == name);
    let (what, text) = match LISTS.iter().find(|name| is_in(name, lists)) {
        Some(list) => (
            format!("the list `{list}`"),
            format!(
                "[m if isinstance(m, str) else m.get(\"content\") or m.get(\"value\") or \"\" \
                 for m in r[\"{list}\"] or []]"
            ),
        ),
        None => {
            let fields: Vec<&str> = FIELDS
                .iter()
                .filter(|name| is_in(name, names) && !is_in(name, lists))
                .copied()
                .collect();
            if fields.is_empty() {
                return None;
            }
            let quoted: Vec<String> = fields.iter().map(|name| format!("\"{name}\"")).collect();
            let what = fields.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
            (what.join(" and "), format!("[r.get(n) or \"\" for n in [{}]]", quoted.join(", ")))
        }
    };
    // Bytes that are no text have no form in JSON, so they are written in hex.
    let row = format!(
        "print(json.dumps(dict(r, text=\"\\n\".join(map(str, {text}))), default=lambda v: \
         v.hex() if isinstance(v, bytes) else str(v)))"
    );
    let to = beside(path, "jsonl");
    let command = match format {
        Format::Parquet => format!(
            "python3 -c 'import json, sys, pyarrow.parquet as p; \
             [{row} for b in p.ParquetFile(sys.argv[1]).iter_batches() for r in b.to_pylist()]' {}",
            word(path)
        ),
        _ => fed(
            &format!(
                "python3 -c 'import json, sys; [{row} for r in map(json.loads, filter(str.strip, sys.stdin))]'"
            ),
            path,
        ),
    };
    let command = written(&command, &to);
    Some(format!("To make one text of {what}: {command}, and name {} instead", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// For rows of messages, of lists and of several texts the advice was to name a field that they
    /// do not have. The command makes one text of them and keeps all fields.
    #[test]
    fn commands_make_one_text() {
        if !Command::new("python3").arg("--version").output().is_ok_and(|out| out.status.success())
        {
            assert!(std::env::var("PAGEFOLD_REQUIRE").as_deref() != Ok("all"), "it lacks python3");
            return eprintln!("this test cannot run here: it lacks python3");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let chat =
            r#"{"id":1,"messages":[{"role":"user","content":"a"},{"content":null},{"value":"b"}]}"#;
        let answers = r#"{"prompt":"a","output":"b","input":"","chosen":[{"content":"c"}]}"#;
        for (name, row, text) in [
            ("chat", chat, "a\n\nb"),
            ("list", r#"{"text":["a","b"]}"#, "a\nb"),
            ("answers", answers, "a\n\nb"),
        ] {
            let path = folder.path().join(format!("{name}.jsonl"));
            std::fs::write(&path, format!("{row}\n\n")).expect("written");
            let size = row.len() as u64 + 2;
            let names = super::super::sample::names(&path, size).expect("readable");
            let lists = super::super::sample::lists(&path, size).expect("readable");
            let said = remedy(&path, Format::Jsonl, &names, &lists).expect("a command");
            let command = said.split_once(": ").and_then(|(_, rest)| rest.rsplit_once(", and"));
            let output = Command::new("bash").args(["-c", command.expect("a sentence").0]).output();
            let output = output.expect("bash is there");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let made = std::fs::read(folder.path().join(format!("{name}-2.jsonl"))).expect("made");
            let made: serde_json::Value = serde_json::from_slice(&made).expect("one row");
            assert_eq!(made["text"], text, "{name}");
            assert!(name != "chat" || made["id"] == 1);
        }
        let none = remedy(Path::new("a"), Format::Jsonl, &["text".into()], &[]);
        assert_eq!(none, None, "a text that is null is no list");
    }
}
