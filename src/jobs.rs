//! The job file: its path and `--set` options become a checked [`Job`] with absolute paths.
//!
//! Every mistake is one line that names the file and the key.

use crate::cli::OfJob;
use std::path::Path;
use toml::{Table, Value};
use workers::error::{Error, Kind, Result};
use workers::job::Job;
use workers::store::Store;
use workers::store::manifest::Head;

/// Reads the job file at `path` and applies `sets`.
pub fn read(path: &Path, sets: &[String]) -> Result<Job> {
    let text = text_of(path)?;
    let job: Job = if sets.is_empty() {
        toml::from_str(&text).map_err(|e| located(path, &text, &e))?
    } else {
        let mut table: Table = toml::from_str(&text).map_err(|e| located(path, &text, &e))?;
        sets.iter().try_for_each(|set| apply(&mut table, set))?;
        table
            .try_into()
            .map_err(|e: toml::de::Error| Error::config(path, format!("with --set: {}", one_line(e.message()))))?
    };
    let job = job.relative_to(path.parent().unwrap_or(Path::new("")));
    let job = job.settled().map_err(|why| Error::config(path, why))?;
    job.check().map_err(|why| Error::config(path, why))?;
    Ok(job)
}

/// The job, its store and the store's head.
pub fn open(of: &OfJob) -> Result<(Job, Store, Option<Head>)> {
    let job = read(&of.job, &of.sets)?;
    let store = Store::open(&job.store, Some(&job.identity()?))?;
    let head = store.head()?;
    Ok((job, store, head))
}

/// The head, or an error if nothing was committed yet.
pub fn committed(store: &Store, head: Option<Head>) -> Result<Head> {
    let nothing = || Error::new(Kind::NoInput, format!("{}: no epoch yet; run the job first", store.root().display()));
    head.ok_or_else(nothing)
}

/// The text of a configuration file.
pub fn text_of(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::io("read", path, e).with_kind(Kind::Config),
        std::io::ErrorKind::InvalidData => Error::config(path, "not UTF-8"),
        _ => Error::io("read", path, e),
    })
}

/// `error` in one line, with its place in the file.
pub fn located(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text[..at].matches('\n').count() + 1;
    Error::new(Kind::Config, format!("{}:{line}: {}", path.display(), one_line(error.message())))
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Applies one `KEY=VALUE`; a value that is not TOML is a string.
fn apply(table: &mut Table, set: &str) -> Result<()> {
    let usage = |why: &str| Error::new(Kind::Usage, format!("--set {set}: {why}"));
    let (key, value) = set.split_once('=').ok_or_else(|| usage("not KEY=VALUE"))?;
    let value = match toml::from_str::<Table>(&format!("value = {value}")) {
        Ok(mut parsed) => parsed.remove("value").ok_or_else(|| usage("no value"))?,
        Err(_) => Value::String(value.to_owned()),
    };
    let mut keys: Vec<&str> = key.split('.').map(str::trim).collect();
    let last = keys.pop().filter(|key| !key.is_empty()).ok_or_else(|| usage("no key"))?;
    let mut table = table;
    for key in keys {
        let entry = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
        table = entry.as_table_mut().ok_or_else(|| usage(&format!("`{key}` is no table")))?;
    }
    table.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "store = \"s\"\n[read]\ninputs = [\"in\"]\n[output]\ndir = \"out\"\n";

    fn read_text(text: &str, sets: &[&str]) -> Result<Job> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("job.toml");
        std::fs::write(&path, text).expect("written");
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        read(&path, &sets)
    }

    /// Paths are relative to the job file, and `--set` works as if the key stood in the file.
    #[test]
    fn paths_and_sets() {
        let job = read_text(JOB, &["simhash.k=2", "output.dir=elsewhere", "read.rejects_max=0.5"]).expect("a job");
        assert!(job.store.is_absolute() && job.output.dir.ends_with("elsewhere"));
        assert_eq!((job.simhash.k, job.read.rejects_max), (2, 0.5));
    }

    /// Every mistake is a `Config` error of one line that names the file and the key.
    #[test]
    fn mistakes() {
        let cases = [
            (JOB.replace("inputs", "inputz"), "job.toml:3: unknown field `inputz`"),
            (JOB.replace("[\"in\"]", "3"), "job.toml:3: "),
            (JOB.replace("[\"in\"]", "[]"), "[read] inputs"),
            (format!("{JOB}[simhash]\nk = 9\n"), "[simhash] k"),
            (
                format!("{JOB}[simhash]\nk = 2\n[[signatures]]\nkind = \"simhash\"\n"),
                "has options in [simhash] already",
            ),
            (format!("{JOB}[[signatures]]\nkind = \"simhash\"\nk = 9\n"), "[simhash] k"),
            (format!("{JOB}{0}{0}", "[[signatures]]\nkind = \"simhash\"\n"), "simhash is there twice"),
            (format!("{JOB}[[signatures]]\nkind = \"minhash\"\nbins = 0\n"), "minhash: bins"),
            (format!("{JOB}[confirm]\nsimilarity_min = 10001\n"), "[confirm] similarity_min"),
            (format!("{JOB}[contents]\ntext = \"some\"\n"), "job.toml:7: unknown variant `some`"),
            (format!("{JOB}[clusters]\nradius = 0\n"), "[clusters] radius"),
            (format!("{JOB}[clusters]\nradius = 9\n"), "[clusters] radius"),
            (JOB.replace("\"out\"", "\"s/out\""), "[output] dir"),
            (JOB.replace("\"out\"", "\"./x/../s\""), "[output] dir"),
            (format!("{JOB}metrics = \"s/job.prom\"\n"), "[output] metrics"),
            (format!("{JOB}ping = \"ftp://a.example\"\n"), "[output] ping: `ftp`"),
            ("store = ".into(), "job.toml:1: "),
        ];
        for (text, expected) in cases {
            let error = read_text(&text, &[]).expect_err(expected);
            let line = error.to_string();
            assert!(line.contains(expected) && !line.contains('\n'), "{line}");
            assert_eq!(error.kind(), Kind::Config);
        }
        assert_eq!(read_text(JOB, &["simhash"]).expect_err("no value").kind(), Kind::Usage);
        assert!(read_text(JOB, &["simhash.kk=1"]).expect_err("unknown").to_string().contains("`kk`"));
    }

    /// Every job that comes with pagefold is valid, and the fast one does not segment words.
    #[test]
    fn jobs_are_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let job = read(&path, &[]).expect("a job");
                names.push(path.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned());
                if path.ends_with("fast.toml") {
                    let signer =
                        workers::text::signatures::Signer::new(&job.signatures, &job.normalize).expect("no files");
                    assert!(job.features.unit == workers::text::features::Unit::Characters && !signer.uses_words());
                }
            }
        }
        names.sort();
        assert_eq!(names, ["demo.toml", "fast.toml", "incremental.toml", "manku.toml", "snapshot.toml"]);
    }

    /// The snapshot job states every key at its default: without all but its paths it is the same
    /// job.
    #[test]
    fn snapshot_has_defaults() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs/snapshot.toml");
        let snapshot = read(&path, &[]).expect("a job");
        let mut bare = read_text(JOB, &[]).expect("a job");
        (bare.store, bare.read.inputs, bare.output.dir) =
            (snapshot.store.clone(), snapshot.read.inputs.clone(), snapshot.output.dir.clone());
        assert_eq!(snapshot, bare);
    }
}
