use crate::workbench::{Bench, demo_inputs, failure, pagefold};
use std::path::Path;
use std::process::{Command, Output};

/// Words of the program's language, of its parsers and of their error messages.
const STRANGE: [&str; 22] = [
    "u8",
    "u16",
    "u32",
    "u64",
    "usize",
    "f64",
    "ident",
    "sequence",
    "map",
    "serde",
    "invalid type",
    "expected one of",
    "unknown variant",
    "unknown field",
    "missing field",
    "os error",
    "invalid digit",
    "is not in",
    "invalid socket",
    "relative URL",
    "trailing characters",
    "EOF while parsing",
];

/// Runs `pagefold` with `words` in `folder`.
fn run(folder: &Path, words: &[&str]) -> Output {
    Command::new(pagefold())
        .args(words)
        .current_dir(folder)
        .env_remove("RUST_LOG")
        .output()
        .expect("started")
}

/// Runs `pagefold` with `words`; asserts the exit code, and that the error has each of `expected`
/// and no strange word. Returns the error.
fn says(folder: &Path, words: &[&str], code: i32, expected: &[&str]) -> String {
    let output = run(folder, words);
    let said = failure(&output.stderr);
    println!("{} -> {code}\n{said}", words.join(" "));
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    for what in expected {
        assert!(said.contains(what), "{words:?} does not say {what:?}:\n{said}");
    }
    let strange = said
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .find(|word| STRANGE.contains(word));
    let phrase = STRANGE.into_iter().find(|phrase| phrase.contains(' ') && said.contains(phrase));
    assert_eq!((strange, phrase), (None, None), "{words:?}:\n{said}");
    said
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

const GOOD: &str = "{\"url\":\"http://a.example/1\",\"text\":\"some words that say nothing of note to anyone at all\"}\n";

/// A folder with a sound input `in.jsonl` and a job that reads `inputs`.
fn scene(inputs: &str, more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "in.jsonl", GOOD);
    let job =
        format!("store = \"store\"\n[read]\ninputs = {inputs}\n[output]\ndir = \"out\"\n{more}");
    write(folder.path(), "job.toml", &job);
    folder
}

/// Mistakes in a job file are told all at once, each with its line, its key, what was given and
/// what is wanted, in words that stand in the file or in a dictionary.
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

/// A path of the command line that no shell has expanded, or that is a URL, is refused as in a job
/// file: it became a folder named `~` or `s3:`, and the command succeeded.
#[test]
fn of_paths_of_the_command_line() {
    let folder = scene("[\"in.jsonl\"]", "");
    for (words, expected) in [
        (&["filter", "job.toml", "--to=~/f"][..], "--to <DIR>': ~ is not expanded here"),
        (&["filter", "job.toml", "--to=s3://b/f"], "only local files are written; name a local"),
        (&["filter", "job.toml", "--to=$HOME/f"], "variables are not expanded here; write the"),
        (&["filter", "job.toml", "--to=f", "--removed=~/r"], "--removed <DIR>': ~ is not"),
        (&["filter", "job.toml", "--records=gs://b/r"], "--records <DIR>': only local files"),
        (&["run", "in.jsonl", "--to=~/o"], "~ is not expanded here"),
        (&["run", "s3://b/x.gz", "--to", "o"], "only local files are read; copy it first (aws s3"),
        (&["run", "in.jsonl", "https://a.example/x.gz", "--to", "o"], "(curl -O)"),
        (&["run", "job.toml", "--metrics=~/x.prom"], "--metrics <FILE>': ~ is not"),
        (&["run", "job.toml", "--profile=~/x.json"], "~ is not expanded here"),
        (&["report", "job.toml", "--out=s3://b/x.html"], "only local files are written"),
        (&["lexicon", "job.toml", "--out=~/x.tsv"], "~ is not expanded here"),
        (&["init", "in.jsonl", "--to=~/x.toml"], "~ is not expanded here"),
        (&["init", "hf://datasets/x"], "copy it first (hf download)"),
        (&["status", "~/job.toml"], "~ is not expanded here"),
    ] {
        says(folder.path(), words, 64, &[expected]);
        let there = std::fs::read_dir(folder.path()).expect("readable").count();
        assert_eq!(there, 2, "{words:?} made something");
    }
}

/// A wrong value of an option is told what is wanted, in no words of the program.
#[test]
fn of_values_of_the_command_line() {
    let folder = scene("[\"in.jsonl\"]", "");
    for (words, expected) in [
        (&["run", "job.toml", "--threads", "many"][..], "a whole number from 1 to 1024 is wanted"),
        (&["run", "job.toml", "--threads=0"], "a whole number from 1 to 1024 is wanted"),
        (&["run", "job.toml", "--limit", "0"], "a whole number from 1 up is wanted"),
        (&["run", "job.toml", "--now=soon"], "a whole number is wanted"),
        (&["run", "job.toml", "--wait=x"], "a whole number is wanted"),
        (&["rollback", "job.toml", "x"], "a whole number is wanted"),
        (&["gc", "job.toml", "--keep-days=x"], "a whole number is wanted"),
        (&["serve", "job.toml", "--bind", "localhost"], "such as 127.0.0.1:7311"),
        (&["status", "job.toml", "--max-age", "7"], "a number with s, m, h or d"),
    ] {
        says(folder.path(), words, 64, &[expected]);
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

/// What is no job, or no command, is told with the command that was meant.
#[test]
fn of_commands() {
    let folder = scene("\"in.jsonl\"", "");
    let at = folder.path();
    says(
        at,
        &["run", "in.jsonl"],
        78,
        &[
            "in.jsonl: JSON, no job file; `pagefold run in.jsonl --to DIR` makes one",
            "`pagefold init in.jsonl`",
        ],
    );
    write(at, "x.parquet", "PAR1");
    std::fs::write(at.join("x.gz"), [0x1f, 0x8b, 8, 0, 255]).expect("written");
    std::fs::create_dir(at.join("a b")).expect("made");
    std::fs::copy(at.join("in.jsonl"), at.join("a b/x;y.jsonl")).expect("copied");
    says(at, &["run", "a b/x;y.jsonl"], 78, &["`pagefold run 'a b/x;y.jsonl' --to DIR`"]);
    says(at, &["run", "x.parquet"], 78, &["x.parquet: a Parquet file, no job file"]);
    says(at, &["run", "x.gz"], 78, &["x.gz: a compressed file, no job file"]);
    says(at, &["run", "."], 78, &[".: a folder, where a TOML file is wanted"]);
    says(at, &["run", "gone.toml"], 78, &["gone.toml: no such file"]);
    says(at, &["job.toml"], 64, &["did you mean `pagefold run job.toml`?"]);
    says(
        at,
        &["in.jsonl"],
        64,
        &["in.jsonl: no command; `pagefold run in.jsonl --to DIR` folds it"],
    );
    says(at, &["stauts", "job.toml"], 64, &["did you mean `pagefold status`?"]);
    let said = says(
        at,
        &["frobnicate", "job.toml"],
        64,
        &["frobnicate: no such command; there are run, init, check, "],
    );
    assert!(!said.contains("did you mean"), "{said}");
    for words in
        [&["status"][..], &["verify"], &["export"], &["gc"], &["rollback", "1"], &["rebuild"]]
    {
        let words = [&words[..1], &["job.toml"], &words[1..]].concat();
        says(at, &words, 66, &["no store at store yet; `pagefold run job.toml` makes it"]);
    }
    assert!(!at.join("store").exists(), "a command that only looks makes no store");
    // A job that would fail each night is not scheduled.
    write(at, "bad.toml", "[simhash]\nk = 9\n");
    says(at, &["schedule", "bad.toml", "--cron"], 78, &["bad.toml:2: [simhash] k = 9"]);
    says(at, &["schedule", "gone.toml", "--cron"], 0, &[]);
    let early = run(at, &["schedule", "gone.toml", "--cron"]);
    let warning: serde_json::Value =
        serde_json::from_slice(&early.stderr).expect("a line of the log");
    assert_eq!(warning["level"], "WARN");
    assert!(
        warning["message"]
            .as_str()
            .is_some_and(|message| message.contains("gone.toml: no such job yet"))
    );
}

/// The folder of the job is a place like others: `.` and nothing name it, whatever the job's own
/// path is.
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

/// Where nothing was accepted the refusal says which fields the records have and which line of the
/// job to change, lists the records in a file, and never advises to let them pass.
#[test]
fn of_rejected_records() {
    let refused = |name: &str, text: &str, expected: &[&str]| {
        let folder = scene(&format!("{name:?}"), "");
        write(folder.path(), name, text);
        let said = says(folder.path(), &["run", "job.toml"], 65, expected);
        assert!(!said.contains("--allow"), "{said}");
        let list = said.trim_end().rsplit_once("Rejected records: ").expect("a list").1;
        assert!(
            std::fs::read_to_string(folder.path().join(list)).expect("written").ends_with("}\n")
        );
    };
    let nested = "{\"text\":\"t\",\"id\":\"7\",\"metadata\":{\"address\":\"http://a.example/\"}}\n"
        .repeat(46);
    refused(
        "nested.jsonl",
        &nested,
        &[
            "46 of 46 records were rejected (no_url 46; such as nested.jsonl at 0, no_url: no `url`; it has id, metadata, text)",
            "[read] key = \"id\"",
        ],
    );
    refused(
        "a.jsonl",
        "{\"url\":\"http://a.example/\",\"body\":\"t\"}\n",
        &["[read.fields] text = \"body\""],
    );
    refused(
        "a.json",
        &format!("[{}]\n", GOOD.trim()),
        &["a JSON array", "jq -c '.[]' < a.json > a.jsonl"],
    );
    refused(
        "a.json",
        "{\n  \"url\": \"http://a.example/\",\n  \"text\": \"t\"\n}\n",
        &["jq -c . < a.json > a.jsonl"],
    );
    refused("a.jsonl", &[GOOD.trim(), GOOD].concat(), &["jq -c . < a.jsonl > a-2.jsonl"]);
    refused(
        "a.jsonl",
        &GOOD.replace("\"some", "7, \"x\": \"some"),
        &["`text` has a value of another type", "Name the right one in [read.fields]"],
    );
    refused("a.jsonl", "\"abc\"\n", &["bad_json: no JSON object: \"abc\""]);
    refused("a.jsonl", "{\"url\":\"u\",\n", &["the line ends within its object"]);
    // Of bad lines in any order an array is one, and no document.
    refused("a.jsonl", "[1]\n{broken\n{broken\n", &["Hardly any was good"]);
    let folder = scene("\"in.jsonl\"", "[read.limits]\nline_bytes_max = 20\n");
    says(folder.path(), &["run", "job.toml"], 65, &["raise [read.limits] line_bytes_max"]);
    // The store of a refused first run has no epoch.
    let folder = scene("\"in.jsonl\"", "");
    write(folder.path(), "in.jsonl", "{broken\n");
    says(folder.path(), &["run", "job.toml"], 65, &["Hardly any was good"]);
    let looked = run(folder.path(), &["verify", "job.toml"]);
    assert!(
        String::from_utf8_lossy(&looked.stdout)
            .contains("no epoch yet: `pagefold run job.toml` commits the first")
    );
    says(
        folder.path(),
        &["status", "job.toml"],
        66,
        &["store: no epoch yet; `pagefold run job.toml` commits the first"],
    );
    // Among good records, a few bad ones may pass.
    let folder = scene("\"in.jsonl\"", "");
    write(folder.path(), "in.jsonl", &[GOOD.repeat(40), "{broken\n".repeat(21)].concat());
    let said = says(
        folder.path(),
        &["run", "job.toml"],
        65,
        &["21 of 61 records were rejected (bad_json 21; such as"],
    );
    assert!(
        said.contains("To let it pass once: --allow rejects, or raise [read] rejects_max = 0.05"),
        "{said}"
    );
}

/// A JSON document, compressed and in a folder of good files, is refused with a command that makes
/// lines of it, and after which the run succeeds; no advice lets it pass.
#[test]
fn of_json_documents() {
    let folder = scene("\"in\"", "");
    let at = folder.path();
    write(at, "in/a.jsonl", &GOOD.repeat(9));
    let array = format!("[{}]\n", GOOD.trim().replace("/1", "/2"));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, array.as_bytes()).expect("in memory");
    std::fs::write(at.join("in/b c.json.gz"), encoder.finish().expect("in memory"))
        .expect("written");
    let command = "gzip -dc < 'in/b c.json.gz' | jq -c '.[]' > 'in/_b c.jsonl' && \
        mv 'in/_b c.jsonl' 'in/b c.jsonl' && mv 'in/b c.json.gz' 'in/_b c.json.gz'";
    let said = says(at, &["run", "job.toml"], 65, &[command]);
    assert!(!said.contains("--allow"), "{said}");
    let bash = |command: &str| {
        Command::new("bash").args(["-c", command]).current_dir(at).status().expect("started")
    };
    // Without jq, what it would write.
    if bash("jq --version").success() {
        assert!(bash(command).success());
    } else {
        write(at, "in/b c.jsonl", array.trim().trim_matches(['[', ']']));
        std::fs::rename(at.join("in/b c.json.gz"), at.join("in/_b c.json.gz")).expect("renamed");
    }
    says(at, &["run", "job.toml"], 0, &[]);
}

/// A table of somebody else that has the name of a result is not replaced, and nothing is done that
/// could not be exported; results of an earlier run are replaced.
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

/// Off a terminal the error is one line of the log, with or without `--json`, however many mistakes
/// it tells; it was plain text without `--json`.
#[test]
fn in_the_log() {
    let folder = scene("\"in.jsonl\"", "[simhash]\nk = 9\nbnads = \"4\"\n");
    for words in
        [&["run", "job.toml"][..], &["status", "job.toml"], &["status", "job.toml", "--json"]]
    {
        let output = run(folder.path(), words);
        let line: serde_json::Value =
            serde_json::from_slice(&output.stderr).expect("one line of JSON");
        let keys: Vec<&str> =
            line.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, ["exit_code", "guard", "level", "message", "timestamp"], "{line}");
        assert_eq!((&line["level"], &line["exit_code"]), (&"ERROR".into(), &78.into()));
        assert!(
            line["timestamp"]
                .as_str()
                .is_some_and(|time| time.starts_with("20") && time.ends_with('Z')),
            "{line}"
        );
        let mistakes: Vec<&str> = line["message"].as_str().expect("text").lines().collect();
        assert!(
            mistakes[0].starts_with("job.toml:7: [simhash] k = 9") && mistakes.len() == 2,
            "{line}"
        );
        assert!(mistakes[1].starts_with("job.toml:8: [simhash] bnads: no such key"), "{line}");
    }
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

/// What may not be entered, read or listened on is denied, and not missing or damaged.
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
    std::fs::copy(pagefold(), at.join("pagefold")).expect("copied");
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

/// What the report says of a job with one signature, and of a file that only one worker can read,
/// is said by `--json` and by a dry run as well.
#[test]
fn of_runs_without_a_report() {
    let folder = scene("\"in.jsonl.gz\"", "");
    let at = folder.path();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    let lines = GOOD.repeat(8000);
    std::io::Write::write_all(&mut encoder, lines.as_bytes()).expect("in memory");
    std::fs::write(at.join("in.jsonl.gz"), encoder.finish().expect("in memory")).expect("written");
    let dry = run(at, &["run", "job.toml", "--threads", "2", "--dry-run"]);
    let said = String::from_utf8_lossy(&dry.stdout);
    assert!(said.contains("cannot be divided: one of 2 workers reads it"), "{said}");
    let sets = ["--set", "minhash=false", "--set", "sentences=false"];
    let plain = run(at, &[&["run", "job.toml", "--threads", "2"], &sets[..]].concat());
    let said = String::from_utf8_lossy(&plain.stdout);
    assert!(said.contains("cannot be divided: one of 2 workers read it"), "{said}");
    write(at, "new.jsonl", GOOD);
    let more = ["--set", "read.inputs=new.jsonl", "--json"];
    let json = run(at, &[&["run", "job.toml"], &sets[..], &more].concat());
    let said = String::from_utf8_lossy(&json.stderr);
    assert!(said.contains("simhash alone proposes pairs"), "{said}");
}

/// What is missing or of another kind is named with its key or its option.
#[test]
fn of_places() {
    let folder = scene("\"in.jsonl\"", "");
    let at = folder.path();
    std::fs::create_dir(at.join("fold")).expect("made");
    let set = ["run", "job.toml", "--set", "features.dictionary=fold"];
    says(at, &set, 78, &["fold: a folder, where [features] dictionary wants a file"]);
    let units = ["schedule", "job.toml", "--systemd", "--to", "gone"];
    says(at, &units, 73, &["--to gone: no such folder; make it first"]);
    let ping = ["run", "job.toml", "--set", "output.ping=x"];
    says(at, &ping, 78, &["[output] ping: no URL, such as https://a.example/ping"]);
    // Without `http://` the host was taken for a scheme, and refused after a minute.
    for url in ["x", "127.0.0.1:7311/insert", "localhost:7311/insert", "ftp://localhost/insert"] {
        let wanted = format!("{url}: no URL; wanted is such as http://127");
        says(at, &["send", url, "in.jsonl"], 64, &[&wanted]);
    }
    let key = ["run", "job.toml", "--set", "read.key="];
    says(at, &key, 78, &["--set read.key=: [read] key: it names nothing"]);
    says(at, &["run", "job.toml"], 0, &[]);
    let key = ["run", "job.toml", "--set", "read.key=id"];
    says(at, &key, 78, &["read.key = \"url\", the job says \"id\""]);
    let tables = run(at, &["status", "job.toml", "--tables"]);
    assert!(String::from_utf8_lossy(&tables.stdout).contains(" 1 row  "));
}

/// Denied access has one exit code, wherever it is met: at the store's folder, at the lock of
/// another user, at the results, at an input.
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
        std::fs::copy(pagefold(), at.join("pagefold")).expect("copied");
        mode(&at.join("pagefold"), 0o755);
        for open in [".", "store", "out"] {
            mode(&at.join(open), 0o777);
        }
        mode(&at.join("store/LOCK"), 0o666);
        if denied == "." {
            std::fs::remove_dir_all(at.join("store")).expect("removed");
        }
        mode(&at.join(denied), if at.join(denied).is_dir() { 0o555 } else { 0 });
        let output = as_nobody(at, &["run", "job.toml"]);
        let stderr = failure(&output.stderr);
        assert_eq!(output.status.code(), Some(77), "{name}: {stderr}");
        assert!(stderr.contains("denied"), "{name}: {stderr}");
        mode(at, 0o777);
    }
}

/// The report counts records that another one of their URL replaced, speaks of one page as one, and
/// says why an epoch had no input; a run that takes up an epoch and finds no more ends with one
/// report.
#[test]
fn of_reports() {
    let folder = scene("\"in.jsonl\"", "");
    let at = folder.path();
    let report = |more: &[&str]| {
        let output = run(at, &[&["run", "job.toml"], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    write(
        at,
        "in.jsonl",
        &[GOOD, &GOOD.replace("note", "use"), &GOOD.replace("note", "worth")].concat(),
    );
    let first = report(&["--threads", "1"]);
    for line in [
        "read       3 records of 1 file, 0.0 MB\n",
        "superseded 2        by another record of the same URL, 2 with another text\n",
        "pages      1        1 distinct text\n",
        "clusters   0\n",
        " 1 x 1 worker\n",
    ] {
        assert!(first.contains(line), "{line:?} is not in\n{first}");
    }
    let again = report(&["--set", "confirm.facts=off"]);
    assert!(
        again.contains(
            "read       nothing new; [confirm] changed, so every pair was decided again\n"
        ),
        "{again}"
    );
    assert!(!again.contains("records"), "{again}");
    // An epoch that a guard refused becomes one that was not finished.
    write(at, "more.jsonl", &[GOOD, "{broken\n", "{broken\n"].concat());
    let both = ["--set", "confirm.facts=off", "--set", "read.inputs=[\"in.jsonl\",\"more.jsonl\"]"];
    says(at, &[&["run", "job.toml"], &both[..]].concat(), 65, &["2 of 3 records were rejected"]);
    let attempt = std::fs::read_dir(at.join("store/attempt"))
        .expect("attempts")
        .next()
        .expect("one")
        .expect("readable");
    std::fs::remove_file(attempt.path().join("refused")).expect("removed");
    let resumed = report(&[&both[..], &["--allow", "rejects"]].concat());
    assert_eq!(
        (resumed.matches("committed to").count(), resumed.contains("nothing due")),
        (1, false),
        "{resumed}"
    );
    assert!(report(&both).contains("nothing due"));
}

/// A bad record of a crawl, and a file's name, reached the terminal with escape sequences and line
/// breaks, by which a page could forge a report. No command that names them prints more than one
/// line of text for them.
#[test]
fn of_hostile_records() {
    let folder = scene("\"in\"", "");
    let at = folder.path();
    write(at, "in/good.jsonl", GOOD);
    let line = "BAD \u{1b}[31mred\u{1b}]0;title\u{7}\r\nkept       9\r\n\u{202e}x";
    let length = line.len();
    let record = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://b.example/\r\n\
         Content-Length: {length}\r\n\r\n{line}\r\n\r\n"
    );
    write(at, "in/a\u{1b}[32m\nkept       9.warc", &record);
    let is_plain = |text: &str| {
        let is_odd = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(is_odd), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("kept       9")), "{text}");
    };
    let none = says(at, &["run", "job.toml", "--set", "read.rejects_max=0"], 65, &["BAD "]);
    is_plain(&none);
    assert!(!none.contains('\n'), "{none}");
    for (words, has_detail) in [
        (&["check", "job.toml"][..], false),
        (&["run", "job.toml", "--dry-run"], false),
        (&["run", "job.toml"], true),
        (&["run", "job.toml"], true),
        (&["status", "job.toml"], true),
        (&["status", "job.toml", "--json"], false),
    ] {
        let output = run(at, words);
        let [out, err] = [&output.stdout, &output.stderr].map(|of| String::from_utf8_lossy(of));
        assert!(output.status.success(), "{words:?} {err}");
        is_plain(&out);
        is_plain(&err);
        assert_eq!(out.contains("bad_http, BAD "), has_detail, "{words:?} {out}");
    }
}

/// One record that was cut off in a small delivery stopped the run, and all later runs. It is
/// counted, and the others are folded; a job may still allow none.
#[test]
fn of_few_rejected_records() {
    let folder = scene("\"in\"", "");
    let at = folder.path();
    let record = |n: u32| {
        let body = format!("the text of page {n}, which is like no other page of the crawl {n}");
        format!(
            "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a.example/{n}\r\n\
             Content-Length: {}\r\n\r\n{body}\r\n\r\n",
            body.len()
        )
    };
    let cut: String = (1..=4).map(record).collect();
    write(at, "in/a.warc", &cut[..cut.len() - 20]);
    says(
        at,
        &["run", "job.toml", "--set", "read.rejects_max=0"],
        65,
        &["1 of 4 records was rejected (truncated 1;"],
    );
    let output = run(at, &["run", "job.toml"]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && out.contains("accepted   3\n"), "{out}");
    assert!(out.contains("rejected   1        truncated 1\n"), "{out}");
    assert!(String::from_utf8_lossy(&run(at, &["run", "job.toml"]).stdout).contains("nothing due"));
}

/// The message about a file of no known format had its path twice. A cron line whose log has no
/// folder ran nothing, without a word, and `--bytes` did not say that it is of one page.
#[test]
fn of_small_things() {
    let folder = scene("[\"in.jsonl\", \"odd.bin\"]", "");
    let at = folder.path();
    write(at, "odd.bin", "\u{1}\u{2}\u{3} no crawl");
    let output = run(at, &["run", "job.toml", "--dry-run"]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("odd.bin: is neither WARC nor"), "{out}");
    says(at, &["estimate", "job.toml", "--pages", "5"], 64, &["--bytes <BYTES-PER-PAGE>"]);
    let scheduled = |log: &str| {
        let output = run(at, &["schedule", "job.toml", "--cron", "--log", log]);
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(scheduled("no such/x.log").contains("no such folder yet"));
    assert!(scheduled("no such/x.log").contains("mkdir -p '"));
    assert_eq!(scheduled("x.log"), "");
    let words = ["lexicon", "job.toml", "--kind", "furniture", "--out", "f.tsv"];
    let words = [&words[..], &["--set", "read.inputs=[\"in.jsonl\"]"]].concat();
    says(at, &words, 65, &["no line stands on at least 8 pages of one host"]);
}
