use crate::workbench::{Bench, demo_inputs};
use std::path::{Path, PathBuf};
use workers::store::manifest;

fn files(folder: PathBuf) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files.extend(self::files(path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// One flipped bit, anywhere in any file that the head refers to, is found by `verify --full`; a missing or shorter file already by
/// `verify`. A sound store passes both, and nothing of this changes it.
#[test]
fn a_flipped_bit_is_found() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let before = bench.multisets();
    assert_eq!(bench.pagefold("verify", &["--full"]).status.code(), Some(0));
    let mut seed = 1u64;
    for path in files(bench.at("store/data")).into_iter().chain(files(bench.at("store/manifest"))) {
        let bytes = std::fs::read(&path).expect("readable");
        for _ in 0..3 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (mut damaged, at) = (bytes.clone(), (seed >> 33) as usize % bytes.len());
            damaged[at] ^= 1 << (seed % 8);
            std::fs::write(&path, damaged).expect("written");
            let output = bench.pagefold("verify", &["--full"]);
            let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert_eq!(output.status.code(), Some(74), "{}: byte {at}: {stdout}{stderr}", path.display());
            assert!(!stderr.contains("panicked"), "{stderr}");
        }
        std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("written");
        assert_eq!(bench.pagefold("verify", &[]).status.code(), Some(74), "{}: cut", path.display());
        std::fs::write(&path, &bytes).expect("written");
    }
    assert_eq!(bench.pagefold("verify", &["--full"]).status.code(), Some(0));
    assert_eq!(bench.multisets(), before);
}

/// A store of several epochs has no findings under `--deep`, and the recall that it prints is that of the exported pairs if all
/// fingerprints are sampled. Nothing is looked at deeply with another job, or before every byte is sound.
#[test]
fn deep_looks_at_sound_bytes() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    for input in files(demo_inputs()) {
        std::fs::copy(&input, bench.at("in").join(input.file_name().expect("a name"))).expect("copied");
        bench.run_well(&[]);
    }
    let json = bench.pagefold("verify", &["--deep", "--json"]);
    assert_eq!(json.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let pairs = bench.lines("pairs").len();
    assert!(pairs > 5, "{pairs}");
    let all = report["recall"]["fingerprints"].as_u64().expect("a number");
    let recall = serde_json::json!({ "sampled": all, "fingerprints": all, "near_pairs": pairs, "stored": pairs });
    assert_eq!(report["recall"], recall);
    let checks = report["checks"].as_array().expect("checks");
    assert!(checks.len() == 12 && checks.iter().all(|check| check["found"] == 0), "{checks:?}");
    let told = String::from_utf8(bench.pagefold("verify", &["--deep", "--sample", "3"]).stdout).expect("UTF-8");
    assert!(told.contains("12 checks: 0 rows wrong or missing\nrecall: 3 of "), "{told}");

    assert_eq!(bench.pagefold("verify", &["--full", "--sample", "3"]).status.code(), Some(64));
    for other in ["simhash.k=2", "keep.by=[\"newest\"]"] {
        assert_eq!(bench.pagefold("verify", &["--deep", "--set", other]).status.code(), Some(78), "{other}");
    }
    let segment = files(bench.at("store/data/pairs")).pop().expect("a segment");
    let mut bytes = std::fs::read(&segment).expect("readable");
    bytes[100] ^= 1;
    std::fs::write(&segment, bytes).expect("written");
    let output = bench.pagefold("verify", &["--deep"]);
    assert_eq!(output.status.code(), Some(74));
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(told.ends_with("deep: not begun, as files are damaged\n"), "{told}");
}

/// A table that was lost and left no gap in any digest is found by `--deep` alone, told row by row, and makes it fail.
#[test]
fn deep_findings_are_told() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let head = manifest::head(&bench.at("store")).expect("readable").expect("committed");
    let mut tampered = head.manifest.clone();
    (tampered.version, tampered.previous) = (head.manifest.version + 1, head.digest);
    let lost = tampered.tables.remove("clusters").expect("clusters").rows;
    manifest::commit(&bench.at("store"), &tampered).expect("committed");
    assert_eq!(bench.pagefold("verify", &["--full"]).status.code(), Some(0));
    let output = bench.pagefold("verify", &["--deep"]);
    assert_eq!(output.status.code(), Some(74));
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(told.lines().filter(|line| line.starts_with("clusters: clusters ")).count() as u64, lost, "{told}");
    let json = bench.pagefold("verify", &["--deep", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let found = |check: &&serde_json::Value| check["found"].as_u64() > Some(0);
    let found: Vec<&serde_json::Value> = report["checks"].as_array().expect("checks").iter().filter(found).collect();
    assert_eq!((found.len(), &found[0]["check"], &found[0]["found"]), (1, &"clusters".into(), &lost.into()));
}

/// `status` says what the store holds, where its files lie, and fails when it is stale or empty.
#[test]
fn status_tells() {
    let bench = Bench::new(&demo_inputs(), "");
    assert_eq!(bench.pagefold("status", &[]).status.code(), Some(66));
    bench.run_well(&[]);
    let json = bench.pagefold("status", &["--json", "--max-age", "1h"]);
    assert_eq!(json.status.code(), Some(0));
    let status: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((status["epoch"].as_u64(), status["attempts_unfinished"].as_u64()), (Some(1), Some(0)));
    let listed = String::from_utf8(bench.pagefold("status", &["--files", "pages"]).stdout).expect("UTF-8");
    assert!(!listed.is_empty() && listed.lines().all(|path| bench.at(path).is_file()));
    assert_eq!(bench.pagefold("status", &["--files", "nothing"]).status.code(), Some(64));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(bench.pagefold("status", &["--max-age", "0s"]).status.code(), Some(65));
    assert_eq!(bench.pagefold("status", &["--max-age", "soon"]).status.code(), Some(64));
}

/// `export` writes again what the epoch wrote, and another view of it: folds are not decided anew.
#[test]
fn export_again() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let tables = bench.tables();
    std::fs::remove_dir_all(bench.at("out")).expect("removed");
    assert_eq!(bench.pagefold("export", &[]).status.code(), Some(0));
    assert!(bench.tables() == tables);
}
