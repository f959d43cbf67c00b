//! Plants about restarts: what was not in the checkpoint, and rows that are read twice or never.
//!
//! Invariant: without a crash each behaves as the engine does.

use crate::system::System;
use crate::system::engine::Engine;
use crate::zoo::fault::Fault;
use crate::zoo::{Build, Plant};
use plimsoll_engine::output::Output;
use plimsoll_engine::row::RowBatch;
use plimsoll_engine::snapshot::{Memory, RestoreRules};

/// Wrong restarts.
pub const PLANTS: &[Plant] = &[
    Plant {
        name: "no-wm-ckpt",
        modelled_on: &["SPARK-18513", "KAFKA-20099", "LAMINAR-382", "FLINK-24501"],
        what: "the watermark is not in the checkpoint",
        killed_by: &["I25", "I1", "I43"],
        build: Build::Restart(RestoreRules { watermark: Memory::Lost, ..RestoreRules::EXACT }),
    },
    Plant {
        name: "min-only-ckpt",
        modelled_on: &["SPARK-50046-c"],
        what: "the watermark is in the checkpoint, what each partition had shown is not",
        killed_by: &["I25", "I43"],
        build: Build::Restart(RestoreRules { maxima: Memory::Lost, ..RestoreRules::EXACT }),
    },
    Plant {
        name: "idleness-forgotten",
        modelled_on: &["FLINK-18064"],
        what: "a restart wakes every idle partition",
        killed_by: &["I25", "I37", "I43"],
        build: Build::Restart(RestoreRules { idleness: Memory::Lost, ..RestoreRules::EXACT }),
    },
    Plant {
        name: "ckpt-misses-buffer",
        modelled_on: &["LAMINAR-184d"],
        what: "open windows are not in the checkpoint",
        killed_by: &["I25", "I41", "I14"],
        build: Build::Restart(RestoreRules { windows: Memory::Lost, ..RestoreRules::EXACT }),
    },
    Plant {
        name: "ledger-forgotten",
        modelled_on: &[],
        what: "rows lost before a restart are forgotten on the figures after it",
        killed_by: &["I25", "I33"],
        build: Build::Restart(RestoreRules { ledger: Memory::Lost, ..RestoreRules::EXACT }),
    },
    Plant {
        name: "last-vs-next",
        modelled_on: &["FAUST-33"],
        what: "after a restart reading goes on one row too far",
        killed_by: &["I25", "I14", "I41", "I42"],
        build: Build::Fault(|_| Box::new(Offset { restored: false, twice: false })),
    },
    Plant {
        name: "offset-state-skew",
        modelled_on: &["LAMINAR-159"],
        what: "after a restart one row is read twice: offsets are older than the state",
        killed_by: &["I25", "I14", "I40", "I41", "I42"],
        build: Build::Fault(|_| Box::new(Offset { restored: false, twice: true })),
    },
];

#[derive(Clone, Copy, Debug)]
struct Offset {
    restored: bool,
    twice: bool,
}

impl Fault for Offset {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn restored(&mut self) {
        self.restored = true;
    }

    fn arrive(&mut self, engine: &mut Engine, rows: &RowBatch, out: &mut Output) {
        if !std::mem::take(&mut self.restored) {
            engine.arrive(rows, out);
        } else if self.twice {
            let mut both = rows.clone();
            both.extend_from(rows, 0..rows.len());
            engine.arrive(&both, out);
        }
    }
}
