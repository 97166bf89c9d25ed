use crate::workbench::{Bench, demo_inputs, failure, skip};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Character n-grams need no dictionary, whose loading would take most of so small a run.
const JOB: &str = "[features]\nunit = \"characters\"\n[confirm]\nfacts = \"off\"\n";
/// Names of jobs that shells, cron or systemd would misread without quoting.
const NAMES: [&str; 6] = [
    "two words",
    "it's \"so\"",
    "100% %i %%",
    "$HOME `id` $(id)",
    "back\\\\slash\\%d\\",
    "每夜 ünd é",
];

fn pagefold(arguments: &[&str]) -> Output {
    Command::new(crate::workbench::pagefold())
        .args(arguments)
        .env_remove("RUST_LOG")
        .output()
        .expect("started")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The files in `jobs` are what the commands in `src/schedule/README.md` print.
#[test]
fn committed_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let jobs = root.join("jobs");
    let page = std::fs::read_to_string(root.join("src/schedule/README.md")).expect("readable");
    let of = |name: &str| std::fs::read_to_string(jobs.join(name)).expect("readable");
    let prints = |line: &str, binary: &str| {
        assert!(page.lines().any(|l| l == line), "src/schedule/README.md has no line {line:?}");
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        let output = pagefold(&[words, vec!["--binary", binary]].concat());
        assert!(output.status.success(), "{}", said(&output));
        said(&output)
    };
    let binary = "/usr/local/bin/pagefold";
    let cron =
        "pagefold schedule /etc/pagefold/crawl.toml --cron --log /var/log/pagefold/crawl.log";
    assert!(prints(cron, binary).starts_with(&of("crontab")));
    let units = "pagefold schedule /etc/pagefold/%i.toml --systemd --user pagefold";
    let expected = ["pagefold@.service", "pagefold@.timer"]
        .map(|name| format!("# {name}\n{}", of(name)))
        .join("\n");
    assert_eq!(prints(units, binary), expected);
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().to_str().expect("UTF-8");
    let line = units.split(' ').skip(1).chain(["--binary", binary, "--to", to]).collect::<Vec<_>>();
    assert!(pagefold(&line).status.success());
    for name in ["pagefold@.service", "pagefold@.timer"] {
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).expect("written"), of(name));
    }
}

/// With `--json` a script gets the line and the units as they are printed, and what it must make
/// before they work.
#[test]
fn as_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let job = "store = \"lib/store\"\n[read]\ninputs = [\"in\"]\n[output]\ndir = \"lib/out\"\n";
    std::fs::write(at("job.toml"), job).expect("written");
    let of = |more: &[&str]| {
        let output = pagefold(&[&["schedule", &at("job.toml")], more].concat());
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let json = |more: &[&str]| -> serde_json::Value {
        serde_json::from_str(&of(&[more, &["--json"]].concat())).expect("JSON")
    };
    let log = at("log/job.log");
    let cron = json(&["--cron", "--log", &log]);
    let line = cron["cron"].as_str().expect("a line");
    assert!(of(&["--cron", "--log", &log]).ends_with(&format!("\n{line}\n")), "{cron}");
    assert_eq!((&cron["log"], &cron["missing_folders"]), (&log.into(), &[at("log")][..].into()));
    let systemd = json(&["--systemd"]);
    let units: Vec<String> = systemd["units"]
        .as_array()
        .expect("units")
        .iter()
        .map(|unit| {
            let [name, text] = ["name", "text"].map(|key| unit[key].as_str().expect("a word"));
            format!("# {name}\n{text}")
        })
        .collect();
    assert_eq!(units.join("\n"), of(&["--systemd"]));
    assert_eq!(systemd["missing_folders"], serde_json::Value::from(&[at("lib")][..]));
    assert!(systemd["written_to"].is_null());
    let written = json(&["--systemd", "--to", &at("")]);
    assert_eq!((&written["units"], &written["written_to"]), (&systemd["units"], &at("").into()));
    assert!(Path::new(&at("pagefold-job.service")).exists());
}

/// Runs `line` of a crontab as cron does: without the five time fields, with `\%` for `%` and a
/// bare `%` as the end, in cron's environment and in the home folder.
fn as_cron_does(line: &str, home: &Path) -> Output {
    let command = line.splitn(6, ' ').nth(5).expect("a command");
    let mut handed = String::new();
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('%' | '\\')) => handed.extend(chars.next()),
            ('\\', Some(_)) => handed.extend([Some(c), chars.next()].into_iter().flatten()),
            ('%', _) => break,
            _ => handed.push(c),
        }
    }
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(handed).current_dir(home).env_clear();
    shell
        .envs([("PATH", "/usr/bin:/bin"), ("SHELL", "/bin/sh"), ("LOGNAME", "someone")])
        .env("HOME", home);
    shell.output().expect("started")
}

/// A printed crontab line, run as cron runs it, does the job and prints nothing, for any names of
/// job and folder. If the job fails it prints one line, which is also in the log.
#[test]
fn crontab_lines() {
    for name in NAMES {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().join(name);
        std::fs::create_dir(&at).expect("made");
        let job = at.join(format!("{name}.toml"));
        let inputs = toml::Value::String(demo_inputs().to_str().expect("UTF-8").to_owned());
        let text = format!(
            "store = \"store\"\n[read]\ninputs = [{inputs}]\n[output]\ndir = \"out\"\n{JOB}"
        );
        std::fs::write(&job, text).expect("written");
        let output =
            pagefold(&["schedule", job.to_str().expect("UTF-8"), "--cron", "--every", "30m"]);
        assert!(output.status.success(), "{}", said(&output));
        let text = said(&output);
        let line = text.lines().last().expect("a line");
        assert!(line.starts_with("15,45 * * * * /"), "{line}");
        let ran = as_cron_does(line, folder.path());
        assert!(ran.status.success() && said(&ran).is_empty(), "{line}: {}", said(&ran));
        assert!(at.join("out/summary.json").exists(), "{line}");
        std::fs::write(&job, "store = ").expect("written");
        let failed = as_cron_does(line, folder.path());
        assert_eq!(said(&failed).lines().count(), 1, "{line}: {}", said(&failed));
        assert!(failure(said(&failed)).contains("store"), "{}", said(&failed));
        let log = std::fs::read_to_string(at.join(format!("{name}.log"))).expect("a log");
        assert_eq!(log, said(&failed));
    }
}

/// A path that does not fit into a line and a command that is too long for cron are refused.
#[test]
fn what_cannot_be_scheduled() {
    for job in ["/a\nb.toml", &format!("/{}.toml", "long".repeat(300))] {
        let output = pagefold(&["schedule", job, "--cron"]);
        assert_eq!(output.status.code(), Some(64), "{}", said(&output));
    }
    assert_eq!(pagefold(&["schedule", "/gone/job.toml", "--systemd"]).status.code(), Some(78));
}

/// systemd accepts the units of jobs of any name, the template and those of a server, and finds a
/// pagefold binary of any name.
#[test]
fn units() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return skip("systemd-analyze is missing");
    }
    let units = tempfile::tempdir().expect("a folder");
    let to = units.path().to_str().expect("UTF-8");
    std::fs::create_dir(units.path().join("bin")).expect("made");
    for name in NAMES {
        let bench = Bench::new(&demo_inputs(), JOB);
        let folder = bench.at(name);
        std::fs::create_dir(&folder).expect("made");
        let job = folder.join(format!("{name}.toml"));
        std::fs::copy(bench.at("job.toml"), &job).expect("copied");
        let binary = units.path().join("bin").join(name);
        std::os::unix::fs::symlink(crate::workbench::pagefold(), &binary).expect("linked");
        let (job, binary) = (job.to_str().expect("UTF-8"), binary.to_str().expect("UTF-8"));
        let output = pagefold(&["schedule", job, "--systemd", "--to", to, "--binary", binary]);
        if name.contains(['"', '\'', '\\']) {
            assert_eq!(output.status.code(), Some(64), "{}", said(&output));
            let output = pagefold(&["schedule", job, "--systemd", "--to", to]);
            assert!(output.status.success(), "{}", said(&output));
        } else {
            assert!(output.status.success(), "{}", said(&output));
        }
    }
    let template = ["schedule", "/etc/pagefold/%i.toml", "--systemd", "--to", to];
    assert!(pagefold(&template).status.success());
    for name in ["pagefold-serve@.service", "pagefold-serve@.socket"] {
        let text =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs").join(name))
                .expect("there");
        let text = text.replace("/usr/local/bin/pagefold", &crate::workbench::pagefold());
        std::fs::write(units.path().join(name), text).expect("written");
    }
    let mut files: Vec<_> = std::fs::read_dir(units.path())
        .expect("listed")
        .map(|e| e.expect("an entry").path())
        .collect();
    files.sort();
    files.retain(|file| file.is_file());
    assert_eq!(files.len(), 2 * NAMES.len() + 4);
    let complaints = |file: &Path| -> Vec<String> {
        let output =
            Command::new("systemd-analyze").arg("verify").arg(file).output().expect("started");
        // It also reports other units of the machine.
        said(&output).lines().filter(|line| line.contains("pagefold")).map(str::to_owned).collect()
    };
    for file in files {
        assert_eq!(complaints(&file), [""; 0], "{}", file.display());
    }
    // It does report a wrong unit.
    let wrong = units.path().join("pagefold-wrong.service");
    std::fs::write(&wrong, "[Service]\nExecStart=pagefold-is-no-path run\n").expect("written");
    assert!(!complaints(&wrong).is_empty());
}

/// While another run works, `--skip-if-running` ends with exit code 0, `--wait=1` gives up with 75,
/// both leave metrics alone, and `--wait` waits for its turn.
#[test]
fn another_run_at_work() {
    let bench = Bench::new(&demo_inputs(), JOB);
    let lock = workers::store::Store::lock(&bench.at("store")).expect("free");
    let skipped = bench.run(&["--skip-if-running", "--metrics", "m.prom"]);
    assert_eq!(skipped.status.code(), Some(0));
    assert!(said(&skipped).starts_with("skipped: another run is at work"), "{}", said(&skipped));
    let skipped = bench.run(&["--skip-if-running", "--quiet"]);
    assert_eq!((skipped.status.code(), said(&skipped)), (Some(0), String::new()));
    let skipped = bench.run(&["--skip-if-running", "--json"]);
    assert_eq!(String::from_utf8_lossy(&skipped.stdout), "{\"skipped\":true}\n");
    let gave_up = bench.run(&["--wait=1", "--quiet", "--metrics", "m.prom"]);
    assert_eq!(gave_up.status.code(), Some(75));
    assert!(said(&gave_up).contains("still at work after 1 s"), "{}", said(&gave_up));
    assert!(!bench.at("m.prom").exists() && !bench.at("out").exists());
    let mut waiting = bench.command(&["--wait"]);
    let waiting = waiting.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut waiting = waiting.expect("started");
    let mut log = BufReader::new(waiting.stderr.take().expect("a pipe")).lines();
    let waits = |line: std::io::Result<String>| {
        line.expect("UTF-8").contains("\"message\":\"waiting for another run\"")
    };
    assert!(log.any(waits), "it did not wait");
    drop(lock);
    let status = waiting.wait().expect("ended");
    assert!(status.success() && status.signal().is_none());
    assert!(bench.at("out/summary.json").exists());
}

/// `--max-inputs` takes the first inputs by path and leaves the others for later runs, until
/// nothing is due, and the answer is that of one run over all. The same bytes under another name
/// are another delivery, and count. A complete snapshot is never taken in part.
#[test]
fn few_inputs_at_a_time() {
    let files = tempfile::tempdir().expect("a folder");
    let page = |n: u32| {
        let text: String = (0..40).map(|w| format!("w{} ", (n * 7 + w) % 97)).collect();
        format!("{{\"url\":\"http://a.example/{n}\",\"text\":\"{text}\"}}\n")
    };
    for (name, n) in [("1", 1), ("2", 2), ("2-again", 2), ("3", 3), ("4", 4)] {
        std::fs::write(files.path().join(format!("{name}.jsonl")), page(n)).expect("written");
    }
    let bench = Bench::new(files.path(), JOB);
    let refused = bench.run(&["--max-inputs", "1", "--set", "read.complete=true"]);
    assert_eq!(refused.status.code(), Some(64), "{}", said(&refused));
    assert!(!bench.at("store").exists());
    let lived = [(1, 2), (2, 3), (3, 4), (3, 4)].map(|(epoch, pages)| {
        bench.run_well(&["--max-inputs", "2"]);
        assert_eq!(bench.head().manifest.epoch, epoch);
        assert_eq!(bench.lines("members").len(), pages);
        bench.tables()
    });
    let whole = Bench::new(files.path(), JOB);
    whole.run_well(&[]);
    assert!(lived[3] == whole.tables());
}
