//! What is wrong in a job file or in `--set`, and jobs that do not fit their store.

use super::{GOOD, run, says, scene, write};
use crate::workbench::{Bench, demo_inputs};
use std::path::Path;

/// All mistakes in a job file are reported at once, each with its line, its key, the given value
/// and the allowed ones, in words of the file or of a dictionary.
#[test]
fn of_a_job_file() {
    let says = |text: &str, expected: &[&str]| {
        let folder = scene("[\"in.jsonl\"]", text);
        let said = says(folder.path(), &["run", "job.toml"], 78, expected);
        assert!(said.lines().all(|line| line.starts_with("job.toml:")), "{said}");
        assert!(!folder.path().join("store").exists() && !folder.path().join("out").exists());
    };
    says(
        "[simhash]\nk = \"two\"\nbnads = 4\n[confirm]\nsimilarity_min = 0.3\nfacts = true\n[keep]\nhosts = [\"https://d.example/\"]\n",
        &[
            "job.toml:7: [simhash] k = \"two\": a whole number from 0 to 8 is wanted",
            "job.toml:8: [simhash] bnads: no such key; did you mean `bands`?",
            "job.toml:10: [confirm] similarity_min = 0.3: a share from 0.5 to 1 is wanted",
            "job.toml:11: [confirm] facts = true: \"off\", \"numbers\", \"names\" or \"words\" is wanted",
            "job.toml:13: [keep] hosts: \"https://d.example/\" is no name of a host; write `d.example`",
        ],
    );
    // What would have no effect.
    for (keys, expected) in [
        (
            "hosts = [\"*.d.example\", \"*.D.example\"]",
            "[keep] hosts: \"*.D.example\" is there twice; leave one out",
        ),
        (
            "by = [\"score\"]",
            "[keep] by: \"score\" needs [read.fields] score, the name of a field with a number",
        ),
        ("by = [\"sources\"]", "[keep] sources: `by` has \"sources\", and this names none"),
        ("sources = [\"crawl\"]", "[keep] sources: they have no effect; add \"sources\" to `by`"),
    ] {
        says(&format!("[keep]\n{keys}\n"), &[expected]);
    }
    says("[read]\nsource = \"x\"\n", &["job.toml:6: `[read]` is there twice"]);
    says(
        "metrics = x.prom\n",
        &["job.toml:6: `metrics = x.prom`: a text stands in quotes: metrics = \"x.prom\""],
    );
    says(
        "[simhash]\nk = 9\n",
        &["job.toml:7: [simhash] k = 9: a whole number from 0 to 8 is wanted"],
    );
    says(
        "[features]\ncharacters = 5\n",
        &["job.toml:7: [features] characters: it has no effect without unit = \"characters\""],
    );
    says(
        "[confirm]\ndistance_max = 1\n",
        &["job.toml:7: [confirm] distance_max: it has no effect without by = \"fingerprint\""],
    );
    says(
        "[features]\ndictionary = 3\n",
        &["job.toml:7: [features] dictionary = 3: a path in quotes is wanted"],
    );
    says(
        "[features]\ndictionary = \"https://d.example/words.txt\"\n",
        &[
            "job.toml:7: [features] dictionary = \"https://d.example/words.txt\": only local files are read; copy it first",
        ],
    );
    says("[reed]\nx = 1\n", &["job.toml:6: [reed]: no such table; did you mean [read]?"]);
    says(
        "[signatures.minhash]\nbins = 20\n",
        &["job.toml:6: signatures = a table: ", "write [[signatures]], and kind = \"minhash\""],
    );
    says(
        "[[signatures]]\nkind = \"simmhash\"\n",
        &["job.toml:7: [[signatures]] kind = \"simmhash\": \"simhash\", \"minhash\""],
    );
    // A path that no shell expands.
    for (inputs, remedy) in [
        (
            "\"s3://bucket/a.warc.gz\"",
            "only local files are read; copy it first (aws s3 cp, s5cmd cp), or mount it",
        ),
        ("\"https://a.example/x.warc.gz\"", "copy it first (curl -O)"),
        ("\"hf://datasets/x/*.parquet\"", "copy it first (hf download)"),
        ("\"file:///data/x.jsonl\"", "write the path alone, without file:"),
        ("\"~/crawl/*.warc.gz\"", "~ is not expanded here; write "),
        ("\"$HOME/crawl\"", "variables are not expanded here"),
    ] {
        let folder = scene(inputs, "");
        self::says(
            folder.path(),
            &["run", "job.toml"],
            78,
            &["job.toml:3: [read] inputs = ", remedy],
        );
    }
    for (key, value, expected) in [
        (
            "output.dir",
            "s3://b/out",
            "[output] dir = \"s3://b/out\": only local files are written; name a local folder",
        ),
        (
            "output.dir",
            "$HOME/out",
            "[output] dir = \"$HOME/out\": variables are not expanded here",
        ),
        ("store", "~/store", "store = \"~/store\": ~ is not expanded here"),
    ] {
        let folder = scene("[\"in.jsonl\"]", "");
        let set = format!("{key}={value}");
        self::says(
            folder.path(),
            &["run", "job.toml", "--set", &set],
            78,
            &[&format!("--set {set}: "), expected],
        );
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("readable").count(),
            2,
            "{set} made a folder"
        );
    }
}

/// `--set` names itself and the key, one text is a list of one, and a threshold is a fraction or a
/// number of ten thousandths.
#[test]
fn of_set() {
    let folder = scene("\"in.jsonl\"", "");
    let at = folder.path();
    says(
        at,
        &[
            "run",
            "job.toml",
            "--set",
            "confirm.facts=off",
            "--set",
            "simhash.k=two",
            "--set",
            "read.inputs=[3]",
        ],
        78,
        &[
            "--set simhash.k=two: [simhash] k = \"two\": a whole number",
            "--set read.inputs=[3]: [read] inputs = [3]: a path",
        ],
    );
    says(at, &["run", "job.toml", "--set", "simhash.k"], 64, &["--set simhash.k: not KEY=VALUE"]);
    says(
        at,
        &[
            "run",
            "job.toml",
            "--set",
            "confirm.similarity_min=0.8",
            "--set",
            "read.inputs=in.jsonl",
        ],
        0,
        &[],
    );
    let same = run(at, &["run", "job.toml", "--set", "confirm.similarity_min=8000"]);
    assert!(
        String::from_utf8_lossy(&same.stdout).contains("nothing due"),
        "0.8 and 8000 are the same"
    );
}

/// The folder of the job is a place like others: `.` and an empty path name it, for any path of the
/// job.
#[test]
fn of_the_folder_itself() {
    for inputs in ["\".\"", "\"\"", "[\"./\"]"] {
        let folder = scene(inputs, "");
        let elsewhere = tempfile::tempdir().expect("a folder");
        let place = |name: &str| format!("{name}={}", elsewhere.path().join(name).display());
        let job = folder.path().join("job.toml");
        std::fs::rename(&job, folder.path().join("_job.toml")).expect("renamed");
        let set = [
            "--set",
            &place("store"),
            "--set",
            &format!("output.dir={}", elsewhere.path().join("out").display()),
        ];
        says(folder.path(), &[&["run", "_job.toml"], &set[..]].concat(), 0, &[]);
        let again = run(
            elsewhere.path(),
            &[&["run", folder.path().join("_job.toml").to_str().expect("UTF-8")], &set[..]]
                .concat(),
        );
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    }
    for dir in [".", ""] {
        let folder = scene("\"in/\"", "");
        write(folder.path(), "in/a.jsonl", GOOD);
        let elsewhere = tempfile::tempdir().expect("a folder");
        let store = format!("store={}", elsewhere.path().join("store").display());
        let dir = format!("output.dir={dir}");
        says(folder.path(), &["run", "job.toml", "--set", &store, "--set", &dir], 0, &[]);
        assert!(folder.path().join("members.jsonl").exists());
        says(
            folder.path(),
            &["run", "job.toml", "--set", &dir],
            78,
            &["[output] dir: the store lies in it"],
        );
    }
    // The next run would read these results.
    let folder = scene("[\"in\"]", "");
    write(folder.path(), "in/a.jsonl", GOOD);
    let into = ["run", "job.toml", "--set", "output.dir=in/out"];
    says(
        folder.path(),
        &into,
        78,
        &["[output] dir: lies in [read] inputs", "so the next run would read its results as crawl"],
    );
    says(
        folder.path(),
        &["run", "job.toml", "--set", "store=in/store"],
        78,
        &["store: lies in [read] inputs"],
    );
}

/// A store that was built by another identity names all keys that differ, in the words of the job
/// file, with both values; an explicit default differs from nothing.
#[test]
fn of_another_identity() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let at = bench.at("");
    let others = ["--set", "simhash.k=2", "--set", "contents.text=none", "--set", "minhash=false"];
    says(
        &at,
        &[&["run", "job.toml"], &others[..]].concat(),
        78,
        &[
            "store/FORMAT: the store was built with contents.text = \"all\", the job says \"none\"; \
             the signature minhash, the job says minhash = false; simhash.k = 3, the job says 2; leave out \
             `--set simhash.k=2` and `--set contents.text=none` and `--set minhash=false`, or \
             `pagefold rebuild job.toml --set simhash.k=2 --set contents.text=none --set minhash=false` makes",
        ],
    );
    // `check` named no job at all in its list.
    let check = run(&at, &[&["check", "job.toml"], &others[..2]].concat());
    let listed = String::from_utf8_lossy(&check.stdout);
    let rebuild =
        "leave out `--set simhash.k=2`, or `pagefold rebuild job.toml --set simhash.k=2` makes";
    assert!(check.status.code() == Some(78) && listed.contains(rebuild), "{listed}");
    let limited =
        "leave out `--limit 3`, or `pagefold rebuild job.toml --set read.records_max=3` makes";
    says(&at, &["run", "job.toml", "--limit", "3"], 78, &[limited]);
    let explicit =
        ["run", "job.toml", "--set", "simhash.bands=4", "--set", "confirm.distance_max=3"];
    let output = run(&at, &explicit);
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("nothing due"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let other = ["--set", "confirm.similarity_min=0.9", "--set", "keep.by=newest"];
    let labels = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/demo_truth.jsonl");
    let eval = ["eval", "job.toml", "--labels", labels.to_str().expect("UTF-8")];
    says(
        &at,
        &[&eval, &other[..]].concat(),
        78,
        &["decided with confirm.similarity_min = 0.8, the job says 0.9; put them back"],
    );
    let deep = [&["verify", "job.toml", "--deep"], &other[..]].concat();
    says(
        &at,
        &deep,
        78,
        &[
            "confirm.similarity_min = 0.8, the job says 0.9; keep.by = [\"https\",\"first_seen\",\"shortest_url\"], the job says [\"newest\"]",
        ],
    );
}
