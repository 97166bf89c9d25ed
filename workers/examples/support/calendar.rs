//! Moments of 2025: in come seconds since its first midnight (UTC), out come the forms in which crawls write dates.
//! Never reads a clock, so what is written with it can be written again.

const MONTHS: [(&str, u32); 12] = [
    ("Jan", 31),
    ("Feb", 28),
    ("Mar", 31),
    ("Apr", 30),
    ("May", 31),
    ("Jun", 30),
    ("Jul", 31),
    ("Aug", 31),
    ("Sep", 30),
    ("Oct", 31),
    ("Nov", 30),
    ("Dec", 31),
];

/// Seconds in a day.
pub const DAY_SECONDS: u32 = 86_400;
/// Seconds in 2025.
pub const YEAR_SECONDS: u32 = 365 * DAY_SECONDS;

/// A second of 2025, counted from its first midnight; later ones are taken modulo the year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u32);

impl Moment {
    /// Month and day, both from 1.
    pub fn month_day(self) -> (u32, u32) {
        let mut day = self.0 % YEAR_SECONDS / DAY_SECONDS;
        for (index, (_, days)) in (1..).zip(MONTHS) {
            if day < days {
                return (index, day + 1);
            }
            day -= days;
        }
        unreachable!("a day below 365 lies in a month")
    }

    /// ISO 8601 as WARC wants it: `2025-03-04T05:06:07Z`.
    pub fn iso(self) -> String {
        let (month, day) = self.month_day();
        let (hour, minute, second) = self.clock();
        format!("2025-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    fn clock(self) -> (u32, u32, u32) {
        (self.0 / 3600 % 24, self.0 / 60 % 60, self.0 % 60)
    }
}

/// HTTP's form (RFC 9110): `Tue, 04 Mar 2025 05:06:07 GMT`.
#[allow(dead_code, reason = "one of the two generators speaks no HTTP")]
pub fn http(moment: Moment) -> String {
    // The first of January 2025 was a Wednesday.
    const WEEK: [&str; 7] = ["Wed", "Thu", "Fri", "Sat", "Sun", "Mon", "Tue"];
    let (month, day) = moment.month_day();
    let (hour, minute, second) = moment.clock();
    let week_day = WEEK[(moment.0 % YEAR_SECONDS / DAY_SECONDS) as usize % 7];
    let month_name = MONTHS[month as usize - 1].0;
    format!("{week_day}, {day:02} {month_name} 2025 {hour:02}:{minute:02}:{second:02} GMT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        // The year's first and last second and the fourth of March, a Tuesday, print as calendars have them.
        assert_eq!(Moment(0).iso(), "2025-01-01T00:00:00Z");
        assert_eq!(Moment(YEAR_SECONDS - 1).iso(), "2025-12-31T23:59:59Z");
        assert_eq!(http(Moment(62 * DAY_SECONDS + 18_367)), "Tue, 04 Mar 2025 05:06:07 GMT");
    }
}
