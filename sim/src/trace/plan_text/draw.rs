//! Pseudo-random plans and traces for the tests of this folder.

mod flow;

use super::keys::{
    ALL_IDLE, EFFECTIVE, GUARD, KIND, LATE, LATE_POLICY, OUTPUT, REJOIN, SINK, Words,
};
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::restore::{Memory, RestoreRules};
use plimsoll_engine::plan::*;
use plimsoll_engine::row::{ColumnIx, ColumnKind, ColumnSpec, Dictionary, PartitionId, Schema};
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::Adoption;

/// Where pseudo-random plans and traces come from.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn of<T: Copy>(&mut self, words: Words<T>) -> T {
        words[self.below(words.len() as u64) as usize].1
    }

    fn span(&mut self) -> Span {
        Span(self.below(1 << 31) as i64 - (1 << 30))
    }

    fn maybe<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| draw(self))
    }

    fn schema(&mut self) -> Schema {
        let mut columns = vec![ColumnSpec { name: "t".to_owned(), kind: ColumnKind::Time }];
        for name in ["k", "v", "größe", "a.b/c-d"].into_iter().take(self.below(5) as usize) {
            columns.push(ColumnSpec { name: name.to_owned(), kind: self.of(KIND) });
        }
        Schema { columns }
    }

    fn column(&mut self, schema: &Schema) -> ColumnIx {
        ColumnIx(self.below(schema.columns.len() as u64) as usize)
    }

    /// A plan of one window, or a flow.
    pub(crate) fn plan(&mut self) -> Plan {
        let mut plan = self.plain();
        if self.below(2) == 0 {
            flow::make(self, &mut plan);
        }
        plan
    }

    fn plain(&mut self) -> Plan {
        let schema = self.schema();
        let watermark = self.maybe(|it| WatermarkPlan {
            column: it.column(&schema),
            delay: it.span(),
            generator: match it.below(3) {
                0 => GeneratorPlan::GlobalMax,
                _ => GeneratorPlan::PartitionMin {
                    idle: it.maybe(|it| IdlePlan {
                        timeout: it.span(),
                        rejoin: it.of(REJOIN),
                        all_idle: it.of(ALL_IDLE),
                    }),
                },
            },
            effective: it.of(&EFFECTIVE[..3]),
            fallback: it.maybe(|it| Fallback { behind: it.span(), always: it.below(2) == 0 }),
            guard: it.maybe(|it| Guard { ahead: it.span(), action: it.of(GUARD) }),
            initial: EventTime([i64::MIN, 0, it.number()][it.below(3) as usize]),
        });
        let operator = self.maybe(|it| WindowPlan {
            time: ["t", "k", "other"][it.below(3) as usize].to_owned(),
            window: WindowSpec { size: it.span(), slide: it.span(), offset: it.span() },
            keys: (0..it.below(3)).map(|_| it.column(&schema)).collect(),
            aggregates: (0..it.below(4))
                .map(|_| {
                    let of = it.column(&schema);
                    [
                        Aggregate::Count,
                        Aggregate::CountOf(of),
                        Aggregate::Sum(of),
                        Aggregate::Min(of),
                        Aggregate::Max(of),
                        Aggregate::Avg(of),
                    ][it.below(6) as usize]
                })
                .collect(),
            late: it.of(LATE),
            late_policy: it.of(LATE_POLICY),
        });
        let lineage = (0..self.below(3))
            .map(|_| match self.below(3) {
                0 => LineageStep::Rename { from: "t".to_owned(), to: "k".to_owned() },
                1 => LineageStep::Project(
                    ["t", "v"].map(str::to_owned)[..self.below(3) as usize].to_vec(),
                ),
                _ => LineageStep::Compute("t".to_owned()),
            })
            .collect();
        let trigger = match self.below(5) {
            0 => Trigger::Row,
            1 => Trigger::Batch,
            2 => Trigger::Once,
            3 => Trigger::Interval(self.span()),
            _ => Trigger::AvailableNow(self.below(100)),
        };
        let (output, sink) = (self.of(OUTPUT), self.of(SINK));
        Plan { schema, watermark, lineage, operator, output, sink, trigger, flow: None }
    }

    /// Small, large, negative.
    pub(crate) fn number(&mut self) -> i64 {
        let number = (self.below(1 << 31) as i64) << self.below(32);
        if self.below(2) == 0 { number } else { -number }
    }

    /// A valid trace, with its cells and codes in no special order.
    pub(crate) fn trace(&mut self) -> Trace {
        let mut dictionary = Dictionary::default();
        let texts =
            ["unused", "a", "", "-", "two words", "\"quoted\" \\n", "#", "\u{2028}\n", "größe="];
        for text in &texts[self.below(3) as usize..] {
            dictionary.code(text);
        }
        let clock = ProcTime(self.number());
        let mut trace =
            Trace { plan: self.plan(), clock, dictionary, items: Vec::new(), cells: vec![Some(7)] };
        for _ in 0..self.below(20) {
            self.item(&mut trace);
        }
        trace
    }

    fn restart(&mut self) -> RestoreRules {
        let mut memory = || [Memory::Kept, Memory::Lost][self.below(2) as usize];
        RestoreRules {
            watermark: memory(),
            maxima: memory(),
            idleness: memory(),
            windows: memory(),
            ledger: memory(),
        }
    }

    fn item(&mut self, trace: &mut Trace) {
        let partition = match &trace.plan.flow {
            None => PartitionId(self.below(4) as u32 * 1_000_000_007),
            Some(flow) => {
                let input = self.below(flow.inputs.len() as u64) as u32;
                let number = [0, 1, PartitionId::NUMBER_MAX][self.below(3) as usize];
                let task = [0, 1, PartitionId::TASK_MAX][self.below(3) as usize];
                PartitionId::of(input, task, number)
            }
        };
        let adoptions = [Adoption::WithoutWatermark, Adoption::AtGroup, Adoption::WithWatermark];
        let item = match self.below(20) {
            0 => Item::Heartbeat { partition, time: EventTime(self.number()) },
            1 => Item::Tick(Span(self.number().max(0))),
            2 => Item::Probe,
            3 => Item::Batch,
            4 => Item::Add { partition, adoption: adoptions[self.below(2) as usize] },
            5 => Item::Remove(partition),
            6 => Item::Move { partition, adoption: adoptions[self.below(3) as usize] },
            7 => Item::Finish(partition),
            8 => Item::Checkpoint,
            9 => Item::Crash { stale: self.below(2) == 0 },
            10 => Item::End,
            13 => Item::Restart(self.restart()),
            11 => Item::Steer(Steer::Limit(EventTime(self.number()))),
            12 => {
                let inputs = trace.plan.flow.as_ref().map_or(1, |it| it.inputs.len());
                let input = self.below(inputs as u64) as usize;
                let (task, on) = (self.below(200) as usize, self.below(2) == 0);
                Item::Steer(Steer::Press { input, task, on })
            }
            _ => {
                let time = trace.time_column();
                let columns = trace.plan.schema.columns.clone();
                let cells: Vec<Option<i64>> = (0..)
                    .zip(&columns)
                    .map(|(i, column)| match column.kind {
                        _ if self.below(5) == 0 => None,
                        ColumnKind::Text if i != time => {
                            Some(self.below(trace.dictionary.len() as u64) as i64)
                        }
                        _ => Some([self.number(), i64::MIN, i64::MAX][self.below(9) as usize / 4]),
                    })
                    .collect();
                trace.push_row(partition, &cells);
                return;
            }
        };
        trace.items.push(item);
    }
}
