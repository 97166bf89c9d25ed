//! The moments at which a job runs, and the command that runs then.

use std::path::Path;
use std::str::FromStr;
use workers::error::{Error, Kind, Result};

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay {
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
}

impl FromStr for TimeOfDay {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<TimeOfDay, String> {
        let number = |digits: &str, max: u32| {
            let is_number =
                (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|n: &u32| is_number && *n <= max)
        };
        let parts = text
            .split_once(':')
            .and_then(|(hour, minute)| Some((number(hour, 23)?, number(minute, 59)?)));
        let (hour, minute) = parts.ok_or("a time of day such as 03:15")?;
        Ok(TimeOfDay { hour, minute })
    }
}

/// How often a job runs. Only intervals that a crontab can express, because its fields restart each
/// hour and each day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// This many minutes, a divisor of an hour.
    Minutes(u32),
    /// This many hours, a divisor of a day.
    Hours(u32),
    /// Once a day.
    Day,
}

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Every, String> {
        let number = |digits: &str| {
            digits.parse::<u32>().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))
        };
        let divides = |n: &u32, of: u32| *n > 0 && *n < of && of.is_multiple_of(*n);
        let every = match (text.strip_suffix('m'), text.strip_suffix('h'), text) {
            (Some(n), ..) => number(n).filter(|n| divides(n, 60)).map(Every::Minutes),
            (_, Some(n), _) => number(n).filter(|n| divides(n, 24)).map(Every::Hours),
            (.., "1d") => Some(Every::Day),
            _ => None,
        };
        every.ok_or_else(|| {
            "minutes that divide an hour (15m), hours that divide a day (6h), or 1d".into()
        })
    }
}

/// The moments of each day at which a job runs: hours, and minutes of each hour; `None` stands for
/// all.
pub struct Moments {
    /// Hours.
    pub hours: Option<Vec<u32>>,
    /// Minutes.
    pub minutes: Option<Vec<u32>>,
    /// Seconds between two moments.
    pub interval_s: u32,
}

/// The moments at this interval that include `at`.
pub fn moments(at: TimeOfDay, every: Every) -> Moments {
    let from =
        |at: u32, step: u32, end: u32| Some((at % step..end).step_by(step as usize).collect());
    match every {
        Every::Minutes(1) => Moments { hours: None, minutes: None, interval_s: 60 },
        Every::Minutes(n) => {
            Moments { hours: None, minutes: from(at.minute, n, 60), interval_s: 60 * n }
        }
        Every::Hours(n) => Moments {
            hours: if n == 1 { None } else { from(at.hour, n, 24) },
            minutes: Some(vec![at.minute]),
            interval_s: 3600 * n,
        },
        Every::Day => Moments {
            hours: Some(vec![at.hour]),
            minutes: Some(vec![at.minute]),
            interval_s: 86_400,
        },
    }
}

/// The command to run; all paths are absolute.
pub struct RunCommand {
    /// The path of pagefold.
    pub binary: String,
    /// The job file.
    pub job: String,
    /// The cluster file.
    pub cluster: Option<String>,
}

impl RunCommand {
    /// The words of the command.
    pub fn words(&self) -> Vec<&str> {
        let mut words = vec![self.binary.as_str(), "run", &self.job];
        if let Some(cluster) = &self.cluster {
            words.extend(["--cluster", cluster]);
        }
        words.extend(["--quiet", "--skip-if-running"]);
        words
    }

    /// The job's name: that of its file without the extension.
    pub fn name(&self) -> &str {
        let name = Path::new(&self.job).file_stem().and_then(|name| name.to_str());
        name.unwrap_or_default()
    }
}

/// `path` as an absolute path that can stand in one line.
pub fn absolute(path: &Path) -> Result<String> {
    let usage =
        |why: &str| Error::new(Kind::Usage, format!("{:?}: {why}", path.display().to_string()));
    let path = std::path::absolute(path).map_err(|e| usage("no path").caused_by(e))?;
    match path.to_str() {
        Some(path) if !path.chars().any(char::is_control) => Ok(path.to_owned()),
        Some(_) => Err(usage(
            "a path with a line break or another control character cannot stand in a line",
        )),
        None => Err(usage("a path that is no UTF-8 cannot stand in a line")),
    }
}
