//! Corrects the times and dates of rows that were written while the clock was wrong.

use crate::absent::NO_DATE;
use crate::plan::Plan;
use crate::plan::time::AHEAD_SECONDS_MAX;
use crate::plan::time::FUTURE_SECONDS_MAX;

/// The greatest time that is not corrected. Later times were written while the clock was wrong.
pub fn seen_max(plan: &Plan) -> i64 {
    if plan.comes_back { plan.logical_time.saturating_add(AHEAD_SECONDS_MAX) } else { i64::MAX }
}

/// The `last_time` of a row, or `now` if it is after `seen_max`.
pub fn corrected(last_time: i64, seen_max: i64, now: i64) -> i64 {
    if last_time > seen_max { now } else { last_time }
}

/// `as_of`, or [`NO_DATE`] if it is more than [`FUTURE_SECONDS_MAX`] after `time`: only a wrong
/// clock writes that.
pub fn sound(as_of: i64, time: i64) -> i64 {
    if as_of > time.saturating_add(FUTURE_SECONDS_MAX) { NO_DATE } else { as_of }
}
