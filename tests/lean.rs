use crate::workbench::{Bench, demo_inputs, failure};
use serde_json::Value;
use std::path::Path;

const SIMHASH: &str = "[confirm]\nby = \"fingerprint\"\n[contents]\ntext = \"none\"\n";

/// A bench where fingerprints alone decide, with or without evidence.
fn bench(inputs: &Path, evidence: bool) -> Bench {
    let bench = Bench::new(inputs, &format!("{SIMHASH}evidence = {evidence}\n"));
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("a job");
    std::fs::write(bench.at("job.toml"), format!("minhash = false\nsentences = false\n{job}"))
        .expect("written");
    bench
}

/// A store without evidence gives the answers of one with it, and has all other tables alike: of a
/// first run, of an epoch that removes and changes pages, of another limit of decisions, and of
/// questions.
#[test]
fn evidence_is_not_needed() {
    let demo = demo_inputs();
    let folder = tempfile::tempdir().expect("a folder");
    let benches = [true, false].map(|evidence| (evidence, bench(folder.path(), evidence)));
    for entry in std::fs::read_dir(&demo).expect("a folder") {
        let entry = entry.expect("an entry");
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).expect("copied");
    }
    let alike = |what: &str| {
        let [(_, with), (_, without)] = &benches;
        without.assert_same_tables(with, what);
        assert!(without.changes() == with.changes(), "{what}");
        let (mut expected, found) = (with.multisets(), without.multisets());
        let evidence = expected.remove("evidence");
        assert!(evidence.is_some_and(|(rows, _)| rows > 50), "{what}");
        let found: Vec<_> =
            found.into_iter().filter(|(name, (rows, _))| name != "evidence" || *rows > 0).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{what}");
        for (_, bench) in &benches {
            let verified = bench.pagefold("verify", &["--deep"]);
            assert!(
                verified.status.success(),
                "{what}: {}",
                String::from_utf8_lossy(&verified.stdout)
            );
        }
    };
    for (_, bench) in &benches {
        bench.run_well(&["--threads", "2", "--now", "1700000000"]);
    }
    alike("a first run");

    let pairs = benches[1].1.lines("pairs");
    assert!(pairs.len() > 50, "{} pairs", pairs.len());
    let mut lines = String::new();
    for (n, member) in benches[1].1.lines("members").iter().enumerate() {
        let url = &member["url"];
        match n % 5 {
            0 => lines.push_str(&format!("{{\"url\":{url},\"deleted\":true}}\n")),
            1 => lines.push_str(&format!(
                "{{\"url\":{url},\"text\":\"{}\"}}\n",
                crate::texts::text(n as u64 / 40, 0)
            )),
            _ => {}
        }
    }
    std::fs::write(folder.path().join("more.jsonl"), lines).expect("written");
    for (_, bench) in &benches {
        bench.run_well(&["--threads", "3", "--now", "1700000001"]);
    }
    alike("a change");
    for (_, bench) in &benches {
        bench.run_well(&[
            "--threads",
            "2",
            "--now",
            "1700000002",
            "--set",
            "confirm.distance_max=1",
        ]);
        bench.run_well(&["--threads", "2", "--now", "1700000003"]);
    }
    alike("decided again");

    let pair = &benches[1].1.lines("pairs")[0];
    let urls = ["a_url", "b_url"].map(|side| pair[side].as_str().expect("a URL").to_owned());
    let answers = |arguments: &[&str], command: &str| {
        benches.each_ref().map(|(_, bench)| {
            let output = bench.pagefold(command, arguments);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("UTF-8")
        })
    };
    let [with, without] = answers(&[&urls[0], &urls[1], "--json"], "explain");
    assert_eq!(with, without);
    let answer: Value = serde_json::from_str(&with).expect("JSON");
    assert_eq!(answer["together"], true);
    for (_, bench) in &benches {
        std::fs::write(bench.at("question.txt"), crate::texts::text(0, 1)).expect("written");
    }
    let [with, without] = answers(&["question.txt"], "query");
    assert_eq!(with, without);
}

/// A job that keeps no evidence though a rule would read it is refused, with what to add.
#[test]
fn evidence_is_needed_otherwise() {
    let sound = "minhash=false sentences=false confirm.by=fingerprint contents.text=none contents.evidence=false";
    let run = |sets: &[&str]| {
        let bench = Bench::new(&demo_inputs(), "");
        let arguments: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
        let output = bench.run(&arguments);
        (output.status.code(), failure(&output.stderr))
    };
    let sets: Vec<&str> = sound.split(' ').collect();
    assert_eq!(run(&sets).0, Some(0));
    for left_out in 0..4 {
        let mut fewer = sets.clone();
        let set = fewer.remove(left_out);
        let (code, message) = run(&fewer);
        assert_eq!(code, Some(78), "without {set}: {message}");
        assert!(
            message.contains("[contents] evidence = false: only where fingerprints decide; add"),
            "{message}"
        );
    }
}
