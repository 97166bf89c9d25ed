//! The job file: its path and `--set` options become a checked [`Job`] with absolute paths.
//!
//! Every mistake is one line that names the file, the line and the key; all are reported at once.

use crate::config::tree::{self, Node, Table, Value};
use crate::config::{self, Mistake};
use crate::file_kind::{crawl, is_json};
use crate::job_keys::KEYS;
use std::io::Read;
use std::path::Path;
use workers::error::{Error, Result};
use workers::job::{Job, Wrong};
use workers::read::shell;

/// Reads the job file at `path` and applies `sets`. The error lists every mistake.
pub fn read(path: &Path, sets: &[String]) -> Result<Job> {
    of_text(path, &job_text(path)?, sets)
}

/// The job that a file at `path` with this `text` is, with `sets`.
pub fn of_text(path: &Path, text: &str, sets: &[String]) -> Result<Job> {
    let mut table = config::parse(path, text)?;
    sets.iter().enumerate().try_for_each(|(index, set)| tree::set(&mut table, set, index))?;
    let mut mistakes = settle_signatures(&mut table);
    let (values, found) = config::checked(&table, KEYS);
    mistakes.extend(found);
    let job: Job = match values.try_into() {
        Ok(job) => job,
        Err(_) if !mistakes.is_empty() => return Err(config::error(path, sets, mistakes)),
        Err(e) => {
            return Err(Error::internal(format!(
                "a key of the job is described wrongly: {}",
                e.message()
            )));
        }
    };
    let job = job.relative_to(path.parent().unwrap_or(Path::new("")));
    let wrongs = match job.settled() {
        Ok(job) => {
            let wrongs = job.wrongs();
            if wrongs.is_empty() && mistakes.is_empty() {
                return Ok(job);
            }
            wrongs
        }
        Err(wrong) => vec![wrong],
    };
    let found =
        wrongs.into_iter().map(|Wrong { key, why }| Mistake { at: tree::find(&table, &key), why });
    // A value that is out of its range is reported once.
    mistakes.extend(
        found
            .filter(|wrong| {
                !mistakes.iter().any(|mistake| mistake.at.is_some() && mistake.at == wrong.at)
            })
            .collect::<Vec<_>>(),
    );
    Err(config::error(path, sets, mistakes))
}

/// Takes the switches of signatures (`true` or `false` in place of a table) out of `table`.
fn settle_signatures(table: &mut Table) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    match table.get("simhash").map(|node| (&node.value, node.at)) {
        Some((Value::Switch(true), _)) => drop(table.remove("simhash")),
        Some((Value::Switch(false), at)) => {
            table.remove("simhash");
            let why = "simhash = false: SimHash is always there, as texts are grouped by it; \
                       with [simhash] k = 0 it proposes equal fingerprints alone";
            mistakes.push(Mistake { at: Some(at), why: why.into() });
        }
        _ => {}
    }
    for name in ["minhash", "sentences"] {
        let Some(Node { value: Value::Switch(false), at, .. }) = table.get(name) else { continue };
        let is_listed = |item: &Node| {
            let Value::Table(item) = &item.value else { return false };
            matches!(item.get("kind"), Some(Node { value: Value::Text(kind), .. }) if kind == name)
        };
        if let Some(Node { value: Value::List(list), .. }) = table.get("signatures")
            && list.iter().any(is_listed)
        {
            let why = format!("{name} = false: [[signatures]] lists it; remove one of the two");
            mistakes.push(Mistake { at: Some(*at), why });
        }
    }
    match table.get("signatures").map(|node| (&node.value, node.at)) {
        Some((Value::List(list), at)) if list.is_empty() => {
            let why = "signatures = []: an empty list leaves nothing out; `minhash = false` and \
                       `sentences = false` leave SimHash alone";
            mistakes.push(Mistake { at: Some(at), why: why.into() });
        }
        _ => {}
    }
    mistakes
}

/// The text of the job file at `path`; if it is a file of a crawl, or a folder, the error says how
/// to make a job for it.
fn job_text(path: &Path) -> Result<String> {
    let text = text_of(path);
    let of = |bytes: &[u8]| crawl(bytes).or_else(|| is_json(bytes).then_some("JSON"));
    let what = match &text {
        _ if path.is_dir() => Some("a folder"),
        Ok(text) => of(text.as_bytes()),
        Err(_) => of(&first_bytes(path)),
    };
    let Some(what) = what else { return text };
    let name = shell::word(path);
    let why = format!(
        "{what}, no job file; `pagefold run {name} --to DIR` makes one and runs it, `pagefold init {name}` prints it"
    );
    Err(Error::config(path, why))
}

fn first_bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    // An error of reading was reported before.
    let _ = file.and_then(|file| file.take(4096).read_to_end(&mut bytes));
    bytes
}

/// The text of a configuration file.
pub fn text_of(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::config(path, "no such file"),
        std::io::ErrorKind::IsADirectory => {
            Error::config(path, "a folder, where a TOML file is wanted")
        }
        std::io::ErrorKind::InvalidData => Error::config(path, "not UTF-8"),
        _ => Error::io("read", path, e),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use workers::error::Kind;
    use workers::text::signatures::{self, Options, i_match, spotsigs, super_shingles};

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
        // A mistake in the combination of several keys is reported for the key that was set.
        for (set, why) in [
            ("simhash.bands=3", "[simhash] k, bands: 3 bands"),
            ("read.fields.text=\"\"", "[read] fields.text: is empty"),
        ] {
            let text = format!("{JOB}[simhash]\nk = 3\n");
            let line = read_text(&text, &[set]).expect_err("refused").to_string();
            assert!(line.starts_with(&format!("--set {set}: {why}")), "{line}");
        }
        let job = read_text(JOB, &["simhash.k=2", "output.dir=elsewhere", "read.rejects_max=0.5"])
            .expect("a job");
        assert!(job.store.is_absolute() && job.output.dir.ends_with("elsewhere"));
        assert_eq!((job.simhash.k, job.read.rejects_max), (2, 0.5));
    }

    /// Every mistake is a `Config` error of one line that names the file and the key.
    #[test]
    fn mistakes() {
        let cases = [
            (
                JOB.replace("inputs", "inputz"),
                "job.toml:3: [read] inputz: no such key; did you mean `inputs`?",
            ),
            (
                JOB.replace("[\"in\"]", "3"),
                "job.toml:3: [read] inputs = 3: a path in quotes, or a list of them is wanted",
            ),
            (JOB.replace("[\"in\"]", "[]"), "job.toml:3: [read] inputs"),
            (
                format!("{JOB}[simhash]\nk = 9\n"),
                "job.toml:7: [simhash] k = 9: a whole number from 0 to 8",
            ),
            (
                format!("{JOB}[simhash]\nk = 2\n[[signatures]]\nkind = \"simhash\"\n"),
                "has options in [simhash] already",
            ),
            (
                format!("{JOB}[[signatures]]\nkind = \"simhash\"\nk = 9\n"),
                "job.toml:8: [[signatures]] simhash: k = 9",
            ),
            (
                format!("{JOB}{0}{0}", "[[signatures]]\nkind = \"simhash\"\n"),
                "simhash is there twice",
            ),
            (
                format!("{JOB}[[signatures]]\nkind = \"minhash\"\nbins = 0\n"),
                "job.toml:8: [[signatures]] minhash: bins = 0",
            ),
            (format!("{JOB}[confirm]\nsimilarity_min = 10001\n"), "[confirm] similarity_min"),
            (
                format!("{JOB}[contents]\ntext = \"some\"\n"),
                "job.toml:7: [contents] text = \"some\": ",
            ),
            (
                format!("signatures = []\n{JOB}"),
                "job.toml:1: signatures = []: an empty list leaves nothing out",
            ),
            (
                format!("simhash = false\n{JOB}"),
                "job.toml:1: simhash = false: SimHash is always there",
            ),
            (
                JOB.replace("\"s\"", "\"~/s\""),
                "job.toml:1: store = \"~/s\": ~ is not expanded here",
            ),
            (
                JOB.replace("\"out\"", "\"in/out\""),
                "job.toml:5: [output] dir: lies in [read] inputs",
            ),
            (
                JOB.replace("[output]", "key = \"\"\n[output]"),
                "job.toml:4: [read] key: it names nothing; wanted is \"url\", \"row\" or a field",
            ),
            (
                format!("minhash = false\n{JOB}[[signatures]]\nkind = \"minhash\"\n"),
                "job.toml:1: minhash = false: [[signatures]] lists it; remove one of the two",
            ),
            (
                format!("{JOB}[keep]\nhosts = [\".d.example\"]\n"),
                "has a dot too many; write `d.example`, or `*.d.example`",
            ),
            (format!("{JOB}[clusters]\nradius = 9\n"), "[clusters] radius"),
            (JOB.replace("\"out\"", "\"s/out\""), "[output] dir"),
            (JOB.replace("\"out\"", "\"./x/../s\""), "[output] dir"),
            (format!("{JOB}metrics = \"s/job.prom\"\n"), "[output] metrics"),
            (format!("{JOB}ping = \"ftp://a.example\"\n"), "[output] ping: `ftp`"),
            (
                format!("{JOB}[confirm]\ndistance_max = 4\n"),
                "job.toml:7: [confirm] distance_max: more than [simhash] k = 3",
            ),
            ("store = ".into(), "job.toml:1: `store` has no value"),
            (
                "store = s\n".into(),
                "job.toml:1: `store = s`: a text stands in quotes: store = \"s\"",
            ),
            (format!("{JOB}dir = \"x\"\n"), "job.toml:6: `dir` is there twice"),
            ("{\"url\":\"x\"}\n".into(), "job.toml --to DIR` makes one and runs it"),
        ];
        for (text, expected) in cases {
            let error = read_text(&text, &[]).expect_err(expected);
            let line = error.to_string();
            assert!(line.contains(expected) && !line.contains('\n'), "{line}");
            assert_eq!(error.kind(), Kind::Config);
        }
        assert_eq!(read_text(JOB, &["simhash"]).expect_err("no value").kind(), Kind::Usage);
        let error = read_text(JOB, &["simhash.kk=1", "simhash.k=two", "store=2026"])
            .expect_err("unknown")
            .to_string();
        let expected = "--set simhash.kk=1: [simhash] kk: no such key; did you mean `k`?\n\
            --set simhash.k=two: [simhash] k = \"two\": a whole number from 0 to 8 is wanted";
        assert_eq!(error, expected);
    }

    /// WACZ, ARC and lz4 files and folders in the place of a job had an error of TOML without a
    /// remedy.
    #[test]
    fn crawls_are_no_jobs() {
        let folder = tempfile::tempdir().expect("a folder");
        for (bytes, what) in [
            (&b"PK\x03\x04"[..], "a WACZ or another ZIP file"),
            (b"filedesc://a.arc", "an ARC file"),
            (b"\x04\x22\x4d\x18", "a compressed file"),
            (b"", "a folder"),
        ] {
            let path = folder.path().join(what.replace(' ', "-"));
            if bytes.is_empty() {
                std::fs::create_dir(&path).expect("made");
            } else {
                std::fs::write(&path, bytes).expect("written");
            }
            let error = read(&path, &[]).expect_err("no job");
            let remedy = format!("`pagefold run {} --to DIR` makes one", path.display());
            assert_eq!(error.kind(), Kind::Config);
            let wanted = format!("{what}, no job file; {remedy}");
            assert!(error.to_string().contains(&wanted), "{error}");
        }
    }

    /// Adding a signature keeps SimHash, MinHash and sentences; only `minhash = false` and
    /// `sentences = false` leave one out.
    #[test]
    fn signatures_add() {
        let names = |sets: &[&str]| {
            let job = read_text(JOB, sets).expect("a job");
            let names: Vec<&str> = job.signatures.iter().map(|options| options.name()).collect();
            (names.join(" "), job.single_signature())
        };
        assert_eq!(names(&[]), ("minhash sentences".into(), None));
        assert_eq!(
            names(&["signatures=[{kind=\"spotsigs\"}]"]),
            ("minhash sentences spotsigs".into(), None)
        );
        let of_bins = "signatures=[{kind=\"minhash\",bins=15}]";
        assert_eq!(names(&[of_bins]), ("minhash sentences".into(), None));
        assert_eq!(names(&["minhash=false"]), ("sentences".into(), None));
        assert_eq!(names(&["sentences=false", of_bins]), ("minhash".into(), None));
        let neither = ["minhash=false", "sentences=false"];
        assert_eq!(names(&neither), (String::new(), Some("simhash")));
        let spots = [&neither[..], &["signatures=[{kind=\"spotsigs\"}]"]].concat();
        assert_eq!(names(&spots), ("spotsigs".into(), None));
    }

    /// Every job that is part of pagefold is valid, and the fast one does not segment words.
    #[test]
    fn jobs_are_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let job = read(&path, &[]).expect("a job");
                names.push(
                    path.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned(),
                );
                if path.ends_with("fast.toml") {
                    let signer =
                        workers::text::signatures::Signer::new(&job.signatures, &job.normalize)
                            .expect("no files");
                    assert!(
                        job.features.unit == workers::text::features::Unit::Characters
                            && !signer.uses_words()
                    );
                }
            }
        }
        names.sort();
        assert_eq!(
            names,
            [
                "corpus.toml",
                "demo.toml",
                "fast.toml",
                "incremental.toml",
                "lean.toml",
                "manku.toml",
                "snapshot.toml"
            ]
        );
    }

    /// The snapshot job states every key at its default: with only its paths it is the same job.
    #[test]
    fn snapshot_has_defaults() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs/snapshot.toml");
        let snapshot = read(&path, &[]).expect("a job");
        let mut bare = read_text(JOB, &[]).expect("a job");
        (bare.store, bare.read.inputs, bare.output.dir) =
            (snapshot.store.clone(), snapshot.read.inputs.clone(), snapshot.output.dir.clone());
        assert_eq!(snapshot, bare);
    }

    /// Signatures that a job has only if it adds them are in the file as comments, with each of
    /// their keys at its default.
    #[test]
    fn snapshot_has_defaults_of_what_is_added() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs/snapshot.toml");
        let text = std::fs::read_to_string(path).expect("readable");
        let lines = text.lines().filter_map(|line| line.strip_prefix("# "));
        let lines: Vec<&str> = lines
            .skip_while(|line| !line.starts_with("[[signatures]]"))
            .take_while(|line| !line.starts_with("retain_days"))
            .collect();
        let job = read_text(&format!("{JOB}{}\n", lines.join("\n")), &[]).expect("a job");
        let mut lexicon = None;
        for signature in &job.signatures {
            lexicon = lexicon.or(signature.path().cloned());
        }
        let mut expected = signatures::default_list();
        expected.extend([
            Options::SuperShingles(super_shingles::Options::default()),
            Options::SpotSigs(spotsigs::Options::default()),
            Options::IMatch(i_match::Options::new(lexicon.expect("named"))),
        ]);
        let by_name = |mut list: Vec<Options>| {
            list.sort_by_key(Options::name);
            list
        };
        assert_eq!(by_name(job.signatures), by_name(expected));
        for key in KEYS.iter().filter_map(|key| key.name.strip_prefix("signatures.")) {
            let (kind, name) = key.split_once('.').expect("of a kind");
            let has = |line: &str| line.trim_start_matches("# ").starts_with(&format!("{name} = "));
            assert!(kind == "simhash" || text.lines().any(has), "{kind} {name}");
        }
    }
}
