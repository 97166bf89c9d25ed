//! `pagefold schedule`: prints a line for a crontab, or a service and a timer for systemd, which
//! run a job regularly.
//!
//! It installs nothing. A missed run needs no repetition: the next one takes all inputs that are
//! not consumed yet.

use crate::cli;
use crate::cluster::cluster_file;
use crate::jobs;
use crate::own_process;
use crate::schedule::moments::{Moments, RunCommand, absolute, moments};
use crate::schedule::units;
use crate::terminal::print::{print_json, show};
use serde_json::json;
use std::path::{Path, PathBuf};
use workers::error::{Error, Kind, Result};
use workers::read::shell;

/// The length of a command that every cron accepts.
const COMMAND_BYTES_MAX: usize = 998;

/// Quotes `word` for a shell in a crontab. To cron, `%` is a line break unless a backslash precedes
/// it, and some crons reduce two backslashes to one. So we write `\%` outside quotes, where the
/// shell removes a backslash that cron has left, and never put two backslashes next to each other.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let mut out = String::from("'");
    for c in word.chars() {
        match c {
            '\'' => out.push_str(r"'\''"),
            '%' => out.push_str(r"'\%'"),
            '\\' => out.push_str(r"\''"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// The line for a crontab.
fn crontab(command: &RunCommand, log: &str, moments: &Moments) -> Result<String> {
    let words: Vec<String> = command.words().into_iter().map(quoted).collect();
    let log = quoted(log);
    // A successful run prints nothing. The last line of a failed run goes to the log and, through
    // cron, to MAILTO.
    let command = format!("{} >>{log} 2>&1 || tail -n 1 {log}", words.join(" "));
    if command.len() > COMMAND_BYTES_MAX {
        let line =
            format!("a command of {} bytes; a crontab takes {COMMAND_BYTES_MAX}", command.len());
        return Err(Error::new(Kind::Usage, line));
    }
    let field = |of: &Option<Vec<u32>>| match of {
        Some(of) => of.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
        None => "*".into(),
    };
    let (minutes, hours) = (field(&moments.minutes), field(&moments.hours));
    Ok(format!("{minutes} {hours} * * * {command}"))
}

/// What stands before the line of a crontab.
const MAIL: &str = "# Cron sends mail to this address if a run fails, and nothing if it succeeds.\n\
                    # MAILTO=you@example.org\n";

/// Warns of folders that a person must make `before` the first run; `why` says what else happens.
fn warn_of_missing(folders: &[PathBuf], why: &str) {
    for folder in folders {
        tracing::warn!(
            "{}: no such folder yet, and {why}; before the first run: mkdir -p {}",
            folder.display(),
            shell::word(folder)
        );
    }
}

/// `pagefold schedule`.
pub fn command(arguments: &cli::Schedule) -> Result<()> {
    let binary = match &arguments.binary {
        Some(binary) => absolute(binary)?,
        None => absolute(&own_process::path()?)?,
    };
    let job = absolute(&arguments.job)?;
    let cluster = arguments.cluster.as_deref().map(absolute).transpose()?;
    let command = RunCommand { binary, job, cluster };
    let moments = moments(arguments.at, arguments.every);
    // A wrong job would fail each night without notice. A missing job file may be written later.
    let path = Path::new(&command.job);
    let job = match path.exists() {
        false if !arguments.cron && command.job.contains(units::INSTANCE) => None,
        false if arguments.cron => {
            tracing::warn!("{}: no such job yet; each run would fail", command.job);
            None
        }
        _ => Some(jobs::read(path, &[])?),
    };
    if let Some(path) = &arguments.cluster {
        cluster_file::read(path)?;
    }
    if arguments.cron {
        let log = arguments
            .log
            .clone()
            .unwrap_or_else(|| PathBuf::from(&command.job).with_extension("log"));
        let log = absolute(&log)?;
        let folder = Path::new(&log).parent().filter(|folder| !folder.exists());
        let missing: Vec<PathBuf> = folder.map(Path::to_owned).into_iter().collect();
        warn_of_missing(&missing, "a shell starts no command whose log it cannot write");
        let line = crontab(&command, &log, &moments)?;
        return match arguments.json {
            true => print_json(&json!({ "cron": line, "log": log, "missing_folders": missing })),
            false => show(&format!("{MAIL}{line}\n")),
        };
    }
    let missing = job.as_ref().map(units::missing_folders).transpose()?.unwrap_or_default();
    warn_of_missing(&missing, "systemd starts no service that writes to a missing one");
    let units = units::units(&command, job.as_ref(), arguments.user.as_deref(), &moments)?;
    if let Some(folder) = &arguments.to {
        units::write(&units, folder)?;
    }
    if arguments.json {
        let units: Vec<_> =
            units.iter().map(|unit| json!({ "name": unit.name, "text": unit.text })).collect();
        return print_json(
            &json!({ "units": units, "written_to": arguments.to, "missing_folders": missing }),
        );
    }
    show(&units::report(&units, arguments.to.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::moments::{Every, TimeOfDay};
    use proptest::prelude::*;
    use std::process::Command;

    /// Intervals and times of day are those that a crontab can express.
    #[test]
    fn times() {
        let every = |text: &str| text.parse::<Every>().ok();
        assert_eq!(every("15m"), Some(Every::Minutes(15)));
        assert_eq!(every("6h"), Some(Every::Hours(6)));
        assert_eq!(every("1d"), Some(Every::Day));
        for wrong in
            ["7m", "0m", "60m", "5h", "24h", "2d", "h", "+1h", "-1h", "1 h", "", "15", "好"]
        {
            assert_eq!(every(wrong), None, "{wrong}");
        }
        let at = |text: &str| text.parse::<TimeOfDay>().ok();
        assert_eq!(at("3:05"), Some(TimeOfDay { hour: 3, minute: 5 }));
        for wrong in ["24:00", "3:60", "3", "3:5:1", "+3:05", "003:05", ":", "好:1"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }

    /// The moments are evenly spread over each day, and the given time of day is one of them.
    #[test]
    fn even_moments() {
        let at = TimeOfDay { hour: 17, minute: 50 };
        let everies = [1, 5, 30]
            .map(Every::Minutes)
            .into_iter()
            .chain([1, 2, 12].map(Every::Hours))
            .chain([Every::Day]);
        for every in everies {
            let of = moments(at, every);
            let hours = of.hours.unwrap_or((0..24).collect());
            let minutes = of.minutes.unwrap_or((0..60).collect());
            let mut all: Vec<u32> =
                hours.iter().flat_map(|h| minutes.iter().map(move |m| h * 60 + m)).collect();
            assert!(all.contains(&(17 * 60 + 50)), "{every:?}");
            all.push(all[0] + 1440);
            assert!(
                all.windows(2).all(|pair| (pair[1] - pair[0]) * 60 == of.interval_s),
                "{every:?}: {all:?}"
            );
        }
    }

    /// What different crons pass to the shell: `\%` becomes `%`, and a bare `%` ends the command;
    /// some crons reduce `\\` to one backslash; some do none of this.
    fn unescaped(command: &str, backslashes: bool) -> String {
        let (mut out, mut chars) = (String::new(), command.chars().peekable());
        while let Some(c) = chars.next() {
            match (c, chars.peek()) {
                ('\\', Some('%')) => out.extend(chars.next()),
                ('\\', Some('\\')) if backslashes => out.extend(chars.next()),
                ('\\', Some(_)) => out.extend([Some(c), chars.next()].into_iter().flatten()),
                ('%', _) => return out,
                _ => out.push(c),
            }
        }
        out
    }

    /// The words that a shell makes of `command`.
    fn shell(command: &str) -> String {
        let output =
            Command::new("/bin/sh").arg("-c").arg(format!("printf '%s\\n' {command}")).output();
        String::from_utf8(output.expect("a shell").stdout).expect("UTF-8")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// All words pass through any cron and a real shell unchanged.
        #[test]
        fn words_survive(words in prop::collection::vec("[-a \\\\%'\"$`!~*?#;&|<>(){}é好=]{0,12}", 1..4)) {
            let expected: String = words.iter().map(|word| format!("{word}\n")).collect();
            let command = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            for handed in [unescaped(&command, true), unescaped(&command, false), command.clone()] {
                prop_assert_eq!(&shell(&handed), &expected, "{} of {}", handed, command);
            }
        }
    }
}
