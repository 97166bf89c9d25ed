use crate::workbench::{Bench, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

/// The system calls that change a file system. A `?` marks those that some machines lack.
const CHANGES: &str = "trace=?open,openat,?creat,write,writev,pwrite64,fsync,fdatasync,?rename,?renameat,renameat2,?link,linkat,\
?unlink,unlinkat,?rmdir,?mkdir,mkdirat,?truncate,ftruncate,fallocate,copy_file_range,sendfile";

/// Options that delay the last fsyncs of a thread, so that a commit that does not wait for them
/// comes before their end. The first thread makes fewer before its commit.
pub const SLOW: [&str; 2] = ["-e", "inject=fsync,fdatasync:delay_enter=10000:when=20+"];

/// The file of the run's stdout.
pub const STDOUT: &str = "stdout.txt";
/// The file of the run's stderr.
pub const STDERR: &str = "stderr.txt";

/// One system call that changes something in a bench's folder. All texts have `{folder}` for that
/// folder and `{pid}` for the process's id, so that they fit another run.
#[derive(Clone, Debug)]
pub struct Call {
    /// Whether the first thread of the process made it.
    pub is_main: bool,
    /// Its name, such as `fsync`.
    pub name: String,
    /// The path that strace selects it by: its argument, or the path of its descriptor.
    pub aim: String,
    /// The full path of what it changes.
    pub path: String,
    /// The second path of a rename or a link.
    pub to: String,
    /// Whether it failed; of a call other than an fsync, as far as its first log line shows.
    pub has_failed: bool,
    /// The log line with which it began, from 1.
    pub began: usize,
    /// Its number, from 1, among the calls of this name and aim by its thread.
    pub nth: usize,
    /// Whether strace would hit another thread's call first, because it counts each thread's calls
    /// separately.
    pub is_hidden: bool,
}

/// Whether strace is installed and may trace; if not, the test is skipped.
pub fn is_allowed() -> bool {
    let mut strace = Command::new("strace");
    strace.args([
        "-D",
        "-f",
        "-qqq",
        "-o",
        "/dev/null",
        "-e",
        "inject=fsync:error=EIO",
        "-P",
        "/",
        "true",
    ]);
    let allowed = strace.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !allowed {
        skip("strace is missing or may not trace");
    }
    allowed
}

/// The time of all runs. Segments have it and are named by their digests, so another run has the
/// same paths.
fn now() -> &'static str {
    static NOW: OnceLock<String> = OnceLock::new();
    NOW.get_or_init(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.expect("after 1970").as_secs().to_string()
    })
}

/// Runs the job in `bench` with one worker under strace and `options`.
///
/// strace selects calls by path, and some paths contain the process's id. The shell is replaced by
/// strace, and that (by `-D`) by the command, so the shell knows the id beforehand.
fn run(bench: &Bench, script: &str, aim: &str, options: &[&str]) -> ExitStatus {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, aim]).args(options);
    shell.arg(crate::workbench::pagefold()).arg("run").arg(bench.at("job.toml")).args([
        "--threads",
        "1",
        "--now",
        now(),
    ]);
    let file = |name: &str| File::create(bench.at(name)).expect("created");
    shell.stdin(Stdio::null()).stdout(file(STDOUT)).stderr(file(STDERR)).env_remove("RUST_LOG");
    shell.status().expect("started")
}

/// Runs the job in `bench`, where `call` ends with `fault`, such as `signal=SIGKILL` or
/// `error=EIO`.
pub fn struck(bench: &Bench, call: &Call, fault: &str) -> ExitStatus {
    let aim = call.aim.replace("{folder}", &folder(bench));
    let script = "aim=$(printf %s \"$0\" | sed \"s/{pid}/$$/\"); exec strace -D -qqq -o /dev/null -P \"$aim\" \"$@\"";
    let trace = format!("trace={}", call.name);
    let inject = format!("inject={}:{fault}:when={}", call.name, call.nth);
    let follow = ["-f"].into_iter().filter(|_| !call.is_main);
    run(bench, script, &aim, &follow.chain(["-e", &trace, "-e", &inject]).collect::<Vec<_>>())
}

/// Runs the job in `bench` under strace with `more` options, which must succeed, and returns its
/// calls in the order in which they begin, but an fsync where it ends.
pub fn calls(bench: &Bench, more: &[&str]) -> Vec<Call> {
    let log = bench.at("strace.log");
    let path = log.to_str().expect("UTF-8");
    let options = [&["-f", "-y", "-s", "0", "-qqq", "-o", path, "-e", CHANGES], more].concat();
    let status = run(bench, "exec strace \"$@\"", "sh", &options);
    assert!(status.success(), "{}", std::fs::read_to_string(bench.at(STDERR)).expect("readable"));
    let log = std::fs::read_to_string(log).expect("readable");
    let main = log.split_whitespace().next().expect("a call").to_owned();
    let folder = folder(bench);
    let place =
        |text: &str| text.replace(&folder, "{folder}").replace(&format!(".{main}."), ".{pid}.");
    let mut counts: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    // The fsyncs that are at work, by thread.
    let mut at_work: BTreeMap<&str, Call> = BTreeMap::new();
    let mut calls = Vec::new();
    for (line, began) in log.lines().zip(1..) {
        let Some((thread, line)) = line.split_once(' ') else { continue };
        let ended = at_work.remove(thread);
        calls.extend(ended.map(|call| Call { has_failed: has_failed(line), ..call }));
        let Some(mut call) = call(&place(line.trim_start())) else { continue };
        if call.path.starts_with("{folder}") {
            let nth =
                counts.entry((thread.to_owned(), call.name.clone(), call.aim.clone())).or_default();
            *nth += 1;
            (call.nth, call.is_main, call.began) = (*nth, thread == main, began);
            let is_first = seen.insert((call.name.clone(), call.aim.clone(), *nth));
            call.is_hidden = !is_first && !call.is_main;
            if call.name.ends_with("sync") && line.ends_with("<unfinished ...>") {
                at_work.insert(thread, call);
            } else {
                calls.push(call);
            }
        }
    }
    calls
}

fn folder(bench: &Bench) -> String {
    let folder = bench.at("job.toml").parent().expect("a folder").to_owned();
    folder.to_str().expect("UTF-8").to_owned()
}

/// Whether this log line has the result of a call that failed.
fn has_failed(line: &str) -> bool {
    line.contains(" = -1 ")
}

/// Reads a log line without its thread: `fsync(4</a/b>) = 0`, `rename("/a", "/b" <unfinished ...>`
/// or `unlinkat(4</a>, "b", 0) = 0`.
fn call(line: &str) -> Option<Call> {
    let (name, arguments) = line.split_once('(')?;
    let is_call = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_call || name.starts_with("open") && !arguments.contains("O_CREAT") {
        return None;
    }
    let described = arguments.split_once('<').and_then(|(_, rest)| Some(rest.split_once('>')?.0));
    let quoted: Vec<&str> = arguments.split('"').skip(1).step_by(2).collect();
    let takes_paths = ["open", "creat", "rename", "link", "unlink", "rmdir", "mkdir", "truncate"];
    let takes_paths = takes_paths.iter().any(|taking| name.starts_with(taking));
    let aim = if takes_paths { quoted.first()? } else { described? };
    let is_whole = aim.starts_with(['{', '/']);
    Some(Call {
        is_main: false,
        name: name.to_owned(),
        aim: aim.to_owned(),
        path: if is_whole { aim.to_owned() } else { format!("{}/{aim}", described?) },
        to: quoted.get(1).filter(|_| takes_paths).map_or(String::new(), |to| (*to).to_owned()),
        has_failed: has_failed(line),
        began: 0,
        nth: 0,
        is_hidden: false,
    })
}
