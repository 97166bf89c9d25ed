//! Files that may not be read or written, and files of others.

use super::{GOOD, says, scene, write};
use crate::workbench::{failure, pagefold};
use std::path::Path;
use std::process::{Command, Output};

/// A table of another program that has the name of a result is not replaced, and the run ends
/// before its work, because it could not export. Results of an earlier run are replaced.
#[test]
fn of_files_of_others() {
    let folder = scene("\"in.jsonl\"", "");
    let at = folder.path();
    write(at, "out/members.jsonl", "{\"name\":\"Anna\",\"email\":\"anna@a.example\"}\n");
    says(
        at,
        &["run", "job.toml"],
        73,
        &["out/members.jsonl was not written by pagefold; move it away"],
    );
    assert!(!at.join("store").exists());
    std::fs::remove_file(at.join("out/members.jsonl")).expect("removed");
    write(at, "out/pairs.parquet", "PAR1 of another program");
    says(at, &["run", "job.toml"], 73, &["out/pairs.parquet was not written by pagefold"]);
    std::fs::remove_file(at.join("out/pairs.parquet")).expect("removed");
    says(at, &["run", "job.toml"], 0, &[]);
    write(at, "in.jsonl", &[GOOD, &GOOD.replace("/1", "/2")].concat());
    says(at, &["run", "job.toml"], 0, &[]);
    says(at, &["export", "job.toml"], 0, &[]);
    for name in ["summary.json", "run.json"] {
        assert!(
            std::fs::read_to_string(at.join("out").join(name)).expect("written").ends_with("}\n"),
            "{name}"
        );
    }
}

/// Copies the command `pagefold` to `folder`. A program of its own copies: if this one did, a
/// process that another test starts meanwhile could hold the copy open for writing, so that it
/// could not be run ("text file busy").
fn copy_command(folder: &Path) {
    let copied = Command::new("cp").arg(pagefold()).arg(folder.join("pagefold")).status();
    assert!(copied.expect("started").success());
}

/// Runs the command `pagefold` of `folder` with `words`, as a user to whom access is denied: to
/// root nothing is.
fn as_nobody(folder: &Path, words: &[&str]) -> Output {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(folder.join("pagefold"));
    command.args(words).current_dir(folder).env_remove("RUST_LOG");
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    command.output().expect("started")
}

/// Denied access has one exit code, wherever it is met: at the store's folder, at the lock of
/// another user, at the results, at an input. `check` finds it before a run does.
#[test]
fn of_denied_access() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("changed");
    };
    for (name, denied) in [
        ("the store's folder", "."),
        ("the lock", "store/LOCK"),
        ("results", "out"),
        ("inputs", "in.jsonl"),
    ] {
        let folder = scene("\"in.jsonl\"", "");
        let at = folder.path();
        write(at, "store/LOCK", "");
        std::fs::create_dir(at.join("out")).expect("made");
        copy_command(at);
        mode(&at.join("pagefold"), 0o755);
        for open in [".", "store", "out"] {
            mode(&at.join(open), 0o777);
        }
        mode(&at.join("store/LOCK"), 0o666);
        if denied == "." {
            std::fs::remove_dir_all(at.join("store")).expect("removed");
        }
        mode(&at.join(denied), if at.join(denied).is_dir() { 0o555 } else { 0 });
        for command in ["check", "run"] {
            let output = as_nobody(at, &[command, "job.toml"]);
            let stderr = failure(&output.stderr);
            assert_eq!(output.status.code(), Some(77), "{command}, {name}: {stderr}");
            assert!(stderr.contains("denied"), "{command}, {name}: {stderr}");
        }
        mode(at, 0o777);
    }
}

/// Folders, files and ports that the user may not use are reported as denied, and not as missing or
/// damaged.
#[test]
fn of_denied_access_elsewhere() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("changed");
    };
    let folder = scene("\"closed/in.jsonl\"", "");
    let at = folder.path();
    write(at, "closed/in.jsonl", GOOD);
    says(at, &["run", "job.toml"], 0, &[]);
    copy_command(at);
    mode(at, 0o755);
    mode(&at.join("pagefold"), 0o755);
    let denied = |words: &[&str], expected: &str| {
        let output = as_nobody(at, words);
        let said = failure(&output.stderr);
        assert_eq!(output.status.code(), Some(77), "{words:?}: {said}");
        assert!(said.contains(expected) && !said.contains("os error"), "{words:?}: {said}");
    };
    mode(&at.join("closed"), 0o000);
    let elsewhere = ["run", "job.toml", "--set", "store=other", "--dry-run"];
    denied(&elsewhere, "closed/in.jsonl: Permission denied");
    denied(&["init", "closed/in.jsonl"], "closed/in.jsonl: Permission denied");
    mode(&at.join("closed"), 0o755);
    let segments = std::fs::read_dir(at.join("store/data")).expect("readable");
    for segment in segments {
        mode(&segment.expect("readable").path(), 0o000);
    }
    denied(&["verify", "job.toml", "--full"], "files may not be read");
}
