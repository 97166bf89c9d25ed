//! Finds, and on request deletes, the files that earlier filters wrote for inputs that are gone.
//!
//! They stay by default, because they may be all that is left of such an input. But a reader of the
//! whole folder reads the rows of an input that was renamed or compressed anew twice.

use crate::error::{Error, Kind, Result};
use crate::filter::inputs::Original;
use crate::filter::note::{self, Manner, Note};
use crate::filter::options::Options;
use crate::filter::part;
use crate::job::pattern::shown;
use crate::job::{Job, base};
use crate::plan::inputs;
use crate::store::Lock;
use std::path::PathBuf;

/// The inputs that are not there any more and that still have files in the folders, or a note that
/// an undo would stumble over: of a filter or a deletion that was stopped.
pub fn find(options: &Options, originals: &[Original]) -> Result<Vec<PathBuf>> {
    let mut names = note::names(&options.notes())?;
    for original in originals {
        names.remove(&original.name);
    }
    let is_open = |name: &PathBuf| match Note::read(&note::path(&options.notes(), name)) {
        Ok(Some(note)) => !note.is_finished() || note.is_pruned && note.names_no_other(options),
        _ => false,
    };
    names.retain(|name| options.places(name).iter().any(|place| place.exists()) || is_open(name));
    Ok(names.into_iter().collect())
}

/// Fails if a part of the inputs of `job` has no file: the disk that it lies on may not be mounted.
/// An inbox of which nothing was filtered has had no file yet.
pub fn check_inputs(job: &Job, options: &Options) -> Result<()> {
    let listing = inputs::list(&job.read.inputs)?;
    let (root, names) = (job.inputs_root(), note::names(&options.notes())?);
    let was_filtered = |pattern: &&PathBuf| {
        let (folder, _) = base(pattern);
        names.iter().any(|name| root.join(name).starts_with(&folder))
    };
    let emptied = listing.without_file.iter().find(was_filtered);
    let emptied = emptied.map(|pattern| format!("{}: no file matches", shown(pattern)));
    match inputs::absent(job, &listing).into_iter().next().or(emptied) {
        Some(line) => {
            let line = format!(
                "--prune: {line}, so what was filtered of its files would be deleted; mount it, or take \
                 it out of the job"
            );
            Err(Error::new(Kind::NoInput, line))
        }
        None => Ok(()),
    }
}

/// Deletes the files of the inputs `names` that filters of this store wrote. Returns the inputs
/// whose files were deleted. Other files, and files on which another process is working, stay.
pub fn prune(options: &Options, manner: &Manner, names: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut pruned = Vec::new();
    for name in names {
        let path = note::path(&options.notes(), name);
        let lock = Lock::try_take(&path.with_extension("lock")).map_err(Error::as_output)?;
        let Some(_claim) = lock else { continue };
        let Some(note) = Note::read(&path)? else { continue };
        let places = options.places(name);
        if note.manner.store != manner.store || note.foreign(options, &places).is_some() {
            continue;
        }
        Note { is_pruned: true, ..note.clone() }.write(&path)?;
        for place in places.iter().chain([&path.with_extension("order")]) {
            part::sweep(place)?;
            part::remove(place)?;
        }
        // A folder that is not named now may have another file of this input.
        if note.names_no_other(options) {
            part::remove(&path)?;
        }
        pruned.push(name.clone());
    }
    Ok(pruned)
}
