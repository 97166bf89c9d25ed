use crate::texts::text;
use crate::workbench::{Bench, copy_folder, skip};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Character n-grams need no dictionary, whose loading would take most of so small a run. The
/// numeral veto is off because the words of these texts are numbered. The keep rule reads the
/// former representatives, so that the test notices an attempt that takes the leavings of another
/// one for the past.
const JOB: &str = "[features]\nunit = \"characters\"\n[confirm]\nfacts = \"off\"\n[keep]\nby = [\"incumbent\", \"newest\"]\n";

/// A store of one epoch, the input of a second one, and what an undisturbed second epoch leaves.
pub struct Scene {
    before: Bench,
    inputs: tempfile::TempDir,
    multisets: [BTreeMap<String, (u64, String)>; 2],
    results: BTreeMap<String, Vec<u8>>,
}

fn url(n: u64) -> String {
    format!("http://h{}.example/{n}", n % 4)
}

fn page(n: u64, date: u64, text: &str) -> String {
    format!("{{\"url\":\"{}\",\"date\":{date},\"text\":\"{text}\"}}\n", url(n))
}

/// 60 pages of 12 articles.
fn first_night() -> String {
    (0..60).map(|n| page(n, 100 + n, &text(n / 5, n % 5))).collect()
}

/// Pages disappear, change, appear and become copies of others; one record of 25 is bad.
fn second_night() -> String {
    let mut lines: String =
        (1..70).step_by(5).map(|n| page(n, 200 + n, &text((n + 3) / 5, n % 4))).collect();
    for n in (0..60).step_by(6) {
        writeln!(lines, "{{\"url\":\"{}\",\"date\":{},\"deleted\":true}}", url(n), 200 + n)
            .expect("a string");
    }
    lines + "{broken\n"
}

impl Scene {
    /// Folds both epochs undisturbed.
    pub fn new() -> Scene {
        let inputs = tempfile::tempdir().expect("a folder");
        std::fs::write(inputs.path().join("1.jsonl"), first_night()).expect("written");
        let before = Bench::in_memory(inputs.path(), JOB);
        before.run_well(&["--threads", "1"]);
        let first = before.multisets();
        std::fs::write(inputs.path().join("2.jsonl"), second_night()).expect("written");
        let after = Bench::in_memory(inputs.path(), JOB);
        copy_folder(&before.at("store"), &after.at("store"));
        after.run_well(&["--threads", "2"]);
        let (multisets, results) = ([first, after.multisets()], after.results());
        assert!(
            multisets[0] != multisets[1]
                && !results["rejects.jsonl"].is_empty()
                && !results["pairs.jsonl"].is_empty()
        );
        let blind = Bench::in_memory(inputs.path(), JOB);
        copy_folder(&after.at("store"), &blind.at("store"));
        blind.run_well(&["--set", "keep.by=[\"newest\"]"]);
        assert!(blind.results()["members.jsonl"] != results["members.jsonl"], "incumbents held");
        Scene { before, inputs, multisets, results }
    }

    /// A bench whose store holds the first epoch and whose next run is the second.
    pub fn bench(&self) -> Bench {
        let bench = self.empty_bench();
        self.fill(&bench);
        bench
    }

    /// A bench of the same job without a store.
    pub fn empty_bench(&self) -> Bench {
        Bench::in_memory(self.inputs.path(), JOB)
    }

    /// Puts the store of the first epoch into `bench`.
    pub fn fill(&self, bench: &Bench) {
        copy_folder(&self.before.at("store"), &bench.at("store"));
    }

    /// Returns the epoch that the store of `bench` holds after `what` happened to it: the first or
    /// the second, complete.
    pub fn epoch(&self, bench: &Bench, what: &str) -> usize {
        let verify = bench.pagefold("verify", &["--full"]);
        assert!(verify.status.success(), "{what}: {}", stderr_of(&verify));
        let head = workers::store::manifest::head(&bench.at("store"))
            .expect("readable")
            .expect("the first epoch");
        let epoch = head.manifest.epoch as usize;
        assert!(epoch == 1 || epoch == 2, "{what}: epoch {epoch}");
        assert_eq!(bench.multisets(), self.multisets[epoch - 1], "{what}: epoch {epoch}");
        epoch
    }

    /// Runs again. Asserts that the run succeeds and that store and results are those of an
    /// undisturbed run.
    pub fn run_again(&self, bench: &Bench, what: &str) {
        let again = bench.run(&["--threads", "1"]);
        assert!(again.status.success(), "{what}, and the next run: {}", stderr_of(&again));
        self.check_done(bench, what);
    }

    /// Asserts that store and results are those of an undisturbed run.
    pub fn check_done(&self, bench: &Bench, what: &str) {
        assert_eq!(self.epoch(bench, what), 2, "{what}");
        let results = bench.results();
        let names = |of: &BTreeMap<String, Vec<u8>>| of.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&results), names(&self.results), "{what}: other results");
        for (name, bytes) in &results {
            assert!(*bytes == self.results[name], "{what}: {name} differs");
        }
    }
}

/// A mounted file system; dropping it unmounts.
pub struct Mount(PathBuf);

impl Mount {
    /// Mounts with `arguments` at `folder`, which is made; none, and the test is skipped, without
    /// the rights or the tools.
    pub fn new(folder: PathBuf, arguments: &[&str]) -> Option<Mount> {
        std::fs::create_dir_all(&folder).expect("made");
        let output = Command::new("mount").args(arguments).arg(&folder).output();
        let mounted = output.as_ref().is_ok_and(|output| output.status.success());
        if !mounted {
            skip(&format!(
                "cannot mount: {}",
                output.map_or_else(|e| e.to_string(), |output| stderr_of(&output))
            ));
        }
        mounted.then_some(Mount(folder))
    }

    /// Mounts it again with other `options`.
    pub fn change(&self, options: &str) {
        let status =
            Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).status();
        assert!(status.expect("started").success(), "cannot remount with {options}");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = |lazily: &[&str]| {
            let status =
                Command::new("umount").args(lazily).arg(&self.0).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        // A lazy unmount takes effect when its last user has gone.
        let _ = unmounted(&[]) || unmounted(&["-l"]);
    }
}

/// The stderr of a command.
pub fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether a run with this end has acknowledged its epoch, by its exit code or its log.
pub fn has_acknowledged(code: Option<i32>, stderr: &str) -> bool {
    code == Some(0) || stderr.contains("\"committed\"")
}
