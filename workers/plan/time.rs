//! The logical time of an epoch.
//!
//! The clock is that of the system, or its time is given on the command line. In a store with an
//! epoch the logical time is:
//!
//! - If the clock runs on: its time.
//! - If it was set back: the last epoch's time, until the clock has caught up, so that time never
//!   goes back.
//! - If the last epoch's time is more than [`AHEAD_SECONDS_MAX`] ahead of the clock, and the clock
//!   can be trusted (the time was given, or the store's last file is not from the future, too): the
//!   clock's time. Otherwise no page would expire for years, and no command would mend this.
//! - If the same is so, but the clock cannot be trusted (it starts in 1970): the last epoch's time.
//!
//! A new store waits for a right clock: its first epoch would be so old that the next one lets all
//! its pages expire.

use crate::error::{Error, Kind, Result};
use std::time::UNIX_EPOCH;

/// A time that is further ahead of the clock than this, in seconds, is not a difference of two
/// clocks: one of them is wrong.
pub const AHEAD_SECONDS_MAX: i64 = 172_800;

/// A date that is further ahead of the epoch's time than this is wrong. It counts among the visits
/// of its epoch, but against records of earlier epochs as this limit, and against later ones as no
/// date.
pub const FUTURE_SECONDS_MAX: i64 = 86_400;

/// The start of 2025, before this program. No right clock shows an earlier time.
const LEAST: i64 = 1_735_689_600;

/// The clock of the system, in seconds since 1970. Few places read it: a plan freezes a time, and
/// the rest of the run uses that time.
pub fn now() -> i64 {
    UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() as i64)
}

/// The logical time of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogicalTime {
    /// The time in seconds since 1970.
    pub seconds: i64,
    /// Whether the last epoch's time was too far ahead of it.
    pub comes_back: bool,
}

/// The times from which the logical time is chosen, in seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The time of the run: the clock's, or that of the command line.
    pub now: i64,
    /// Whether the command line gave it.
    pub is_given: bool,
    /// The clock of the system.
    pub system: i64,
}

impl Clock {
    /// A clock that shows `now` and is right.
    pub fn at(now: i64) -> Clock {
        Clock { now, is_given: true, system: now }
    }

    /// The greatest time that is not too far ahead.
    pub fn latest(self) -> i64 {
        self.system.saturating_add(AHEAD_SECONDS_MAX)
    }

    /// The time of the first epoch of a store.
    ///
    /// # Errors
    ///
    /// `TryAgain` if the clock cannot be right. A clock may be set soon after its machine starts.
    pub fn first(self) -> Result<i64> {
        if self.is_given || self.now >= LEAST {
            return Ok(self.now);
        }
        let line = format!(
            "the clock of this machine is wrong: it shows {} seconds since 1970; set it, or give --now",
            self.now
        );
        Err(Error::new(Kind::TryAgain, line))
    }

    /// The time of the next epoch. `last` is the time of the last epoch, and `written` the time of
    /// its commit by the file system's clock.
    pub fn next(self, last: i64, written: i64) -> LogicalTime {
        let is_ahead = last > self.latest();
        if is_ahead && (self.is_given || written <= self.latest()) {
            return LogicalTime { seconds: self.now, comes_back: true };
        }
        if is_ahead {
            tracing::warn!(
                "the last epoch's time is {} days ahead of this clock, so no page expires until then; if the clock is right, \
                 run once with --now {}",
                last.saturating_sub(self.system) / 86_400,
                self.system
            );
        }
        LogicalTime { seconds: self.now.max(last), comes_back: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One run with a clock that was far ahead stopped all expiry until that time came. Time comes
    /// back if the clock can be trusted; otherwise, as with a clock that starts in 1970, it stands
    /// still.
    #[test]
    fn time_stands_still_or_comes_back() {
        const NOW: i64 = 1_800_000_000;
        const DAY: i64 = 86_400;
        let clock = Clock { now: NOW, is_given: false, system: NOW };
        let next = |clock: Clock, last, written| {
            let LogicalTime { seconds, comes_back } = clock.next(last, written);
            (seconds, comes_back)
        };
        assert_eq!(next(clock, NOW - DAY, NOW), (NOW, false));
        assert_eq!(next(clock, NOW + DAY, NOW), (NOW + DAY, false), "set back a little");
        assert_eq!(next(clock, NOW * 2, NOW), (NOW, true), "an epoch with a wrong clock");
        assert_eq!(next(clock, i64::MAX, NOW), (NOW, true));
        let reset = Clock { now: 5, is_given: false, system: 5 };
        assert_eq!(next(reset, NOW, NOW), (NOW, false), "a clock that lost its time");
        assert_eq!(next(Clock { is_given: true, ..reset }, NOW, NOW), (5, true));
        assert!(reset.first().is_err(), "the next epoch would let all pages expire");
        let set = Clock { is_given: true, ..reset };
        assert_eq!((clock.first().ok(), set.first().ok()), (Some(NOW), Some(5)));
        let given = Clock { now: NOW - 99 * DAY, is_given: true, system: NOW };
        assert_eq!(
            next(given, NOW - DAY, NOW),
            (NOW - DAY, false),
            "a given time does not go back either"
        );
    }
}
