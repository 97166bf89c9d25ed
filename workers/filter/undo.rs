//! Makes the originals again from what a filter kept and removed.

use crate::error::{Error, Kind, Result};
use crate::filter::copy::{Stream, decode, limits};
use crate::filter::note::{self, Note, PartsUnit};
use crate::filter::options::NOTES_FOLDER;
use crate::filter::order::{Run, Runs, Side};
use crate::filter::parquet;
use crate::filter::part::{Part, sweep};
use crate::job::collide;
use crate::read::source::Source;
use crate::store::{Lock, digest};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// What was made again.
#[derive(Clone, Debug, Default)]
pub struct Undone {
    /// Files whose bytes are those of the original.
    pub equal: usize,
    /// Files whose lines, records or rows are those of the original, compressed anew.
    pub alike: usize,
    /// The bytes of all these files.
    pub bytes: u64,
}

/// Writes to `originals` the inputs that a filter divided into `kept` and `removed`.
pub fn undo(kept: &Path, removed: &Path, originals: &Path) -> Result<Undone> {
    if let Some(why) = [kept, removed].iter().find_map(|dir| collide(originals, dir)) {
        return Err(Error::new(Kind::Usage, format!("{}: {why}", originals.display())));
    }
    let notes = removed.join(NOTES_FOLDER);
    let mut names = if notes.is_dir() { note::begun(&notes)? } else { BTreeSet::new() };
    // A lock stays when files are pruned. If there are files, their note was lost.
    names.retain(|name| {
        let has_file = || [kept, removed].iter().any(|folder| folder.join(name).exists());
        note::path(&notes, name).exists() || has_file()
    });
    if names.is_empty() {
        let why = "was not written by `pagefold filter --removed`, so there is nothing to undo";
        return Err(Error::new(Kind::NoInput, format!("{} {why}", removed.display())));
    }
    let mut undone = Undone::default();
    for name in names {
        let path = note::path(&notes, &name);
        let unfinished = || {
            let why = "is not finished: run the filter again before it is undone, or with --prune if its \
                       input is gone";
            Error::new(Kind::Data, format!("{} {why}", kept.join(&name).display()))
        };
        let note = Note::read(&path)?;
        if note.as_ref().is_some_and(|note| note.is_pruned) {
            continue;
        }
        let note =
            note.filter(|note| note.is_finished() && note.kept.is_some()).ok_or_else(unfinished)?;
        undone.bytes += undo_file(&name, &note, &path, [kept, removed], originals)?;
        *(if is_alike(&note) { &mut undone.alike } else { &mut undone.equal }) += 1;
    }
    Ok(undone)
}

/// Whether the original of a file cannot be made byte for byte. A table has a new footer even if
/// all its row groups are copied as they are.
fn is_alike(note: &Note) -> bool {
    note.is_recoded || note.unit == PartsUnit::Rows
}

/// Makes the original of the file `name`, whose `note` is at `path`, unless it is there. Returns
/// its bytes.
fn undo_file(
    name: &Path,
    note: &Note,
    path: &Path,
    [kept, removed]: [&Path; 2],
    originals: &Path,
) -> Result<u64> {
    let target = originals.join(name);
    let own = note::path(&originals.join(NOTES_FOLDER), name);
    let lock = own.with_extension("lock");
    let is_first = !lock.exists();
    let _claim = Lock::wait_for(&lock).map_err(Error::as_output)?;
    if target.exists() {
        // The digest of what an earlier undo made, which may be compressed anew.
        let made = Note::read(&own)?.filter(|made| made.digest == note.digest);
        let [made, _] = made.map_or([None, None], |made| made.digests);
        let found = if target.is_file() { digest::of_file(&target)? } else { String::new() };
        if found != note.digest && made != Some(found) {
            let why = "is there already, with other bytes than an undo makes; move it away, or name \
                       another folder";
            return Err(Error::new(Kind::Output, format!("{} {why}", target.display())));
        }
        return Ok(target.metadata().map_err(|e| Error::io("read", &target, e))?.len());
    }
    if !is_first {
        sweep(&target)?;
    }
    let (kept, removed) = (kept.join(name), note.removed.map(|_| removed.join(name)));
    let part = original(note, &kept, removed.as_deref(), path, &target)?;
    let is_right = match is_alike(note) {
        true => is_as_written(note, &kept, removed.as_deref())?,
        false => part.digest().as_ref() == Some(&note.digest),
    };
    if !is_right {
        let why =
            "cannot be made: what was kept or removed of it was changed since it was filtered";
        return Err(Error::new(Kind::Data, format!("{} {why}", target.display())));
    }
    // The note comes first, because a file counts as ours by the digest in its note.
    Note { digests: [part.digest(), None], ..note.clone() }.write(&own)?;
    part.place()
}

/// Whether both files have the bytes that were written, as far as the note has digests.
fn is_as_written(note: &Note, kept: &Path, removed: Option<&Path>) -> Result<bool> {
    for (path, written) in [Some(kept), removed].into_iter().zip(&note.digests) {
        if let (Some(path), Some(written)) = (path, written)
            && digest::of_file(path)? != *written
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The original of one file, whole and without its name.
fn original(
    note: &Note,
    kept: &Path,
    removed: Option<&Path>,
    path: &Path,
    target: &Path,
) -> Result<Part> {
    let order = path.with_extension("order");
    let mut runs = Runs::open(&order)?;
    if let Some(written) = &note.order_digest
        && digest::of_file(&order)? != *written
    {
        return Err(runs.damaged());
    }
    let part = Part::create(target)?.hashed();
    match note.unit {
        PartsUnit::Rows => parquet::join(kept, removed, &note.groups, &mut runs, part),
        PartsUnit::Lines => lines(note, kept, removed, &mut runs, part),
        PartsUnit::Bytes => bytes(note, kept, removed, &mut runs, part),
    }
}

fn lacks(kept: &Path) -> Error {
    Error::new(Kind::Data, format!("{}: what was removed from it is not there", kept.display()))
}

/// Joins the bytes of both files as they are.
fn bytes(
    note: &Note,
    kept: &Path,
    removed: Option<&Path>,
    runs: &mut Runs,
    mut part: Part,
) -> Result<Part> {
    let open = |path: &Path| {
        File::open(path).map(BufReader::new).map_err(|e| Error::input("open", path, e))
    };
    let mut from = open(kept)?;
    let pass = |file: &mut BufReader<File>, bytes: u64, path: &Path| {
        let passed = i64::try_from(bytes)
            .map_err(std::io::Error::other)
            .and_then(|bytes| file.seek_relative(bytes));
        passed.map_err(|e| Error::io("seek in", path, e))
    };
    let mut out = removed.map(open).transpose()?;
    if let (Some(out), Some(removed)) = (&mut out, removed) {
        pass(out, note.removed_head, removed)?;
    }
    while let Some((run, left)) = runs.next()? {
        let (file, path) = match run {
            Run::Of(Side::Removed) => {
                (out.as_mut().ok_or_else(|| lacks(kept))?, removed.unwrap_or(kept))
            }
            Run::Of(Side::Kept) => (&mut from, kept),
            Run::Added => {
                pass(&mut from, left, kept)?;
                continue;
            }
        };
        part.copy(file, left, path)?;
    }
    Ok(part)
}

/// Joins the decoded lines of both files, and compresses them as one stream.
fn lines(
    note: &Note,
    kept: &Path,
    removed: Option<&Path>,
    runs: &mut Runs,
    part: Part,
) -> Result<Part> {
    let open = |path: &Path| {
        let size = path.metadata().map_err(|e| Error::input("read", path, e))?.len();
        Source::open(path, 0, size, &limits())
    };
    let mut from = open(kept)?;
    let mut out = removed.map(open).transpose()?;
    let mut stream = Stream::new(from.codec(), part)?;
    let mut digest = blake3::Hasher::new();
    while let Some((run, length)) = runs.next()? {
        let source = match run {
            Run::Of(Side::Removed) => out.as_mut().ok_or_else(|| lacks(kept))?,
            Run::Of(Side::Kept) | Run::Added => &mut from,
        };
        let to = source.offset() + length;
        decode(source, Some(to), |bytes| {
            digest.update(bytes);
            stream.write(bytes)
        })?;
    }
    if note.decoded.as_ref().is_some_and(|decoded| *decoded != digest.finalize().to_hex().as_str())
    {
        let why =
            "is not what it was: it was changed since it was filtered, or what was removed from it";
        return Err(Error::new(Kind::Data, format!("{} {why}", kept.display())));
    }
    stream.finish()
}
