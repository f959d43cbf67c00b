//! The trade-off as a picture: loss, latency and open state over one logarithmic axis of delays.
//!
//! Three panels stand above each other, so that each has a scale of its own and a vertical line crosses
//! all of them at one delay. SVG by hand: it is text, and it needs no library. Logarithms are computed by
//! integers, so that two machines draw the same picture.
//!
//! Invariant: every point that is drawn is an exact value at its delay.

mod axis;

use self::axis::{Linear, Log};
use super::advice::advise;
use super::candidate::Behind;
use super::open::Cost;
use super::text::{count_text, percent, share_text};
use super::{Tuning, open};
use crate::trace::time_text::SpanText;
use plimsoll_engine::time::Span;
use std::fmt::Write;

const LEFT: i64 = 92;
const RIGHT: i64 = 760;
const WIDTH: i64 = 900;
const PANEL: i64 = 170;
const GAP: i64 = 46;
const TOP: i64 = 82;

/// Colours that stay apart also for colour-blind eyes (Okabe and Ito).
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// Draws.
pub fn svg(tuning: &Tuning, title: &str) -> String {
    let reach = tuning.asked().smallest_delay(0).0.max(1_000);
    let reach = reach.max(tuning.lateness.quantile(999).unwrap_or(0));
    let x = Log::new((reach / 1_000).max(1), reach.saturating_add(reach / 4), LEFT, RIGHT);
    let points = if tuning.counts.rows < 300_000 { 160 } else { 40 };
    let delays: Vec<_> = x.spread(points).into_iter().map(Span).collect();
    let costs: Vec<_> = delays.iter().map(|it| tuning.cost(*it)).collect();
    let bottom = TOP + 3 * PANEL + 2 * GAP;
    let height = bottom + 64;
    let mut page = Page(String::new());
    page.line(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">"
    ));
    page.line(format_args!("<title>{}</title>", escaped(title)));
    page.line(format_args!("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"));
    page.text(LEFT, 24, "start", "font-size=\"15\" font-weight=\"bold\"", title);
    let rows = format!(
        "{} rows; latency and state: {}, windows of {}",
        count_text(tuning.counts.judged),
        tuning.options.behind.phrase(),
        SpanText(tuning.options.window.size)
    );
    page.text(LEFT, 42, "start", "fill=\"#555\"", &rows);
    for delay in x.ticks() {
        let at = x.place(delay);
        page.rule(at, TOP, at, bottom, "#e4e4e4");
        page.text(at, bottom + 18, "middle", "", &SpanText(Span(delay)).to_string());
    }
    page.text((LEFT + RIGHT) / 2, bottom + 44, "middle", "", "delay (logarithmic)");
    loss(&mut page, tuning, &x, &delays, TOP);
    latency(&mut page, &x, &delays, &costs, TOP + PANEL + GAP);
    state(&mut page, &x, &delays, &costs, TOP + 2 * (PANEL + GAP));
    marks(&mut page, tuning, &x, bottom);
    page.line(format_args!("</svg>"));
    page.0
}

fn loss(page: &mut Page, tuning: &Tuning, x: &Log, delays: &[Span], top: i64) {
    let bottom = top + PANEL;
    page.frame(top, "rows lost (logarithmic; none at the bottom line)");
    // In millionths; the lowest decade is below a single row, so that the bottom line means none.
    let judged = tuning.counts.judged;
    let one = (1_000_000 / judged.max(1)).max(1) as i64;
    let most = tuning.looked_at().filter_map(|it| tuning.curve(it)).map(|it| it.lost(delays[0]));
    let most = most.max().unwrap_or(0).max(1);
    let top_share = millionths(most, judged).max(10 * one);
    let y = Log::new((one / 2).max(1), top_share.saturating_mul(2), bottom, top);
    for decade in (0..7).map(|it| 10_i64.pow(it)).filter(|it| y.contains(*it)) {
        let at = y.place(decade);
        page.rule(LEFT, at, RIGHT, at, "#e4e4e4");
        page.text(LEFT - 8, at + 4, "end", "", &share_text(decade as u64, 1_000_000));
    }
    for (place, behind) in tuning.looked_at().enumerate() {
        let Some(curve) = tuning.curve(behind) else { continue };
        let points = delays.iter().map(|it| {
            let share = match curve.lost(*it) {
                0 => bottom,
                lost => y.place(millionths(lost, judged).max(1)),
            };
            (x.place(it.0), share)
        });
        let width = if behind == tuning.options.behind { 2 } else { 1 };
        page.steps(points, colour(behind), width);
        page.text(RIGHT + 12, top + 16 + 18 * place as i64, "start", &fill(behind), behind.name());
    }
}

fn millionths(part: u64, whole: u64) -> i64 {
    (u128::from(part) * 1_000_000 / u128::from(whole.max(1))) as i64
}

fn colour(behind: Behind) -> &'static str {
    COLOURS[behind as usize]
}

fn fill(behind: Behind) -> String {
    format!("fill=\"{}\"", colour(behind))
}

fn latency(page: &mut Page, x: &Log, delays: &[Span], costs: &[Cost], top: i64) {
    page.frame(top, "window written after its end");
    let of = |pick: fn(&open::Latency) -> Span| -> Vec<_> {
        let known = delays.iter().zip(costs);
        known.filter_map(|(it, cost)| Some((it.0, pick(cost.latency.as_ref()?).0))).collect()
    };
    let lines = [("p95", of(|it| it.p95)), ("p50", of(|it| it.p50))];
    let values = || lines.iter().flat_map(|it| &it.1).map(|it| it.1);
    let (Some(low), Some(high)) = (values().min(), values().max()) else {
        let none = "unknown: no arrival times, or no window closes";
        return page.text((LEFT + RIGHT) / 2, top + PANEL / 2, "middle", "fill=\"#555\"", none);
    };
    let y = Linear::new(low.min(0), high.max(1), top + PANEL, top);
    for tick in y.ticks(&axis::SPANS) {
        page.rule(LEFT, y.place(tick), RIGHT, y.place(tick), "#e4e4e4");
        page.text(LEFT - 8, y.place(tick) + 4, "end", "", &SpanText(Span(tick)).to_string());
    }
    page.lines(x, &y, &lines, top);
}

fn state(page: &mut Page, x: &Log, delays: &[Span], costs: &[Cost], top: i64) {
    page.frame(top, "(window, key) groups held");
    let of = |pick: fn(&Cost) -> u64| -> Vec<_> {
        delays.iter().zip(costs).map(|(it, cost)| (it.0, pick(cost) as i64)).collect()
    };
    let lines = [("max", of(|it| it.groups.max)), ("mean", of(|it| it.groups.mean_tenths / 10))];
    let high = lines.iter().flat_map(|it| &it.1).map(|it| it.1).max().unwrap_or(1);
    let y = Linear::new(0, high.max(1), top + PANEL, top);
    for tick in y.ticks(&axis::COUNTS) {
        page.rule(LEFT, y.place(tick), RIGHT, y.place(tick), "#e4e4e4");
        page.text(LEFT - 8, y.place(tick) + 4, "end", "", &count_text(tick as u64));
    }
    page.lines(x, &y, &lines, top);
}

/// The advice and the rule of thumb, across all panels.
fn marks(page: &mut Page, tuning: &Tuning, x: &Log, bottom: i64) {
    let advice = advise(tuning);
    let lost = percent(advice.lost, tuning.counts.judged);
    let mut marks = vec![(advice.delay.0, format!("advice {}: {lost}", SpanText(advice.delay)))];
    if let Some(plain) = tuning.lateness.quantile(999) {
        marks.push((plain, "plain p99.9".to_owned()));
    }
    for (place, (delay, name)) in marks.iter().enumerate().filter(|it| x.contains(it.1.0)) {
        let at = x.place(*delay);
        let dash = if place == 0 { "" } else { " stroke-dasharray=\"4 3\"" };
        page.line(format_args!(
            "<line x1=\"{at}\" y1=\"{TOP}\" x2=\"{at}\" y2=\"{bottom}\" stroke=\"#333\"{dash}/>"
        ));
        let (side, to) = if place == 0 { ("end", at - 6) } else { ("start", at + 6) };
        page.text(to, TOP + PANEL + 14, side, "fill=\"#333\"", name);
    }
}

/// The text of the picture, growing.
struct Page(String);

impl Page {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{text}").expect("a String takes all text");
    }

    fn text(&mut self, x: i64, y: i64, anchor: &str, how: &str, text: &str) {
        let text = escaped(text);
        self.line(format_args!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" {how}>{text}</text>"
        ));
    }

    fn rule(&mut self, x1: i64, y1: i64, x2: i64, y2: i64, colour: &str) {
        self.line(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{colour}\"/>"
        ));
    }

    fn frame(&mut self, top: i64, title: &str) {
        self.rule(LEFT, top + PANEL, RIGHT, top + PANEL, "#333");
        self.rule(LEFT, top, LEFT, top + PANEL, "#333");
        self.text(LEFT, top - 8, "start", "font-weight=\"bold\"", title);
    }

    /// A line that holds its value until the next point.
    fn steps(&mut self, points: impl Iterator<Item = (i64, i64)>, colour: &str, width: i64) {
        let mut path = String::new();
        for (x, y) in points {
            if path.is_empty() {
                write!(path, "M{x} {y}").expect("a String takes all text");
            } else {
                write!(path, "H{x}V{y}").expect("a String takes all text");
            }
        }
        self.line(format_args!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
        ));
    }

    /// Two lines of one panel with their names.
    fn lines(&mut self, x: &Log, y: &Linear, lines: &[(&str, Vec<(i64, i64)>)], top: i64) {
        for (place, (name, points)) in lines.iter().enumerate() {
            let colour = COLOURS[1 - place % 2];
            let points = points.iter().map(|it| (x.place(it.0), y.place(it.1)));
            self.steps(points, colour, 2);
            let at = top + 16 + 18 * place as i64;
            self.text(RIGHT + 12, at, "start", &format!("fill=\"{colour}\""), name);
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
