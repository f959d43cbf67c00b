use super::*;
use crate::trace::parse::parse;

fn told(text: &str, names: &[&str], cuts: Cuts) -> Comparison {
    let trace = parse(text).expect("a trace").trace;
    compare(&trace, names, cuts).expect("names that are known")
}

const ALL: [&str; 3] = ["seed", "spark-4", "flink"];

/// 10:09:55 is behind the watermark of 10:10:00, and its window ends at 10:10:00.
const FIVE_SECONDS: &str = "\
    plan window=tumbling(10min) delay=2min\n\
    row p0 10:08:30 k=a\n\
    batch\n\
    row p0 10:12:00 k=a\n\
    batch\n\
    row p0 10:09:55 k=a\n\
    batch\n\
    row p0 10:22:00 k=a\n\
    batch\n\
    batch\n";

#[test]
fn a_row_behind_the_watermark_has_a_fate_and_numbers_under_each_rule() {
    let told = told(FIVE_SECONDS, &["seed", "spark-4"], Cuts::AsWritten);
    assert!(told.cannot.is_empty(), "{:?}", told.cannot);
    let text = told.text(false);
    assert!(text.contains("seed: late, 10:09:55 < 10:10:00"), "{text}");
}
