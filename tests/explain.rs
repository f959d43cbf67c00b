//! What `plimsoll explain` says of plans with several inputs and stages, word for word.
//!
//! Each text is of a story that lies in `scenarios/`, so that who changes a rule reads here what a
//! tired person would read. The golden texts are in `snapshots/`.
//!
//! Invariant: every kind of stage has a text: what is in it, or what to ask instead.

use crate::binary::folder;
use crate::command::told;
use crate::tidy::root;
use insta::assert_snapshot;
use std::fs;

/// What is said of some stories.
fn explained(name: &str, asked: &[(&str, &[&str])]) -> String {
    let folder = folder(name);
    let texts = asked.iter().map(|(story, arguments)| {
        let file = format!("{story}.trace");
        let from = ["semantics", "regressions"].map(|it| root().join("scenarios").join(it));
        let from = from.iter().map(|it| it.join(&file)).find(|it| it.exists());
        fs::copy(from.expect("a story"), folder.join(&file)).expect("a file can be copied");
        told(&folder, &[&["explain", &file], *arguments].concat())
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_session_says_which_rows_made_it_and_what_closed_it() {
    assert_snapshot!(
        "explain_sessions",
        explained(
            "explain_sessions",
            &[
                ("session_bridge", &["--window", "10:04:00/a"]),
                ("session_split", &["--window", "-/a"]),
                ("spark_session_row_beside_a_live_session", &["--window", "10:00:05"]),
                ("session_bridge", &["--window", "10:23:00/b", "--json"]),
            ]
        )
    );
}

#[test]
fn a_window_over_several_inputs_says_which_one_held_the_watermark() {
    assert_snapshot!(
        "explain_inputs",
        explained(
            "explain_inputs",
            &[
                ("union_min", &["--window", "10:00:00/a"]),
                ("union_min", &["--window", "10:10:00"]),
                ("union_max", &["--window", "10:00:00/a"]),
                ("spark_restart_forgets_inputs", &["--window", "10:00:40/b"]),
                ("union_max", &["--row", "2"]),
            ]
        )
    );
}

#[test]
fn a_stage_behind_another_says_what_that_one_wrote_and_lost() {
    assert_snapshot!(
        "explain_chains",
        explained(
            "explain_chains",
            &[
                ("chain_of_windows", &["--window", "10:00:00/a"]),
                ("chain_of_windows", &["--window", "10:55:00/a", "--stage", "1"]),
                ("chain_same_bounds", &["--window", "10:00:00/a"]),
                ("sessions_come_by_their_end", &["--window", "-"]),
            ]
        )
    );
}

#[test]
fn panes_late_rows_and_broken_links_are_told() {
    assert_snapshot!(
        "explain_panes",
        explained(
            "explain_panes",
            &[
                ("allowed_lateness", &["--window", "10:00:00/a"]),
                ("panes_retracting", &["--window", "10:00:00/a"]),
                ("spark_second_watermark_breaks_the_link", &["--window", "10:00:00"]),
                ("count_window", &["--window", "-/a"]),
            ]
        )
    );
}

#[test]
fn what_has_no_windows_is_answered_with_what_to_ask_instead() {
    assert_snapshot!(
        "explain_refused",
        explained(
            "explain_refused",
            &[
                ("join_inner", &["--window", "10:00:00"]),
                ("dedup_id_and_time", &["--window", "10:00:00/a"]),
                ("as_of", &["--window", "10:00:00"]),
                ("filter_before_and_behind", &["--window", "10:00:00", "--stage", "1"]),
                ("session_gap", &["--window", "12:00:00/a"]),
                ("session_gap", &["--window", "-/z"]),
                ("session_gap", &["--window", "10:00:00", "--stage", "3"]),
                ("chain_of_windows", &["--window", "10:01:00"]),
                ("s05_five_seconds_before_the_end", &["--window", "10:00:00", "--stage", "1"]),
            ]
        )
    );
}

#[test]
fn a_watermark_over_several_inputs_says_who_holds_it() {
    assert_snapshot!(
        "explain_watermark",
        explained(
            "explain_watermark",
            &[
                ("union_min", &["--watermark"]),
                ("union_max", &["--watermark"]),
                ("join_left_null_row", &["--watermark"]),
                ("spark_second_watermark_breaks_the_link", &["--watermark"]),
                ("flink_a_task_without_partitions_is_never_idle", &["--watermark"]),
                ("flink_idle_after_a_quiet_probe", &["--watermark"]),
            ]
        )
    );
}
