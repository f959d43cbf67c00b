use super::*;
use crate::trace::parse::parse;
use plimsoll_engine::time::EventTime;

fn trace(text: &str) -> Trace {
    parse(text).unwrap_or_else(|it| panic!("{it}")).trace
}

const STORY: &str = "plan window=tumbling(10min) delay=2min effective=row
row p0 10:08:30 k=a v=1
row p0 10:12:00 k=a v=1
row p1 10:09:55 k=a v=1
row p1 10:11:00 k=b v=1
";
const BATCHES: &str = "plan window=sliding(10min,5min) delay=2min watermark=partition idle=1min late=window_end effective=next_batch
row p0 10:08:30 k=a v=1
row p1 10:12:00 k=a v=1
batch
row p0 10:17:30 k=a v=1
batch
tick +30s
row p1 10:09:30 k=b v=1
row p1 10:04:30 k=b v=1
batch
";

#[test]
fn look() {
    let t = trace(STORY);
    for n in 1..=4 {
        eprintln!("{}", row(&t, ItemId(n)).unwrap());
    }
    eprintln!("{}", window(&t, EventTime(36_000_000), Some("a")).unwrap());
    eprintln!("{}", window(&t, EventTime(36_600_000), None).unwrap());
    eprintln!("{:?}", window(&t, EventTime(36_600_001), None).unwrap_err().to_string());
    eprintln!("{:?}", window(&t, EventTime(36_600_000), Some("z")).unwrap_err().to_string());
    eprintln!("{}", watermark(&t).unwrap());
    let t = trace(BATCHES);
    for n in [1, 4, 7, 8] {
        eprintln!("{}", row(&t, ItemId(n)).unwrap());
    }
    eprintln!("{}", window(&t, EventTime(36_000_000), None).unwrap());
    eprintln!("{}", watermark(&t).unwrap());
}
