//! The schedule: in come a job and how often it runs, out goes a line for a crontab or, from `units`, a service and a timer for systemd. Says
//! what to install and installs nothing. A run that was missed needs no making up for: each takes all that is not consumed yet.

use crate::cli;
use crate::jobs;
use crate::report::show;
use crate::units;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use workers::error::{Error, Kind, Result};

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay {
    hour: u32,
    minute: u32,
}

impl FromStr for TimeOfDay {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<TimeOfDay, String> {
        let number = |digits: &str, max: u32| {
            let is_number = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|n: &u32| is_number && *n <= max)
        };
        let parts = text.split_once(':').and_then(|(hour, minute)| Some((number(hour, 23)?, number(minute, 59)?)));
        let (hour, minute) = parts.ok_or("a time of day such as 03:15")?;
        Ok(TimeOfDay { hour, minute })
    }
}

/// How often. Only what a crontab can say: its fields count anew each hour and each day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// So many minutes, which divide an hour.
    Minutes(u32),
    /// So many hours, which divide a day.
    Hours(u32),
    /// Each day.
    Day,
}

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Every, String> {
        let number = |digits: &str| digits.parse::<u32>().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
        let divides = |n: &u32, of: u32| *n > 0 && *n < of && of.is_multiple_of(*n);
        let every = match (text.strip_suffix('m'), text.strip_suffix('h'), text) {
            (Some(n), ..) => number(n).filter(|n| divides(n, 60)).map(Every::Minutes),
            (_, Some(n), _) => number(n).filter(|n| divides(n, 24)).map(Every::Hours),
            (.., "1d") => Some(Every::Day),
            _ => None,
        };
        every.ok_or_else(|| "minutes that divide an hour (15m), hours that divide a day (6h), or 1d".into())
    }
}

/// The moments of each day at which a job runs: hours and minutes past them; none stands for all.
pub struct Moments {
    /// Hours.
    pub hours: Option<Vec<u32>>,
    /// Minutes.
    pub minutes: Option<Vec<u32>>,
    /// Seconds from one to the next.
    pub interval_s: u32,
}

/// The moments so far apart of which `at` is one.
pub fn moments(at: TimeOfDay, every: Every) -> Moments {
    let from = |at: u32, step: u32, end: u32| Some((at % step..end).step_by(step as usize).collect());
    match every {
        Every::Minutes(1) => Moments { hours: None, minutes: None, interval_s: 60 },
        Every::Minutes(n) => Moments { hours: None, minutes: from(at.minute, n, 60), interval_s: 60 * n },
        Every::Hours(n) => Moments {
            hours: if n == 1 { None } else { from(at.hour, n, 24) },
            minutes: Some(vec![at.minute]),
            interval_s: 3600 * n,
        },
        Every::Day => Moments { hours: Some(vec![at.hour]), minutes: Some(vec![at.minute]), interval_s: 86_400 },
    }
}

/// What is run, all paths absolute.
pub struct What {
    /// The command.
    pub binary: String,
    /// The job file.
    pub job: String,
    /// The cluster file.
    pub cluster: Option<String>,
}

impl What {
    /// The words of the command.
    pub fn words(&self) -> Vec<&str> {
        let mut words = vec![self.binary.as_str(), "run", &self.job];
        if let Some(cluster) = &self.cluster {
            words.extend(["--cluster", cluster]);
        }
        words.extend(["--quiet", "--skip-if-running"]);
        words
    }

    /// The job's name: its file's, without the ending.
    pub fn name(&self) -> &str {
        let name = Path::new(&self.job).file_stem().and_then(|name| name.to_str());
        name.unwrap_or_default()
    }
}

/// `path` as an absolute one that can stand in a line.
pub fn absolute(path: &Path) -> Result<String> {
    let usage = |why: &str| Error::new(Kind::Usage, format!("{:?}: {why}", path.display().to_string()));
    let path = std::path::absolute(path).map_err(|e| usage("no path").caused_by(e))?;
    match path.to_str() {
        Some(path) if !path.chars().any(char::is_control) => Ok(path.to_owned()),
        Some(_) => Err(usage("a path with a line break or another control character cannot stand in a line")),
        None => Err(usage("a path that is no UTF-8 cannot stand in a line")),
    }
}

/// Bytes of a command that every cron takes.
const COMMAND_BYTES_MAX: usize = 998;

/// `word` for a shell in a crontab. To cron `%` is a line break unless a backslash is before it, and of two backslashes some leave one: so `%` stands
/// behind its backslash outside of quotes, where the shell too takes that away if cron has not, and no backslash is next to another.
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

/// The line of a crontab, with a word before it on who hears of failures.
fn crontab(what: &What, log: &str, moments: &Moments) -> Result<String> {
    let words: Vec<String> = what.words().into_iter().map(quoted).collect();
    let log = quoted(log);
    // A run that succeeds says nothing; the last line of one that fails goes to the log and, by cron, to MAILTO.
    let command = format!("{} >>{log} 2>&1 || tail -n 1 {log}", words.join(" "));
    if command.len() > COMMAND_BYTES_MAX {
        let line = format!("a command of {} bytes; a crontab takes {COMMAND_BYTES_MAX}", command.len());
        return Err(Error::new(Kind::Usage, line));
    }
    let field = |of: &Option<Vec<u32>>| match of {
        Some(of) => of.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
        None => "*".into(),
    };
    let (minutes, hours) = (field(&moments.minutes), field(&moments.hours));
    Ok(format!(
        "# Who hears of a run that fails; nothing is said of one that succeeds.\n\
         # MAILTO=you@example.org\n\
         {minutes} {hours} * * * {command}\n"
    ))
}

/// `pagefold schedule`.
pub fn schedule(arguments: &cli::Schedule) -> Result<()> {
    let binary = match &arguments.binary {
        Some(binary) => absolute(binary)?,
        None => absolute(&std::env::current_exe().map_err(|e| Error::internal("who am I").caused_by(e))?)?,
    };
    let job = absolute(&arguments.job)?;
    let cluster = arguments.cluster.as_deref().map(absolute).transpose()?;
    let what = What { binary, job, cluster };
    let moments = moments(arguments.at, arguments.every);
    if arguments.cron {
        let log = arguments.log.clone().unwrap_or_else(|| PathBuf::from(&what.job).with_extension("log"));
        return show(&crontab(&what, &absolute(&log)?, &moments)?);
    }
    let job = match what.job.contains(units::INSTANCE) && !Path::new(&what.job).exists() {
        true => None,
        false => Some(jobs::read(Path::new(&what.job), &[])?),
    };
    let units = units::units(&what, job.as_ref(), arguments.user.as_deref(), &moments)?;
    units::give(&units, arguments.to.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    /// Intervals and times of day are those that a crontab can say.
    #[test]
    fn times() {
        let every = |text: &str| text.parse::<Every>().ok();
        assert_eq!(every("15m"), Some(Every::Minutes(15)));
        assert_eq!(every("6h"), Some(Every::Hours(6)));
        assert_eq!(every("1d"), Some(Every::Day));
        for wrong in ["7m", "0m", "60m", "5h", "24h", "2d", "h", "+1h", "-1h", "1 h", "", "15", "好"] {
            assert_eq!(every(wrong), None, "{wrong}");
        }
        let at = |text: &str| text.parse::<TimeOfDay>().ok();
        assert_eq!(at("3:05"), Some(TimeOfDay { hour: 3, minute: 5 }));
        for wrong in ["24:00", "3:60", "3", "3:5:1", "+3:05", "003:05", ":", "好:1"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }

    /// The moments are evenly spread over each day, and the time of day is one of them.
    #[test]
    fn even_moments() {
        let at = TimeOfDay { hour: 17, minute: 50 };
        let everies =
            [1, 5, 30].map(Every::Minutes).into_iter().chain([1, 2, 12].map(Every::Hours)).chain([Every::Day]);
        for every in everies {
            let of = moments(at, every);
            let hours = of.hours.unwrap_or((0..24).collect());
            let minutes = of.minutes.unwrap_or((0..60).collect());
            let mut all: Vec<u32> = hours.iter().flat_map(|h| minutes.iter().map(move |m| h * 60 + m)).collect();
            assert!(all.contains(&(17 * 60 + 50)), "{every:?}");
            all.push(all[0] + 1440);
            assert!(all.windows(2).all(|pair| (pair[1] - pair[0]) * 60 == of.interval_s), "{every:?}: {all:?}");
        }
    }

    /// What cron hands to the shell of a command line, in the ways of the crons there are: `\%` becomes `%` and a bare one would end the line; of `\\`
    /// some leave one; some know nothing of all this.
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
        let output = Command::new("/bin/sh").arg("-c").arg(format!("printf '%s\\n' {command}")).output();
        String::from_utf8(output.expect("a shell").stdout).expect("UTF-8")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Any words come through any cron and a real shell as they were.
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
