//! systemd units for a job: a service and a timer.
//!
//! The service is sandboxed: it can write only to the folders that the job writes to. A template
//! unit (`%i` in the job's path) has one folder for all instances, because their jobs are not known
//! yet.

use crate::schedule::moments::{Moments, RunCommand, absolute};
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use workers::error::{Error, Kind, Result};
use workers::job::{Job, base};
use workers::store::durable;

/// The placeholder for the instance in a template.
pub const INSTANCE: &str = "%i";
/// The folder below `/var/lib` that a template's instances may write to.
const STATE: &str = "pagefold";
/// The length of a unit's name.
const NAME_BYTES_MAX: usize = 255;
/// The longest random delay, which spreads the runs of several machines or jobs; at most a tenth of
/// the interval.
const DELAY_MAX_S: u32 = 600;

/// The file name and the text of a unit.
pub struct Unit {
    /// Its file name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Escapes systemd's specifiers in `text`; `%i` stays in a template.
fn plain(text: &str, is_template: bool) -> String {
    let text = text.replace('%', "%%");
    if is_template { text.replace("%%i", INSTANCE) } else { text }
}

/// Quotes `word` for a line of a unit.
fn quoted(word: &str, is_template: bool) -> String {
    let word = plain(word, is_template);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match word.chars().all(is_plain) {
        true => word,
        false => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// Escapes `name` for the name of a unit.
fn escaped(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' => out.push(byte.into()),
            // Writing to a string cannot fail.
            _ => drop(write!(out, "\\x{byte:02x}")),
        }
    }
    out
}

/// The folders that `job` writes to: the store's parent (a rebuild makes a second store in it), the
/// results and the metrics. They may not exist yet. None of them is inside another.
fn folders(job: &Job) -> Result<Vec<String>> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for path in
        [Some(&job.store), Some(&job.output.dir), job.output.metrics.as_ref()].into_iter().flatten()
    {
        let path = PathBuf::from(absolute(path)?);
        // A link's own folder, and the folder that it leads to.
        for path in [path.canonicalize().ok(), Some(path)].into_iter().flatten() {
            let around =
                path.parent().filter(|parent| parent.parent().is_some()).map(Path::to_owned);
            folders.push(around.unwrap_or(path));
        }
    }
    folders.sort();
    folders.dedup();
    let outer = |folder: &&PathBuf| {
        !folders.iter().any(|other| folder != &other && folder.starts_with(other))
    };
    folders.iter().filter(outer).map(|folder| absolute(folder)).collect()
}

/// The folders of `job` that are missing. A run makes them, but systemd starts no service if a
/// folder in its `ReadWritePaths` is missing.
pub fn missing_folders(job: &Job) -> Result<Vec<PathBuf>> {
    let folders = folders(job)?.into_iter().map(PathBuf::from);
    Ok(folders.filter(|folder| !folder.exists()).collect())
}

/// The service and the timer; `job` is `None` for a template.
pub fn units(
    command: &RunCommand,
    job: Option<&Job>,
    user: Option<&str>,
    moments: &Moments,
) -> Result<Vec<Unit>> {
    let is_template = job.is_none();
    let name = if is_template {
        "pagefold@".to_owned()
    } else {
        format!("pagefold-{}", escaped(command.name()))
    };
    if name.len() + ".service".len() > NAME_BYTES_MAX {
        return Err(Error::new(
            Kind::Usage,
            format!("{}: too long a name for a unit", command.job),
        ));
    }
    if let Some(user) =
        user.filter(|user| !user.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b)))
    {
        return Err(Error::new(Kind::Usage, format!("--user {user:?}: no name of a user")));
    }
    if command.binary.contains(['\\', '"', '\'']) {
        let line = format!(
            "--binary {}: systemd starts no command with a quote or a backslash in its path",
            command.binary
        );
        return Err(Error::new(Kind::Usage, line));
    }
    // A line that ends with a backslash goes on in the next line.
    let title = match is_template {
        true => INSTANCE.to_owned(),
        false => plain(command.name().trim_end_matches('\\'), false),
    };
    Ok(vec![
        Unit { name: format!("{name}.service"), text: service(command, job, user, &title)? },
        Unit { name: format!("{name}.timer"), text: timer(&title, moments) },
    ])
}

/// Where a service reads and writes, as lines of its unit.
struct Places {
    mounts: String,
    writes: String,
    /// Whether it may have a `/tmp` of its own.
    temporary: bool,
}

fn places(command: &RunCommand, job: Option<&Job>) -> Result<Places> {
    let Some(job) = job else {
        let writes = format!(
            "# /var/lib/{STATE}, where the jobs' stores and results belong; for others: `systemctl edit`, ReadWritePaths=.\nStateDirectory={STATE}\n"
        );
        return Ok(Places { mounts: String::new(), writes, temporary: true });
    };
    let folders = folders(job)?;
    let inputs = job.read.inputs.iter().map(|input| absolute(input)).collect::<Result<Vec<_>>>()?;
    let files = job.files().map(|path| absolute(path)).collect::<Result<Vec<_>>>()?;
    let all = folders.iter().chain(&inputs).chain(&files);
    let all = all.chain([&command.binary, &command.job]).chain(&command.cluster);
    let is_temporary =
        |path: &String| ["/tmp", "/var/tmp"].iter().any(|tmp| Path::new(path).starts_with(tmp));
    let temporary = !{ all }.any(is_temporary);
    let list: Vec<String> = folders.iter().map(|folder| quoted(folder, false)).collect();
    let list = list.join(" ");
    // A disk that is not mounted must not look like a missing store or an empty crawl.
    let mut mounts: Vec<String> =
        inputs.iter().map(|input| absolute(&base(Path::new(input)).0)).collect::<Result<_>>()?;
    mounts.sort();
    mounts.dedup();
    let mounts = mounts.iter().map(|folder| format!(" {}", quoted(folder, false)));
    let mounts = format!("RequiresMountsFor={list}{}\n", mounts.collect::<String>());
    Ok(Places { mounts, writes: format!("ReadWritePaths={list}\n"), temporary })
}

fn service(
    command: &RunCommand,
    job: Option<&Job>,
    user: Option<&str>,
    title: &str,
) -> Result<String> {
    let is_template = job.is_none();
    // In a command's arguments `$` starts a variable; in its path it does not.
    let words = command.words().into_iter().enumerate().map(|(at, word)| match at {
        0 => quoted(word, false),
        _ => quoted(&word.replace('$', "$$"), is_template),
    });
    let exec_start = words.collect::<Vec<_>>().join(" ");
    let network =
        match command.cluster.is_some() || job.is_some_and(|job| job.output.ping.is_some()) {
            true => "Wants=network-online.target\nAfter=network-online.target\n",
            false => "",
        };
    let user = user.map_or(String::new(), |user| format!("User={user}\n"));
    let success = match command.cluster {
        None => {
            "# 75 is no alarm: the run was stopped, by `systemctl stop` or as the machine goes down, and the next one goes on.\n\
             # To notice that no run takes place, check the age of the last epoch: `pagefold status JOB --max-age 26h`.\n\
             SuccessExitStatus=75\n"
        }
        Some(_) => {
            "# 75 stays an alarm: with a cluster it may be a host that was lost in every attempt. Stopped runs, too, go on with the next.\n"
        }
    };
    let Places { mounts, writes, temporary } = places(command, job)?;
    let temporary = if temporary { "yes" } else { "no" };
    Ok(format!(
        "[Unit]\n\
         Description=pagefold: what is new of {title}\n\
         {network}{mounts}\n\
         [Service]\n\
         Type=oneshot\n\
         ExecStart={exec_start}\n\
         {user}\
         {success}\
         # SIGTERM stops a run at once; all that is finished is kept. Its worker processes end, too.\n\
         KillSignal=SIGTERM\n\
         KillMode=mixed\n\
         TimeoutStopSec=30\n\
         # A run that hangs is stopped. The next run continues an epoch that took too long. This must be longer than the longest epoch.\n\
         TimeoutStartSec=1d\n\
         # Memory grows with what an epoch touches. One that needs more than this dies alone, and the machine lives.\n\
         MemoryMax=75%\n\
         Nice=10\n\
         # It reads everything and writes only here.\n\
         ProtectSystem=strict\n\
         {writes}\
         ProtectHome=read-only\n\
         PrivateTmp={temporary}\n\
         PrivateDevices=yes\n\
         NoNewPrivileges=yes\n\
         ProtectKernelTunables=yes\n\
         ProtectKernelModules=yes\n\
         ProtectControlGroups=yes\n\
         RestrictSUIDSGID=yes\n\
         LockPersonality=yes\n"
    ))
}

fn timer(title: &str, moments: &Moments) -> String {
    let field = |of: &Option<Vec<u32>>| match of {
        Some(of) => of.iter().map(|n| format!("{n:02}")).collect::<Vec<_>>().join(","),
        None => "*".into(),
    };
    let (hours, minutes) = (field(&moments.hours), field(&moments.minutes));
    let delay_s = (moments.interval_s / 10).min(DELAY_MAX_S);
    format!(
        "[Unit]\n\
         Description=pagefold: when {title} is due\n\
         \n\
         [Timer]\n\
         OnCalendar=*-*-* {hours}:{minutes}:00\n\
         # If the machine was off or asleep at that time, one run starts when it is on again.\n\
         Persistent=true\n\
         RandomizedDelaySec={delay_s}\n\
         \n\
         [Install]\n\
         WantedBy=timers.target\n"
    )
}

/// The job that the line `ExecStart=` of a unit runs.
fn job_of(line: &str) -> String {
    let job = line.split_once(" run ").map_or(line, |(_, job)| job);
    let job = match job.strip_prefix('"') {
        Some(quoted) => quoted.split("\" ").next().unwrap_or_default().trim_end_matches('"'),
        None => job.split(' ').next().unwrap_or_default(),
    };
    job.to_owned()
}

/// Writes `units` to `folder`. Units of the same names are replaced if they run the same job.
///
/// # Errors
///
/// `Output` if a service of another job is there: jobs with one file name have one name of a unit.
pub fn write(units: &[Unit], folder: &Path) -> Result<()> {
    if !folder.is_dir() {
        let why = "no such folder; make it first";
        return Err(Error::new(Kind::Output, format!("--to {}: {why}", folder.display())));
    }
    let starts = |text: &str| text.lines().find(|line| line.starts_with("ExecStart=")).map(job_of);
    for unit in units {
        let path = folder.join(&unit.name);
        let there = match std::fs::read(&path) {
            Ok(there) => String::from_utf8_lossy(&there).into_owned(),
            Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
            Err(e) => return Err(Error::io("read", &path, e).as_output()),
        };
        if starts(&there).is_some_and(|there| starts(&unit.text).as_ref() != Some(&there)) {
            let why = "is there for another job; rename this job file, or name another folder";
            return Err(Error::new(Kind::Output, format!("{}: {why}", path.display())));
        }
    }
    for unit in units {
        let path = folder.join(&unit.name);
        durable::write(&path, unit.text.as_bytes()).map_err(Error::as_output)?;
    }
    Ok(())
}

/// What is said of `units`: that they were written to `folder`, or their texts, each under its file
/// name.
pub fn report(units: &[Unit], folder: Option<&Path>) -> String {
    match folder {
        Some(folder) => {
            let names: Vec<&str> = units.iter().map(|unit| unit.name.as_str()).collect();
            format!("wrote {} to {}\n", names.join(" and "), folder.display())
        }
        None => {
            let text: Vec<String> =
                units.iter().map(|unit| format!("# {}\n{}", unit.name, unit.text)).collect();
            text.join("\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads a word as systemd does: quotes, then backslashes (systemd.syntax), then specifiers
    /// (systemd.unit).
    fn read(word: &str) -> String {
        let inside = word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let (mut out, mut chars) = (String::new(), inside.unwrap_or(word).chars());
        while let Some(c) = chars.next() {
            match c {
                '\\' => out.extend(chars.next()),
                '"' | ' ' if inside.is_none() => panic!("{word}: two words"),
                '"' => panic!("{word}: ends too soon"),
                _ => out.push(c),
            }
        }
        assert!(!out.replace("%%", "").contains('%'), "{word}: a specifier");
        out.replace("%%", "%")
    }

    proptest! {
        /// systemd reads every word back unchanged.
        #[test]
        fn words_survive(word in "/[-a \\\\%'\"$;#i{}é好=]{0,12}") {
            prop_assert_eq!(read(&quoted(&word, false)), word);
        }
    }

    /// Units of another job with the same file name are not replaced; those of the same job are.
    #[test]
    fn units_of_another_job_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let unit = |job: &str| {
            let text = format!("[Service]\nExecStart=/bin/pagefold run {job} --skip-if-running\n");
            [Unit { name: "pagefold-job.service".into(), text }]
        };
        for job in ["/srv/a/job.toml", "\"/srv/a b/job.toml\""] {
            let path = folder.path().join("pagefold-job.service");
            write(&unit(job), folder.path()).expect("written");
            write(&unit(job), folder.path()).expect("the same job");
            let error = write(&unit("/srv/b/job.toml"), folder.path()).expect_err("another job");
            assert!(error.to_string().contains("rename this job file"), "{error}");
            std::fs::remove_file(path).expect("removed");
        }
    }

    /// Special characters in names are escaped, except for a template's `%i`.
    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(quoted("/a/b.toml", false), "/a/b.toml");
        assert_eq!(quoted("/a %i/\"b\"\\", false), r#""/a %%i/\"b\"\\""#);
        assert_eq!(quoted("/a/%i 5%", true), "\"/a/%i 5%%\"");
        assert_eq!(escaped("a b-%é"), r"a\x20b-\x25\xc3\xa9");
    }
}
