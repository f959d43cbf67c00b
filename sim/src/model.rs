//! World models: what arrives, from where, when, and with which event time.
//!
//! A world is a list of arrivals. Traffic models make them, other models move, hold back, repeat or
//! spoil them; each believes one thing about the world and says it in its own file. They are applied
//! in the order of the scenario file. Spans in a file are those of the founding texts ("40 minutes",
//! "a week"); a seed may divide all of them by one number ([`Draft::scaled`]), so that the same
//! model serves a world of hours and one of milliseconds, 60 items and 100,000.
//!
//! Models that need to know what has arrived before a row (boundaries, poison) run after the
//! arrivals have been put into their order; see [`Model::sees_the_order`].
//!
//! Invariant: a model draws from its own streams only, so that adding one moves no other's draws.

mod boundary;
mod bounds;
mod clock_skew;
mod diurnal;
mod extremes;
mod heartbeats;
mod idle_source;
mod lagging_consumer;
mod lateness;
mod network_down;
mod poisoned_clock;
mod power_law_keys;
mod replay;
mod retrying_collector;
mod silence;
mod stalled_source;
mod steady;
mod traffic;
mod tunnel_phone;
mod unequal_rates;
mod unknown_device;

use crate::entropy::{Entropy, Stream};
use crate::scenario::reader::Reader;
use plimsoll_engine::plan::WindowSpec;
use plimsoll_engine::watermark::member::Adoption;

/// One thing that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    /// When it arrives, in processing time; [`Arrival::NEVER`] where it is lost on the way.
    pub(crate) at: i64,
    /// From where.
    pub(crate) partition: u32,
    /// Event time; `None` is a null.
    pub(crate) time: Option<i64>,
    /// The number of the key, which stands for the device too; `None` is a null.
    pub(crate) key: Option<u32>,
    /// The value; `None` is a null.
    pub(crate) value: Option<i64>,
    /// What it is.
    pub(crate) what: What,
}

/// What an arrival is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Row,
    Heartbeat,
    /// The partition moves to another owner.
    Move(Adoption),
}

impl Arrival {
    /// It does not.
    pub(crate) const NEVER: i64 = i64::MAX;

    /// A row on its way, without delay.
    pub(crate) const fn row(partition: u32, time: i64, key: u32, value: i64) -> Self {
        Self {
            at: time,
            partition,
            time: Some(time),
            key: Some(key),
            value: Some(value),
            what: What::Row,
        }
    }

    /// Whether this is a row.
    pub(crate) const fn is_row(&self) -> bool {
        matches!(self.what, What::Row)
    }

    /// Arrives later by this much.
    pub(crate) const fn postpone(&mut self, by: i64) {
        if self.at != Self::NEVER {
            self.at += by;
        }
    }
}

/// A world that is being made.
#[derive(Debug)]
pub(crate) struct Draft<'e> {
    /// Where numbers come from.
    pub(crate) entropy: &'e Entropy<'e>,
    /// The first event time, and the clock's start.
    pub(crate) start: i64,
    /// How much event time the traffic covers.
    pub(crate) span: i64,
    /// What every span of the file is divided by.
    pub(crate) scale: i64,
    /// How many rows the traffic models make, at a share of 1,000.
    pub(crate) rows: u64,
    /// How many partitions there are.
    pub(crate) partitions: u32,
    /// How many keys there are.
    pub(crate) keys: u32,
    /// The windows of the plan.
    pub(crate) window: WindowSpec,
    /// The delay of the plan.
    pub(crate) delay: i64,
    /// The delays of its inputs, which partitions go round.
    pub(crate) delays: Vec<i64>,
    /// The distances between rows at which a flow decides.
    pub(crate) bounds: Vec<i64>,
    /// What arrives; until it is sorted in the order in which it was made.
    pub(crate) arrivals: Vec<Arrival>,
}

/// A span in a smaller unit: 1 ms stays of what is not 0.
pub(crate) const fn divided(span: i64, by: i64) -> i64 {
    if span / by == 0 { span.signum() } else { span / by }
}

impl Draft<'_> {
    /// A span of the file in this world's unit; see [`divided`].
    pub(crate) const fn scaled(&self, span: i64) -> i64 {
        divided(span, self.scale)
    }

    /// A span from a range of the file.
    pub(crate) fn span_of(&self, stream: &mut Stream<'_>, spans: [i64; 2]) -> i64 {
        self.scaled(stream.range(spans[0], spans[1]))
    }

    /// An instant between two shares (per mille) of the world.
    pub(crate) fn instant(&self, stream: &mut Stream<'_>, from: i64, to: i64) -> i64 {
        let share = |it: i64| (i128::from(self.span) * i128::from(it) / 1000) as i64;
        self.start + stream.range(share(from), share(to))
    }

    /// Any partition.
    pub(crate) fn partition(&self, stream: &mut Stream<'_>) -> u32 {
        stream.below(u64::from(self.partitions)) as u32
    }

    /// A share (per mille) of the rows, at least one.
    pub(crate) fn rows_of(&self, share: u32) -> u64 {
        (self.rows * u64::from(share) / 1000).max(1)
    }

    /// Puts the arrivals in the order in which they arrive; those that never do are gone.
    pub(crate) fn sort(&mut self) {
        self.arrivals.retain(|it| it.at != Arrival::NEVER);
        self.arrivals.sort_by_key(|it| it.at);
    }
}

/// A model in its place in a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Placed {
    /// The name of its streams.
    stream: String,
    /// In how many seeds of 1,000 it acts.
    share: u32,
    model: Model,
}

/// All models.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Model {
    Steady(steady::Steady),
    Diurnal(diurnal::Diurnal),
    UnequalRates(unequal_rates::UnequalRates),
    PowerLawKeys(power_law_keys::PowerLawKeys),
    UnknownDevice(unknown_device::UnknownDevice),
    Lateness(lateness::Lateness),
    ClockSkew(clock_skew::ClockSkew),
    Heartbeats(heartbeats::Heartbeats),
    TunnelPhone(tunnel_phone::TunnelPhone),
    IdleSource(idle_source::IdleSource),
    NetworkDown(network_down::NetworkDown),
    StalledSource(stalled_source::StalledSource),
    LaggingConsumer(lagging_consumer::LaggingConsumer),
    RetryingCollector(retrying_collector::RetryingCollector),
    Replay(replay::Replay),
    Boundary(boundary::Boundary),
    Bounds(bounds::Bounds),
    PoisonedClock(poisoned_clock::PoisonedClock),
    Extremes(extremes::Extremes),
}

/// The names of all models.
pub(crate) const NAMES: &[&str] = &[
    "steady",
    "diurnal",
    "unequal_rates",
    "power_law_keys",
    "unknown_device",
    "lateness",
    "clock_skew",
    "heartbeats",
    "tunnel_phone",
    "idle_source",
    "network_down",
    "stalled_source",
    "lagging_consumer",
    "retrying_collector",
    "replay",
    "boundary",
    "bounds",
    "poisoned_clock",
    "extremes",
];

impl Model {
    /// The model of this name with the options of its table.
    fn read(name: &str, table: &mut Reader<'_>) -> Option<Self> {
        Some(match name {
            "steady" => Self::Steady(steady::Steady::read(table)),
            "diurnal" => Self::Diurnal(diurnal::Diurnal::read(table)),
            "unequal_rates" => Self::UnequalRates(unequal_rates::UnequalRates::read(table)),
            "power_law_keys" => Self::PowerLawKeys(power_law_keys::PowerLawKeys::read(table)),
            "unknown_device" => Self::UnknownDevice(unknown_device::UnknownDevice::read(table)),
            "lateness" => Self::Lateness(lateness::Lateness::read(table)),
            "clock_skew" => Self::ClockSkew(clock_skew::ClockSkew::read(table)),
            "heartbeats" => Self::Heartbeats(heartbeats::Heartbeats::read(table)),
            "tunnel_phone" => Self::TunnelPhone(tunnel_phone::TunnelPhone::read(table)),
            "idle_source" => Self::IdleSource(idle_source::IdleSource::read(table)),
            "network_down" => Self::NetworkDown(network_down::NetworkDown::read(table)),
            "stalled_source" => Self::StalledSource(stalled_source::StalledSource::read(table)),
            "lagging_consumer" => {
                Self::LaggingConsumer(lagging_consumer::LaggingConsumer::read(table))
            }
            "retrying_collector" => {
                Self::RetryingCollector(retrying_collector::RetryingCollector::read(table))
            }
            "replay" => Self::Replay(replay::Replay::read(table)),
            "boundary" => Self::Boundary(boundary::Boundary::read(table)),
            "bounds" => Self::Bounds(bounds::Bounds::read(table)),
            "poisoned_clock" => Self::PoisonedClock(poisoned_clock::PoisonedClock::read(table)),
            "extremes" => Self::Extremes(extremes::Extremes::read(table)),
            _ => return None,
        })
    }

    fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        match self {
            Self::Steady(it) => it.apply(draft, name),
            Self::Diurnal(it) => it.apply(draft, name),
            Self::UnequalRates(it) => it.apply(draft, name),
            Self::PowerLawKeys(it) => it.apply(draft, name),
            Self::UnknownDevice(it) => it.apply(draft, name),
            Self::Lateness(it) => it.apply(draft, name),
            Self::ClockSkew(it) => it.apply(draft, name),
            Self::Heartbeats(it) => it.apply(draft, name),
            Self::TunnelPhone(it) => it.apply(draft, name),
            Self::IdleSource(it) => it.apply(draft, name),
            Self::NetworkDown(it) => it.apply(draft, name),
            Self::StalledSource(it) => it.apply(draft, name),
            Self::LaggingConsumer(it) => it.apply(draft, name),
            Self::RetryingCollector(it) => it.apply(draft, name),
            Self::Replay(it) => it.apply(draft, name),
            Self::Boundary(it) => it.apply(draft, name),
            Self::Bounds(it) => it.apply(draft, name),
            Self::PoisonedClock(it) => it.apply(draft, name),
            Self::Extremes(it) => it.apply(draft, name),
        }
    }

    /// Whether it looks at what arrived before a row, and so runs when the order is settled.
    const fn sees_the_order(&self) -> bool {
        matches!(
            self,
            Self::Boundary(_) | Self::Bounds(_) | Self::PoisonedClock(_) | Self::Extremes(_)
        )
    }
}

impl Placed {
    /// Reads one `[[model]]` table; `before` is how many of the same name stand before it.
    pub(crate) fn read(mut table: Reader<'_>, before: impl Fn(&str) -> usize) -> Option<Self> {
        let expected = format!("a model: one of `{}`", NAMES.join("`, `"));
        let place = table.value("name").map_or(table.span.clone(), toml::Spanned::span);
        let name = table.text("name", &expected);
        let share = table.share("in_seeds", 1000);
        let model = Model::read(&name, &mut table);
        match &model {
            Some(_) => table.finish(),
            None if name.is_empty() => {}
            None => table.errors.add(place, expected, format!("`{name}`")),
        }
        let number = before(&name);
        let stream = if number == 0 { name } else { format!("{name} {}", number + 1) };
        Some(Self { stream, share, model: model? })
    }

    /// Acts, if this seed lets it and its turn has come.
    pub(crate) fn apply(&self, draft: &mut Draft<'_>, order_is_settled: bool) {
        if self.model.sees_the_order() != order_is_settled {
            return;
        }
        if self.share == 1000 || draft.entropy.field(&self.stream, "in_seeds").chance(self.share) {
            self.model.apply(draft, &self.stream);
        }
    }

    /// The name without the number.
    pub(crate) fn name(&self) -> &str {
        self.stream.split(' ').next().unwrap_or_default()
    }
}

#[cfg(test)]
pub(crate) mod examples {
    use super::*;
    use plimsoll_engine::time::Span;

    pub(crate) const MINUTE: i64 = 60_000;
    pub(crate) const TEN: i64 = 10 * 3_600_000;

    /// Three hours from 10:00 on, 3 partitions, 4 keys, windows of 10 minutes, delay 2 minutes.
    pub(crate) fn draft<'e>(entropy: &'e Entropy<'e>) -> Draft<'e> {
        Draft {
            entropy,
            start: TEN,
            span: 180 * MINUTE,
            scale: 1,
            rows: 180,
            partitions: 3,
            keys: 4,
            window: WindowSpec {
                size: Span::minutes(10),
                slide: Span::minutes(10),
                offset: Span::ZERO,
            },
            delay: 2 * MINUTE,
            delays: vec![2 * MINUTE],
            bounds: Vec::new(),
            arrivals: Vec::new(),
        }
    }

    /// The same with steady traffic.
    pub(crate) fn steady<'e>(entropy: &'e Entropy<'e>) -> Draft<'e> {
        let mut draft = draft(entropy);
        model("steady", "").apply(&mut draft, "steady");
        draft
    }

    /// A model from its options in TOML.
    pub(super) fn model(name: &str, options: &str) -> Model {
        let table = toml::de::DeTable::parse(options).expect("TOML");
        let errors = crate::scenario::reader::Errors::default();
        let mut reader = Reader::new(table.get_ref(), 0..0, &errors);
        let model = Model::read(name, &mut reader).expect("a model");
        reader.finish();
        assert!(errors.0.borrow().is_empty(), "{:?}", errors.0.borrow());
        model
    }

    /// Applies a model to a draft.
    pub(crate) fn apply(draft: &mut Draft<'_>, name: &str, options: &str) {
        model(name, options).apply(draft, name);
    }
}
