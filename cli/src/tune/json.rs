//! The answer of `tune` as one JSON object.
//!
//! Names carry their unit; spans are milliseconds, so that scripts need no reader of spans.
//!
//! Invariant: what the table says stands here too.

use plimsoll_engine::time::Span;
use plimsoll_sim::tune::Tuning;
use plimsoll_sim::tune::advice::advise;
use plimsoll_sim::tune::candidate::Behind;
use plimsoll_sim::tune::open::{Cost, Gauge};
use serde_json::{Map, Value, json};

/// The whole answer.
pub(super) fn tuning(tuning: &Tuning, table: &[(Span, String)]) -> Value {
    let counts = tuning.counts;
    let advice = advise(tuning);
    let quantile = |permille| tuning.lateness.quantile(permille);
    let lateness = tuning.lateness.max().map(|max| {
        json!({
            "p50": quantile(500), "p90": quantile(900), "p99": quantile(990),
            "p999": quantile(999), "max": max,
        })
    });
    json!({
        "rows": counts.rows,
        "rows_judged": counts.judged,
        "rows_no_time": counts.no_time,
        "rows_time_out_of_range": counts.time_out_of_range,
        "rows_no_window": counts.no_window,
        "rows_before_their_event_time": counts.from_the_future,
        "rows_arrival_unknown": tuning.clock.unknown,
        "rows_arrival_backwards": tuning.clock.backwards,
        "partitions": tuning.partitions,
        "plain_lateness_ms": lateness,
        "watermark": word(tuning.options.behind),
        "advice": {
            "delay_ms": advice.delay.0,
            "rows_lost": advice.lost,
            "sentence": advice.sentence,
            "more": advice.more,
        },
        "delays": table.iter().map(|it| delay(tuning, it)).collect::<Vec<_>>(),
    })
}

fn delay(tuning: &Tuning, (delay, note): &(Span, String)) -> Value {
    let lost: Map<_, _> = tuning
        .looked_at()
        .filter_map(|it| Some((word(it).to_owned(), json!(tuning.curve(it)?.lost(*delay)))))
        .collect();
    let Cost { latency, windows_written, windows_still_open, windows, groups, rows } =
        tuning.cost(*delay);
    let latency = latency.map(|it| json!({ "p50": it.p50.0, "p95": it.p95.0, "max": it.max.0 }));
    json!({
        "delay_ms": delay.0,
        "note": note,
        "rows_lost": lost,
        "latency_ms": latency,
        "windows_written": windows_written,
        "windows_still_open": windows_still_open,
        "windows_held": gauge(windows),
        "groups_held": gauge(groups),
        "rows_held": gauge(rows),
    })
}

fn gauge(gauge: Gauge) -> Value {
    json!({ "max": gauge.max, "mean_tenths": gauge.mean_tenths })
}

const fn word(behind: Behind) -> &'static str {
    match behind {
        Behind::Global => "global",
        Behind::OwnPartition => "own_partition",
        Behind::Slowest => "slowest",
        Behind::SlowestIdle => "slowest_idle",
    }
}
