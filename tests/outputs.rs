use crate::workbench::{Bench, failure};
use std::path::Path;
use std::process::Command;

const CRAWL: &str =
    "{\"url\":\"http://a.example/1\",\"text\":\"some words that say nothing of note\"}\n";

fn bench() -> Bench {
    let bench = Bench::new(Path::new("in.jsonl"), "");
    std::fs::write(bench.at("in.jsonl"), CRAWL).expect("written");
    bench
}

/// An output that an option names replaces no input, no job, no file of the store and no file of
/// another program. Earlier outputs of pagefold are replaced.
#[test]
fn files_of_others_stay() {
    let bench = bench();
    std::fs::write(bench.at("mine.txt"), "mine").expect("written");
    let label = "{\"url\":\"http://a.example/1\",\"label\":\"a\"}\n";
    std::fs::write(bench.at("labels.jsonl"), label).expect("written");
    bench.run_well(&[]);
    let read = |name: &str| std::fs::read(bench.at(name)).expect("readable");
    let names = ["in.jsonl", "job.toml", "store/FORMAT", "mine.txt"];
    let before: Vec<Vec<u8>> = names.iter().map(|name| read(name)).collect();
    for (name, before) in names.iter().zip(&before) {
        for (command, arguments) in [
            ("run", vec![format!("--metrics={name}")]),
            ("run", vec![format!("--profile={name}")]),
            ("run", vec!["--set".into(), format!("output.metrics={name}")]),
            ("report", vec![format!("--out={name}")]),
            ("lexicon", vec!["--docs-min=1".into(), format!("--out={name}")]),
            (
                "eval",
                ["--labels=labels.jsonl", "--sweep", &format!("--plot={name}")]
                    .map(str::to_owned)
                    .to_vec(),
            ),
        ] {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let output = bench.pagefold(command, &arguments);
            let code = output.status.code();
            assert!(matches!(code, Some(64 | 73 | 78)), "{command} {arguments:?}: {output:?}");
            assert!(failure(&output.stderr).contains(name), "{command} {arguments:?}: {output:?}");
            assert_eq!(read(name), *before, "{command} {arguments:?}");
        }
    }
    for _ in 0..2 {
        for (command, arguments) in [
            ("run", ["--metrics=m.prom", "--profile=trace.json"].as_slice()),
            ("report", &["--out=report.html"]),
            ("report", &[]),
            ("lexicon", &["--docs-min=1", "--out=words.tsv"]),
            ("eval", &["--labels=labels.jsonl", "--sweep", "--plot=plot.svg"]),
        ] {
            let output = bench.pagefold(command, arguments);
            assert!(output.status.success(), "{command} {arguments:?}: {output:?}");
        }
    }
}

/// Metrics in a folder of inputs were refused, and written all the same: the next run read them as
/// crawl.
#[test]
fn refused_metrics_are_not_written() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/1.jsonl"), CRAWL).expect("written");
    for more in [[].as_slice(), &["--profile=in/1.jsonl"]] {
        let metrics = ["--metrics=in/m.prom"];
        let output = bench.run(&[metrics.as_slice(), more].concat());
        assert_eq!(output.status.code(), Some(64), "{output:?}");
        assert!(failure(&output.stderr).contains("in/m.prom"), "{output:?}");
        assert!(!bench.at("in/m.prom").exists());
    }
}

/// `check` says before the first run that the metrics would be written nowhere: runs only warn.
#[test]
fn check_tries_the_place_of_metrics() {
    let bench = bench();
    std::fs::write(bench.at("mine.txt"), "mine").expect("written");
    let check = |metrics: &str| {
        let output = bench.pagefold("check", &["--set", &format!("output.metrics={metrics}")]);
        (output.status.code(), failure(&output.stderr))
    };
    let (code, said) = check("no/folder/m.prom");
    assert_eq!(code, Some(73), "{said}");
    assert!(
        said.contains("no/folder: no such folder") && said.contains("[output] metrics"),
        "{said}"
    );
    let (code, said) = check("mine.txt");
    assert_eq!(code, Some(73), "{said}");
    assert!(said.contains("mine.txt: was not written by pagefold"), "{said}");
    assert_eq!(check("m.prom"), (Some(0), String::new()));
    assert!(!bench.at("m.prom").exists());
}

/// A run that would replace somebody else's `summary.json` says so before it works.
#[test]
fn files_beside_the_tables_stay() {
    let bench = bench();
    std::fs::create_dir(bench.at("out")).expect("made");
    std::fs::write(bench.at("out/summary.json"), "{\"mine\":1}").expect("written");
    let output = bench.run(&[]);
    assert_eq!(output.status.code(), Some(73), "{output:?}");
    assert!(failure(&output.stderr).contains("out/summary.json"), "{output:?}");
    assert!(workers::store::manifest::head(&bench.at("store")).expect("readable").is_none());
}

/// A run waited without a word for somebody to write into a named pipe in the place of a result.
#[test]
fn a_named_pipe_is_not_waited_for() {
    for name in ["members.jsonl", "summary.json"] {
        let bench = bench();
        std::fs::create_dir(bench.at("out")).expect("made");
        let made = Command::new("mkfifo").arg(bench.at("out").join(name)).status();
        assert!(made.expect("started").success());
        let output = bench.run(&[]);
        assert_eq!(output.status.code(), Some(73), "{output:?}");
        assert!(failure(&output.stderr).contains(name), "{output:?}");
    }
}

/// Exports of two stores into one folder at the same time mixed their tables below one summary. The
/// second one says that it must wait, and its epoch is committed.
#[test]
fn one_export_at_a_time() {
    let bench = bench();
    std::fs::create_dir(bench.at("out")).expect("made");
    let folder = std::fs::File::open(bench.at("out")).expect("opened");
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).expect("locked");
    let output = bench.run(&[]);
    assert_eq!(output.status.code(), Some(75), "{output:?}");
    let said = failure(&output.stderr);
    assert!(said.contains("another store is exported there now"), "{said}");
    assert_eq!(bench.at("out").read_dir().expect("listed").count(), 0);
    drop(folder);
    let output = bench.pagefold("export", &[]);
    assert!(output.status.success(), "{output:?}");
}

/// An interrupted second export of an epoch left a summary that called the folder complete, though
/// tables in another form were gone. The summary of this epoch goes first; that of an earlier epoch
/// stays, because it says that the folder is not that of the head.
#[test]
fn an_interrupted_export_is_not_called_complete() {
    let bench = bench();
    bench.run_well(&[]);
    let summary = std::fs::read(bench.at("out/summary.json")).expect("exported");
    // No file can take the place of a folder, so an export ends between its tables and its summary.
    std::fs::remove_file(bench.at("out/rejects.jsonl")).expect("removed");
    std::fs::create_dir(bench.at("out/rejects.jsonl")).expect("made");
    let parquet = ["--set", "output.formats=[\"parquet\"]"];
    let output = bench.pagefold("export", &parquet);
    assert_eq!(output.status.code(), Some(73), "{output:?}");
    assert!(!bench.at("out/members.jsonl").exists());
    assert!(!bench.at("out/summary.json").exists());
    std::fs::write(bench.at("out/summary.json"), &summary).expect("written");
    std::fs::write(bench.at("in.jsonl"), CRAWL.replace("/1", "/2")).expect("written");
    let output = bench.run(&parquet);
    assert_eq!(output.status.code(), Some(73), "{output:?}");
    assert_eq!(std::fs::read(bench.at("out/summary.json")).expect("it stays"), summary);
}

/// A folder of results that cannot be made was noticed when all work was done. A run tries it
/// first, and leaves nothing in the store and no temporary file.
#[cfg(unix)]
#[test]
fn the_folder_of_results_is_tried_first() {
    let bench = bench();
    std::os::unix::fs::symlink("nowhere/deep", bench.at("out")).expect("linked");
    for export in ["always", "on-demand"] {
        let output = bench.run(&["--set", &format!("output.export={export}")]);
        let stderr = failure(&output.stderr);
        assert_eq!(output.status.code(), Some(73), "{stderr}");
        assert!(stderr.contains("out/run.") && stderr.contains("nothing was done yet"), "{stderr}");
        assert!(workers::store::manifest::head(&bench.at("store")).expect("readable").is_none());
    }
    std::fs::remove_file(bench.at("out")).expect("removed");
    bench.run_well(&[]);
    let left = std::fs::read_dir(bench.at("out")).expect("a folder");
    let left = left.map(|entry| entry.expect("an entry").file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().ends_with(".writing")));
}

/// If only the results could not be written, the error did not say that the epoch is committed.
#[test]
fn an_epoch_without_results_is_committed() {
    let bench = bench();
    std::fs::create_dir_all(bench.at("out/rejects.jsonl")).expect("made");
    let output = bench.run(&[]);
    let stderr = failure(&output.stderr);
    assert_eq!(output.status.code(), Some(73), "{stderr}");
    assert!(
        stderr.starts_with("epoch 1 is committed") && stderr.contains("rejects.jsonl"),
        "{stderr}"
    );
    assert!(
        stderr.contains("`pagefold export ") && stderr.contains("job.toml` writes"),
        "{stderr}"
    );
    assert!(workers::store::manifest::head(&bench.at("store")).expect("readable").is_some());
    std::fs::remove_dir(bench.at("out/rejects.jsonl")).expect("removed");
    assert!(bench.pagefold("export", &[]).status.success());
    assert_eq!(bench.lines("members").len(), 1);
}

/// A bare name is a place in the folder of the run.
#[test]
fn a_bare_name_is_written() {
    let bench = bench();
    let init = std::process::Command::new(crate::workbench::pagefold())
        .args(["init", "in.jsonl", "--to", "made.toml"])
        .current_dir(bench.at("."))
        .output()
        .expect("started");
    assert!(init.status.success(), "{init:?}");
    assert!(std::fs::read_to_string(bench.at("made.toml")).expect("written").contains("in.jsonl"));
}
