use super::reach::reach;
use super::*;

#[test]
fn report() {
    for (name, text) in embedded() {
        let scenario = Scenario::parse(text).unwrap_or_else(|e| panic!("{name} {e:?}"));
        if *name == "long_run" {
            continue;
        }
        let n = 500;
        let (mut items, mut c5, mut late, mut fault, mut closing, mut closed, mut open, mut rows) =
            (0, 0, 0, 0, 0, 0, 0, 0);
        let mut unhealed = 0;
        let (mut lo, mut hi) = (usize::MAX, 0);
        for seed in 0..n {
            let world = scenario.world(seed);
            items += world.trace.items.len();
            lo = lo.min(world.trace.items.len());
            hi = hi.max(world.trace.items.len());
            rows += world.trace.cells.len() / 3;
            let r = reach(&world);
            closing += usize::from(!r.never_closes);
            c5 += usize::from(!r.never_closes && r.closed >= 5);
            late += usize::from(r.late > 0);
            fault += usize::from(r.faults > 0);
            closed += r.closed;
            open += r.closed_in_chaos;
            unhealed += usize::from(!r.never_closes && r.unhealed > 0);
            if !r.never_closes && r.unhealed > 0 && unhealed < 3 {
                println!("  {seed} {}", crate::trace::write::write(&world.trace, &[]));
            }
        }
        let n = n as usize;
        println!(
            "{name:30} items {} ({lo}..{hi}) rows {} closing {}% c5 {}% late {}% fault {}% closed {} chaos {} unhealed {unhealed}",
            items / n,
            rows / n,
            closing * 100 / n,
            c5 * 100 / closing,
            late * 100 / n,
            fault * 100 / n,
            closed / n,
            open / n
        );
    }
}
#[test]
fn speed() {
    let mut n = 0;
    for seed in 0..100_000 {
        n += default_world(seed).trace.items.len();
    }
    println!("items {n}");
}
