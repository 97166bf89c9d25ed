//! The keys of a job file, and the values that each takes.
//!
//! The ranges are those of the rooms that read the keys; conditions between several keys are
//! checked there (`Job::wrongs`).

use crate::config::takes::{Key, Takes};
use workers::extract::HTML_BYTES_LIMIT;
use workers::job::clusters::RADIUS_MAX;
use workers::job::pages::RETAIN_MAX;
use workers::keep::CRITERIA_MAX;

const SIGNATURES: &[&str] =
    &["simhash", "minhash", "super_shingles", "i_match", "spotsigs", "sentences"];
const UNITS: &[&str] = &["words", "characters"];
const CRITERIA: &[&str] = &[
    "https",
    "shortest_url",
    "first_seen",
    "sources",
    "score",
    "newest",
    "oldest",
    "longest_text",
    "incumbent",
];
const FORMS: &[&str] = &["jsonl", "parquet"];
/// The greatest whole number that TOML has.
const ANY: u64 = i64::MAX as u64;
const U32: u64 = u32::MAX as u64;

const fn key(name: &'static str, takes: Takes) -> Key {
    Key { name, takes, needed: false }
}

const fn needed(name: &'static str, takes: Takes) -> Key {
    Key { name, takes, needed: true }
}

/// All keys.
pub const KEYS: &[Key] = &[
    needed("store", Takes::Place),
    key("minhash", Takes::Switch),
    key("sentences", Takes::Switch),
    needed("read.inputs", Takes::Paths),
    key("read.source", Takes::Text),
    key("read.complete", Takes::Switch),
    key("read.rejects_max", Takes::Number(0.0, 1.0)),
    key("read.records_max", Takes::Whole(1, ANY)),
    key("read.key", Takes::Text),
    key("read.fields.url", Takes::Texts),
    key("read.fields.text", Takes::Text),
    key("read.fields.html", Takes::Text),
    key("read.fields.date", Takes::Text),
    key("read.fields.deleted", Takes::Text),
    key("read.fields.op", Takes::Text),
    key("read.fields.score", Takes::Text),
    key("read.limits.record_bytes_max", Takes::Whole(1, ANY)),
    key("read.limits.line_bytes_max", Takes::Whole(1, ANY)),
    key("read.limits.ratio_max", Takes::Whole(1, ANY)),
    key("read.limits.ratio_bytes_min", Takes::Whole(0, ANY)),
    key("extract.main_text", Takes::Switch),
    key("extract.html_bytes_max", Takes::Whole(0, HTML_BYTES_LIMIT)),
    key("extract.site_lines", Takes::Switch),
    key("extract.furniture", Takes::Path),
    key("normalize.simplified", Takes::Switch),
    key("features.unit", Takes::Word(UNITS)),
    key("features.characters", Takes::Whole(1, 64)),
    key("features.weight", Takes::Word(&["sqrt_tf", "tf"])),
    key("features.idf", Takes::Path),
    key("features.stop_words", Takes::Path),
    key("features.dictionary", Takes::Path),
    key("features.features_min", Takes::Whole(0, ANY)),
    key("simhash.k", Takes::Whole(0, 8)),
    key("simhash.bands", Takes::Whole(1, 64)),
    key("signatures", Takes::Tables(Some(SIGNATURES))),
    key("signatures.simhash.k", Takes::Whole(0, 8)),
    key("signatures.simhash.bands", Takes::Whole(1, 64)),
    key("signatures.minhash.bins", Takes::Whole(1, 128)),
    key("signatures.minhash.bins_per_key", Takes::Whole(1, 128)),
    key("signatures.super_shingles.unit", Takes::Word(UNITS)),
    key("signatures.super_shingles.shingle", Takes::Whole(1, 64)),
    key("signatures.super_shingles.groups", Takes::Whole(2, 11)),
    key("signatures.super_shingles.minima_per_group", Takes::Whole(1, 1024)),
    key("signatures.i_match.lexicon", Takes::Path),
    key("signatures.i_match.documents_min", Takes::Whole(0, ANY)),
    key("signatures.i_match.documents_permille_max", Takes::Whole(0, 1000)),
    key("signatures.i_match.lexicons", Takes::Whole(1, 64)),
    key("signatures.i_match.dropped_percent", Takes::Whole(0, 99)),
    key("signatures.i_match.words_min", Takes::Whole(1, ANY)),
    key("signatures.spotsigs.chain", Takes::Whole(1, 16)),
    key("signatures.spotsigs.distance", Takes::Whole(1, 16)),
    key("signatures.spotsigs.similarity_percent", Takes::Whole(10, 95)),
    key("signatures.spotsigs.prefix_max", Takes::Whole(1, 32)),
    key("signatures.spotsigs.spots_min", Takes::Whole(1, ANY)),
    key("signatures.sentences.sentences", Takes::Whole(1, 8)),
    key("signatures.sentences.letters_max", Takes::Whole(0, ANY)),
    key("contents.evidence", Takes::Switch),
    key("contents.text", Takes::Word(&["all", "short", "none"])),
    key("pages.retain_days", Takes::Whole(1, RETAIN_MAX as u64)),
    key("pages.retain_epochs", Takes::Whole(1, RETAIN_MAX as u64)),
    key("pages.gone_days", Takes::Whole(0, RETAIN_MAX as u64)),
    key("confirm.by", Takes::Word(&["text", "fingerprint"])),
    key("confirm.distance_max", Takes::Whole(0, 8)),
    key("confirm.similarity_min", Takes::Share(5000, 10_000)),
    key("confirm.short_similarity_min", Takes::Share(5000, 10_000)),
    key("confirm.leading_tokens_max", Takes::Whole(0, 1000)),
    key("confirm.facts", Takes::Word(&["off", "numbers", "names", "words"])),
    key("confirm.facts_chars_max", Takes::Whole(0, U32)),
    key("confirm.words_chars_max", Takes::Whole(0, U32)),
    key("confirm.furniture", Takes::Switch),
    key("guards.overwritten_max", Takes::Number(0.0, 1.0)),
    key("guards.missing_max", Takes::Number(0.0, 1.0)),
    key("guards.expired_max", Takes::Number(0.0, 1.0)),
    key("guards.folded_jump_max", Takes::Number(0.0, 1.0)),
    key("guards.source_folded_max", Takes::Number(0.0, 1.0)),
    key("keep.hosts", Takes::Texts),
    key("keep.sources", Takes::Texts),
    key("keep.by", Takes::Words(CRITERIA, CRITERIA_MAX)),
    key("clusters.radius", Takes::Whole(0, RADIUS_MAX as u64)),
    key("clusters.letters_min", Takes::Whole(0, U32)),
    key("clusters.pages_warn", Takes::Whole(0, U32)),
    needed("output.dir", Takes::Place),
    key("output.formats", Takes::Words(FORMS, 2)),
    key("output.tables.members", Takes::Words(FORMS, 2)),
    key("output.tables.redirects", Takes::Words(FORMS, 2)),
    key("output.tables.pairs", Takes::Words(FORMS, 2)),
    key("output.tables.clusters", Takes::Words(FORMS, 2)),
    key("output.tables.changes", Takes::Words(FORMS, 2)),
    key("output.refused_similarity_min", Takes::Share(0, 10_000)),
    key("output.export", Takes::Word(&["always", "on-demand"])),
    key("output.metrics", Takes::Place),
    key("output.ping", Takes::Text),
    key("serve.inbox", Takes::Place),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{checked, tree};
    use std::collections::BTreeSet;
    use workers::job::Job;

    /// A value that `key` takes, in TOML.
    fn example(key: &Key) -> String {
        match key.takes {
            Takes::Text | Takes::Address | Takes::Path | Takes::Place => format!("{:?}", key.name),
            Takes::Texts | Takes::List | Takes::Paths => format!("[{:?}]", key.name),
            Takes::Switch => "true".into(),
            Takes::Whole(least, most) => (least + 1).min(most).to_string(),
            Takes::Number(least, _) => format!("{least:?}"),
            Takes::Share(_, most) => format!("{:?}", f64::from(most) / 1e4),
            Takes::Word(words) => format!("{:?}", words[0]),
            Takes::Words(words, _) => format!("[{:?}]", words[0]),
            Takes::Tables(_) => "[]".into(),
        }
    }

    /// The job takes every value that the list of keys allows. A key that only one of the two knows
    /// would cause a message about the program's types, or could not be set.
    #[test]
    fn keys_are_those_of_the_job() {
        let bare = "store = \"s\"\nread.inputs = [\"in\"]\noutput.dir = \"out\"\n";
        for key in KEYS.iter().filter(|key| !key.needed) {
            let line =
                match key.name.strip_prefix("signatures.").and_then(|rest| rest.split_once('.')) {
                    Some((kind, name)) => {
                        format!("signatures = [{{ kind = {kind:?}, {name} = {} }}]", example(key))
                    }
                    None => format!("{} = {}", key.name, example(key)),
                };
            let (values, mistakes) =
                checked(&tree::parse(&format!("{bare}{line}\n")).expect("TOML"), KEYS);
            assert_eq!(mistakes, [], "{line}");
            let job: Result<Job, toml::de::Error> = values.try_into();
            assert!(job.is_ok(), "{line}: {job:?}");
        }
        // The job at its defaults has no key that the list lacks; keys without a default are not in
        // it.
        let job: Job = toml::from_str(bare).expect("a job");
        let mut names = BTreeSet::new();
        leaves(&toml::Table::try_from(&job).expect("a table"), "", &mut names);
        let known: BTreeSet<String> = KEYS.iter().map(|key| key.name.to_owned()).collect();
        assert!(names.is_subset(&known), "{:?}", names.difference(&known));
    }

    fn leaves(table: &toml::Table, path: &str, names: &mut BTreeSet<String>) {
        for (name, value) in table {
            match value {
                toml::Value::Table(inner) => leaves(inner, &format!("{path}{name}."), names),
                _ => _ = names.insert(format!("{path}{name}")),
            }
        }
    }
}
