//! Compares two configurations, in words of the job file.

use crate::store::digest::is_digest;
use serde_json::Value;
use std::collections::BTreeSet;

/// A key in which two configurations differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    then: String,
    now: String,
    /// Whether it is the version of a rule, which the build determines and not the job.
    is_rule: bool,
}

/// Keys whose values are in 1/10,000; a job file has them as fractions.
const FRACTION_KEYS: [&str; 3] = ["similarity_min", "short_similarity_min", "coverage_min"];

/// The configuration without keys that have their defaults. Stores of earlier builds have such keys
/// explicitly.
pub fn settled(identity: &Value) -> Value {
    let mut settled = identity.clone();
    let k = identity["simhash"]["k"].as_u64();
    if let (Some(k), Some(bands)) = (k, identity["simhash"]["bands"].as_u64())
        && bands == k + 1
    {
        settled["simhash"]["bands"] = Value::Null;
    }
    settled
}

/// The keys in which the configuration `then` of a store and that of the job `now` differ.
pub fn differences(then: &Value, now: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(&mut Vec::new(), then, now, &mut found);
    found
}

/// All of `differences` in one line, to follow "built with" or the like.
pub fn all_of(differences: &[Difference]) -> String {
    let each: Vec<String> = differences
        .iter()
        .map(|Difference { then, now, is_rule }| match is_rule {
            true => format!("{then}, this build has {now}"),
            false => format!("{then}, the job says {now}"),
        })
        .collect();
    each.join("; ")
}

/// Why a store that was built with other keys, or by a build with other rules, cannot be used, and
/// what helps.
pub fn refusal(differences: &[Difference]) -> String {
    let rules = differences.iter().filter(|difference| difference.is_rule).count();
    let back = match (rules > 0, rules == differences.len()) {
        (false, _) => "put that back, or `pagefold rebuild JOB` obeys the job",
        (true, true) => {
            "`pagefold rebuild JOB` makes it again by the rules of this build, or use the build that made it"
        }
        (true, false) => {
            "`pagefold rebuild JOB` makes it again with these; or put the keys back, and use the build that made it"
        }
    };
    format!("the store was built with {}; {back}", all_of(differences))
}

fn walk(path: &mut Vec<String>, then: &Value, now: &Value, found: &mut Vec<Difference>) {
    if then == now {
        return;
    }
    let signature = path.len() == 2 && path[0] == "signatures";
    if let (true, Some(name)) = (signature && (then.is_null() || now.is_null()), path.get(1)) {
        let is_default = matches!(name.as_str(), "minhash" | "sentences");
        let leave_out = if is_default { format!("{name} = false") } else { format!("no {name}") };
        let with = format!("the signature {name}");
        let (then, now) = if then.is_null() { (leave_out, with) } else { (with, leave_out) };
        found.push(Difference { then, now, is_rule: false });
        return;
    }
    let is_table = |value: &Value| value.is_object() || value.is_null();
    if is_table(then) && is_table(now) {
        let keys =
            [then, now].into_iter().filter_map(Value::as_object).flat_map(|table| table.keys());
        for key in keys.collect::<BTreeSet<_>>() {
            path.push(key.clone());
            walk(
                path,
                then.get(key).unwrap_or(&Value::Null),
                now.get(key).unwrap_or(&Value::Null),
                found,
            );
            path.pop();
        }
        return;
    }
    found.push(difference(path, then, now));
}

fn difference(path: &[String], then: &Value, now: &Value) -> Difference {
    // `options` is a table of the store, not of the job file.
    let names: Vec<&str> =
        path.iter().map(String::as_str).filter(|name| *name != "options").collect();
    let (last, tables) = names.split_last().unwrap_or((&"", &[]));
    let is_key = path.iter().any(|name| name == "options") || !matches!(tables, [] | ["contents"]);
    // The key has the version of its rule if it is on.
    let is_switch = *last == "site_lines";
    if !is_key || *last == "version" || is_switch && then.is_number() && now.is_number() {
        let rule = if *last == "version" { tables.join(".") } else { (*last).to_owned() };
        // Earlier builds wrote none for some rules.
        let version = if then.is_null() { "0".to_owned() } else { then.to_string() };
        return Difference {
            then: format!("version {version} of the rule `{rule}`"),
            now: format!("version {now}"),
            is_rule: true,
        };
    }
    let name = match tables {
        ["signatures", kind] => format!("[[signatures]] {kind} {last}"),
        _ => names.join("."),
    };
    // A key that is absent has its default; the identity of older stores has no key for it.
    let default = match name.as_str() {
        "read.key" => Some("\"url\""),
        "read.records_max" => Some("no limit"),
        "features.dictionary" | "features.idf" | "features.stop_words" | "extract.furniture" => {
            Some("no file")
        }
        "extract.site_lines" => Some("false"),
        _ => None,
    };
    let shown = |value: &Value| match (value, default) {
        (Value::Number(_), Some("false")) => "true".to_owned(),
        (Value::Null, Some(default)) => default.to_owned(),
        (Value::Null, None) => "its default".to_owned(),
        _ => shown(last, value),
    };
    Difference { then: format!("{name} = {}", shown(then)), now: shown(now), is_rule: false }
}

fn shown(key: &str, value: &Value) -> String {
    match value {
        // For a file, its digest is compared.
        Value::String(digest) if is_digest(digest) => {
            format!("a file of digest {}...", &digest[..8])
        }
        Value::Number(n) if FRACTION_KEYS.contains(&key) => {
            n.as_u64().map_or(n.to_string(), |n| (n as f64 / 1e4).to_string())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// All keys are named at once, as the job file has them, with both values. A message told users
    /// to set the version of a rule in the job, where there is no such key.
    #[test]
    fn in_the_job_files_words() {
        let then = json!({
            "canonical_url": 1,
            "contents": { "numerals": 1, "options": { "text": "all" } },
            "features": { "version": 1, "idf": null, "unit": "words" },
            "signatures": { "minhash": { "version": 1, "options": { "bins": 24 } } },
            "simhash": { "k": 3, "bands": null },
        });
        assert_eq!(differences(&then, &then), []);
        let now = json!({
            "canonical_url": 1,
            "contents": { "numerals": 2, "options": { "text": "none" } },
            "features": { "version": 1, "idf": "ab".repeat(32), "unit": "words" },
            "signatures": { "minhash": { "version": 1, "options": { "bins": 16 } }, "i_match": { "version": 1 } },
            "simhash": { "k": 2, "bands": 9 },
        });
        assert_eq!(
            all_of(&differences(&then, &now)),
            "version 1 of the rule `numerals`, this build has version 2; contents.text = \"all\", the job says \"none\"; \
             features.idf = no file, the job says a file of digest abababab...; no i_match, the job says the signature i_match; \
             [[signatures]] minhash bins = 24, the job says 16; simhash.bands = its default, the job says 9; simhash.k = 3, the job says 2"
        );
        let rules = |version: u64| json!({ "extract": { "version": version } });
        assert_eq!(
            refusal(&differences(&rules(3), &rules(4))),
            "the store was built with version 3 of the rule `extract`, this build has version 4; `pagefold rebuild JOB` \
             makes it again by the rules of this build, or use the build that made it"
        );
        let signatures = |list: Value| json!({ "signatures": list });
        let left = differences(
            &signatures(json!({ "minhash": { "version": 1 } })),
            &signatures(json!({})),
        );
        assert_eq!(all_of(&left), "the signature minhash, the job says minhash = false");
        let key = |key: Value| json!({ "read": { "key": key } });
        let keyed = differences(&key(Value::Null), &key(json!("id")));
        assert_eq!(all_of(&keyed), "read.key = \"url\", the job says \"id\"");
        let lines = |version: Value| json!({ "extract": { "site_lines": version } });
        let off = differences(&lines(Value::Null), &lines(json!(1)));
        assert_eq!(all_of(&off), "extract.site_lines = false, the job says true");
        let older = differences(&lines(json!(1)), &lines(json!(2)));
        assert!(older[0].is_rule, "{older:?}");
        let confirm = |least: u16| json!({ "confirm": { "similarity_min": least } });
        let moved = differences(&confirm(8000), &confirm(9000));
        assert_eq!(all_of(&moved), "confirm.similarity_min = 0.8, the job says 0.9");
    }

    /// A store that was built with an explicit default equals a store without it.
    #[test]
    fn explicit_defaults() {
        let of = |bands: Value| settled(&json!({ "simhash": { "k": 3, "bands": bands } }));
        assert_eq!(of(json!(4)), of(Value::Null));
        assert_ne!(of(json!(5)), of(Value::Null));
    }
}
