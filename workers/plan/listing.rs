//! Lists the input files that a job names.
//!
//! Symbolic links, sockets and pipes inside folders are left out, so that no path leads out of a
//! folder. Names that begin with `.` or `_` are left out, because programs use them for files that
//! are not data or not yet complete. Heritrix uses names that end in `.open` in the same way. A
//! file that vanishes while a folder is listed is passed by, because a crawler renames its files
//! when they are complete.

use crate::error::{Error, Kind, Result};
use crate::job::Job;
use crate::job::pattern::{literal, shown};
use glob::{MatchOptions, Pattern};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The most files that a job may name, including those that epochs have read.
const FILES_MAX: usize = 4_000_000;
/// The most levels of folders below a named one.
const FOLDERS_DEEP_MAX: usize = 32;

/// The files that were found, sorted and without repetitions.
#[derive(Debug, Default)]
pub struct Listing {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The entries of folders that were left out.
    pub left_out: LeftOut,
    /// The patterns and folders that name no file.
    pub without_file: Vec<PathBuf>,
    /// The links that patterns match and that cannot be followed, such as to a disk that is not
    /// mounted.
    pub dangling: Vec<PathBuf>,
}

/// How many entries of folders were left out, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Names that begin with `.` or `_`.
    pub hidden: u64,
    /// Names that end in `.open`.
    pub open: u64,
    /// Symbolic links.
    pub links: u64,
    /// Pipes, sockets and devices.
    pub special: u64,
    /// Folders more than 32 levels deep.
    pub deep: u64,
}

impl LeftOut {
    /// Whether nothing was left out.
    pub fn is_nothing(&self) -> bool {
        *self == LeftOut::default()
    }

    /// The line about links that lie in folders. They may be inputs, and only the job can say so:
    /// a link to a file that is in the folder itself would be read twice, and one to a folder above
    /// without end.
    pub fn unfollowed(&self) -> Option<String> {
        let links = match self.links {
            0 => return None,
            1 => "1 symbolic link in a folder is".to_owned(),
            n => format!("{n} symbolic links in folders are"),
        };
        let remedy =
            "if they are inputs, name them in [read] inputs, or by a pattern such as FOLDER/*";
        Some(format!("{links} not followed; {remedy}"))
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = [
            (self.hidden, ["name with . or _ in front", "names with . or _ in front"]),
            (self.open, ["name with .open at its end", "names with .open at their end"]),
            (self.links, ["symbolic link", "symbolic links"]),
            (self.special, ["pipe, socket or device", "pipes, sockets or devices"]),
            (self.deep, ["folder below 32 levels", "folders below 32 levels"]),
        ];
        let list: Vec<String> = of
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, [one, several])| format!("{n} {}", if *n == 1 { one } else { several }))
            .collect();
        f.write_str(&list.join(", "))
    }
}

/// The files that `patterns` name.
///
/// # Errors
///
/// `NoInput` if a path that is no pattern does not exist.
pub fn list(patterns: &[PathBuf]) -> Result<Listing> {
    let mut found = Listing::default();
    for pattern in patterns {
        let before = found.files.len();
        let path = if is_there(pattern)? { Some(pattern.clone()) } else { literal(pattern) };
        match path {
            Some(path) if is_there(&path)? => collect(&path, 0, true, &mut found)?,
            Some(path) => {
                let line = format!(
                    "{}: no such input, named in [read] inputs{}",
                    shown(&path),
                    braces(&path)
                );
                return Err(Error::new(Kind::NoInput, line));
            }
            None => {
                let parts: Vec<&Path> =
                    pattern.components().map(|part| Path::new(part.as_os_str())).collect();
                expand(Path::new(""), &parts, 0, &mut found).map_err(|error| {
                    if error.kind() == Kind::Config { named(pattern, error) } else { error }
                })?;
            }
        }
        if found.files.len() == before {
            found.without_file.push(pattern.clone());
        }
    }
    let files = &mut found.files;
    files.sort();
    files.dedup();
    found.dangling.sort();
    found.dangling.dedup();
    if files.len() > FILES_MAX {
        let why = "name fewer: files that epochs have read need not be there but for `rebuild`";
        let line = format!("[read] inputs: {} files, at most {FILES_MAX}; {why}", files.len());
        return Err(Error::new(Kind::Config, line));
    }
    if found.left_out.deep > 0 {
        tracing::warn!(left_out = %found.left_out, "some of the input folders are not read");
    }
    Ok(found)
}

/// Whether there is something at `path`. It is an error if the system cannot tell: a file in a
/// folder that may not be entered is not missing.
fn is_there(path: &Path) -> Result<bool> {
    match path.try_exists() {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Err(Error::input("read", path, e)),
        found => Ok(found.unwrap_or(false)),
    }
}

/// The files that `patterns` name, see [`list`].
pub fn find(patterns: &[PathBuf]) -> Result<Vec<PathBuf>> {
    list(patterns).map(|found| found.files)
}

/// A line about each input of `job` that names no file, perhaps because of a mistake in a name, and
/// about each link that cannot be followed. Only for a complete snapshot this is an error. In other
/// jobs the store has what it has read, and the files may be gone. An empty inbox is not listed,
/// because a server will fill it.
pub fn absent(job: &Job, listing: &Listing) -> Vec<String> {
    let inbox = job.serve.inbox.as_deref();
    let is_inbox = |pattern: &Path| inbox.is_some_and(|inbox| pattern.starts_with(inbox));
    let named = listing.without_file.iter().filter(|pattern| !is_inbox(pattern));
    let line = |pattern: &PathBuf| {
        let braces = braces(pattern);
        format!("{}: no file matches, named in [read] inputs{braces}", shown(pattern))
    };
    let link = |path: &PathBuf| format!("{}: a link that leads to no file", path.display());
    named.map(line).chain(listing.dangling.iter().map(link)).collect()
}

/// The error that `patterns` name no file.
pub fn none_found(patterns: &[PathBuf]) -> Error {
    let list: Vec<String> =
        patterns.iter().map(|pattern| shown(pattern) + braces(pattern)).collect();
    let why = "no file matches [read] inputs; links and hidden files in a folder are left out, unless a pattern names them";
    Error::new(Kind::NoInput, format!("{}: {why}", list.join(", ")))
}

/// What helps if a pattern has alternatives in braces, which a shell would expand.
fn braces(pattern: &Path) -> &'static str {
    let is_open = pattern.to_string_lossy().contains('{');
    if is_open { "; braces have no meaning here, so name each path" } else { "" }
}

fn named(pattern: &Path, error: Error) -> Error {
    Error::config(pattern, format!("[read] inputs: {error}"))
}

fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

/// The end of the names of archives that Heritrix is still writing.
const OPEN: &str = ".open";

/// Adds what the `parts` of a pattern match below `at`.
///
/// A hidden name is matched only by a part that begins with the same character. A pattern may match
/// anything, also a link; only a path that is named itself must be readable.
fn expand(at: &Path, parts: &[&Path], depth: usize, found: &mut Listing) -> Result<()> {
    let Some((part, rest)) = parts.split_first() else {
        return if is_there(at)? { collect(at, 0, false, found) } else { Ok(()) };
    };
    if part.as_os_str() == "**" {
        if rest.is_empty() {
            return expand(at, rest, depth, found);
        }
        expand(at, rest, depth, found)?;
        let next = Pattern::new(&rest[0].to_string_lossy());
        for (name, path) in names(at, true)? {
            let metadata = match path.symlink_metadata() {
                Err(e) if e.kind() == ErrorKind::PermissionDenied => {
                    return Err(Error::input("read", &path, e));
                }
                // It is gone.
                Err(_) => continue,
                Ok(metadata) => metadata,
            };
            let is_link = metadata.is_symlink() && !path.is_file();
            let left_out = match &mut found.left_out {
                _ if !metadata.is_dir() && !is_link => continue,
                left_out if is_hidden(&name) => &mut left_out.hidden,
                left_out if is_link => &mut left_out.links,
                left_out if depth == FOLDERS_DEEP_MAX => &mut left_out.deep,
                _ => {
                    expand(&path, parts, depth + 1, found)?;
                    continue;
                }
            };
            // What the next part matches is followed or counted there.
            *left_out += u64::from(!next.as_ref().is_ok_and(|next| next.matches(&name)));
        }
        return Ok(());
    }
    if let Some(name) = literal(part) {
        return expand(&at.join(name), rest, depth, found);
    }
    let text = part.to_string_lossy();
    let pattern = Pattern::new(&text).map_err(|e| Error::new(Kind::Config, e.msg))?;
    for (name, path) in names(at, true)? {
        if !pattern.matches_with(&name, MatchOptions::new()) {
            continue;
        }
        if is_hidden(&name) && !text.starts_with(&name[..1]) {
            found.left_out.hidden += 1;
            continue;
        }
        if name.ends_with(OPEN) && !text.ends_with(OPEN) {
            found.left_out.open += 1;
            continue;
        }
        if path.is_symlink() && !path.exists() {
            found.dangling.push(path);
            continue;
        }
        expand(&path, rest, depth, found)?;
    }
    Ok(())
}

/// The names and paths in `folder`. If `may_be_gone`, a path that is gone or is no folder has none.
fn names(folder: &Path, may_be_gone: bool) -> Result<Vec<(String, PathBuf)>> {
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let is_gone =
        |e: &std::io::Error| matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    let entries = match place.read_dir() {
        Ok(entries) => entries,
        Err(e) if may_be_gone && is_gone(&e) => return Ok(Vec::new()),
        Err(e) => return Err(Error::input("list", folder, e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => {
                let name = entry.file_name();
                names.push((name.to_string_lossy().into_owned(), folder.join(&name)));
            }
            Err(e) if is_gone(&e) => {}
            Err(e) => return Err(Error::input("list", folder, e)),
        }
    }
    Ok(names)
}

/// Adds the file at `path`, or the files of the folder. It is an error if `path` has vanished and
/// `must` is set.
fn collect(path: &Path, depth: usize, must: bool, found: &mut Listing) -> Result<()> {
    // A link that is named itself is followed; one inside a folder is not.
    let metadata = if depth == 0 { path.metadata() } else { path.symlink_metadata() };
    let metadata = match metadata {
        Ok(metadata) => metadata,
        Err(e) if !must && e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::input("read", path, e)),
    };
    if metadata.is_file() {
        found.files.push(path.to_owned());
    } else if metadata.is_dir() && depth <= FOLDERS_DEEP_MAX {
        for (name, path) in names(path, !must)? {
            if is_hidden(&name) {
                found.left_out.hidden += 1;
            } else if name.ends_with(OPEN) {
                found.left_out.open += 1;
            } else {
                collect(&path, depth + 1, false, found)?;
            }
        }
    } else if depth == 0 && must {
        return Err(Error::new(
            Kind::NoInput,
            format!("{}: not a regular file or a folder", path.display()),
        ));
    } else if metadata.is_dir() {
        found.left_out.deep += 1;
    } else if metadata.is_symlink() {
        found.left_out.links += 1;
    } else {
        found.left_out.special += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::pattern::literally;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    /// Folders, patterns and plain paths give each regular file once, in order. Links and hidden
    /// files are left out and counted, by a pattern as in a folder, unless the pattern names them.
    #[test]
    fn finds_each_regular_file_once() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir_all(at("in/deep/er")).expect("made");
        std::fs::create_dir_all(at("in/_temporary")).expect("made");
        for name in [
            "in/b.jsonl",
            "in/deep/a.warc",
            "in/deep/er/c.jsonl",
            "in/.hidden",
            "in/_SUCCESS",
            "outside",
        ] {
            std::fs::write(at(name), name).expect("written");
        }
        std::fs::write(at("in/_temporary/x.jsonl"), "").expect("written");
        symlink(at("outside"), at("in/link")).expect("linked");
        let found = list(&[at("in"), at("in/*.jsonl"), at("in/b.jsonl")]).expect("found");
        assert_eq!(found.files, [at("in/b.jsonl"), at("in/deep/a.warc"), at("in/deep/er/c.jsonl")]);
        assert_eq!(found.left_out, LeftOut { hidden: 3, links: 1, ..LeftOut::default() });
        let found = |pattern: &str| find(&[at(pattern)]).expect("found");
        assert_eq!(found("in/**/*.jsonl"), [at("in/b.jsonl"), at("in/deep/er/c.jsonl")]);
        assert_eq!(found("in/**").len(), 3);
        assert_eq!(
            found("in/*"),
            [at("in/b.jsonl"), at("in/deep/a.warc"), at("in/deep/er/c.jsonl"), at("in/link")]
        );
        assert_eq!(found("in/.h*"), [at("in/.hidden")]);
        assert_eq!(found("in/_t*/*"), [at("in/_temporary/x.jsonl")]);
        assert_eq!(found("in/d??p/[ab].warc"), [at("in/deep/a.warc")]);
        assert_eq!(find(&[at("gone.warc")]).expect_err("missing").kind(), Kind::NoInput);
        assert!(found("*.gone").is_empty(), "a pattern may match nothing");
        assert_eq!(find(&[at("in/[")]).expect_err("no pattern").kind(), Kind::Config);
    }

    /// A plain file where a pattern expects a folder made every run fail, and so did a missing
    /// folder before `**`. They match nothing.
    #[test]
    fn what_is_no_folder_matches_nothing() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir_all(at("crawl/day/host")).expect("made");
        for name in ["crawl/README", "crawl/day/a.gz", "crawl/day/host/b.gz"] {
            std::fs::write(at(name), "").expect("written");
        }
        let found = |pattern: &str| find(&[at(pattern)]).expect("found");
        assert_eq!(found("crawl/*/**/*.gz"), [at("crawl/day/a.gz"), at("crawl/day/host/b.gz")]);
        assert!(found("crawl/README/**/*.gz").is_empty());
        let gone = list(&[at("gone/**/*.gz")]).expect("found");
        assert_eq!((gone.files.len(), gone.without_file), (0, vec![at("gone/**/*.gz")]));
        // A shell would have expanded the braces.
        let error = find(&[at("crawl/{day,night}/a.gz")]).expect_err("no such file");
        assert!(error.to_string().contains("braces have no meaning"), "{error}");
    }

    /// Linked, hidden and too deep folders below `**` were left out and not counted. A folder or
    /// link that the next part of the pattern matches is counted or followed once.
    #[test]
    fn folders_that_a_pattern_leaves_out_are_counted() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        let deep: PathBuf = (0..=FOLDERS_DEEP_MAX).map(|_| "d").collect();
        for folder in
            [Path::new("in/_temporary"), Path::new("outside"), &Path::new("in").join(deep)]
        {
            std::fs::create_dir_all(root.path().join(folder)).expect("made");
        }
        std::fs::write(at("outside/a.gz"), "").expect("written");
        std::fs::write(at("in/b.gz"), "").expect("written");
        symlink(at("outside"), at("in/latest")).expect("linked");
        symlink(at("in/b.gz"), at("in/b")).expect("linked");
        symlink(at("gone"), at("in/disk")).expect("linked");
        let found = list(&[at("in/**/*.gz")]).expect("found");
        assert_eq!(found.files, [at("in/b.gz")]);
        let left_out = LeftOut { hidden: 1, links: 2, deep: 1, ..LeftOut::default() };
        assert_eq!(found.left_out, left_out);
        let found = list(&[at("in/**/l*")]).expect("found");
        assert_eq!(found.files, [at("in/latest/a.gz")]);
        assert_eq!(found.left_out, LeftOut { links: 1, ..left_out });
    }

    /// A link to a file or folder on a disk that is not mounted was no match of its pattern, and
    /// nothing was reported. Links inside folders are never followed, so they do not count.
    #[test]
    fn links_that_lead_nowhere_are_reported() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        std::fs::write(at("a.jsonl"), "").expect("written");
        symlink(at("gone.jsonl"), at("b.jsonl")).expect("linked");
        symlink(at("gone"), at("disk")).expect("linked");
        let dangling = |pattern: &str| list(&[at(pattern)]).expect("found").dangling;
        assert_eq!(dangling("*.jsonl"), [at("b.jsonl")]);
        assert_eq!(dangling("d*/x.jsonl"), [at("disk")]);
        assert!(dangling("").is_empty() && dangling("**").is_empty());
    }

    /// An archive that Heritrix was still writing was read, and its last record was a reject. A
    /// pattern may name such files.
    #[test]
    fn what_heritrix_writes_is_left_out() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        for name in ["a.warc.gz", "b.warc.gz.open"] {
            std::fs::write(at(name), name).expect("written");
        }
        for named in [root.path().to_owned(), at("*")] {
            let found = list(&[named]).expect("found");
            assert_eq!(found.files, [at("a.warc.gz")]);
            assert_eq!(found.left_out, LeftOut { open: 1, ..LeftOut::default() });
        }
        assert_eq!(find(&[at("*.open")]).expect("found"), [at("b.warc.gz.open")]);
        assert_eq!(find(&[at("b.warc.gz.open")]).expect("found"), [at("b.warc.gz.open")]);
    }

    /// Names are bytes: those that are not UTF-8 are found in folders and by patterns, and folders
    /// with glob characters are meant literally.
    #[test]
    fn odd_names_are_found() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("crawl[1]*");
        std::fs::create_dir(&folder).expect("made");
        let odd = folder.join(OsStr::from_bytes(b"caf\xe9.jsonl"));
        std::fs::write(&odd, "").expect("written");
        assert_eq!(find(&[literally(&folder)]).expect("found"), std::slice::from_ref(&odd));
        assert_eq!(find(&[literally(&folder).join("*.jsonl")]).expect("found"), [odd]);
    }

    /// A crawler that renames its files made runs fail: a listed file had vanished when its size
    /// was read.
    #[test]
    fn what_vanishes_is_passed_by() {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::write(root.path().join("stays.jsonl"), "").expect("written");
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let names =
                    [root.path().join("x.tmp"), root.path().join("x.jsonl"), root.path().join("d")];
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::fs::write(&names[0], "").expect("written");
                    std::fs::rename(&names[0], &names[1]).expect("renamed");
                    std::fs::remove_file(&names[1]).expect("removed");
                    std::fs::create_dir(&names[2]).expect("made");
                    std::fs::remove_dir(&names[2]).expect("removed");
                }
            });
            let listed: Vec<_> = (0..2000)
                .map(|n| {
                    list(&[if n % 2 == 0 { root.path().to_owned() } else { root.path().join("*") }])
                })
                .collect();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            for found in listed {
                assert!(found.expect("listed").files.contains(&root.path().join("stays.jsonl")));
            }
        });
    }
}
