//! Draws a sweep as an SVG of two panels: precision against recall, and recall against the pairs
//! that are verified for each true one (logarithmic).
//!
//! Each key of the job has a colour, each setting a point, and the stored answers have a ring. It
//! is written by hand, because a drawing library would bring fonts and back ends, and a plot has
//! only circles, lines and words.

use crate::eval::sweep::{SettingScore, Sweep};
use std::fmt::Write;

const WIDTH: f64 = 1080.0;
const HEIGHT: f64 = 560.0;
/// The left edges of the panels; then width, top and height of a panel's area.
const LEFTS: [f64; 2] = [76.0, 600.0];
const PANEL: (f64, f64, f64) = (440.0, 64.0, 360.0);
/// Colours that people with impaired colour vision can distinguish (Okabe and Ito 2008), one for
/// each key.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f"];
/// The number of ticks that an axis has at most, approximately.
const TICKS: f64 = 6.0;

/// An axis maps values to places.
struct Axis {
    from: f64,
    to: f64,
    log: bool,
    ticks: Vec<f64>,
}

impl Axis {
    /// An axis for `values` within 0 to 1, with steps of 1, 2 or 5 times a power of ten.
    fn shares(values: impl Iterator<Item = f64> + Clone) -> Axis {
        let (least, most) = (values.clone().fold(1.0, f64::min), values.fold(0.0, f64::max));
        let (least, most) = if least <= most { (least, most) } else { (0.0, 1.0) };
        // The axis is not narrower, so that a difference of one pair in thousands does not fill the
        // panel.
        let span = (most - least).max(0.02);
        let power = 10f64.powf((span / TICKS).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|n| n * power)
            .find(|step| span / step <= TICKS)
            .unwrap_or(span);
        // Counted in whole steps, so that rounding errors do not add up.
        let from = ((least - span * 0.05) / step).floor().max(0.0);
        let to = ((most + span * 0.05) / step).ceil().min((1.0 / step).round());
        let ticks = (from as u32..=to as u32).map(|n| f64::from(n) * step).collect();
        Axis { from: from * step, to: to * step, log: false, ticks }
    }

    /// A logarithmic axis for `values` above 0. Both ends are 1, 2 or 5 times a power of ten.
    fn logarithmic(values: impl Iterator<Item = f64> + Clone) -> Axis {
        let (least, most) =
            (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
        let (least, most) = if most > 0.0 { (least, most) } else { (0.5, 2.0) };
        let all: Vec<f64> =
            (-6..=9).flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10f64.powi(power))).collect();
        let from = all.iter().rposition(|tick| *tick < least).unwrap_or(0);
        let to = all.iter().position(|tick| *tick > most).unwrap_or(all.len() - 1);
        Axis { from: all[from], to: all[to], log: true, ticks: all[from..=to].to_vec() }
    }

    /// The place of `value`: 0 is the start, 1 the end.
    fn place(&self, value: f64) -> f64 {
        let of = |value: f64| if self.log { value.ln() } else { value };
        (of(value) - of(self.from)) / (of(self.to) - of(self.from)).max(f64::MIN_POSITIVE)
    }

    fn label(&self, tick: f64) -> String {
        let digits = if self.log { 4 } else { 5 };
        let text = format!("{tick:.digits$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// The point of a setting, if it has both numbers.
type Of = fn(&SettingScore) -> Option<(f64, f64)>;

fn precision_recall(row: &SettingScore) -> Option<(f64, f64)> {
    row.confirmed.recall.zip(row.confirmed.precision)
}

fn cost_recall(row: &SettingScore) -> Option<(f64, f64)> {
    row.verified_per_true.filter(|cost| *cost > 0.0).zip(row.confirmed.recall)
}

/// A mark in the head of each plot, by which a later plot knows that it may replace the file.
pub const MARK: &str = "<!-- drawn by pagefold eval -->";

/// The plot of `sweep`, titled `title`.
pub fn svg(sweep: &Sweep, title: &str) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         {MARK}\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"{x}\" y=\"28\" font-size=\"16\" font-weight=\"bold\">{}</text>\n",
        escaped(title),
        x = LEFTS[0]
    );
    panel(&mut out, LEFTS[0], sweep, precision_recall, ["recall", "precision"], false);
    panel(
        &mut out,
        LEFTS[1],
        sweep,
        cost_recall,
        ["pairs verified for each true one", "recall"],
        true,
    );
    legend(&mut out, sweep);
    out.push_str("</svg>\n");
    out
}

fn panel(out: &mut String, left: f64, sweep: &Sweep, of: Of, names: [&str; 2], log: bool) {
    let (width, top, height) = PANEL;
    // A threshold does not change which pairs are verified, so the panel of costs omits it.
    let knobs = || {
        sweep
            .knobs
            .iter()
            .zip(COLOURS.iter().cycle())
            .filter(move |(knob, _)| !log || is_signature(knob.key))
    };
    let points: Vec<(f64, f64)> =
        knobs().flat_map(|(knob, _)| &knob.rows).chain([&sweep.stored]).filter_map(of).collect();
    let xs = points.iter().map(|point| point.0);
    let x = if log { Axis::logarithmic(xs) } else { Axis::shares(xs) };
    let y = Axis::shares(points.iter().map(|point| point.1));
    let at = |point: (f64, f64)| {
        (left + width * x.place(point.0), top + height * (1.0 - y.place(point.1)))
    };
    frame(out, left, (&x, &y), names);
    // A name that would cover another is omitted.
    let mut named: Vec<(f64, f64)> = Vec::new();
    for (knob, colour) in knobs() {
        let rows: Vec<(&SettingScore, (f64, f64))> =
            knob.rows.iter().filter_map(|row| of(row).map(|point| (row, at(point)))).collect();
        // Settings of two numbers (bins, and bins of a key) have no order, so no line connects
        // them.
        if !knob.key.starts_with("minhash") {
            let line: Vec<String> =
                rows.iter().map(|(_, (px, py))| format!("{px:.1},{py:.1}")).collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" opacity=\"0.7\"/>",
                line.join(" ")
            );
        }
        for (row, (px, py)) in rows {
            let setting = escaped(&row.setting);
            let _ = writeln!(
                out,
                "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"3.5\" fill=\"{colour}\"><title>{} {setting}</title></circle>",
                knob.key
            );
            if named.iter().all(|(x, y)| (x - px).abs() > 34.0 || (y - py).abs() > 13.0) {
                named.push((px, py));
                let _ = writeln!(
                    out,
                    "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\" fill=\"{colour}\">{setting}</text>",
                    px + 6.0,
                    py - 5.0
                );
            }
        }
    }
    if let Some((px, py)) = of(&sweep.stored).map(at) {
        let _ = writeln!(
            out,
            "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"8\" fill=\"none\" stroke=\"#222\" stroke-width=\"2\"><title>as stored</title></circle>"
        );
    }
}

/// Draws the ticks of both axes, the frame and their names.
fn frame(out: &mut String, left: f64, (x, y): (&Axis, &Axis), names: [&str; 2]) {
    let (width, top, height) = PANEL;
    for tick in &x.ticks {
        let px = left + width * x.place(*tick);
        let _ = writeln!(
            out,
            "<path d=\"M{px:.1} {top}V{:.1}\" stroke=\"#e4e4e4\"/><text x=\"{px:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            top + height,
            top + height + 18.0,
            x.label(*tick)
        );
    }
    for tick in &y.ticks {
        let py = top + height * (1.0 - y.place(*tick));
        let _ = writeln!(
            out,
            "<path d=\"M{left} {py:.1}H{:.1}\" stroke=\"#e4e4e4\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left + width,
            left - 8.0,
            py + 4.0,
            y.label(*tick)
        );
    }
    let _ = writeln!(
        out,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#888\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text transform=\"translate({:.1} {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        left + width / 2.0,
        top + height + 40.0,
        names[0],
        left - 52.0,
        top + height / 2.0,
        names[1]
    );
}

fn is_signature(key: &str) -> bool {
    !key.starts_with("confirm.")
}

fn legend(out: &mut String, sweep: &Sweep) {
    let mut at = (LEFTS[0], HEIGHT - 56.0);
    let mut place = |name: &str, mark: &dyn Fn(f64, f64) -> String| {
        let wide = 36.0 + 6.6 * name.len() as f64;
        if at.0 + wide > WIDTH - 20.0 {
            at = (LEFTS[0], at.1 + 22.0);
        }
        let (x, y) = at;
        let _ = writeln!(
            out,
            "{}<text x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
            mark(x, y),
            x + 16.0,
            y + 4.0
        );
        at.0 += wide;
    };
    place("as stored", &|x, y| {
        format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"8\" fill=\"none\" stroke=\"#222\" stroke-width=\"2\"/>"
        )
    });
    for (knob, colour) in sweep.knobs.iter().zip(COLOURS.iter().cycle()) {
        place(knob.key, &|x, y| {
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{colour}\"/>")
        });
    }
}

/// `text` escaped for XML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::score::Measure;
    use crate::eval::sweep::Knob;
    use proptest::prelude::*;

    fn row(right: u64, verified: Option<f64>) -> SettingScore {
        let measure = Measure::new(100, 90, right);
        SettingScore {
            setting: format!("<{right}>"),
            is_job: false,
            verified: 7,
            verified_per_true: verified,
            proposed: measure,
            confirmed: measure,
            bytes_per_text: None,
        }
    }

    proptest! {
        /// All values and ticks are on the axis, and ticks are few and ascend.
        #[test]
        fn values_are_on_the_axis(shares in prop::collection::vec(0.0f64..=1.0, 0..9), costs in prop::collection::vec(1e-4f64..1e6, 0..9)) {
            for (axis, values) in [(Axis::shares(shares.iter().copied()), &shares), (Axis::logarithmic(costs.iter().copied()), &costs)] {
                for value in values.iter().chain(&axis.ticks) {
                    prop_assert!((-1e-9..=1.0 + 1e-9).contains(&axis.place(*value)), "{value}");
                }
                prop_assert!(axis.ticks.is_sorted_by(|a, b| a < b) && (2..60).contains(&axis.ticks.len()));
            }
        }
    }

    /// For any title the plot is well-formed. Exactly the settings that have both numbers have a
    /// point.
    #[test]
    fn points_are_drawn() {
        let rows = vec![row(10, Some(1.5)), row(80, None), row(90, Some(0.0))];
        let knobs = vec![Knob { key: "simhash.k", rows }];
        let sweep = Sweep { stored: row(50, Some(2.0)), knobs, notes: vec![] };
        let svg = svg(&sweep, "a < b & \"c\"");
        assert!(
            svg.starts_with("<svg")
                && svg.ends_with("</svg>\n")
                && svg.contains("a &lt; b &amp; &quot;c&quot;")
        );
        assert_eq!(svg.matches("<title>simhash.k").count(), 3 + 1);
        assert_eq!(svg.matches("<title>as stored").count(), 2);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
