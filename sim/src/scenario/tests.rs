//! Worlds as a sweep meets them.

use super::reach::reach;
use super::*;
use crate::entropy::stable_hash;
use crate::trace::Item;
use crate::trace::parse;
use crate::trace::write::write;
use plimsoll_engine::plan::check::check;
use plimsoll_engine::plan::problem::Problem;
use plimsoll_engine::plan::{
    AllIdle, Effective, GeneratorPlan, GuardAction, LateRule, OutputMode, Rejoin, Trigger,
};
use plimsoll_engine::watermark::member::Adoption;
use std::collections::BTreeSet;

fn scenario(name: &str) -> Scenario {
    let text = embedded().iter().find(|it| it.0 == name).expect("an embedded world").1;
    Scenario::parse(text).expect(name)
}

fn rows(trace: &Trace) -> usize {
    trace.items.iter().filter(|it| matches!(it, Item::Row(_))).count()
}

#[test]
fn every_embedded_world_is_a_scenario_of_its_own_name_and_says_what_to_look_at() {
    let mut names = BTreeSet::new();
    for (name, text) in embedded() {
        let scenario = Scenario::parse(text).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        assert_eq!(&scenario.name, name);
        assert!(scenario.look.len() > 40 && scenario.look.ends_with(['.', '?']), "{name}");
        assert!(names.insert(scenario.hash()), "{name} is said twice");
    }
}

#[test]
fn every_seed_makes_a_world_of_about_the_stated_size() {
    for (name, _) in embedded().iter().filter(|it| it.0 != "long_run") {
        let scenario = scenario(name);
        let mut sum = 0;
        for seed in 0..200 {
            let World { trace, chaos_len } = scenario.world(seed);
            let found = trace.items.len();
            let [low, high] = scenario.size.items.map(|it| it as usize);
            assert!((low / 2..=high * 2).contains(&found), "{name}, seed {seed}: {found}");
            assert!(chaos_len < found && rows(&trace) >= 8, "{name}, seed {seed}");
            sum += found;
        }
        // What is sent again comes on top.
        assert!((48 * 200..90 * 200).contains(&sum), "{name}: {sum} items in 200 worlds");
    }
}

#[test]
fn the_long_run_has_a_hundred_thousand_items() {
    let trace = scenario("long_run").trace(1);
    assert!((90_000..110_000).contains(&trace.items.len()), "{}", trace.items.len());
    assert!(rows(&trace) > 60_000, "{}", rows(&trace));
}

#[test]
fn the_same_seed_is_the_same_world_and_another_seed_another() {
    for (name, _) in embedded().iter().filter(|it| it.0 != "long_run") {
        let scenario = scenario(name);
        assert_eq!(scenario.world(7), scenario.world(7));
        assert_ne!(scenario.trace(7), scenario.trace(8), "{name}");
    }
}

/// A change of this number is a change of every plain seed's world: stored traces survive it, seeds
/// that people have written down do not. Change it only when you mean to.
#[test]
fn the_worlds_of_seed_42_are_the_recorded_ones() {
    let hash = |worlds: &[(&str, &str)]| {
        let short = worlds.iter().filter(|it| it.0 != "long_run");
        let texts: String = short.map(|it| write(&scenario(it.0).trace(42), &[])).collect();
        stable_hash(texts.as_bytes())
    };
    let [plain, flows] = embedded::of_plain_plans_and_flows();
    assert_eq!(hash(plain), 9_694_762_787_630_381_279);
    assert_eq!(hash(flows), 17_097_714_163_338_693_172, "of flows");
}

#[test]
fn no_flow_of_a_world_is_refused_and_each_is_written_and_read_back_as_it_is() {
    for seed in 0..400 {
        let trace = flow_world(seed).trace;
        assert!(trace.plan.flow.is_some(), "seed {seed}");
        let refusals: Vec<_> = check(&trace.plan).into_iter().filter(Problem::is_refusal).collect();
        assert!(refusals.is_empty(), "seed {seed}: {refusals:?}");
        let read = parse::parse(&write(&trace, &[])).unwrap_or_else(|it| panic!("{seed}: {it:?}"));
        assert_eq!(read.trace, trace, "seed {seed}");
    }
}

#[test]
fn no_default_world_is_refused_by_the_plan_check() {
    for seed in 0..3_000 {
        let plan = default_world(seed).trace.plan;
        let refusals: Vec<_> = check(&plan).into_iter().filter(Problem::is_refusal).collect();
        assert!(refusals.is_empty(), "seed {seed}: {refusals:?}");
    }
}

#[test]
fn a_world_is_written_and_read_back_as_it_is() {
    for seed in 0..300 {
        let trace = default_world(seed).trace;
        let read = parse::parse(&write(&trace, &[])).unwrap_or_else(|it| panic!("{seed}: {it:?}"));
        assert_eq!(read.trace, trace, "seed {seed}");
    }
}

#[test]
fn most_worlds_close_windows_half_have_late_rows_half_have_faults_and_all_heal() {
    let (mut closing, mut closed, mut in_chaos, mut late, mut faulty) = (0, 0, 0, 0, 0);
    for seed in 0..2_000 {
        let reach = reach(&default_world(seed));
        late += usize::from(reach.late > 0);
        faulty += usize::from(reach.faults > 0);
        if !reach.never_closes {
            closing += 1;
            closed += usize::from(reach.closed >= 5);
            in_chaos += usize::from(reach.closed_in_chaos >= 2);
            assert_eq!(reach.unhealed, 0, "seed {seed}: a window stays open after healing");
        }
    }
    assert!(closing >= 1_600, "{closing} of 2,000 plans can close a window");
    assert!(closed * 100 >= closing * 95, "{closed} of {closing} close 5 windows");
    assert!(in_chaos * 100 >= closing * 80, "{in_chaos} of {closing} close 2 before healing");
    assert!(late >= 1_000, "{late} of 2,000 have a late row");
    assert!(faulty >= 1_000, "{faulty} of 2,000 have a fault");
}

#[test]
fn an_idle_source_and_a_network_that_is_down_are_the_same_trace() {
    let (idle, down) = (scenario("idle_source"), scenario("network_down"));
    for seed in 0..200 {
        assert_eq!(idle.world(seed), down.world(seed), "seed {seed}");
    }
}

#[test]
fn faults_move_no_row() {
    let (_, text) = embedded()[0];
    let with = Scenario::parse(text).expect("steady");
    let without = Scenario::parse(text.split("[faults]").next().unwrap()).expect("no faults");
    let mut faults = 0;
    for seed in 0..100 {
        let (with, without) = (with.world(seed), without.world(seed));
        let cells = without.trace.cells.len().min(with.trace.cells.len());
        let chaos = rows(&Trace {
            items: without.trace.items[..without.chaos_len].to_vec(),
            ..without.trace.clone()
        });
        let columns = with.trace.plan.schema.columns.len();
        assert!(chaos * columns <= cells);
        assert_eq!(with.trace.cells[..chaos * columns], without.trace.cells[..chaos * columns]);
        faults += usize::from(with.chaos_len > without.chaos_len);
    }
    assert!(faults > 50, "{faults} of 100 worlds have faults");
}

/// What stands in a world, as words.
fn words(trace: &Trace) -> Vec<&'static str> {
    let adoption = |it: &Adoption, words: [&'static str; 3]| match it {
        Adoption::WithWatermark => words[0],
        Adoption::WithoutWatermark => words[1],
        Adoption::AtGroup => words[2],
    };
    let mut found: Vec<&str> = trace
        .items
        .iter()
        .map(|it| match it {
            Item::Row(_) => "row",
            Item::Heartbeat { .. } => "heartbeat",
            Item::Tick(_) => "tick",
            Item::Probe => "probe",
            Item::Batch => "batch",
            Item::Add { adoption: it, .. } => adoption(it, ["", "add", "add at_group"]),
            Item::Remove(_) => "remove",
            Item::Move { adoption: it, .. } => {
                adoption(it, ["move with", "move without", "move at"])
            }
            Item::Finish(_) => "finish",
            Item::Steer(_) => "steer",
            Item::Checkpoint => "checkpoint",
            Item::Crash { stale: false } => "crash",
            Item::Crash { stale: true } => "crash stale",
            it @ Item::Restart(_) if it.forgets() => "restart that forgets",
            Item::Restart(_) => "restart",
            Item::End => "end",
        })
        .collect();
    let plan = &trace.plan;
    found.push(match plan.trigger {
        Trigger::Row => "by row",
        Trigger::Batch => "by batch",
        Trigger::Interval(_) => "by interval",
        Trigger::Once => "once",
        Trigger::AvailableNow(_) => "available now",
    });
    found.push(match plan.output {
        OutputMode::Append => "append",
        OutputMode::Update => "update",
        OutputMode::Complete => "complete",
    });
    if let Some(operator) = &plan.operator {
        let (size, slide) = (operator.window.size, operator.window.slide);
        found.push(match operator.late {
            LateRule::Event => "E",
            LateRule::EventInclusive => "E2",
            LateRule::WindowEnd => "W",
            LateRule::Frame => "F",
        });
        found.push(match size.cmp(&slide) {
            std::cmp::Ordering::Less => "holes",
            std::cmp::Ordering::Equal => "tumbling",
            std::cmp::Ordering::Greater if size.0 % slide.0 == 0 => "sliding",
            std::cmp::Ordering::Greater => "uneven",
        });
        found.push(if operator.window.offset.0 == 0 { "no offset" } else { "offset" });
        found.push(if operator.keys.is_empty() { "no key" } else { "key" });
    }
    let Some(watermark) = &plan.watermark else {
        found.push("no watermark");
        return found;
    };
    found.push(match watermark.effective {
        Effective::Row => "lag 0",
        Effective::NextBatch => "lag 1",
        Effective::BatchAfterNext => "lag 2",
        Effective::Probe => "probe",
    });
    found.push(match watermark.guard.map(|it| it.action) {
        None => "no guard",
        Some(GuardAction::Reject) => "reject",
        Some(GuardAction::CountButNotAdvance) => "count",
        Some(GuardAction::Accept) => "accept",
    });
    found.push(match watermark.fallback.map(|it| it.always) {
        None => "no fallback",
        Some(false) => "fallback",
        Some(true) => "fallback always",
    });
    found.push(if watermark.delay.0 == 0 { "no delay" } else { "delay" });
    found.push(if watermark.initial.0 == 0 { "from zero" } else { "from the lowest" });
    match watermark.generator {
        GeneratorPlan::GlobalMax => found.push("global"),
        GeneratorPlan::PartitionMin { idle: None } => found.push("partition"),
        GeneratorPlan::PartitionMin { idle: Some(idle) } => {
            found.push(if idle.rejoin == Rejoin::Hold { "hold" } else { "catch up" });
            found.push(if idle.all_idle == AllIdle::Hold { "all hold" } else { "all flush" });
        }
    }
    found
}

#[test]
fn a_thousand_default_seeds_meet_every_item_and_every_rule() {
    let found: BTreeSet<&str> =
        (0..1_000).flat_map(|seed| words(&default_world(seed).trace)).collect();
    let expected = BTreeSet::from([
        "row",
        "heartbeat",
        "tick",
        "probe",
        "batch",
        "add",
        "add at_group",
        "remove",
        "move with",
        "move without",
        "move at",
        "finish",
        "checkpoint",
        "crash",
        "crash stale",
        "restart",
        "restart that forgets",
        "end",
        "by row",
        "by batch",
        "by interval",
        "once",
        "available now",
        "append",
        "update",
        "complete",
        "E",
        "E2",
        "W",
        "F",
        "holes",
        "tumbling",
        "sliding",
        "uneven",
        "offset",
        "no offset",
        "key",
        "no key",
        "no watermark",
        "lag 0",
        "lag 1",
        "lag 2",
        "no guard",
        "reject",
        "count",
        "accept",
        "no fallback",
        "fallback",
        "fallback always",
        "no delay",
        "delay",
        "from zero",
        "from the lowest",
        "global",
        "partition",
        "hold",
        "catch up",
        "all hold",
        "all flush",
    ]);
    assert_eq!(found, expected);
}

#[test]
fn any_bytes_make_a_world_of_some_rows_and_of_bounded_size() {
    let mut distinct = BTreeSet::new();
    let mut tape = Vec::new();
    let noise = Entropy::from_seed(1);
    let mut noise = noise.stream("tapes");
    for round in 0..600 {
        tape.clear();
        let length = if round < 4 { round } else { noise.below(400) as usize };
        let fill = noise.below(4);
        tape.extend((0..length).map(|_| match fill {
            0 => 0,
            1 => 255,
            _ => noise.bits32() as u8,
        }));
        let entropy = Entropy::from_bytes(&tape);
        let world = default_scenario(&entropy).world_from(&entropy);
        assert!(rows(&world.trace) >= 8, "{tape:?}");
        assert!((25..=200).contains(&world.trace.items.len()), "{}", world.trace.items.len());
        distinct.insert(write(&world.trace, &[]));
    }
    assert!(distinct.len() > 250, "{} distinct worlds", distinct.len());
    for (name, _) in embedded() {
        let world = scenario(name).world_from(&Entropy::from_bytes(&[]));
        assert!(rows(&world.trace) >= 8, "{name}");
        assert_eq!(world, scenario(name).world_from(&Entropy::from_bytes(&[0; 9])), "{name}");
    }
}

#[test]
fn the_hash_is_of_what_a_file_says_and_not_of_how_it_looks() {
    let (_, text) = embedded()[0];
    let hash = |text: &str| Scenario::parse(text).expect("a scenario").hash();
    let spaced = format!("# a comment\n{}", text.replace(" = ", "  =  "));
    assert_eq!(hash(text), hash(&spaced));
    assert_ne!(hash(text), hash(&text.replace("\"3h\"", "\"4h\"")));
}

/// The parts of the text that mistakes point at, and what was expected there.
fn mistakes(text: &str) -> Vec<(&str, String)> {
    let errors = Scenario::parse(text).expect_err(text);
    errors.into_iter().map(|it| (&text[it.span], it.expected)).collect()
}

const SMALL: &str = "name = \"x\"\nlook = \"y\"\n[[model]]\nname = \"steady\"\n";

#[test]
fn mistakes_stand_where_they_were_made() {
    assert!(Scenario::parse(SMALL).is_ok());
    let cases = [
        ("[wrld]\nitems = 5", "wrld", "a key of this table; the nearest is `world`"),
        ("[world]\nitem = 5", "item", "a key of this table; the nearest is `items`"),
        (
            "[world]\nitems = 0",
            "0",
            "a whole number from 1 to 1000000, or two of them, the lower first",
        ),
        (
            "[world]\nitems = [9, 3]",
            "[9, 3]",
            "a whole number from 1 to 1000000, or two of them, the lower first",
        ),
        (
            "[world]\nspan = \"soon\"",
            "\"soon\"",
            "a span such as \"40min\", or two of them, the shorter first",
        ),
        ("[world]\nstart = \"noon\"", "\"noon\"", "a time such as \"10:00:00\""),
        ("[plan]\ndealy = \"2min\"", "dealy", "a key of the plan; the nearest is `delay`"),
        (
            "[vary]\nlate = [\"event\", \"never\"]",
            "\"never\"",
            "`any`, or a list of `event`, `window_end`, `event_inclusive`, `frame`",
        ),
        ("[vary]\nexcept = [\"latte\"]", "\"latte\"", "the name of a knob"),
        ("[faults]\ncrash = 101", "101", "a whole number from 0 to 100"),
        ("[faults]\ncrush = 1", "crush", "a key of this table; the nearest is `crash`"),
        ("[phases]\ndrain = \"stop\"", "\"stop\"", "one or more of `end`, `finish`, `open`"),
        (
            "[[model]]\nname = \"stalled_source\"\nlenght = \"1h\"",
            "lenght",
            "a key of this table; the nearest is `length`",
        ),
        (
            "[[model]]\nname = \"lateness\"\nmedian = true",
            "true",
            "a span such as \"40min\", or two of them, the shorter first",
        ),
    ];
    for (more, place, expected) in cases {
        let text = format!("{SMALL}{more}\n");
        assert_eq!(mistakes(&text), [(place, expected.to_owned())], "{more}");
    }
}

#[test]
fn a_model_that_nobody_knows_and_a_plan_that_cannot_run_are_mistakes() {
    let text = format!("{SMALL}[[model]]\nname = \"stedy\"\n");
    let found = mistakes(&text);
    assert_eq!(found[0].0, "\"stedy\"");
    assert!(found[0].1.starts_with("a model: one of `steady`"), "{}", found[0].1);
    let text = format!("{SMALL}[plan]\nwatermark = \"none\"\n");
    assert!(mistakes(&text)[0].1.starts_with("a plan that can run"));
    let text = format!("{SMALL}[plan]\nwindow = \"tumbling(9999999d)\"\n");
    assert_eq!(mistakes(&text)[0].1, "a window of at most 400d");
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once_and_in_order() {
    let text = "nam = \"x\"\n[world]\nkeys = \"many\"\n[faults]\ncrash = -1\n";
    let found: Vec<&str> = mistakes(text).iter().map(|it| it.0).collect();
    // No name, no look, no model, and three slips.
    assert_eq!(found.len(), 6, "{found:?}");
    assert_eq!(found[3..], ["nam", "\"many\"", "-1"]);
}

#[test]
fn broken_texts_are_mistakes_and_never_a_panic() {
    let noise = Entropy::from_seed(2);
    let mut noise = noise.stream("texts");
    let mut accepted = 0;
    for round in 0..3_000 {
        let (_, text) = embedded()[round % embedded().len()];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..noise.range(1, 3) {
            let at = noise.below(bytes.len() as u64) as usize;
            match noise.below(3) {
                0 => drop(bytes.remove(at)),
                1 => bytes[at] = *noise.choose(b"0123456789\"[]=-mhd\n"),
                _ => bytes.insert(at, *noise.choose(b"0123456789\"[]=-mhd\n")),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        match Scenario::parse(&text) {
            Ok(it) if it.size.items[1] <= 200 => {
                accepted += 1;
                it.world(round as u64);
            }
            Ok(_) => {}
            Err(errors) => {
                assert!(errors.iter().all(|it| text.get(it.span.clone()).is_some()), "{errors:?}");
            }
        }
    }
    assert!(accepted > 300, "{accepted} of 3,000 texts were still scenarios");
}
