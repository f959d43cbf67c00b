//! `tune` and `run` as a user meets them: the real binary, files and pipes.
//!
//! Invariant: every test states what stands on standard output, on standard error, and the exit code.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const FLIGHTS: &str = include_str!("../../scenarios/recordings/flights_nyc_2013_02.csv");

const PLAN: &str = r#"
[plan]
window = "tumbling(1h)"
delay = "60min"
effective = "row"
columns = ["time:time", "carrier:text"]
key = ["carrier"]
"#;

const COLUMNS: [&str; 8] =
    ["--event-col", "sched", "--arrival-col", "dep", "--partition-col", "origin", "--unit", "s"];

/// Standard output, standard error, exit code.
fn plimsoll(arguments: &[&str], input: &str) -> (String, String, Option<i32>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // The input is written beside, since a command that answers early would wait for its reader. One
    // that refuses its arguments does not read at all.
    let stdin = child.stdin.take();
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| stdin.map(|mut it| it.write_all(input.as_bytes())));
        child.wait_with_output().expect("the command ends")
    });
    let text = |it: Vec<u8>| String::from_utf8(it).expect("UTF-8");
    (text(ended.stdout), text(ended.stderr), ended.status.code())
}

fn flights(command: &[&str], more: &[&str], input: &str) -> (String, String, Option<i32>) {
    plimsoll(&[command, &COLUMNS, more].concat(), input)
}

/// An empty directory of this test's own.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("it can be emptied");
    }
    fs::create_dir_all(&path).expect("it can be made");
    path
}

fn written(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, text).expect("it can be written");
    path.to_str().expect("UTF-8").to_owned()
}

fn figures(text: &str) -> Vec<&str> {
    text.lines().filter(|it| it.starts_with("emit ")).collect()
}

#[test]
fn tune_counts_the_flights_at_one_hour_exactly() {
    let (out, err, code) = flights(&["tune", "-"], &["--delay", "60min", "--json"], FLIGHTS);
    let lost = r#""rows_lost":{"global":1626,"own_partition":1407,"slowest":1194}"#;
    assert!(out.contains(lost), "{out}");
    assert_eq!((err.as_str(), code), ("", Some(0)));
}

#[test]
fn tune_says_what_it_advises_and_why() {
    let (out, _, code) = flights(&["tune", "-"], &[], FLIGHTS);
    assert!(out.starts_with("23,611 rows, 3 partitions.\n"), "{out}");
    assert!(out.contains("p50 -2min, p90 43min, p99 2h44min, p99.9 5h9min23s, max 14h13min."));
    assert!(out.contains(
        "Set the delay to 5h3min: it is the smallest that loses at most 0.1 % behind one maximum; it \
         loses 23 of 23,611 rows (0.0974 %), a millisecond less loses 24."
    ));
    assert_eq!(code, Some(0));
}

#[test]
fn tune_draws_a_picture() {
    let path = directory("picture").join("trade-off.svg");
    let name = path.to_str().expect("UTF-8");
    assert_eq!(flights(&["tune", "-"], &["--svg", name], FLIGHTS).2, Some(0));
    let picture = fs::read_to_string(&path).expect("it was written");
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    for label in ["rows lost", "window written after its end", "groups held", "delay (logarithmic)"]
    {
        assert!(picture.contains(label), "{label}");
    }
}

#[test]
fn tune_reads_commits_through_a_pipe_and_says_that_they_go_back() {
    let arguments = ["tune", "-", "--no-header", "--delimiter", " ", "--event-col", "1"];
    let arguments = [&arguments[..], &["--arrival-col", "2"]].concat();
    let log = "1700000300 1700000300\n1700000000 1700000200\n1700000100 1700000100\n";
    let (out, err, code) = plimsoll(&arguments, log);
    assert!(out.contains("3 rows, 1 partition."), "{out}");
    assert!(
        err.contains("2 rows arrive before the one above, first line 2 (100000 ms back)"),
        "{err}"
    );
    assert!(err.contains("times are read in seconds since 1970"), "{err}");
    assert_eq!(code, Some(0));
    let (_, err, _) = plimsoll(&[&arguments[..], &["--sort-by-arrival"]].concat(), log);
    assert!(!err.contains("warning"), "{err}");
}

#[test]
fn nothing_in_is_nothing_ran() {
    let (out, err, code) = plimsoll(&["tune", "-", "--event-col", "t"], "");
    assert_eq!((out.as_str(), code), ("", Some(3)));
    assert_eq!(err, "nothing ran: -: there is no row in it\n");
    let plan = written(&directory("nothing"), "plan.toml", PLAN);
    assert_eq!(plimsoll(&["run", &plan, "-"], "time,carrier\n").2, Some(3));
}

#[test]
fn the_rows_before_a_broken_one_are_taken_and_printed() {
    let broken = "t\n1\n2\nsoon\n3\n";
    let (out, err, code) = plimsoll(&["tune", "-", "--event-col", "t"], broken);
    assert!(out.starts_with("2 rows, 1 partition."), "{out}");
    assert!(err.contains(
        "error: standard input, line 4, column `t`: expected a time in seconds since 1970, found \
         `soon` (the 2 rows before it were taken)"
    ));
    assert_eq!(code, Some(2));
    let plan = written(&directory("broken"), "plan.toml", PLAN);
    let (out, _, code) = plimsoll(&["run", &plan, "-"], "time,carrier\n0,a\n99999,b\n5\n");
    assert_eq!(figures(&out), ["emit [00:00:00,01:00:00) carrier=a count=1"]);
    assert!(out.contains("2 rows in = 2 counted + 0 late\n"), "{out}");
    assert_eq!(code, Some(2));
}

#[test]
fn run_accounts_for_every_row_and_the_reference_agrees() {
    let plan = written(&directory("accounts"), "plan.toml", PLAN);
    let (out, err, code) =
        flights(&["run", &plan, "-"], &["--verify", "--late-rows", "1"], FLIGHTS);
    assert!(out.contains("\n23611 rows in = 21985 counted + 1626 late\n"), "{out}");
    assert!(out.contains("late: 6.89 % of the rows (1,407 straggler, 219 lagging partition)"));
    let late = out.lines().find(|it| it.starts_with("105 ")).expect("the first late row");
    let cells: Vec<_> = late.split_whitespace().collect();
    assert_eq!(cells[1..5], ["JFK", "2013-02-01T11:15:00", "2013-02-01T11:25:00", "99"]);
    assert!(late.contains("delay 1h10min") && late.ends_with("lagging partition"), "{late}");
    assert!(out.ends_with("and 1,625 more; --late-rows 1626 lists them\n"));
    assert_eq!(err, "verified: the reference agrees after each of 39049 items\n");
    assert_eq!(code, Some(0));
    let (streamed, _, _) = flights(&["run", &plan, "-"], &["--late-rows", "1"], FLIGHTS);
    assert_eq!(out, streamed);
}

/// Runs in parts with a checkpoint between them; what comes out is what one run gives.
fn check_resumed(name: &str, plan: &str) {
    let directory = directory(name);
    let plan = written(&directory, "plan.toml", plan);
    let state = directory.join("state");
    let state = state.to_str().expect("UTF-8");
    let (whole, ..) = flights(&["run", &plan, "-"], &[], FLIGHTS);
    let mut parts = String::new();
    for rows in [7_001, 7_002, 20_000, 23_612] {
        let head: String = FLIGHTS.split_inclusive('\n').take(rows).collect();
        let input = written(&directory, "input.csv", &head);
        let end: &[&str] = if rows == 23_612 { &["--end"] } else { &[] };
        let more = [&["--checkpoint", state, "--checkpoint-every", "900"], end].concat();
        let (out, err, code) = flights(&["run", &plan, &input], &more, "");
        assert_eq!(code, Some(0), "{err}");
        parts.push_str(&out);
    }
    assert_eq!(figures(&parts), figures(&whole));
    let account = |text: &str| text.lines().rfind(|it| it.contains(" rows in ")).map(str::to_owned);
    assert_eq!(account(&parts), account(&whole));
    let (_, err, code) = flights(&["run", &plan, "-"], &["--checkpoint", state], FLIGHTS);
    assert!(err.contains("the query of this checkpoint has ended"), "{err}");
    assert_eq!(code, Some(2));
}

#[test]
fn a_run_in_parts_writes_the_figures_of_a_run_in_one() {
    check_resumed("parts", PLAN);
}

#[test]
fn a_run_in_parts_under_an_interval_reads_waiting_rows_again() {
    let plan = PLAN.replace("effective = \"row\"", "trigger = \"interval(30min)\"");
    check_resumed("parts_interval", &plan);
}

#[test]
fn a_run_in_parts_does_not_cut_a_batch_where_it_stops() {
    let plan = PLAN.replace("effective = \"row\"", "effective = \"next_batch\"");
    check_resumed("parts_batch", &plan);
}

#[test]
fn a_checkpoint_of_another_input_or_with_a_changed_byte_is_refused() {
    let directory = directory("refused");
    let plan = written(&directory, "plan.toml", PLAN);
    let state = directory.join("state");
    let more = ["--checkpoint", state.to_str().expect("UTF-8")];
    let head: String = FLIGHTS.split_inclusive('\n').take(500).collect();
    let input = written(&directory, "input.csv", &head);
    assert_eq!(flights(&["run", &plan, &input], &more, "").2, Some(0));
    assert_eq!(flights(&["run", &plan, &input], &more, "").2, Some(3), "no new row");
    written(&directory, "input.csv", &head.replacen(",B6,", ",ZZ,", 1));
    let (_, err, code) = flights(&["run", &plan, &input], &more, "");
    assert!(err.contains("the first 499 rows of the input are not those"), "{err}");
    assert_eq!(code, Some(2));
    written(&directory, "input.csv", &head);
    let snapshot =
        fs::read_dir(&state).expect("a directory").map(|it| it.expect("an entry").path());
    let snapshot = snapshot.into_iter().find(|it| it.extension().is_some_and(|it| it == "bin"));
    let snapshot = snapshot.expect("a snapshot");
    let mut bytes = fs::read(&snapshot).expect("it can be read");
    bytes[60] ^= 1;
    fs::write(&snapshot, bytes).expect("it can be written");
    let (_, err, code) = flights(&["run", &plan, &input], &more, "");
    assert!(err.contains("some byte was changed"), "{err}");
    assert_eq!(code, Some(2));
}

#[test]
fn a_number_in_ndjson_keeps_all_its_digits() {
    let plan = PLAN.replace("\"carrier:text\"]", "\"carrier:text\", \"v:int\"]");
    let plan = format!("{plan}agg = [\"sum(v)\"]\n");
    let plan = written(&directory("digits"), "plan.toml", &plan);
    let input = "{\"time\": 5, \"carrier\": \"a\", \"v\": 9007199254740993.0}\n";
    let (out, err, code) = plimsoll(&["run", &plan, "-", "--unit", "s"], input);
    assert!(out.contains("sum(v)=9007199254740993"), "{out}{err}");
    assert_eq!(code, Some(0));
}

#[test]
fn an_interval_without_arrival_times_is_warned_of() {
    let plan = PLAN.replace("effective = \"row\"", "trigger = \"interval(30min)\"");
    let plan = written(&directory("no_clock"), "plan.toml", &plan);
    let input = "{\"time\": 5, \"carrier\": \"a\"}\n";
    let (_, err, code) = plimsoll(&["run", &plan, "-", "--unit", "s"], input);
    assert!(err.contains("without --arrival-col the clock stands still"), "{err}");
    assert_eq!(code, Some(0));
}

#[test]
fn ndjson_is_known_by_its_first_byte_and_answers_as_json() {
    let plan = written(&directory("ndjson"), "plan.toml", PLAN);
    let input = "{\"time\": \"1970-01-01T00:00:05Z\", \"carrier\": \"a\"}\n";
    let (out, _, code) = plimsoll(&["run", &plan, "-", "--json"], input);
    let mut lines = out.lines();
    let figure = lines.next().expect("a figure");
    assert!(
        figure.starts_with(r#"{"figure":{"start_ms":0,"end_ms":3600000,"key":[["carrier","a"]]"#)
    );
    assert!(lines.next().is_some_and(|it| it.starts_with(r#"{"summary":{"rows":1,"#)), "{out}");
    assert_eq!((lines.next(), code), (None, Some(0)));
}

/// Two inputs in one file, the second one behind.
const TWO_INPUTS: &str = "\
topic,time,carrier,shard
imp,100,a,s0
clk,90,a,s0
imp,110,a,s1
clk,108,b,s1
clk,70,a,s0
imp,105,a,s0
imp,140,b,s0
clk,131,b,s0
";

const TWO_INPUTS_PLAN: &str = r#"
[plan]
inputs = ["imp(5s)", "clk(20s)"]
stages = ["session(10s,key=carrier)"]
effective = "row"
trigger = "row"
columns = ["time:time", "carrier:text"]
"#;

#[test]
fn rows_of_several_inputs_run_are_verified_and_become_a_trace() {
    let directory = directory("two_inputs");
    let plan = written(&directory, "plan.toml", TWO_INPUTS_PLAN);
    let input = written(&directory, "rows.csv", TWO_INPUTS);
    let trace = directory.join("rows.trace").to_string_lossy().into_owned();
    let columns = ["--input-col", "topic", "--partition-col", "shard", "--unit", "s"];
    let more = [&["run", &plan, &input, "--trace", &trace][..], &columns].concat();
    let (out, err, code) = plimsoll(&more, "");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("verified: the reference agrees"), "{err}");
    assert!(out.contains("clk/s0") && out.contains("1 late"), "{out}");
    let written = fs::read_to_string(&trace).expect("a trace");
    assert!(written.contains("# partition p1 of each input is s1"), "{written}");
    let (out, err, code) = plimsoll(&["explain", &trace, "--window", "00:01:10/a"], "");
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("lost, behind 00:01:28 (set by item 4 of clk)"), "{out}");
    assert!(out.contains("Tried: a delay of 38s on clk keeps 1 of the 1 lost."), "{out}");
}

#[test]
fn a_plan_of_several_inputs_is_tuned_for_each_and_for_all() {
    let directory = directory("tuned_inputs");
    let plan = written(&directory, "plan.toml", TWO_INPUTS_PLAN);
    let input = written(&directory, "rows.csv", TWO_INPUTS);
    let more = ["tune", &input, "--plan", &plan, "--input-col", "topic", "--unit", "s"];
    let delays = ["--delay", "37999ms", "--delay", "38s"];
    let (out, err, code) = plimsoll(&[&more[..], &delays].concat(), "");
    assert_eq!(code, Some(0), "{err}");
    for wanted in [
        "Stage 1 judged 8 of 8 rows.",
        "As planned 1 of them are lost",
        "policy=min: the slowest watermark counts",
        "The delay of clk, the others as planned: 38s is the smallest that loses at most 0.1 %",
    ] {
        assert!(out.contains(wanted), "no `{wanted}` in\n{out}");
    }
    let (out, _, _) = plimsoll(&[&more[..], &delays, &["--json"]].concat(), "");
    assert!(out.contains(r#""advised_delay_ms":38000"#), "{out}");
}

#[test]
fn which_input_a_row_is_of_must_be_said_and_be_one_of_the_plan() {
    let directory = directory("no_inputs");
    let plan = written(&directory, "plan.toml", TWO_INPUTS_PLAN);
    let input = written(&directory, "rows.csv", &TWO_INPUTS.replace("imp,140", "img,140"));
    let (_, err, code) = plimsoll(&["run", &plan, &input, "--unit", "s"], "");
    assert!(err.contains("the plan has 2 inputs (imp, clk); --input-col names"), "{err}");
    assert_eq!(code, Some(2));
    let more = ["run", &plan, &input, "--unit", "s", "--input-col", "topic"];
    let (_, err, code) = plimsoll(&more, "");
    let wanted = "line 8, column `topic`: expected an input of the plan (imp, clk), found `img`";
    assert!(err.contains(wanted), "{err}");
    assert_eq!(code, Some(2));
    let joins =
        TWO_INPUTS_PLAN.replace("session(10s,key=carrier)", "join(inner,on=carrier,to=10s)");
    let plan = written(&directory, "join.toml", &joins);
    let (_, err, code) = plimsoll(&["tune", &input, "--plan", &plan, "--input-col", "topic"], "");
    assert!(err.contains("cannot be tuned: stage 1 is a join"), "{err}");
    assert_eq!(code, Some(2));
}
