//! Where the job reads and writes: no place may be inside another place that it would damage.

use crate::job::pattern::{literal, shown};
use crate::job::{Job, Wrong};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// Files that represent everything that a run writes in the folder of results, and in the store.
const RESULTS: [&str; 4] = ["members.jsonl", "members.parquet", "summary.json", "run.json"];
const STORED: [&str; 3] = ["data/pages/0.arrow", "data/rejects/0.jsonl", "manifest/0.json"];

/// The places of `job` that collide.
pub(super) fn wrongs(job: &Job) -> Vec<Wrong> {
    let mut wrongs = Vec::new();
    let mut wrong = |key: &str, why: String| wrongs.push(Wrong { key: key.to_owned(), why });
    let (store, dir) = (resolved(&job.store), resolved(&job.output.dir));
    if let Some(why) = job.output.metrics.as_deref().and_then(|metrics| job.spoils_file(metrics)) {
        wrong("output.metrics", format!("[output] metrics: {why}"));
    }
    if dir.starts_with(&store) {
        wrong("output.dir", "[output] dir: lies in the store; name a folder beside it".into());
    } else if store.starts_with(&dir) {
        wrong(
            "output.dir",
            "[output] dir: the store lies in it; name a folder beside the store".into(),
        );
    }
    if let Some(inbox) = job.serve.inbox.as_deref().map(resolved)
        && (store.starts_with(&inbox) || dir.starts_with(&inbox))
    {
        let why = "the store or the results lie in it; name a folder of its own, such as inbox";
        wrong("serve.inbox", format!("[serve] inbox: {why}"));
    }
    for pattern in &job.read.inputs {
        let shown = shown(pattern);
        if is_read(pattern, &store, &STORED) {
            wrong(
                "store",
                format!(
                    "store: lies in [read] inputs {shown:?}, so its files would be read as crawl; name \
                     a folder beside them"
                ),
            );
        } else if resolved(&base(pattern).0).starts_with(&store) {
            wrong(
                "read.inputs",
                format!("[read] inputs: {shown:?} lies in the store, whose files are no crawl"),
            );
        }
        if is_read(pattern, &dir, &RESULTS) {
            let why = format!(
                "[output] dir: lies in [read] inputs {shown:?}, so the next run would read its results as crawl; \
                 name a folder beside them"
            );
            wrong("output.dir", why);
        }
    }
    wrongs
}

impl Job {
    /// Why a folder of crawl files must not be written at `dir`, if it must not.
    pub fn spoils(&self, dir: &Path) -> Option<String> {
        let (dir, store, results) =
            (resolved(dir), resolved(&self.store), resolved(&self.output.dir));
        if dir.starts_with(&store) || store.starts_with(&dir) {
            return Some("is in the store, or contains the store; name a folder outside it".into());
        }
        if dir == results {
            return Some(
                "is [output] dir, which has the results of runs; name another folder".into(),
            );
        }
        let files = ["a.warc.gz", "a.warc", "a.jsonl", "a.jsonl.gz", "a.parquet"];
        let read = self.read.inputs.iter().find(|pattern| is_read(pattern, &dir, &files))?;
        let read = shown(read);
        Some(format!(
            "lies in [read] inputs {read:?}, so the next run would read it as crawl; name a folder elsewhere"
        ))
    }

    /// Why a file of another kind must not be written at `path`, if it must not.
    pub fn spoils_file(&self, path: &Path) -> Option<String> {
        let path = resolved(path);
        self.spoils_files(path.parent()?, &[path.file_name()?])
    }

    /// Why files with these `names` must not be written in `folder`, if one of them must not.
    pub fn spoils_files(&self, folder: &Path, names: &[impl AsRef<OsStr>]) -> Option<String> {
        let folder = resolved(folder);
        let store = resolved(&self.store);
        if names.iter().any(|name| folder.join(name.as_ref()).starts_with(&store)) {
            return Some("lies in the store; name a place beside it".into());
        }
        let is_input = |pattern: &&PathBuf| {
            let named = resolved(&base(pattern).0);
            let is_named = |name: &OsStr| named.file_name() == Some(name);
            is_read(pattern, &folder, names)
                || named.parent() == Some(&folder)
                    && names.iter().any(|name| is_named(name.as_ref()))
        };
        let read = self.read.inputs.iter().find(is_input).map(|pattern| shown(pattern))?;
        Some(format!(
            "lies in [read] inputs {read:?}, so the next run would read it as crawl; name a place elsewhere"
        ))
    }

    /// Whether the inputs name the file at `path`, not only a folder of it or a pattern.
    pub fn names(&self, path: &Path) -> bool {
        let path = resolved(path);
        self.read.inputs.iter().any(|pattern| {
            let (named, rest) = base(pattern);
            rest.as_os_str().is_empty() && resolved(&named) == path
        })
    }

    /// The folder that all inputs lie in: as deep as the folders and the fixed parts of the
    /// patterns that the job names, so that it is the same whatever files are there.
    pub fn inputs_root(&self) -> PathBuf {
        let mut roots = self.read.inputs.iter().map(|pattern| {
            let pattern = literal(pattern).unwrap_or_else(|| pattern.clone());
            let (from, rest) = base(&pattern);
            let is_file = rest.as_os_str().is_empty() && !from.is_dir();
            if is_file { from.parent().unwrap_or(Path::new("/")).to_owned() } else { from }
        });
        let first = roots.next().unwrap_or_default();
        let common = |a: PathBuf, b: PathBuf| {
            a.components().zip(b.components()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
        };
        roots.fold(first, common)
    }
}

/// Why folders of crawl files must not be written at `dir` and at `other`, if they must not.
pub fn collide(dir: &Path, other: &Path) -> Option<&'static str> {
    let (dir, other) = (resolved(dir), resolved(other));
    if dir == other {
        return Some("is named twice; each needs a folder");
    }
    (is_seen(&dir, &other) || is_seen(&other, &dir)).then_some(
        "is inside another named folder, or contains one, so a reader of one would also read the other; \
         name folders side by side",
    )
}

/// Whether a reader of the folder `above` also reads `path`. Hidden files and folders are not read.
fn is_seen(path: &Path, above: &Path) -> bool {
    let is_hidden =
        |part: Component<'_>| part.as_os_str().to_string_lossy().starts_with(['.', '_']);
    path.strip_prefix(above).is_ok_and(|rest| !rest.components().any(is_hidden))
}

/// Whether a run that reads `pattern` would read one of `files` of `folder`, which is resolved.
fn is_read(pattern: &Path, folder: &Path, files: &[impl AsRef<OsStr>]) -> bool {
    let (from, rest) = base(pattern);
    let named = resolved(&from);
    if rest.as_os_str().is_empty() {
        return is_seen(folder, &named);
    }
    let Some(Ok(glob)) = rest.to_str().map(glob::Pattern::new) else { return false };
    let options =
        glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
    files.iter().any(|file| {
        let file = folder.join(file.as_ref());
        // The pattern may match the file, or a folder above it.
        file.ancestors().take_while(|above| above.starts_with(&named) && *above != named).any(
            |above| {
                let matches = above
                    .strip_prefix(&named)
                    .is_ok_and(|rest| glob.matches_path_with(rest, options));
                matches && is_seen(&file, above)
            },
        )
    })
}

/// The path before the first component of `pattern` that is a pattern, and the rest.
pub fn base(pattern: &Path) -> (PathBuf, PathBuf) {
    if pattern.exists() {
        return (pattern.to_owned(), PathBuf::new());
    }
    let (mut base, mut rest) = (PathBuf::new(), PathBuf::new());
    for part in pattern.components() {
        match literal(Path::new(part.as_os_str())) {
            Some(name) if rest.as_os_str().is_empty() => base.push(name),
            _ => rest.push(part),
        }
    }
    (base, rest)
}

/// `path` from the root, without links as far as it exists: two names of one place give equal
/// paths.
pub fn resolved(path: &Path) -> PathBuf {
    let path = tidy(
        &std::path::absolute(if path.as_os_str().is_empty() { Path::new(".") } else { path })
            .unwrap_or_else(|_| path.to_owned()),
    );
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            let below = path.strip_prefix(above).unwrap_or(Path::new(""));
            return real.join(below).components().collect();
        }
    }
    path
}

/// `path` without `.` and `folder/..`, unless that folder is a symbolic link: `out/demo` is easier
/// to read than `jobs/../out/demo`. The folder of the run itself is `.`.
pub(super) fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        let climbs = part == Component::ParentDir
            && matches!(tidy.components().next_back(), Some(Component::Normal(_)))
            && !tidy.is_symlink();
        if climbs {
            tidy.pop();
        } else if part != Component::CurDir {
            tidy.push(part);
        }
    }
    if tidy.as_os_str().is_empty() { PathBuf::from(".") } else { tidy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn keys(store: &str, inputs: &[&str], dir: &str) -> Vec<String> {
        let job = json!({ "store": store, "read": { "inputs": inputs }, "output": { "dir": dir } });
        let job: Job = serde_json::from_value(job).expect("a job");
        wrongs(&job).into_iter().map(|wrong| wrong.key).collect()
    }

    /// The next run would read results and stores inside the inputs. It would not read a hidden
    /// folder, or a folder that no pattern matches.
    #[test]
    fn places_in_one_another() {
        let sound: [(&str, &[&str], &str); 7] = [
            ("/n/store", &["/n/in"], "/n/out"),
            ("/n/store", &["/n/*.gz", "/n/*.jsonl"], "/n/out"),
            ("/n/store", &["/n/in/a.jsonl"], "/n/in/out"),
            ("/n/in/_store", &["/n/in"], "/n/in/.out"),
            ("/n/store", &["/n/in"], "."),
            ("/n/store", &["/n/out/in"], "/n/out"),
            ("/n/store", &["/n/input"], "/n/in"),
        ];
        for (store, inputs, dir) in sound {
            assert_eq!(keys(store, inputs, dir), Vec::<String>::new(), "{store} {inputs:?} {dir}");
        }
        let wrong: [(&str, &[&str], &str, &str); 10] = [
            ("/n/store", &["/n"], "/out", "store"),
            ("/n/store", &["/n/in"], "/n/in/deep/out", "output.dir"),
            ("/n/store", &["/n/in"], "/n/in", "output.dir"),
            ("/n/store", &["/n/./x/../in"], "/n/in/out", "output.dir"),
            ("/n/store", &["/n/*"], "/n/in/out", "output.dir"),
            ("/n/store", &["/n/**/*.jsonl"], "/n/in/out", "output.dir"),
            ("/n/store", &["/n/out/*.jsonl"], "/n/out", "output.dir"),
            ("/n/store", &["/n/store/data"], "/n/out", "read.inputs"),
            ("/n/store", &["/n/in"], "/n/store/out", "output.dir"),
            ("/n/out/store", &["/n/in"], "/n/out", "output.dir"),
        ];
        for (store, inputs, dir, key) in wrong {
            assert!(keys(store, inputs, dir).contains(&key.to_owned()), "{store} {inputs:?} {dir}");
        }
    }

    /// The folder of the run is a place like others, whether it is named or not.
    #[test]
    fn the_folder_itself() {
        assert_eq!(tidy(Path::new("./x/..")), Path::new("."));
        assert_eq!(tidy(Path::new("")), Path::new("."));
        assert_eq!(resolved(Path::new("")), resolved(Path::new("./gone/..")));
    }
}
