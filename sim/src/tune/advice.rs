//! Which delay to set, and why, in one sentence with the recording's own numbers.
//!
//! The advice is the smallest delay that loses at most the allowed share behind the watermark that was
//! asked about. It is a statement about this recording: tomorrow's tail may be longer.
//!
//! Invariant: the advice is exact: one millisecond less loses more than allowed.

use super::Tuning;
use super::candidate::Behind;
use super::text::{count_text, percent, share_text, short_span};
use crate::trace::time_text::SpanText;
use plimsoll_engine::time::Span;

/// The advice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advice {
    /// The delay to set.
    pub delay: Span,
    /// Rows that it loses.
    pub lost: u64,
    /// What to set and why.
    pub sentence: String,
    /// What it costs, and how it compares.
    pub more: Vec<String>,
}

/// The advice for a recording.
pub fn advise(tuning: &Tuning) -> Advice {
    let asked = tuning.asked();
    let loss = tuning.options.loss;
    let delay = asked.smallest_delay_for(loss);
    let lost = asked.lost(delay);
    let allowed = share_text(loss, 100_000);
    let behind = tuning.options.behind.phrase();
    let rows = count_text(asked.rows());
    let loses = format!("{} of {rows} rows ({})", count_text(lost), percent(lost, asked.rows()));
    let sentence = match delay {
        Span::ZERO => format!(
            "No delay is needed: behind {behind} a delay of 0s loses {loses}, and {allowed} may be \
             lost."
        ),
        _ => format!(
            "Set the delay to {}: it is the smallest that loses at most {allowed} behind \
             {behind}; it loses {loses}, a millisecond less loses {}.",
            SpanText(delay),
            count_text(asked.lost(delay - Span(1)))
        ),
    };
    let mut more = Vec::new();
    more.extend(against_plain(tuning, delay));
    more.push(price(tuning, delay));
    more.extend(others(tuning, delay));
    more.extend(idle(tuning));
    Advice { delay, lost, sentence, more }
}

/// What the rule of thumb, a percentile of arrival minus event, would have said.
fn against_plain(tuning: &Tuning, delay: Span) -> Option<String> {
    let loss = u32::try_from(tuning.options.loss / 100).ok().filter(|it| *it <= 1_000)?;
    let permille = 1_000 - loss;
    let plain = Span(tuning.lateness.quantile(permille)?);
    let asked = tuning.asked();
    let lost = asked.lost(Span(plain.0.max(0)));
    let name = match permille % 10 {
        0 => format!("p{}", permille / 10),
        tenth => format!("p{}.{tenth}", permille / 10),
    };
    let verdict = match plain.0 - delay.0 {
        0 => return Some(format!("Plain {name} of arrival minus event says the same here.")),
        longer if 0 < longer => format!("{} longer than needed", short_span(Span(longer))),
        shorter => format!("{} too short", short_span(Span(-shorter))),
    };
    Some(format!(
        "Plain {name} of arrival minus event is {}, {verdict}: as a delay it loses {} rows ({}). \
         It is measured against the clock; a row is lost against the watermark, which comes from \
         rows that were late themselves.",
        short_span(plain),
        count_text(lost),
        percent(lost, asked.rows())
    ))
}

fn price(tuning: &Tuning, delay: Span) -> String {
    let cost = tuning.cost(delay);
    let size = SpanText(tuning.options.window.size);
    let written = match cost.latency {
        None if cost.windows_written == 0 => "no window closes within the recording, ".to_owned(),
        None => String::new(),
        Some(it) => format!(
            "windows of {size} are written {} after their end (p50; p95 {}, at most {}), ",
            short_span(it.p50),
            short_span(it.p95),
            short_span(it.max)
        ),
    };
    let open = match cost.windows_still_open {
        0 => String::new(),
        1 => " 1 window is still open at its end.".to_owned(),
        many => format!(" {} windows are still open at its end.", count_text(many)),
    };
    format!(
        "Its price in this recording: {written}up to {} (window, key) groups are held (mean {}), \
         and up to {} rows are newer than the watermark.{open}",
        count_text(cost.groups.max),
        count_text((cost.groups.mean_tenths + 5) / 10),
        count_text(cost.rows.max)
    )
}

/// The same share behind the other candidates.
fn others(tuning: &Tuning, delay: Span) -> Option<String> {
    if tuning.partitions < 2 {
        return None;
    }
    let asked = tuning.options.behind;
    let others: Vec<_> = tuning
        .looked_at()
        .filter(|it| *it != asked)
        .filter_map(|it| Some((it, tuning.curve(it)?.smallest_delay_for(tuning.options.loss))))
        .map(|(it, other)| {
            let lost = tuning.curve(it).map_or(0, |it| it.lost(delay));
            format!("{} {} ({} lost at {})", it.name(), SpanText(other), lost, SpanText(delay))
        })
        .collect();
    Some(format!("The same share behind others: {}.", others.join(", ")))
}

/// A minimum that never let anything close.
fn idle(tuning: &Tuning) -> Option<String> {
    let cost = tuning.cost(Span::ZERO);
    let stands = tuning.options.behind == Behind::Slowest && cost.windows_written == 0;
    stands.then(|| {
        "Behind the slowest partition no window closes within the recording: a partition that is \
         silent holds it; look at --idle."
            .to_owned()
    })
}
