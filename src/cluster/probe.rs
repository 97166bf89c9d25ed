//! The checks of a worker for `pagefold check`.
//!
//! It looks at a folder that the launcher has made beside the store, and at the inputs that the
//! launcher sees. It writes only into that folder, which the launcher removes.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use workers::error::{Error, Kind, Result};
use workers::mesh::{self, Mesh};
use workers::plan::inputs::Input;

/// What to try.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// The folder, which contains the launcher's token.
    pub folder: PathBuf,
    /// The content of the token.
    pub token: String,
    /// Inputs and their sizes as the launcher sees them.
    pub inputs: Vec<(PathBuf, u64)>,
    /// Other files that the job names.
    pub files: Vec<PathBuf>,
}

/// The result of one check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// The name of the check.
    pub check: String,
    /// The result in one line.
    pub line: String,
    /// 0, or the exit code with which `pagefold check` ends if this is its first failure.
    pub code: u8,
}

impl Finding {
    /// The finding for the `outcome` of `check`.
    pub fn of(check: &str, outcome: Result<String>) -> Finding {
        let (line, code) = match outcome {
            Ok(line) => (line, 0),
            Err(error) => (error.to_string(), error.kind().exit_code()),
        };
        Finding { check: check.to_owned(), line, code }
    }
}

/// The number of inputs that are examined on every host.
pub const INPUTS_EXAMINED_MAX: usize = 100;
/// A network file system may show a new file late, so we look several times.
const TRIES: u32 = 20;
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// The text that process number `process` writes for the launcher.
pub fn answer(token: &str, process: usize) -> String {
    blake3::hash(format!("{token}/{process}").as_bytes()).to_hex().to_string()
}

/// The path of the file with the answer.
pub fn answer_path(folder: &Path, process: usize) -> PathBuf {
    folder.join(format!("process-{process}"))
}

/// Waits until the file at `path` contains `expected`.
pub fn wait_for(path: &Path, expected: &str) -> Result<()> {
    let mut failed = Error::new(Kind::Config, format!("{}: not shared", path.display()));
    for attempt in 0..TRIES {
        if attempt > 0 {
            thread::sleep(RETRY_INTERVAL);
        }
        match std::fs::read_to_string(path) {
            Ok(text) if text == expected => return Ok(()),
            Ok(_) => {
                failed =
                    Error::new(Kind::Config, format!("{}: has other bytes here", path.display()))
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                failed = Error::new(
                    Kind::Config,
                    format!("{}: not visible, so not shared", path.display()),
                );
            }
            Err(e) => return Err(Error::io("read", path, e)),
        }
    }
    Err(failed)
}

/// Whether a hard link to `path` can be made, and whether making it again fails. A commit depends
/// on both.
pub fn try_link(path: &Path) -> Result<()> {
    let link = path.with_extension("link");
    // A file system without hard links says that they are not permitted.
    let failed = |e| {
        Error::new(Kind::Config, format!("cannot make a hard link {}", link.display())).caused_by(e)
    };
    std::fs::hard_link(path, &link).map_err(failed)?;
    match std::fs::hard_link(path, &link) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        _ => Err(Error::new(
            Kind::Config,
            format!("{}: a link can be made twice: commits are not safe", link.display()),
        )),
    }
}

/// The file that the launcher holds locked while it tries a folder.
pub const LOCKED: &str = "locked";

/// Creates and locks the file [`LOCKED`] in `folder`. The lock is released when this is dropped.
pub fn hold(folder: &Path) -> Result<File> {
    let path = folder.join(LOCKED);
    let file = File::create_new(&path).map_err(|e| Error::io("create", &path, e))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(e) => Err(Error::io("lock", &path, e.into()).with_kind(Kind::Config)),
    }
}

/// Whether the lock of the launcher excludes other processes. If not, two runs may overlap: no
/// epoch is damaged, but the work of one is lost.
pub fn try_lock(folder: &Path) -> Result<()> {
    let path = folder.join(LOCKED);
    let file = File::options().write(true).open(&path).map_err(|e| Error::io("open", &path, e))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Ok(()),
        Ok(()) => {
            let line = format!(
                "{}: a lock that the launcher holds can be taken; mount it with locks",
                path.display()
            );
            Err(Error::new(Kind::Config, line))
        }
        Err(e) => Err(Error::io("lock", &path, e.into()).with_kind(Kind::Config)),
    }
}

/// Checks that the store's folder is shared and writable, that hard links work, and that the inputs
/// are the same.
pub fn try_files(probe: &Probe, process: usize) -> Vec<Finding> {
    let own = answer_path(&probe.folder, process);
    let shared = wait_for(&probe.folder.join("launcher"), &probe.token).and_then(|()| {
        let written = std::fs::write(&own, answer(&probe.token, process));
        written
            .map_err(|e| Error::io("write", &own, e))
            .map(|()| "the launcher's file is visible, and one written".into())
    });
    let links = try_link(&own).map(|()| "hard links work".to_owned());
    let locks = try_lock(&probe.folder).map(|()| "locks hold".to_owned());
    vec![
        Finding::of("store", shared),
        Finding::of("links", links),
        Finding::of("locks", locks),
        Finding::of("inputs", try_inputs(&probe.inputs, &probe.files)),
    ]
}

fn try_inputs(inputs: &[(PathBuf, u64)], files: &[PathBuf]) -> Result<String> {
    for (path, bytes) in inputs {
        std::fs::File::open(path).map_err(|e| Error::input("read", path, e))?;
        let here = Input::stat(path)?.bytes;
        if here != *bytes {
            let why =
                format!("{}: {here} bytes here, {bytes} where the launcher runs", path.display());
            return Err(Error::new(Kind::Config, why));
        }
    }
    for path in files {
        std::fs::File::open(path).map_err(|e| Error::input("read", path, e))?;
    }
    Ok(format!("{} files looked at", inputs.len() + files.len()))
}

/// Connects all processes, and disconnects.
pub fn try_peers(mesh: Mesh, listener: std::net::TcpListener) -> Finding {
    let (peers, protection) = (mesh.addresses.len() - 1, mesh.protection);
    let met = mesh::execute(1, Some((mesh, Some(listener))), |_| {}, |_| ());
    let way = if protection.is_encrypted() { "encrypted" } else { "in the clear" };
    Finding::of(
        "peers",
        met.map(|_| format!("{peers} others reached and known by their key, {way}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shared folder passes. A folder without the launcher's token or with another token, and
    /// inputs of other sizes or that are missing, fail with the exit code of a run.
    #[test]
    fn shared_files_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let input = folder.path().join("in.jsonl");
        std::fs::write(&input, "{}").expect("written");
        let probe = |bytes: u64, input: &Path| Probe {
            folder: folder.path().to_owned(),
            token: "token".into(),
            inputs: vec![(input.to_owned(), bytes)],
            files: Vec::new(),
        };
        let codes = |probe: &Probe, process| -> Vec<u8> {
            try_files(probe, process).into_iter().map(|finding| finding.code).collect()
        };
        std::fs::write(folder.path().join("launcher"), "token").expect("written");
        let launcher = hold(folder.path()).expect("locked");
        assert_eq!(codes(&probe(2, &input), 0), [0, 0, 0, 0]);
        assert_eq!(
            wait_for(&answer_path(folder.path(), 0), &answer("token", 0))
                .map_err(|e| e.to_string()),
            Ok(())
        );
        assert_eq!(codes(&probe(3, &input), 1), [0, 0, 0, 78]);
        assert_eq!(codes(&probe(2, &folder.path().join("gone")), 2), [0, 0, 0, 66]);
        // Not by a drop: a process that another test is starting may have a copy of the open file.
        flock(&launcher, FlockOperation::Unlock).expect("released");
        assert_eq!(codes(&probe(2, &input), 4)[2], 78, "a lock that can be taken");
        std::fs::write(folder.path().join("launcher"), "another").expect("written");
        assert_eq!(codes(&probe(2, &input), 3)[0], 78);
    }
}
