//! Knows rows whose text lies in several fields or in a list of messages, and the command that makes
//! one text of them.

use super::Format;
use super::shell::{beside, fed, word};
use std::path::Path;

/// Lists of messages, which have a text each.
const LISTS: [&str; 3] = ["messages", "conversations", "conversation"];
/// Fields of which a text is made, in their order.
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

/// The command that makes rows with a `text` of the file at `path`, whose rows have the fields
/// `names`, as a sentence; none if they have no such fields.
pub fn remedy(path: &Path, format: Format, names: &[String]) -> Option<String> {
    let has = |name: &&&str| names.iter().any(|found| found == *name);
    let (what, text) = match LISTS.iter().find(has) {
        Some(list) => (
            format!("the messages of `{list}`"),
            format!(
                "[m.get(\"content\") or m.get(\"value\") or \"\" for m in r[\"{list}\"] or []]"
            ),
        ),
        None => {
            let fields: Vec<&str> = FIELDS.iter().filter(has).copied().collect();
            if fields.is_empty() {
                return None;
            }
            let quoted: Vec<String> = fields.iter().map(|name| format!("\"{name}\"")).collect();
            let what = fields.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
            (what.join(" and "), format!("[r.get(n) or \"\" for n in [{}]]", quoted.join(", ")))
        }
    };
    let row =
        format!("print(json.dumps(dict(r, text=\"\\n\".join(map(str, {text}))), default=str))");
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
    Some(format!(
        "To make one text of {what}: {command} > {}, and name that file instead",
        word(&to)
    ))
}
