//! Writes numbers for people.

/// `n` and what it counts: `1 page`, `1,234 pages`.
pub fn counted(n: u64, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        _ => format!("{} {one}s", grouped(n)),
    }
}

/// `n` with commas between the thousands.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `bytes` in megabytes: `1.5 MB`.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// `bytes` in the unit that gives up to four digits: `12 KB`, `1.5 MB`.
pub fn size(bytes: u64) -> String {
    let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{} KB", grouped(bytes.div_ceil(1000))),
    }
}

/// `part` of `whole` with one digit behind the point: `65.8 %`. Of nothing it is `0.0 %`.
pub fn percent(part: u64, whole: u64) -> String {
    let whole = u128::from(whole.max(1));
    let tenths = (u128::from(part) * 1000 + whole / 2) / whole;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares are rounded to a tenth, and nothing is no share of nothing.
    #[test]
    fn shares() {
        let cases = [
            (256, 389, "65.8 %"),
            (1, 2000, "0.1 %"),
            (1, 2001, "0.0 %"),
            (7, 7, "100.0 %"),
            (0, 0, "0.0 %"),
        ];
        cases.into_iter().for_each(|(part, whole, shown)| assert_eq!(percent(part, whole), shown));
        assert_eq!(percent(u64::MAX, u64::MAX), "100.0 %");
    }
}
