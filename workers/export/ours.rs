//! Tells files that pagefold wrote from other files, which no output may replace.

use crate::error::{Error, Kind, Result};
use crate::job::Job;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The number of first bytes of a file that are searched for its mark.
const HEAD_BYTES: u64 = 1024;

/// The marks of the files beside the tables.
const BESIDE: [(&str, &str); 4] = [
    ("summary.json", "\"folded_identical\""),
    ("run.json", "\"attempts\""),
    ("profile.json", "{\"displayTimeUnit\":"),
    ("rejects.jsonl", "{\"file\":"),
];

/// What is in the place of a file that is to be written.
pub enum Occupant {
    /// Nothing.
    Nothing,
    /// A file.
    File(File),
    /// A folder.
    Folder,
    /// A device, a socket or a named pipe.
    Special,
}

impl Occupant {
    /// Looks at `path`. Only a file is opened: to open a named pipe would wait for its writer.
    pub fn of(path: &Path) -> Result<Occupant> {
        match path.metadata() {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(Occupant::Nothing)
            }
            Err(e) => Err(Error::io("find", path, e)),
            Ok(metadata) if metadata.is_dir() => Ok(Occupant::Folder),
            Ok(metadata) if metadata.is_file() => {
                File::open(path).map(Occupant::File).map_err(|e| Error::io("read", path, e))
            }
            Ok(_) => Ok(Occupant::Special),
        }
    }
}

/// Fails if pagefold did not write the file at `path`: if its first bytes lack `mark`. An empty
/// file may be replaced. `remedy` names the option to change.
///
/// # Errors
///
/// `Output` if pagefold did not write it, or if it is no file that can be replaced; `Io` if it
/// cannot be read.
pub fn check(path: &Path, mark: &str, remedy: &str) -> Result<()> {
    let refused = |why: &str| {
        let shown = path.display();
        Err(Error::new(Kind::Output, format!("{shown}: {why}; {remedy}")))
    };
    let file = match Occupant::of(path)? {
        // The writing reports a folder.
        Occupant::Nothing | Occupant::Folder => return Ok(()),
        Occupant::Special => return refused("is no file that can be replaced"),
        Occupant::File(file) => file,
    };
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head).map_err(|e| Error::io("read", path, e))?;
    match head.is_empty() || String::from_utf8_lossy(&head).contains(mark) {
        true => Ok(()),
        false => refused("was not written by pagefold; move it away"),
    }
}

/// Fails if a file that `option` of the command line names lies in the store or among the inputs of
/// `job`.
pub fn check_apart(option: &str, path: &Path, job: &Job) -> Result<()> {
    match job.spoils_file(path) {
        None => Ok(()),
        Some(why) => Err(Error::new(Kind::Usage, format!("{option} {}: {why}", path.display()))),
    }
}

/// [`check_apart`] and [`check`] for a file that `option` of the command line names.
pub fn check_named(option: &str, path: &Path, mark: &str, job: &Job) -> Result<()> {
    check_apart(option, path, job)?;
    check(path, mark, &format!("or name another file as {option}"))
}

/// [`check`] for the files that runs write beside the tables.
pub fn check_beside(dir: &Path) -> Result<()> {
    let remedy = "or name another folder as [output] dir";
    BESIDE.iter().try_for_each(|(name, mark)| check(&dir.join(name), mark, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Options that name a file to write replaced any file: an input, the job, the file `FORMAT` of
    /// the store.
    #[test]
    fn files_of_others_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let remedy = "or name another file as --out";
        for (name, bytes, is_ours) in [
            ("crawl.jsonl", "{\"url\":\"http://a.example/\"}\n", false),
            ("empty", "", true),
            ("words.tsv", "# pagefold lexicon 1: words\n", true),
        ] {
            std::fs::write(at(name), bytes).expect("written");
            let checked = check(&at(name), "# pagefold lexicon", remedy);
            assert_eq!(checked.is_ok(), is_ours, "{name}");
            if let Err(error) = checked {
                assert_eq!(error.kind(), Kind::Output);
                assert!(error.to_string().contains("was not written by pagefold"), "{error}");
            }
        }
        check(&at("gone"), "", remedy).expect("nothing is there");
        assert!(check(Path::new("/dev/null"), "", remedy).is_err());
        let made = Command::new("mkfifo").arg(at("pipe")).status().expect("started");
        assert!(made.success());
        assert!(check(&at("pipe"), "", remedy).is_err(), "nobody writes into the pipe");
        check_beside(folder.path()).expect("nothing is there");
        std::fs::write(at("run.json"), "{\"runs\":[1]}").expect("written");
        let error = check_beside(folder.path()).expect_err("of somebody else");
        assert!(error.to_string().contains("[output] dir"), "{error}");
    }
}
