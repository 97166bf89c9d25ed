use crate::crash::scene::{Scene, stderr_of};
use crate::random::Random;
use crate::workbench::{Bench, demo_inputs, failure};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use workers::store::{Store, manifest};
use workers::verify::{Depth, verify};

fn files(folder: PathBuf) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files.extend(self::files(path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Flips one bit of byte `at` of the file at `path`.
fn flip(path: &Path, at: usize, bit: u64) {
    let file = File::options().read(true).write(true).open(path).expect("opened");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at as u64).expect("read");
    file.write_all_at(&[byte[0] ^ 1 << bit], at as u64).expect("written");
}

/// Flips one bit, does `look`, and flips it back.
fn flipped<T>(path: &Path, at: usize, bit: u64, look: impl FnOnce() -> T) -> T {
    flip(path, at, bit);
    let outcome = look();
    flip(path, at, bit);
    outcome
}

/// Positions in a file of `bytes`: all of a small one; `some` of a large one, and its last 64.
fn positions(bytes: usize, some: usize) -> impl Iterator<Item = usize> {
    let last = bytes.saturating_sub(64);
    (0..last).step_by(bytes.div_ceil(some)).chain(last..bytes)
}

/// A store of two epochs.
fn two_epochs() -> (Scene, Bench) {
    let scene = Scene::new();
    let bench = scene.bench();
    scene.run_again(&bench, "undisturbed");
    (scene, bench)
}

/// A damaged byte in a column gave another answer or a panic. A run over a store of which some file
/// is damaged anywhere gives the answer of an undamaged one, or ends with exit code 74, names the
/// file or table and `pagefold verify`, and leaves nothing that a repaired store would show.
#[test]
fn a_damaged_store_gives_no_other_answer() {
    let scene = Scene::new();
    let bench = scene.bench();
    let data = files(bench.at("store/data"));
    let mut random = Random::seeded();
    let (mut refused, mut same) = (0, 0);
    for round in 0..80 {
        for folder in ["store", "out"].map(|name| bench.at(name)) {
            if folder.exists() {
                std::fs::remove_dir_all(folder).expect("removed");
            }
        }
        scene.fill(&bench);
        let path = &data[random.below(data.len() as u64) as usize];
        let bytes = std::fs::metadata(path).expect("there").len();
        let (at, bit) = (random.below(bytes) as usize, random.below(8));
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let what = format!("round {round}: {name}, byte {at}, bit {bit}");
        let output = flipped(path, at, bit, || bench.run(&["--threads", "2"]));
        let said = stderr_of(&output);
        match output.status.code() {
            Some(0) => {
                let repaired = bench.multisets();
                scene.check_done(&bench, &what);
                assert_eq!(repaired, bench.multisets(), "{what}");
                same += 1;
            }
            Some(74) => {
                assert!(
                    said.contains("pagefold verify") && !said.contains("panicked"),
                    "{what}: {said}"
                );
                scene.run_again(&bench, &what);
                refused += 1;
            }
            code => panic!("{what}: exit code {code:?}: {said}"),
        }
    }
    assert!(refused > 0 && same > 0, "{refused} refused, {same} without effect");
}

/// A store whose file FORMAT was lost got another one over its manifests, and no run read it again.
#[test]
fn a_lost_format_is_reported() {
    let (_scene, bench) = two_epochs();
    let format = bench.at("store/FORMAT");
    let text = std::fs::read(&format).expect("readable");
    std::fs::remove_file(&format).expect("removed");
    let output = bench.run(&[]);
    assert_eq!(output.status.code(), Some(74), "{}", stderr_of(&output));
    assert!(stderr_of(&output).contains("FORMAT is lost"), "{}", stderr_of(&output));
    assert!(!format.exists());
    std::fs::write(&format, text).expect("written");
    bench.run_well(&[]);
}

/// A limit of the size of files (`ulimit -f`) ended a run without a message.
#[test]
fn a_limit_of_files_is_reported() {
    let scene = Scene::new();
    let bench = scene.empty_bench();
    let script =
        format!("ulimit -f 2; exec {} run job.toml --threads 1", crate::workbench::pagefold());
    let output =
        std::process::Command::new("sh").arg("-c").arg(script).current_dir(bench.at("")).output();
    let output = output.expect("started");
    assert!(
        matches!(output.status.code(), Some(73 | 74)),
        "{:?}: {}",
        output.status,
        stderr_of(&output)
    );
    assert!(stderr_of(&output).contains("arge"), "{}", stderr_of(&output));
    bench.run_well(&["--threads", "1"]);
}

/// What `verify --full` finds in a store, and an error that ends it.
fn found(store: &Path) -> String {
    let report = Store::open(store, None).and_then(|store| verify(&store, Depth::Bytes));
    match report {
        Ok(report) => {
            let lines = report.findings.iter();
            lines.map(|found| format!("{}: {}\n", found.path.display(), found.what)).collect()
        }
        Err(error) => error.to_string(),
    }
}

/// One flipped bit anywhere in a store is found by `verify --full`, which names the file; a missing
/// or shorter file is found by `verify` alone. A sound store passes both, and neither changes it.
#[test]
fn a_flipped_bit_is_found() {
    let (scene, bench) = two_epochs();
    let mut random = Random::seeded();
    let store = bench.at("store");
    let name = |path: &Path| {
        path.strip_prefix(&store).expect("in the store").to_str().expect("UTF-8").to_owned()
    };
    let data = files(bench.at("store/data"));
    let others = [files(bench.at("store/manifest")), vec![bench.at("store/FORMAT")]].concat();
    let (mut flips, mut looks) = (0, 0);

    // A damaged manifest may end the look at all other files, so each is damaged alone.
    for path in &others {
        for at in positions(std::fs::read(path).expect("readable").len(), 100) {
            let bit = random.below(8);
            let found = flipped(path, at, bit, || found(&store));
            assert!(found.contains(&name(path)), "{}: byte {at}, bit {bit}: {found}", name(path));
            (flips, looks) = (flips + 1, looks + 1);
        }
    }
    // A bit in every file of the data at once: no finding hides another one.
    let mut rounds: Vec<_> = data
        .iter()
        .map(|path| positions(std::fs::read(path).expect("readable").len(), 100))
        .collect();
    loop {
        let bits: Vec<(&Path, usize, u64)> = data
            .iter()
            .zip(&mut rounds)
            .filter_map(|(path, round)| Some((path.as_path(), round.next()?, random.below(8))))
            .collect();
        if bits.is_empty() {
            break;
        }
        bits.iter().for_each(|(path, at, bit)| flip(path, *at, *bit));
        let found = found(&store);
        for (path, at, bit) in &bits {
            let name = name(path);
            assert!(found.contains(&name), "{name}: byte {at}, bit {bit}: {found}");
            flip(path, *at, *bit);
        }
        (flips, looks) = (flips + bits.len(), looks + 1);
    }
    println!("{flips} flips, {looks} looks");
    assert!(flips > 1000, "{flips} flips");

    for path in data.iter().chain(&others) {
        let (name, bytes) = (name(path), std::fs::read(path).expect("readable"));
        let at = random.below(bytes.len() as u64) as usize;
        let output = flipped(path, at, random.below(8), || bench.pagefold("verify", &["--full"]));
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr_of(&output));
        assert!(
            !output.status.success() && said.contains(&name) && !said.contains("panicked"),
            "{name}: {said}"
        );
        std::fs::write(path, &bytes[..bytes.len() - 1]).expect("written");
        assert!(!bench.pagefold("verify", &[]).status.success(), "{name}: cut");
        std::fs::write(path, &bytes).expect("written");
    }
    scene.check_done(&bench, "all put back");
}

/// A damaged head ends every command with one line that names it; an older head never takes its
/// place.
#[test]
fn a_damaged_head_stops() {
    let (scene, bench) = two_epochs();
    let mut random = Random::seeded();
    let head = workers::store::manifest::path(&bench.at("store"), 2);
    let bytes = std::fs::read(&head).expect("readable").len();
    for at in positions(bytes, 40).step_by(2) {
        let bit = random.below(8);
        for command in ["run", "status", "export"] {
            let output = flipped(&head, at, bit, || bench.pagefold(command, &[]));
            let stderr = stderr_of(&output);
            assert_eq!(output.status.code(), Some(74), "byte {at}, bit {bit}, {command}: {stderr}");
            let line = failure(&stderr);
            assert!(
                stderr.lines().count() == 1 && line.contains("damaged manifest"),
                "{command}: {stderr}"
            );
        }
    }
    scene.check_done(&bench, "all put back");
}

/// A damaged footer of any segment ends the run or the export that reads it with a line that names
/// the segment, or has no effect on the results.
#[test]
fn a_damaged_footer_stops() {
    let (scene, bench) = two_epochs();
    let mut random = Random::seeded();
    let (mut refused, mut harmless) = (0, 0);
    for path in files(bench.at("store/data")) {
        let bytes = std::fs::read(&path).expect("readable");
        if !bytes.ends_with(b"ARROW1") {
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let trailer = bytes.len() - 10;
        let length = u32::from_le_bytes(bytes[trailer..trailer + 4].try_into().expect("four bytes"))
            as usize;
        let in_footer = trailer - length + random.below(length as u64) as usize;
        for at in [in_footer, trailer + random.below(4) as usize] {
            let bit = random.below(8);
            // The run of a second epoch reads what the first one wrote.
            let again = scene.bench();
            let first =
                again.at("store").join(path.strip_prefix(bench.at("store")).expect("in the store"));
            let mut outputs =
                vec![(&bench, flipped(&path, at, bit, || bench.pagefold("export", &[])))];
            if first.exists() {
                outputs.push((&again, flipped(&first, at, bit, || again.run(&[]))));
            }
            for (bench, output) in &outputs {
                let stderr = stderr_of(output);
                match output.status.code() {
                    Some(0) => {
                        assert!(
                            !stderr.contains("panicked"),
                            "{name}: byte {at}, bit {bit}: {stderr}"
                        );
                        scene.check_done(bench, &format!("{name}: byte {at}, bit {bit}"));
                        harmless += 1;
                    }
                    code => {
                        let line = failure(&stderr);
                        assert_eq!(code, Some(74), "{name}: byte {at}, bit {bit}: {stderr}");
                        assert!(
                            line.contains(name) && line.contains("damaged segment"),
                            "{stderr}"
                        );
                        refused += 1;
                    }
                }
            }
        }
    }
    println!("{refused} refused, {harmless} without effect");
    assert!(refused > 0, "no damaged footer was refused");
}

/// `verify --deep` finds nothing wrong in a store of several epochs, and the recall that it prints
/// is that of the exported pairs if all fingerprints are sampled. It refuses another job, and it
/// begins only when every byte is sound.
#[test]
fn deep_looks_at_sound_bytes() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    for input in files(demo_inputs()) {
        std::fs::copy(&input, bench.at("in").join(input.file_name().expect("a name")))
            .expect("copied");
        bench.run_well(&[]);
    }
    let json = bench.pagefold("verify", &["--deep", "--json"]);
    assert_eq!(json.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let by_simhash = |pair: &&serde_json::Value| {
        pair["signature"].as_str().is_some_and(|by| by.starts_with("simhash"))
    };
    let pairs = bench.lines("pairs").iter().filter(by_simhash).count();
    assert!(pairs > 5, "{pairs}");
    let all = report["recall"]["fingerprints"].as_u64().expect("a number");
    let recall = serde_json::json!({ "sampled": all, "fingerprints": all, "near_pairs": pairs, "stored": pairs });
    assert_eq!(report["recall"], recall);
    let checks = report["checks"].as_array().expect("checks");
    assert!(checks.len() == 20 && checks.iter().all(|check| check["found"] == 0), "{checks:?}");
    let report = String::from_utf8(bench.pagefold("verify", &["--deep", "--sample", "3"]).stdout)
        .expect("UTF-8");
    assert!(report.contains("20 checks: 0 rows wrong or missing\nrecall: 3 of "), "{report}");

    assert_eq!(bench.pagefold("verify", &["--full", "--sample", "3"]).status.code(), Some(64));
    for other in ["simhash.k=2", "keep.by=[\"newest\"]"] {
        assert_eq!(
            bench.pagefold("verify", &["--deep", "--set", other]).status.code(),
            Some(78),
            "{other}"
        );
    }
    // A segment of the head: merged runs leave others behind.
    let segment = bench.head().manifest.tables["pairs"].runs[0].segments[0]
        .path(&bench.at("store/data/pairs"));
    let mut bytes = std::fs::read(&segment).expect("readable");
    bytes[100] ^= 1;
    std::fs::write(&segment, bytes).expect("written");
    let output = bench.pagefold("verify", &["--deep"]);
    assert_eq!(output.status.code(), Some(74));
    let report = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(report.ends_with("deep: not begun, as files are damaged\n"), "{report}");
}

/// A lost table that breaks no digest is found by `--deep` alone, which lists up to a hundred rows
/// and fails.
#[test]
fn deep_findings_are_listed() {
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
    let report = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(
        report.lines().filter(|line| line.starts_with("clusters: clusters ")).count() as u64,
        lost.min(100),
        "{report}"
    );
    let json = bench.pagefold("verify", &["--deep", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let found = |check: &&serde_json::Value| check["found"].as_u64() > Some(0);
    let found: Vec<&serde_json::Value> =
        report["checks"].as_array().expect("checks").iter().filter(found).collect();
    assert_eq!((&found[0]["check"], &found[0]["found"]), (&"clusters".into(), &lost.into()));
    // Without clusters nothing folds, which the manifest still says.
    assert_eq!(
        (found.len(), &found[1]["check"], &found[1]["found"]),
        (2, &"folded".into(), &1.into())
    );
}

/// `status` reports what the store holds and where its files are, and fails when the store is stale
/// or empty.
#[test]
fn status_reports() {
    let bench = Bench::new(&demo_inputs(), "");
    assert_eq!(bench.pagefold("status", &[]).status.code(), Some(66));
    bench.run_well(&[]);
    let json = bench.pagefold("status", &["--json", "--max-age", "1h"]);
    assert_eq!(json.status.code(), Some(0));
    let status: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(
        (status["epoch"].as_u64(), status["attempts_unfinished"].as_u64()),
        (Some(1), Some(0))
    );
    let listed =
        String::from_utf8(bench.pagefold("status", &["--files", "pages"]).stdout).expect("UTF-8");
    assert!(!listed.is_empty() && listed.lines().all(|path| bench.at(path).is_file()));
    // The output was text even with `--json`.
    let json = bench.pagefold("status", &["--files", "pages", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["table"], "pages");
    assert_eq!(json["files"], serde_json::json!(listed.lines().collect::<Vec<_>>()));
    assert_eq!(bench.pagefold("status", &["--files", "nothing"]).status.code(), Some(64));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(bench.pagefold("status", &["--max-age", "0s"]).status.code(), Some(65));
    for wrong in ["--max-age=soon", "--max-age=-5h", "--max-age=+5h"] {
        assert_eq!(bench.pagefold("status", &[wrong]).status.code(), Some(64), "{wrong}");
    }
}

/// After a rollback `status` gave the figures of the restored epoch as if the rollback itself had
/// read its inputs.
#[test]
fn status_of_a_rollback() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    bench.run_well(&["--set", "confirm.facts=off"]);
    assert!(bench.pagefold("rollback", &["1"]).status.success());
    let text = bench.pagefold("status", &[]).stdout;
    let text = String::from_utf8(text).expect("UTF-8");
    assert!(text.contains("last       epoch 3, a rollback to an earlier one, which was"), "{text}");
    assert!(!text.contains(" read, ") && !text.contains(" new, "), "{text}");
    let json = bench.pagefold("status", &["--json"]).stdout;
    let status: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let last = &status["state"]["last"];
    assert_eq!(
        (&last["op"], &last["read"], &last["pages_new"]),
        (&"rollback".into(), &0.into(), &0.into())
    );
}

/// `export` writes again what the epoch wrote, without a new decision.
#[test]
fn export_again() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let tables = bench.tables();
    std::fs::remove_dir_all(bench.at("out")).expect("removed");
    assert_eq!(bench.pagefold("export", &[]).status.code(), Some(0));
    assert!(bench.tables() == tables);
}

/// `export` of a job with other rules than the epoch wrote the clusters of the epoch with pairs and
/// digests by the rules of the job. Now it names the keys, and changes no file; the forms of tables
/// are no rules.
#[test]
fn no_export_by_other_rules() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let tables = bench.tables();
    for set in [
        "keep.by=[\"oldest\"]",
        "clusters.letters_min=3",
        "clusters.radius=0",
        "confirm.by=\"fingerprint\"",
    ] {
        let output = bench.pagefold("export", &["--set", set]);
        let stderr = failure(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{set}: {stderr}");
        let key = set.split('=').next().expect("a key");
        assert!(stderr.contains(key) && stderr.contains("run the job first"), "{stderr}");
        assert!(bench.tables() == tables);
    }
    let parquet = ["--set", "output.formats=[\"parquet\"]"];
    assert_eq!(bench.pagefold("export", &parquet).status.code(), Some(0));
    assert!(!bench.at("out/members.jsonl").exists());
}
