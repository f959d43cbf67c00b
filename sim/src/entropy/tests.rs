use super::*;

fn draws(stream: &mut Stream<'_>) -> [u64; 4] {
    std::array::from_fn(|_| stream.bits64())
}

#[test]
fn the_generator_below_is_the_chacha8_that_was_recorded() {
    let mut rng = ChaCha8Rng::seed_from_u64(42);
    assert_eq!(rng.next_u64(), 12_578_764_544_318_200_737);
    assert_eq!(rng.next_u64(), 17_529_487_244_874_322_312);
}

#[test]
fn a_named_stream_draws_the_recorded_numbers() {
    let entropy = Entropy::from_seed(42);
    let mut stream = entropy.stream("arrivals");
    let found = (
        [stream.bits64(), stream.bits64()],
        [stream.below(1000), stream.below(6), stream.below(1 << 40)],
        [stream.range(-5, 5), stream.range(i64::MIN, i64::MAX)],
        [stream.exponential(1_000_000), stream.log_logistic(2_000, 14_400_000)],
        [stream.power_law(10_000), stream.doublings(240_000, 345_600_000) as u64],
    );
    let recorded = (
        [14_071_806_660_196_103_904, 10_298_486_681_025_690_622],
        [65, 1, 888_991_298_256],
        [-3, -6_600_197_360_889_743_635],
        [1_578_201, 288],
        [4_226, 54_658_628],
    );
    assert_eq!(found, recorded);
}

#[test]
fn a_new_stream_or_a_new_draw_in_another_moves_nothing() {
    let entropy = Entropy::from_seed(7);
    let before = draws(&mut entropy.stream("keys"));
    let mut other = entropy.stream("a concern that was added later");
    other.bits64();
    assert_eq!(draws(&mut entropy.stream("keys")), before);
    assert_ne!(draws(&mut entropy.stream("values")), before);
    assert_ne!(draws(&mut entropy.field("keys", "x")), before);
    assert_eq!(draws(&mut entropy.field("a", "b")), draws(&mut entropy.stream("a/b")));
    assert_ne!(draws(&mut Entropy::from_seed(8).stream("keys")), before);
}

#[test]
fn a_range_is_fair_and_stays_inside() {
    let entropy = Entropy::from_seed(1);
    let mut stream = entropy.stream("fair");
    let mut seen = [0_u32; 7];
    for _ in 0..70_000 {
        seen[stream.below(7) as usize] += 1;
    }
    assert!(seen.iter().all(|it| (9_600..10_400).contains(it)), "{seen:?}");
    for _ in 0..1_000 {
        assert!((-3..=9).contains(&stream.range(-3, 9)));
    }
    assert_eq!((stream.range(4, 4), stream.range(4, 3), stream.below(0)), (4, 4, 0));
}

#[test]
fn chances_and_weights_hold_their_shares() {
    let entropy = Entropy::from_seed(2);
    let mut stream = entropy.stream("shares");
    let hits = (0..100_000).filter(|_| stream.chance(250)).count();
    assert!((24_400..25_600).contains(&hits), "{hits}");
    assert!((0..1_000).all(|_| !stream.chance(0)) && (0..1_000).all(|_| stream.chance(1_000)));
    let choices = [(0, 'x'), (1, 'a'), (3, 'b')];
    let rare = (0..40_000).filter(|_| stream.weighted(&choices) == 'a').count();
    assert!((9_600..10_400).contains(&rare), "{rare}");
}

/// The value below which `per_mille` of 100,000 draws lie.
fn quantiles(mut draw: impl FnMut() -> u64, per_mille: &[usize]) -> Vec<u64> {
    let mut all: Vec<u64> = (0..100_000).map(|_| draw()).collect();
    all.sort_unstable();
    per_mille.iter().map(|it| all[it * 100 - 1]).collect()
}

#[test]
fn lateness_has_its_median_at_2_s_its_p90_at_18_s_and_its_p99_near_200_s() {
    let entropy = Entropy::from_seed(3);
    let mut stream = entropy.stream("late");
    let hours = 4 * 3_600_000;
    let found = quantiles(|| stream.log_logistic(2_000, hours), &[500, 900, 990, 999, 1_000]);
    assert!((1_950..2_050).contains(&found[0]), "{found:?}");
    assert!((17_400..18_600).contains(&found[1]), "{found:?}");
    assert!((185_000..215_000).contains(&found[2]), "{found:?}");
    assert!((1_500_000..2_700_000).contains(&found[3]), "{found:?}");
    assert_eq!(found[4], hours);
}

#[test]
fn exponential_has_its_median_at_ln_2_of_its_mean() {
    let entropy = Entropy::from_seed(4);
    let mut stream = entropy.stream("gaps");
    let found = quantiles(|| stream.exponential(1_000_000), &[500, 900]);
    assert!((680_000..706_000).contains(&found[0]), "{found:?}");
    assert!((2_250_000..2_355_000).contains(&found[1]), "{found:?}");
}

#[test]
fn half_of_a_power_law_falls_on_the_first_quarter() {
    let entropy = Entropy::from_seed(5);
    let mut stream = entropy.stream("keys");
    let found = quantiles(|| stream.power_law(10_000), &[500, 1_000]);
    assert!((2_400..2_600).contains(&found[0]) && found[1] < 10_000, "{found:?}");
}

#[test]
fn doublings_stay_inside_and_reach_minutes_as_well_as_days() {
    let entropy = Entropy::from_seed(6);
    let mut stream = entropy.stream("tunnel");
    let (low, high) = (240_000, 345_600_000);
    let found: Vec<i64> = (0..1_000).map(|_| stream.doublings(low, high)).collect();
    assert!(found.iter().all(|it| (low..=high).contains(it)));
    assert!(found.iter().any(|it| *it < 2 * low) && found.iter().any(|it| *it > high / 2));
    assert_eq!((stream.doublings(9, 3), stream.doublings(0, 1)), (9, 1));
}

#[test]
fn an_exhausted_tape_gives_the_simplest_value_of_every_draw() {
    let entropy = Entropy::from_bytes(&[]);
    let mut stream = entropy.stream("any");
    assert_eq!((stream.below(9), stream.range(-4, 4), stream.chance(999)), (0, -4, false));
    assert_eq!((*stream.choose(&['a', 'b']), stream.weighted(&[(1, 'a'), (9, 'b')])), ('a', 'a'));
    assert_eq!(
        (stream.exponential(50), stream.log_logistic(50, 100), stream.power_law(8)),
        (0, 0, 0)
    );
    assert_eq!(stream.doublings(3, 300), 3);
    let mut order = [1, 2, 3];
    stream.shuffle(&mut order);
    assert_eq!(order, [1, 2, 3]);
}

#[test]
fn a_tape_is_read_by_all_streams_in_turn_and_sparingly() {
    let entropy = Entropy::from_bytes(&[255, 128, 0, 255, 255]);
    let (mut a, mut b) = (entropy.stream("a"), entropy.stream("b"));
    assert_eq!((a.below(10), b.below(10), a.below(256)), (9, 5, 0));
    assert!(b.chance(1), "two bytes of ones are the far end of the range");
    assert_eq!(a.bits64(), 0);
}

#[test]
fn the_hash_of_names_is_fnv_1a() {
    assert_eq!(stable_hash(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(stable_hash(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(stable_hash(b"foobar"), 0x8594_4171_f739_67e8);
}
