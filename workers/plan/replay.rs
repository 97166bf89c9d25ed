//! What a rebuild takes again from an older store, step by step, and how far it has come.
//!
//! Each step has a mark: a digest of the step and of all steps before it. The new store notes the
//! marks of the steps that are to be replayed. So an interrupted rebuild goes on only if the new
//! store holds the same steps that would be replayed now.

use crate::error::{Error, Kind, Result};
use crate::figures::{counted, grouped};
use crate::job::Job;
use crate::plan::consumed::{ConsumedInput, Reading, Taken};
use crate::plan::inputs::{self, Input};
use crate::read;
use crate::store::consumed::Retention;
use crate::store::past::{Past, Step};
use crate::store::{Store, digest_of, durable};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// All that is to be replayed.
pub struct Replay {
    /// The uuid of the store.
    pub of: String,
    /// The epoch of its head.
    pub epoch: u64,
    /// The logical time of its head.
    pub logical_time: i64,
    /// What each epoch took, including epochs that a rollback undid.
    pub steps: Vec<Step>,
    /// For each step its mark, and one for the head.
    marks: Vec<String>,
    /// The paths of all inputs by the digest of their bytes, because files may be renamed.
    paths: BTreeMap<String, BTreeSet<String>>,
    /// The job's `[read] inputs`, which may be patterns.
    patterns: Vec<PathBuf>,
    /// The job's inputs at present by their sizes, listed when an input is at none of its paths:
    /// the folder may have been moved.
    present: OnceCell<BTreeMap<u64, Vec<Present>>>,
    /// Where moved inputs are, by their former paths and digests.
    moved: RefCell<BTreeMap<(String, String), String>>,
    /// The job's options of reading.
    pub reading: Reading,
}

/// An input of the job at present.
struct Present {
    input: Input,
    /// The digest of its bytes, after its first use; `None` if it cannot be read.
    digest: OnceCell<Option<String>>,
    /// Whether an input was moved to it.
    is_taken: Cell<bool>,
}

impl Present {
    /// Whether it has the bytes of `former`, which has the same size. A file that was moved with
    /// its folder has its times and its inode, too, and is not read.
    fn has_bytes_of(&self, former: &Input) -> bool {
        let digest = || {
            let digested = self.input.clone().digest();
            let warned = digested.inspect_err(|error| tracing::warn!("{error}"));
            warned.ok().map(|input| input.digest)
        };
        self.input.looks_like(former)
            || self.digest.get_or_init(digest).as_ref() == Some(&former.digest)
    }
}

/// What one epoch took, with the present paths of its files.
pub struct PastEpoch {
    /// The epoch.
    pub epoch: u32,
    /// The time of its plan.
    pub logical_time: i64,
    /// Whether it accepted no record of them, as an epoch of
    /// [`crate::plan::Plan::reads_otherwise`].
    pub was_barren: bool,
    /// The inputs that it read.
    pub inputs: Vec<Input>,
    /// The inputs with the bytes of one that it read. They may be gone.
    pub same_bytes: Vec<Input>,
    /// Other inputs on its list, which it did not read. They may be gone.
    pub renamed: Vec<ConsumedInput>,
    /// When pages expired, if that is known.
    pub retention: Option<Retention>,
    /// Pages that had been gone since before this time were forgotten, if that is known.
    pub gone_min: Option<i64>,
}

/// What a store is being built from, in its file `replay.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The uuid of the store that is replayed.
    pub of: String,
    /// The epochs at which the new store may be, with their marks.
    pub marks: Vec<(u64, String)>,
}

/// The name of the note's file.
const NOTE: &str = "replay.json";

impl Note {
    /// The note in the folder of a store; `None` if there is no such file.
    pub fn read(store: &Path) -> Result<Option<Note>> {
        let path = store.join(NOTE);
        match std::fs::read(&path) {
            Ok(text) => {
                let damaged = |e| Error::config(&path, "damaged").caused_by(e);
                serde_json::from_slice(&text).map(Some).map_err(damaged)
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io("read", &path, e)),
        }
    }

    /// Writes the note durably.
    pub fn write(&self, store: &Path) -> Result<()> {
        let text = serde_json::to_vec(self)
            .map_err(|e| Error::internal("cannot write a note").caused_by(e))?;
        durable::write(&store.join(NOTE), &text)
    }

    /// Removes the note of a finished rebuild. A note that stays is harmless, because the store
    /// that it names is gone.
    pub fn remove(store: &Path) {
        let _ = std::fs::remove_file(store.join(NOTE));
    }
}

impl Replay {
    /// What is to be replayed of the store `old` for `job`.
    pub fn new(past: Past, old: &Store, job: &Job) -> Result<Replay> {
        let Past { store: of, epoch, logical_time, mut steps } = past;
        let reading = Reading::of(job);
        let mut paths: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        let mut marks = Vec::new();
        for step in &mut steps {
            step.source.get_or_insert_with(|| job.read.source.clone());
            let lines = lines_of(old, step, &reading)?;
            for ConsumedInput { input, .. } in &lines {
                paths.entry(input.digest.clone()).or_default().insert(input.path.clone());
            }
            if step.read.is_none() {
                step.read = Some(read_before_format_3(step.complete, &known, &lines));
            }
            // The mark has the lines of the list and not its file, because later epochs join lists.
            marks.push(digest_of(&json!([Step { file: None, ..step.clone() }, lines])));
            known.extend(lines.into_iter().map(|line| (line.input.path, line.input.digest)));
        }
        // Other options give other records of the same bytes.
        let mut last = digest_of(&json!([of, job.identity()?, reading, job.pages]));
        marks.push(digest_of(&json!(epoch)));
        for mark in &mut marks {
            *mark = digest_of(&json!([last, mark]));
            last.clone_from(mark);
        }
        let (patterns, present, moved) =
            (job.read.inputs.clone(), OnceCell::new(), RefCell::default());
        Ok(Replay {
            of,
            epoch,
            logical_time,
            steps,
            marks,
            paths,
            patterns,
            present,
            moved,
            reading,
        })
    }

    /// The epochs at which a new store may be, with their marks: after each step that counts, and
    /// at the epoch of the head.
    pub fn note(&self) -> Note {
        let steps = self.steps.iter().zip(&self.marks).filter(|(step, _)| !step.undone);
        let mut marks: Vec<(u64, String)> =
            steps.map(|(step, mark)| (step.epoch, mark.clone())).collect();
        if marks.last().is_none_or(|(last, _)| *last < self.epoch) {
            marks.extend(self.marks.last().map(|mark| (self.epoch, mark.clone())));
        }
        Note { of: self.of.clone(), marks }
    }

    /// Whether a store at `epoch` that was built by `noted` holds the steps of this replay up to
    /// that epoch.
    pub fn goes_on(&self, noted: &Note, epoch: u64) -> bool {
        let at = |note: &Note| {
            note.marks.iter().find(|(of, _)| *of == epoch).map(|(_, mark)| mark.clone())
        };
        let mark = at(noted);
        noted.of == self.of && mark.is_some() && mark == at(&self.note())
    }

    /// What the step took, with the present paths of its files.
    ///
    /// # Errors
    ///
    /// `NoInput` if an input is gone or has other bytes.
    pub fn past_epoch(&self, old: &Store, step: &Step) -> Result<PastEpoch> {
        let (inputs, others) = self.read_again(lines_of(old, step, &self.reading)?, step);
        let inputs: Vec<Input> =
            inputs.iter().map(|line| self.found(step, &line.input)).collect::<Result<_>>()?;
        let digests: BTreeSet<&str> = inputs.iter().map(|input| input.digest.as_str()).collect();
        let (same_bytes, renamed): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|line| digests.contains(line.input.digest.as_str()));
        // A renamed file was read by an earlier step of this replay, with the options of today.
        let as_read = |line: ConsumedInput| match line.taken.is_barren() {
            true => line,
            false => ConsumedInput { reading: self.reading.clone(), ..line },
        };
        Ok(PastEpoch {
            epoch: u32::try_from(step.epoch)
                .map_err(|_| Error::internal("an epoch beyond 32 bits"))?,
            logical_time: step.logical_time,
            was_barren: step.read == Some(0),
            same_bytes: same_bytes.into_iter().map(|line| line.input).collect(),
            renamed: renamed.into_iter().map(as_read).collect(),
            inputs,
            retention: step.retention,
            gone_min: step.gone_min,
        })
    }

    /// Checks that all inputs that are to be read again are there.
    ///
    /// # Errors
    ///
    /// `NoInput` if some are not, with their number.
    pub fn check_inputs(&self, old: &Store) -> Result<()> {
        let (mut read, mut missing, mut first) = (0u64, 0u64, None);
        for step in self.steps.iter().filter(|step| !step.undone) {
            for line in self.read_again(lines_of(old, step, &self.reading)?, step).0 {
                read += 1;
                if let Err(error) = self.found(step, &line.input) {
                    missing += 1;
                    first.get_or_insert(error);
                }
            }
        }
        let Some(first) = first else { return Ok(()) };
        let kind = first.kind();
        let line = format!(
            "{} of {} that a rebuild reads again cannot be read as they were; put them back, or name in [read] inputs the \
             folder to which they were moved. To do without them, move the store away: the next run builds a new one from the inputs that still exist, and what only the others had is forgotten. \
             The first",
            grouped(missing),
            counted(read, "input")
        );
        Err(Error::new(kind, line).caused_by(first))
    }

    /// The first epoch, with its source, that read rows of another source than that of `job` with
    /// other fields. With those of `job` they may all be rejected, and their pages go.
    ///
    /// # Errors
    ///
    /// `NoInput` if an input is gone or has other bytes.
    pub fn of_other_fields(&self, old: &Store, job: &Job) -> Result<Option<(u64, String)>> {
        for step in self.steps.iter().filter(|step| !step.undone) {
            let Some(source) = step.source.as_ref().filter(|name| **name != job.read.source) else {
                continue;
            };
            let is_other = |line: &ConsumedInput| {
                line.taken.accepted > 0 && line.reading.fields != self.reading.fields
            };
            let lines = self.read_again(lines_of(old, step, &self.reading)?, step).0;
            for line in lines.iter().filter(|line| is_other(line)) {
                if read::has_rows(&self.found(step, &line.input)?.file())? {
                    return Ok(Some((step.epoch, source.clone())));
                }
            }
        }
        Ok(None)
    }

    /// The lines of a step that are read again, and the others.
    fn read_again(
        &self,
        lines: Vec<ConsumedInput>,
        step: &Step,
    ) -> (Vec<ConsumedInput>, Vec<ConsumedInput>) {
        let read = step.read.unwrap_or(0) as usize;
        // An input with rejected records and no accepted one is read again only with the same
        // options of reading, and gives nothing again. With other options it is due afterwards.
        let is_read = |at: usize, line: &ConsumedInput| {
            at < read || at < read + step.barren as usize && line.reading == self.reading
        };
        let lines = lines.into_iter().enumerate();
        let (read, others): (Vec<_>, Vec<_>) = lines.partition(|(at, line)| is_read(*at, line));
        let unnumbered =
            |lines: Vec<(usize, ConsumedInput)>| lines.into_iter().map(|(_, line)| line);
        (unnumbered(read).collect(), unnumbered(others).collect())
    }

    /// The job's inputs at present.
    fn present(&self) -> &BTreeMap<u64, Vec<Present>> {
        self.present.get_or_init(|| {
            // A folder that is not there any more hides no other one.
            let found = |pattern| inputs::find(std::slice::from_ref(pattern)).unwrap_or_default();
            let paths = self.patterns.iter().flat_map(found);
            let mut by_size: BTreeMap<u64, Vec<Present>> = BTreeMap::new();
            for input in paths.filter_map(|path| Input::stat(&path).ok()) {
                let (digest, is_taken) = (OnceCell::new(), Cell::new(false));
                let same_size = by_size.entry(input.bytes).or_default();
                same_size.push(Present { input, digest, is_taken });
            }
            by_size
        })
    }

    /// The path among the job's inputs to which `input` was moved: one with its bytes, best with
    /// the same name. Two inputs with the same bytes have two paths, because a copy that no epoch
    /// has taken is due.
    fn moved(&self, input: &Input) -> Option<String> {
        let mut moved = self.moved.borrow_mut();
        let key = (input.path.clone(), input.digest.clone());
        if let Some(path) = moved.get(&key) {
            return Some(path.clone());
        }
        let former = input.file();
        let fitness = |present: &&Present| {
            let file = present.input.file();
            let parts = file.components().rev().zip(former.components().rev());
            let same_end = parts.take_while(|(own, other)| own == other).count();
            (same_end > 0, !present.is_taken.get(), same_end)
        };
        let same_size = self.present().get(&input.bytes)?.iter();
        let equal = same_size.filter(|present| present.has_bytes_of(input));
        let best = equal.max_by(|a, b| {
            fitness(a).cmp(&fitness(b)).then_with(|| a.input.path.cmp(&b.input.path))
        })?;
        best.is_taken.set(true);
        moved.insert(key, best.input.path.clone());
        Some(best.input.path.clone())
    }

    /// The file with the bytes of `input`, under its path, under a later one, or among the job's
    /// inputs.
    fn found(&self, step: &Step, input: &Input) -> Result<Input> {
        let first = match input.refreshed() {
            Ok(found) => return Ok(found),
            Err(error) => error,
        };
        for path in
            self.paths.get(&input.digest).into_iter().flatten().filter(|path| **path != input.path)
        {
            if let Ok(found) = (Input { path: path.clone(), ..input.clone() }).refreshed() {
                return Ok(found);
            }
        }
        if let Some(path) = self.moved(input) {
            return Input { path, ..input.clone() }.refreshed();
        }
        let line = format!("epoch {} read an input that a rebuild needs", step.epoch);
        Err(Error::new(Kind::NoInput, line).caused_by(first))
    }
}

/// A line of a list of inputs in any format. Up to format 2 it did not say more than the input.
#[derive(Deserialize)]
struct AnyLine {
    #[serde(flatten)]
    input: Input,
    #[serde(default)]
    taken: Taken,
    reading: Option<Reading>,
}

/// The list of inputs of one step. Where it does not say how they were read, `reading` is taken.
pub fn lines_of(store: &Store, step: &Step, reading: &Reading) -> Result<Vec<ConsumedInput>> {
    let Some(file) = &step.file else { return Ok(Vec::new()) };
    let path = store.lines_path("consumed", file);
    let lines = store.read_lines("consumed", file)?;
    let line = |line: &str| {
        let AnyLine { input, taken, reading: then } = serde_json::from_str(line)
            .map_err(|e| Error::config(&path, "damaged list of consumed inputs").caused_by(e))?;
        Ok(ConsumedInput { input, taken, reading: then.unwrap_or_else(|| reading.clone()) })
    };
    lines.lines().map(line).collect()
}

/// The number of first `lines` that an epoch read up to format 2: until the first with bytes that
/// were `known`, by path, or that the list has before.
fn read_before_format_3(
    complete: bool,
    known: &BTreeMap<String, String>,
    lines: &[ConsumedInput],
) -> u64 {
    let mut digests: BTreeSet<&str> =
        known.values().filter(|_| !complete).map(String::as_str).collect();
    lines.iter().take_while(|line| digests.insert(&line.input.digest)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(root: &Path) -> Job {
        serde_json::from_value(json!({
            "store": root, "read": { "inputs": [root.join("in")] }, "output": { "dir": "out" },
        }))
        .expect("a job")
    }

    /// A file with these bytes, as an input. It is written once.
    fn input(root: &Path, name: &str, bytes: &str) -> Input {
        let path = root.join(name);
        if !path.exists() {
            std::fs::write(&path, bytes).expect("written");
        }
        Input::stat(&path).and_then(Input::digest).expect("readable")
    }

    fn step(store: &Store, epoch: u64, inputs: &[Input], read: Option<u64>, undone: bool) -> Step {
        let lines: String = inputs
            .iter()
            .map(|input| format!("{}\n", serde_json::to_string(input).expect("JSON")))
            .collect();
        Step {
            epoch,
            logical_time: epoch as i64,
            source: Some("crawl".into()),
            complete: false,
            file: Some(store.write_lines("consumed", &lines).expect("written")),
            read,
            barren: 0,
            retention: Some(Retention::default()),
            gone_min: Some(0),
            undone,
        }
    }

    fn replay(store: &Store, epoch: u64, steps: &[Step]) -> Replay {
        let past =
            Past { store: store.uuid().into(), epoch, logical_time: 0, steps: steps.to_vec() };
        Replay::new(past, store, &job(store.root())).expect("readable")
    }

    /// An interrupted rebuild went on after as many epochs as it had replayed, even if the store
    /// had got other epochs. It goes on if the replayed epochs are still the first ones, and not if
    /// an epoch was undone, was replaced, or has other inputs.
    #[test]
    fn goes_on_where_the_same_was_replayed() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open_or_create(&folder.path().join("store"), &json!({})).expect("made");
        let at = |epoch: u64, undone: bool| {
            let file = input(folder.path(), &format!("{epoch}"), &format!("bytes {epoch}"));
            step(&store, epoch, &[file], Some(1), undone)
        };
        let noted = replay(&store, 3, &[at(1, false), at(2, false), at(3, false)]).note();
        assert_eq!(noted.marks.iter().map(|(epoch, _)| *epoch).collect::<Vec<_>>(), [1, 2, 3]);
        let goes_on = |epoch: u64, steps: &[Step]| {
            let replay = replay(&store, epoch, steps);
            [1, 2, 3].map(|epoch| replay.goes_on(&noted, epoch))
        };
        assert_eq!(
            goes_on(4, &[at(1, false), at(2, false), at(3, false), at(4, false)]),
            [true; 3]
        );
        assert_eq!(goes_on(4, &[at(1, false), at(2, false), at(3, true)]), [true, true, false]);
        assert_eq!(goes_on(4, &[at(1, false), at(2, true), at(3, true)]), [true, false, false]);
        assert_eq!(goes_on(3, &[at(1, false), at(3, false)]), [true, false, false]);
        let other = step(&store, 2, &[input(folder.path(), "other", "other")], Some(1), false);
        assert_eq!(goes_on(3, &[at(1, false), other, at(3, false)]), [true, false, false]);
    }

    /// A rebuild read the copies that an epoch had not read, and the older page won. Only the first
    /// lines of a list are read again; up to format 2 these are the ones whose bytes were new. A
    /// file that was renamed since is found.
    #[test]
    fn copies_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open_or_create(&folder.path().join("store"), &json!({})).expect("made");
        let [first, second, copy] = [("1", "old"), ("2", "new"), ("9", "old")]
            .map(|(name, bytes)| input(folder.path(), name, bytes));
        for read in [Some(1), None] {
            let steps = [
                step(&store, 1, std::slice::from_ref(&first), read, false),
                step(&store, 2, &[second.clone(), copy.clone()], read, false),
            ];
            let replay = replay(&store, 2, &steps);
            let past = replay.past_epoch(&store, &replay.steps[1]).expect("there");
            let renamed: Vec<Input> = past.renamed.into_iter().map(|line| line.input).collect();
            assert_eq!((past.inputs, renamed), (vec![second.clone()], vec![copy.clone()]));
        }
        std::fs::remove_file(&first.path).expect("removed");
        let replay = replay(
            &store,
            2,
            &[
                step(&store, 1, std::slice::from_ref(&first), Some(1), false),
                step(&store, 2, std::slice::from_ref(&copy), Some(0), false),
            ],
        );
        let past = replay.past_epoch(&store, &replay.steps[0]).expect("under its other name");
        assert_eq!(past.inputs[0].path, copy.path);
        std::fs::write(&copy.path, "others").expect("written");
        let error = replay.check_inputs(&store).expect_err("gone");
        assert!(error.kind() == Kind::NoInput && error.to_string().contains("epoch 1"), "{error}");
    }

    /// After the folder of a crawl was moved, the error of a rebuild advised to give the store up,
    /// although the job's inputs had the same bytes. Each of two inputs with the same bytes has its
    /// own file: otherwise the other file would be due after the rebuild, and its old pages win.
    #[test]
    fn moved_inputs_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("store");
        let store = Store::open_or_create(&root, &json!({})).expect("made");
        std::fs::create_dir(root.join("in")).expect("made");
        std::fs::write(root.join("in/0"), "new").expect("written");
        let mut steps = Vec::new();
        for (epoch, name) in [(1, "1"), (2, "2"), (3, "3")] {
            let bytes = if name == "2" { "new" } else { "old" };
            let former = input(folder.path(), name, bytes);
            steps.push(step(&store, epoch, std::slice::from_ref(&former), Some(1), false));
            let moved = root.join("in").join(if name == "3" { "4" } else { name });
            std::fs::rename(&former.path, moved).expect("moved");
        }
        let replay = replay(&store, 3, &steps);
        replay.check_inputs(&store).expect("found");
        for (step, name) in replay.steps.iter().zip(["in/1", "in/2", "in/4"]) {
            let past = replay.past_epoch(&store, step).expect("found");
            assert!(past.inputs[0].path.ends_with(name), "{name}");
        }
    }
}
