use crate::crash::scene::Scene;
use crate::crash::strace::{self, Call, STDERR};
use crate::workbench::Bench;
use std::collections::BTreeMap;

/// What a power cut may lose according to POSIX: the bytes of files without a later fsync, and
/// names without an fsync of their folder. Each has the place in the log where it changed: an fsync
/// that had begun before does not count.
#[derive(Clone, Default)]
struct Volatile {
    bytes: BTreeMap<String, usize>,
    names: BTreeMap<String, usize>,
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl Volatile {
    /// Applies `call`.
    fn take(&mut self, call: &Call) {
        let Call { path, to, began, .. } = call;
        match call.name.as_str() {
            _ if call.has_failed => {}
            "fsync" | "fdatasync" => {
                self.bytes.retain(|file, changed| file != path || *changed > *began);
                self.names.retain(|name, changed| folder_of(name) != path || *changed > *began);
            }
            name if name.starts_with("rename") || name.starts_with("link") => {
                match self.bytes.get(path) {
                    Some(changed) => self.bytes.insert(to.clone(), *changed),
                    // A file of that name is replaced.
                    None => self.bytes.remove(to),
                };
                self.names.insert(to.clone(), *began);
                if name.starts_with("rename") {
                    self.bytes.remove(path);
                    self.names.remove(path);
                }
            }
            name if name.starts_with("unlink") || name == "rmdir" => {
                self.bytes.remove(path);
                self.names.remove(path);
            }
            name if name.starts_with("mkdir") => drop(self.names.insert(path.clone(), *began)),
            name => {
                self.bytes.insert(path.clone(), *began);
                if name.starts_with("open") || name == "creat" {
                    self.names.insert(path.clone(), *began);
                }
            }
        }
    }

    /// The part of the file at `path` that is not durable, if any; the names of its folders count.
    fn of(&self, path: &str) -> Option<&String> {
        let mut names = std::iter::successors(Some(path), |path| {
            Some(folder_of(path)).filter(|path| !path.is_empty())
        });
        let bytes = self.bytes.get_key_value(path);
        bytes
            .or_else(|| names.find_map(|path| self.names.get_key_value(path)))
            .map(|(path, _)| path)
    }

    /// The same before another run, whose log begins anew.
    fn of_an_earlier_run(&self) -> Volatile {
        let earlier =
            |all: &BTreeMap<String, usize>| all.keys().map(|path| (path.clone(), 0)).collect();
        Volatile { bytes: earlier(&self.bytes), names: earlier(&self.names) }
    }
}

/// All files that the head of `bench` refers to.
fn referenced(bench: &Bench) -> Vec<String> {
    let head = workers::store::manifest::head(&bench.at("store"))
        .expect("readable")
        .expect("committed")
        .manifest;
    let segments = head.tables.iter().flat_map(|(table, state)| {
        state.segments().map(move |segment| format!("{table}/{}.arrow", segment.digest))
    });
    let rejects = head.rejects.iter().map(|file| format!("rejects/{}.jsonl", file.digest));
    let consumed =
        head.consumed.iter().map(|consumed| format!("consumed/{}.jsonl", consumed.file.digest));
    let data =
        segments.chain(rejects).chain(consumed).map(|path| format!("{{folder}}/store/data/{path}"));
    data.chain(["{folder}/store/FORMAT".to_owned()]).collect()
}

/// Whether this call is the commit.
fn is_commit(call: &Call) -> bool {
    call.name.starts_with("link") && call.to.contains("/manifest/")
}

/// Follows the `calls` of a run in `bench` from what is volatile at its start. Asserts that all
/// files that the manifest names are durable before the manifest gets its name, and that its name
/// is durable before the epoch is acknowledged.
fn check_order(bench: &Bench, mut volatile: Volatile, calls: &[Call], what: &str) {
    let commit = calls.iter().position(is_commit).expect("a commit");
    calls[..commit].iter().for_each(|call| volatile.take(call));
    for file in referenced(bench) {
        assert_eq!(
            volatile.of(&file),
            None,
            "{what}: {file} can be lost though the manifest names it"
        );
    }
    assert!(
        !volatile.bytes.contains_key(&calls[commit].path),
        "{what}: the manifest has its name before its bytes are durable"
    );
    volatile.take(&calls[commit]);
    let acknowledged =
        calls[commit..].iter().position(|call| call.path.ends_with(STDERR)).expect("a log");
    calls[commit + 1..commit + acknowledged].iter().for_each(|call| volatile.take(call));
    assert_eq!(
        volatile.of(&calls[commit].to),
        None,
        "{what}: acknowledged though the manifest can be lost"
    );
}

/// On any file system that follows POSIX, a power cut loses no acknowledged epoch and leaves no
/// manifest that names a lost file.
///
/// The test follows the system calls of an undisturbed run, and of the run after one that was
/// killed at any fsync before its commit; for a new store and for a store of one epoch.
#[test]
fn names_are_durable_in_order() {
    if !strace::is_allowed() {
        return;
    }
    let scene = Scene::new();
    for (store, make) in
        [("a new store", Scene::empty_bench as fn(&Scene) -> Bench), ("a store", Scene::bench)]
    {
        let bench = make(&scene);
        let calls = strace::calls(&bench, &strace::SLOW);
        check_order(&bench, Volatile::default(), &calls, store);
        let head = workers::store::manifest::head(&bench.at("store"))
            .expect("readable")
            .expect("committed");
        let plan = head.manifest.plan;
        let mut volatile = Volatile::default();
        let mut fsyncs = 0;
        let commit = calls.iter().position(is_commit).expect("a commit");
        for call in &calls[..commit] {
            // A new store has a random id, and so has its plan.
            let is_there_again = store == "a store" || !call.aim.contains(&plan);
            if call.name.starts_with("fsync") && !call.is_hidden && is_there_again {
                let what = format!(
                    "{store} after a kill at {} of {} no. {}",
                    call.name, call.aim, call.nth
                );
                let bench = make(&scene);
                let status = strace::struck(&bench, call, "signal=SIGKILL");
                assert_eq!(status.code(), None, "{what}: not killed");
                let before = volatile.of_an_earlier_run();
                check_order(&bench, before, &strace::calls(&bench, &[]), &what);
                fsyncs += 1;
            }
            volatile.take(call);
        }
        println!("{store}: {fsyncs} fsyncs before the commit");
        assert!(fsyncs > 20);
    }
}
