//! Finds the digests of the listed files, and passes by files that are no crawl.
//!
//! To know its digest a file must be read. The digests of consumed inputs are in the store. Other
//! files, such as copies and files that were only touched, would be read at every run until an
//! epoch is due. So their digests are kept in a file of the store when nothing is due. That file
//! only saves work and may be deleted. A digest in it counts only for a file that has the same
//! size, times and inode.

use crate::error::{Error, Kind, Result};
use crate::job::Job;
use crate::plain::plain;
use crate::plan::consumed::History;
use crate::plan::inputs::Input;
use crate::read;
use crate::read::companion::Companion;
use crate::store::threads::{in_threads, processors};
use crate::store::{Store, durable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the file of digests in the store.
const DIGESTS: &str = "digests.jsonl";

/// A file of a folder that was passed by, because it is no crawl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// Its path.
    pub path: String,
    /// The kind of file that it is.
    pub what: Companion,
}

/// What a listed file is.
enum Looked {
    /// It was consumed, and has not changed since.
    Consumed(Input),
    /// It was not consumed as it is.
    Other(Input),
    /// It is no crawl.
    NoCrawl(Passed),
}

/// Looks at listed files.
pub struct Examiner<'a> {
    job: &'a Job,
    history: &'a History,
    /// The file of digests.
    file: PathBuf,
    kept: BTreeMap<String, Input>,
    /// The digests that will be kept: of files that are there and are not consumed as they are.
    seen: BTreeMap<String, Input>,
    passed: Vec<Passed>,
}

impl<'a> Examiner<'a> {
    /// An examiner for inputs of `job`, with the digests that earlier runs left in `store`.
    pub fn new(job: &'a Job, store: &Store, history: &'a History) -> Examiner<'a> {
        let file = store.root().join(DIGESTS);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let inputs = text.lines().filter_map(|line| serde_json::from_str::<Input>(line).ok());
        let kept = inputs.map(|input| (input.path.clone(), input)).collect();
        Examiner { job, history, file, kept, seen: BTreeMap::new(), passed: Vec::new() }
    }

    /// The file at `path` without its digest. If it is gone, see [`Examiner::digested`].
    pub fn stat(&self, path: &Path) -> Result<Option<Input>> {
        self.unless_gone(path, Input::stat(path).map(Some))
    }

    /// The `inputs` with their digests, in their order. Those that are gone or no crawl are left
    /// out, unless the job names the file itself. Files are read in several threads, because an
    /// epoch reads nothing else before all digests are known.
    ///
    /// # Errors
    ///
    /// `TryAgain` if a file of a complete snapshot is gone or became shorter: without it the
    /// snapshot would remove its pages.
    pub fn digested(&mut self, inputs: &[Input]) -> Result<Vec<Input>> {
        let looked = in_threads("the digest of an input", inputs, processors(), |input| {
            let path = input.file();
            match self.look(&path, input) {
                // The file just became shorter. A later run reads it.
                Err(_) if Input::stat(&path).is_ok_and(|now| now.bytes < input.bytes) => {
                    self.without(&path, "became shorter")
                }
                looked => self.unless_gone(&path, looked),
            }
        })?;
        let mut digested = Vec::with_capacity(inputs.len());
        for looked in looked.into_iter().flatten() {
            match looked {
                Looked::Consumed(input) => digested.push(input),
                Looked::Other(input) => {
                    self.seen.insert(input.path.clone(), input.clone());
                    digested.push(input);
                }
                Looked::NoCrawl(passed) => self.passed.push(passed),
            }
        }
        Ok(digested)
    }

    fn unless_gone<T>(&self, path: &Path, looked: Result<Option<T>>) -> Result<Option<T>> {
        match looked {
            Err(error) if error.kind() == Kind::NoInput && !self.job.read.names(path) => {
                self.without(path, "vanished")
            }
            looked => looked,
        }
    }

    /// The plan goes on without the file at `path`, unless it is of a complete snapshot.
    fn without<T>(&self, path: &Path, what: &str) -> Result<Option<T>> {
        if !self.job.read.complete {
            return Ok(None);
        }
        let path = plain(&path.to_string_lossy());
        let line = format!("{path}: {what} while the snapshot was planned; run again");
        Err(Error::new(Kind::TryAgain, line))
    }

    fn look(&self, path: &Path, input: &Input) -> Result<Option<Looked>> {
        if self.history.is_as_it_was(input) {
            return self.history.digested(input.clone()).map(Looked::Consumed).map(Some);
        }
        if let Some(what) = read::companion(path, input.bytes)? {
            if self.job.read.names(path) {
                return Err(Error::new(Kind::Data, what.line(path)));
            }
            return Ok(Some(Looked::NoCrawl(Passed { path: input.shown(), what })));
        }
        let kept = self.kept.get(&input.path).filter(|kept| kept.looks_like(input));
        let input = match kept {
            Some(kept) => kept.clone(),
            None => input.clone().digest()?,
        };
        Ok(Some(Looked::Other(input)))
    }

    /// The files that were passed by, and the digests, which are to be kept if nothing is due.
    pub fn close(self) -> (Vec<Passed>, Digests) {
        (self.passed, Digests { file: self.file, kept: self.kept, seen: self.seen })
    }
}

/// Digests of files that are not consumed as they are.
#[derive(Default)]
pub struct Digests {
    file: PathBuf,
    kept: BTreeMap<String, Input>,
    seen: BTreeMap<String, Input>,
}

impl Digests {
    /// Keeps the digests for the next run. An epoch notes the digests of its inputs itself.
    pub fn keep(self) {
        if self.seen == self.kept {
            return;
        }
        let lines = self.seen.values().filter_map(|input| serde_json::to_string(input).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        // Without the digests a run reads the files again; nothing else changes.
        if let Err(error) = durable::write(&self.file, text.as_bytes()) {
            tracing::warn!(%error, "the digests of inputs are not kept");
        }
    }
}

/// The files that were passed by, one line for each kind, with the first file and the command that
/// converts it to a format that can be read.
pub fn lines(passed: &[Passed]) -> Vec<String> {
    let mut kinds: BTreeMap<Companion, Vec<&str>> = BTreeMap::new();
    passed.iter().for_each(|passed| kinds.entry(passed.what).or_default().push(&passed.path));
    let line = |(what, paths): (Companion, Vec<&str>)| {
        let first = paths[0];
        let more =
            if paths.len() == 1 { String::new() } else { format!(" and {} more", paths.len() - 1) };
        let remedy = what
            .remedy(Path::new(first))
            .map_or(String::new(), |remedy| format!("; to read it: {remedy}"));
        format!("{first}{more}: {}{remedy}", what.what())
    };
    kinds.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Copies of consumed files and files that were touched were read whole at every run until an
    /// epoch was due. Now a file that has not changed since it was last read is not read again.
    #[test]
    fn a_file_is_digested_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("in")).expect("made");
        std::fs::write(at("in/a.jsonl"), "{}\n").expect("written");
        std::fs::write(at("in/b.cdx"), "org,example)/ 20240101 x\n").expect("written");
        let job = json!({ "store": at("store"), "read": { "inputs": [at("in")] }, "output": { "dir": at("out") } });
        let job: Job = serde_json::from_value(job).expect("a job");
        let store = Store::open_or_create(&job.store, &json!(1)).expect("made");
        let history = History::read(&job, &store, None).expect("nothing yet");
        let mut examiner = Examiner::new(&job, &store, &history);
        let examine = |examiner: &mut Examiner<'_>, name: &str| {
            let input = examiner.stat(&at(name)).expect("read");
            input.and_then(|input| examiner.digested(&[input]).expect("read").pop())
        };
        let input = examine(&mut examiner, "in/a.jsonl").expect("a crawl");
        assert!(examine(&mut examiner, "in/b.cdx").is_none());
        assert!(examine(&mut examiner, "in/gone.jsonl").is_none());
        let (passed, digests) = examiner.close();
        digests.keep();
        assert!(
            passed.len() == 1 && lines(&passed)[0].contains("b.cdx: an index of a crawl"),
            "{passed:?}"
        );
        // The digest that is kept is taken, whatever it is.
        let file = at("store").join(DIGESTS);
        let text = std::fs::read_to_string(&file).expect("kept").replace(&input.digest, "kept");
        std::fs::write(&file, text).expect("written");
        let mut examiner = Examiner::new(&job, &store, &history);
        let again = examine(&mut examiner, "in/a.jsonl").expect("a crawl");
        assert_eq!(again.digest, "kept");
        // Not for a file that was replaced, though it has the same size and time.
        let time =
            at("in/a.jsonl").metadata().and_then(|metadata| metadata.modified()).expect("a time");
        std::fs::write(at("in/c"), "{ }").expect("written");
        std::fs::File::options()
            .write(true)
            .open(at("in/c"))
            .and_then(|f| f.set_modified(time))
            .expect("set");
        std::fs::rename(at("in/c"), at("in/a.jsonl")).expect("renamed");
        let other = examine(&mut examiner, "in/a.jsonl").expect("a crawl");
        assert!(
            (other.bytes, other.changed_ns) == (again.bytes, again.changed_ns)
                && other.digest != "kept"
        );
    }

    /// A file of a complete snapshot that vanished after the folder was listed was left out, and
    /// all its pages were removed. The run is to be tried again.
    #[test]
    fn a_file_of_a_snapshot_vanishes() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("in")).expect("made");
        std::fs::write(at("in/a.jsonl"), "{}\n").expect("written");
        std::fs::write(at("in/b.jsonl"), "{ }\n").expect("written");
        let read = json!({ "inputs": [at("in")], "complete": true });
        let job = json!({ "store": at("store"), "read": read, "output": { "dir": at("out") } });
        let job: Job = serde_json::from_value(job).expect("a job");
        let store = Store::open_or_create(&job.store, &json!(1)).expect("made");
        let history = History::read(&job, &store, None).expect("nothing yet");
        let mut examiner = Examiner::new(&job, &store, &history);
        let inputs = ["in/a.jsonl", "in/b.jsonl"]
            .map(|name| examiner.stat(&at(name)).expect("read").expect("there"));
        std::fs::remove_file(at("in/b.jsonl")).expect("removed");
        let digested = examiner.digested(&inputs).expect_err("one is gone");
        for error in [digested, examiner.stat(&at("in/b.jsonl")).expect_err("gone")] {
            let line = error.to_string();
            assert!(error.kind() == Kind::TryAgain && line.contains("b.jsonl: vanished"), "{line}");
        }
    }
}
