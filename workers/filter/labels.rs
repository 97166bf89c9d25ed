//! Adds fields that name the cluster of a record to a line of JSON.

use crate::error::{Error, Kind, Result};
use crate::read::json;
use serde_json::Value;
use std::path::Path;

/// The names of the fields that are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// The cluster's id.
    pub cluster: &'static str,
    /// The number of its pages.
    pub size: &'static str,
    /// The URL of the page that represents it.
    pub representative: &'static str,
}

impl Names {
    /// The names in `members`.
    pub const PAGEFOLD: Names =
        Names { cluster: "cluster", size: "cluster_size", representative: "representative" };
    /// The names that datatrove's MinHash writes.
    pub const MINHASH: Names = Names {
        cluster: "minhash_cluster_id",
        size: "minhash_cluster_size",
        representative: "representative",
    };

    /// All three.
    pub fn all(self) -> [&'static str; 3] {
        [self.cluster, self.size, self.representative]
    }

    /// The error that the file at `path` has a field `name` already.
    pub fn taken(path: &Path, name: &str) -> Error {
        let remedy =
            match [Names::PAGEFOLD, Names::MINHASH].iter().all(|of| of.all().contains(&name)) {
                true => "rename it or leave it out, or use --records",
                false => "choose other names with --names",
            };
        let why = format!("{}: has a field `{name}` already; {remedy}", path.display());
        Error::new(Kind::Usage, why)
    }
}

/// The values that are added to a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The cluster's id.
    pub cluster: String,
    /// The number of its pages.
    pub size: u32,
    /// The URL of the page that represents it.
    pub representative: String,
}

/// `line`, an object in JSON, with `labels` behind its own fields. A line that is no object is not
/// changed.
pub fn labelled(
    path: &Path,
    mut line: Vec<u8>,
    names: Names,
    labels: Option<&Labels>,
) -> Result<Vec<u8>> {
    let Some(end) = line.trim_ascii_end().strip_suffix(b"}").map(<[u8]>::len) else {
        return Ok(line);
    };
    // If a name is nowhere in the line, it is no field of it. Few lines have it anywhere, or an
    // escape that could spell a part of it. Only an object has a cluster.
    let has = |text: &str| memchr::memmem::find(&line, text.as_bytes()).is_some();
    let has_name = |name: &str| has(&format!("\"{name}\""));
    if labels.is_none() || has("\\u00") || names.all().into_iter().any(has_name) {
        match json::fields_among(&line, &names.all()) {
            Some(Some(name)) => return Err(Names::taken(path, name)),
            Some(None) => {}
            None => return Ok(line),
        }
    }
    let (cluster, size, shown) = match labels {
        Some(of) => (Value::from(&*of.cluster), of.size.into(), Value::from(&*of.representative)),
        None => (Value::Null, Value::Null, Value::Null),
    };
    let comma = if line[..end].trim_ascii_end().ends_with(b"{") { "" } else { "," };
    let [a, b, c] = names.all();
    let fields = format!("{comma}\"{a}\":{cluster},\"{b}\":{size},\"{c}\":{shown}");
    line.splice(end..end, fields.into_bytes());
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field that is spelled with an escape was not seen, and the row had two fields of one name.
    #[test]
    fn names_with_escapes() {
        let labels =
            Labels { cluster: "c".into(), size: 2, representative: "http://a.example/".into() };
        let of = |line: &str| {
            let path = Path::new("a.jsonl");
            labelled(path, line.into(), Names::PAGEFOLD, Some(&labels))
        };
        for line in ["{\"clu\\u0073ter\":5}", "{\"cluster\":5}"] {
            assert_eq!(of(line).expect_err("taken").kind(), Kind::Usage);
        }
        let error = of("{\"representative\":5}").expect_err("taken").to_string();
        assert!(error.contains("--records"), "no other names help: {error}");
        let line = of("{\"a\":\"clu\\u0073ter\"}").expect("sound");
        assert!(line.starts_with(b"{\"a\":\"clu\\u0073ter\",\"cluster\":\"c\""));
    }
}
