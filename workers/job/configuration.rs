//! The configuration of a job in the form in which stores keep it: identity, decision and view.
//!
//! Each key has its default in the options of its room, such as `text/simhash.rs`.

use crate::error::{Error, Result};
use crate::job::{Job, clusters};
use crate::store::configuration::{all_of, differences};
use crate::store::digest_of;
use crate::store::manifest::Manifest;
use crate::text::{
    features, furniture, little, number_set, packed, shingles, signatures, simhash, site_lines,
    sketch,
};
use crate::{confirm, extract, page_url, text::normalize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

impl Job {
    /// The identity configuration, which is fixed for a store.
    pub fn identity(&self) -> Result<Value> {
        let digest = |path: &Option<PathBuf>, kind: &str| -> Result<Option<String>> {
            let Some(path) = path else { return Ok(None) };
            Ok(Some(blake3::hash(&features::frozen(path, kind)?).to_hex().to_string()))
        };
        // An explicit default is the same configuration as an absent key.
        let bands = self.simhash.bands.filter(|bands| *bands != self.simhash.k as usize + 1);
        let simhash = simhash::Options { bands, ..self.simhash.clone() };
        let mut features = json!({
            "version": features::VERSION,
            "unit": self.features.unit,
            "characters": self.features.characters,
            "weight": self.features.weight,
            "idf": digest(&self.features.idf, "idf")?,
            "stop_words": digest(&self.features.stop_words, "stop-words")?,
            "features_min": self.features.features_min,
        });
        // Stores that were built before such files existed lack the key.
        if let Some(dictionary) = self.dictionary()? {
            features["dictionary"] = json!(dictionary.digest());
        }
        let extract::Options { main_text, html_bytes_max, site_lines, furniture } = &self.extract;
        let extracted = json!({ "main_text": main_text, "html_bytes_max": html_bytes_max });
        let mut identity = json!({
            "canonical_url": page_url::CANONICAL_URL_VERSION,
            "extract": { "version": extract::VERSION, "options": extracted, "furniture": digest(furniture, "furniture")?, "lines": furniture::VERSION },
            "normalize": { "version": normalize::VERSION, "options": self.normalize },
            "features": features,
            "little": little::VERSION,
            "simhash": simhash,
            "signatures": signatures::identity(&self.signatures)?,
            "contents": {
                "sketch": sketch::VERSION,
                "shingles": shingles::VERSION,
                "numerals": number_set::VERSION,
                "packed": packed::VERSION,
                "options": self.contents,
            },
        });
        // An explicit default is the same configuration as an absent key.
        if self.read.key.is_own() {
            identity["read"]["key"] = json!(self.read.key);
        }
        // Stores that were built before such lines were known lack the key.
        if *site_lines {
            identity["extract"]["site_lines"] = json!(site_lines::VERSION);
        }
        // The store of a sample is never taken for the store of all records.
        if let Some(most) = self.read.records_max {
            identity["read"]["records_max"] = json!(most);
        }
        Ok(identity)
    }

    /// The decision configuration.
    pub fn decision(&self) -> Value {
        let distance_max = self.confirm.distance_max.filter(|max| *max != self.simhash.k);
        json!({
            "confirm": confirm::Options { distance_max, ..self.confirm.clone() },
            "differences": confirm::differences::VERSION,
        })
    }

    /// The view configuration.
    pub fn view(&self) -> Value {
        let clusters::Options { radius, letters_min, .. } = self.clusters;
        json!({
            "keep": self.keep,
            "clusters": { "radius": radius, "letters_min": letters_min },
            "leaders": clusters::VERSION,
        })
    }

    /// Decision and view. A manifest keeps them, so that a later run can name what differs.
    pub fn decided_by(&self) -> Value {
        let (decision, view) = (self.decision(), self.view());
        let parts = [decision, view].into_iter().filter_map(|part| part.as_object().cloned());
        Value::Object(parts.flatten().collect())
    }

    /// Fails if the epoch of `manifest`, in the store at `root`, had another decision or another
    /// view: its answers cannot be computed again with this job.
    pub fn check_decided(&self, root: &Path, manifest: &Manifest) -> Result<()> {
        match self.has_decided(manifest) && self.has_shown(manifest) {
            true => Ok(()),
            false => Err(self.decided_otherwise(root, manifest, Value::clone)),
        }
    }

    /// As [`Job::check_decided`], but the view may differ except in `[clusters]`, which says what
    /// texts fold.
    pub fn check_folded(&self, root: &Path, manifest: &Manifest) -> Result<()> {
        let own = self.view();
        let has_clusters = |then: &Value| then["clusters"] == own["clusters"];
        let has_folded = || manifest.decided_by.as_ref().is_some_and(has_clusters);
        if self.has_decided(manifest) && (self.has_shown(manifest) || has_folded()) {
            return Ok(());
        }
        let part = |of: &Value| json!({ "confirm": of["confirm"], "clusters": of["clusters"] });
        Err(self.decided_otherwise(root, manifest, part))
    }

    fn has_decided(&self, manifest: &Manifest) -> bool {
        manifest.decision == digest_of(&self.decision())
    }

    fn has_shown(&self, manifest: &Manifest) -> bool {
        manifest.view == digest_of(&self.view())
    }

    /// The error that names what differs in a `part` of the configurations.
    fn decided_otherwise(
        &self,
        root: &Path,
        manifest: &Manifest,
        part: impl Fn(&Value) -> Value,
    ) -> Error {
        let remedy = "put them back, or run the job first";
        let why = match &manifest.decided_by {
            // Manifests of earlier builds have only digests.
            None => format!(
                "the last epoch had other keys under [confirm], [keep] or [clusters]; {remedy}"
            ),
            Some(then) => {
                let all = all_of(&differences(&part(then), &part(&self.decided_by())));
                format!("the last epoch was decided with {all}; {remedy}")
            }
        };
        Error::config(root, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(more: Value) -> Job {
        let mut job =
            json!({ "store": "s", "read": { "inputs": ["in"] }, "output": { "dir": "out" } });
        let (Value::Object(job_keys), Value::Object(more)) = (&mut job, more) else {
            panic!("no objects")
        };
        job_keys.extend(more);
        serde_json::from_value(job).expect("a job")
    }

    /// A key at its default is the same configuration as an absent key: a default that is written
    /// out is no reason to refuse a store, or to decide all pairs again.
    #[test]
    fn explicit_defaults() {
        let (bare, explicit) = (
            job(json!({})),
            job(json!({ "simhash": { "bands": 4 }, "confirm": { "distance_max": 3 } })),
        );
        assert_eq!(bare.identity().expect("no files"), explicit.identity().expect("no files"));
        assert_eq!(bare.decision(), explicit.decision());
        let other = job(json!({ "simhash": { "bands": 5 }, "confirm": { "distance_max": 2 } }));
        assert_ne!(bare.identity().expect("no files"), other.identity().expect("no files"));
        assert_ne!(bare.decision(), other.decision());
    }

    /// The digest of a file of words is in the identity, and its path is not. A job without such a
    /// file has the same identity as before such files existed.
    #[test]
    fn a_dictionary_is_identity() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            job(json!({ "features": { "dictionary": path } })).identity()
        };
        let (one, same, other) =
            (of("a", "云计算 5\n"), of("b", "云计算 5\n"), of("c", "云计算 6\n"));
        let one = one.expect("words");
        assert_eq!(one, same.expect("words"));
        assert_ne!(one, other.expect("words"));
        assert_eq!(one["features"]["dictionary"].as_str().map(str::len), Some(64));
        let none = job(json!({})).identity().expect("no files");
        assert!(none["features"].get("dictionary").is_none());
        // A file that is no file of words has no identity, so no store is made with it.
        let error = of("d", "云计算 many times\n").expect_err("no words");
        assert!(error.to_string().contains("d: line 1: \"many\" is no frequency"), "{error}");
    }

    /// The identity of the default configuration is that of every store that was built with it.
    #[test]
    fn the_default_identity() {
        let identity = job(json!({})).settled().expect("sound").identity().expect("no files");
        assert_eq!(
            digest_of(&identity),
            "7350079abda7e44f29c76122b826ee95cb86aae6fe63247eb8dd1a5782d2351a"
        );
    }
}
