//! Counts as bar charts.

use crate::ask::report::views::{Bar, Plot};
use crate::figures::grouped;
use std::collections::BTreeMap;

/// Counts by the number of a bar. A bar without a count is drawn between others nevertheless, so
/// that a gap is visible.
pub(super) struct Bars {
    counts: BTreeMap<u16, u64>,
    label: fn(u16) -> String,
}

impl Bars {
    /// Bars for the numbers from each power of two up to the next.
    pub(super) fn of_powers() -> Bars {
        let label = |bar| match bar {
            0 => "1".into(),
            _ => format!("{} to {}", grouped(1 << bar), grouped((1 << bar) * 2 - 1)),
        };
        Bars { counts: BTreeMap::new(), label }
    }

    /// Adds a count to the bar of the power of two of `n`; 0 counts in the first bar.
    pub(super) fn add_power(&mut self, n: u32) {
        self.add(n.max(1).ilog2() as u16);
    }

    /// Bars for each five percent.
    pub(super) fn of_similarities() -> Bars {
        let label =
            |bar| if bar < 20 { format!("{} to {}", bar * 5, bar * 5 + 4) } else { "100".into() };
        Bars { counts: BTreeMap::new(), label }
    }

    /// Adds a similarity, of which 10,000 is the greatest.
    pub(super) fn add_similarity(&mut self, similarity: u16) {
        self.add(similarity / 500);
    }

    fn add(&mut self, bar: u16) {
        *self.counts.entry(bar).or_default() += 1;
    }

    /// The chart; `None` if nothing was counted.
    pub(super) fn plot(&self, title: &'static str) -> Option<Plot> {
        let (first, last) = (*self.counts.keys().next()?, *self.counts.keys().next_back()?);
        let most = self.counts.values().copied().max()?;
        let bar = |bar| {
            let count = self.counts.get(&bar).copied().unwrap_or(0);
            // In thousandths of the longest bar.
            Bar {
                label: (self.label)(bar),
                count: grouped(count),
                width: (count * 1000 / most) as u32,
            }
        };
        Some(Plot { title, bars: (first..=last).map(bar).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bars: &Bars) -> Vec<(String, String, u32)> {
        let plot = bars.plot("a title").expect("a plot");
        plot.bars.into_iter().map(|bar| (bar.label, bar.count, bar.width)).collect()
    }

    fn row(label: &str, count: &str, width: u32) -> (String, String, u32) {
        (label.into(), count.into(), width)
    }

    /// A bar has the numbers from a power of two up to the next, and a bar between two others is
    /// there even without a count.
    #[test]
    fn bars_of_powers() {
        let mut bars = Bars::of_powers();
        assert!(bars.plot("nothing").is_none());
        [0, 1, 2, 3, 7, 40].into_iter().for_each(|n| bars.add_power(n));
        let expected =
            [("1", "2", 1000), ("2 to 3", "2", 1000), ("4 to 7", "1", 500), ("8 to 15", "0", 0)]
                .into_iter()
                .chain([("16 to 31", "0", 0), ("32 to 63", "1", 500)]);
        assert_eq!(
            shown(&bars),
            expected.map(|(label, count, width)| row(label, count, width)).collect::<Vec<_>>()
        );
        let mut bars = Bars::of_powers();
        bars.add_power(u32::MAX);
        assert_eq!(shown(&bars), [row("2,147,483,648 to 4,294,967,295", "1", 1000)]);
    }

    /// Only equal 5-grams are 100 percent alike.
    #[test]
    fn bars_of_similarities() {
        let mut bars = Bars::of_similarities();
        [9_499, 9_999, 10_000, 10_000].into_iter().for_each(|n| bars.add_similarity(n));
        assert_eq!(
            shown(&bars),
            [row("90 to 94", "1", 500), row("95 to 99", "1", 500), row("100", "2", 1000)]
        );
    }
}
