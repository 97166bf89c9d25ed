//! The job file's `[pages]`: how long a page is kept that is not seen again, and how long it is
//! remembered that a page is gone.

use crate::error::WrongValue;
use crate::store::consumed::Retention;
use serde::{Deserialize, Serialize};

/// The job file's `[pages]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// A page expires after this many days without being seen, by the times at which the epochs
    /// were planned. Default: never.
    pub retain_days: Option<u32>,
    /// A page expires after this many consecutive epochs that read any source without seeing the
    /// page. Default: never.
    pub retain_epochs: Option<u32>,
    /// For this many days it is remembered that a page is gone, and records that are older than the
    /// page or its removal do not bring it back; 0 remembers nothing. Default: 365, by which time
    /// an archive that comes late should have come.
    pub gone_days: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { retain_days: None, retain_epochs: None, gone_days: 365 }
    }
}

/// The seconds of a day.
const DAY_SECONDS: i64 = 86_400;

/// The greatest value of each option.
pub const RETAIN_MAX: u32 = 100_000;

impl Options {
    /// Checks the values.
    pub fn check(&self) -> Result<(), WrongValue> {
        for (key, n) in [("retain_days", self.retain_days), ("retain_epochs", self.retain_epochs)] {
            if n.is_some_and(|n| !(1..=RETAIN_MAX).contains(&n)) {
                return Err(WrongValue::new(key, format!("not within 1 to {RETAIN_MAX}")));
            }
        }
        if self.gone_days > RETAIN_MAX {
            return Err(WrongValue::new("gone_days", format!("not within 0 to {RETAIN_MAX}")));
        }
        Ok(())
    }

    /// At `logical_time`, pages that were removed before this time are forgotten.
    pub fn gone_min(&self, logical_time: i64) -> i64 {
        let days = i64::from(self.gone_days);
        if days == 0 { i64::MAX } else { logical_time.saturating_sub(DAY_SECONDS * days) }
    }

    /// The epoch and the time since which a page must have been seen at `logical_time`.
    ///
    /// `reading` are the epochs that read something, ascending.
    pub fn retention(&self, reading: &[u64], logical_time: i64) -> Retention {
        self.since(self.retain_epochs, DAY_SECONDS, reading, logical_time)
    }

    /// The same for about half of that time. A page that a server is sent again, and that was not
    /// seen since then, is worth a row of the inbox, so that a run sees it in time.
    pub fn half_retention(&self, reading: &[u64], logical_time: i64) -> Retention {
        self.since(self.retain_epochs.map(|n| n / 2 + 1), DAY_SECONDS / 2, reading, logical_time)
    }

    fn since(
        &self,
        epochs: Option<u32>,
        seconds_of_day: i64,
        reading: &[u64],
        logical_time: i64,
    ) -> Retention {
        let epoch =
            |n: u32| reading.len().checked_sub(n as usize).map_or(0, |at| reading[at] as u32);
        let time = |days: u32| logical_time.saturating_sub(seconds_of_day * i64::from(days));
        Retention {
            epoch_min: epochs.map_or(0, epoch),
            time_min: self.retain_days.map_or(i64::MIN, time),
        }
    }
}
