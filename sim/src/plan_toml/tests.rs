//! Plans in files.

use super::*;

fn check(text: &str, expected: &[(&str, &str)]) {
    let errors = plan_from_toml(text, &["world"]).expect_err(text);
    let errors: Vec<(&str, String)> =
        errors.iter().map(|it| (&text[it.span.clone()], it.to_string())).collect();
    let errors: Vec<(&str, &str)> = errors.iter().map(|it| (it.0, it.1.as_str())).collect();
    assert_eq!(errors, expected, "{text}");
}

#[test]
fn a_table_says_the_same_as_the_line() {
    let text = r#"
        [plan]
        window = "sliding(10min, 1min)"
        delay = "2 minutes"
        columns = ["at:time", "user:text", "amount:int"]
        key = ["user"]
        agg = ["count", "sum(amount)"]
        lineage = ["rename(at,when)", "project(when, user)"]
        effective = "row"
        clock = 2018-02-08T20:23:00
        [world]
        delay = 5
    "#;
    let line = "window=sliding(10min,1min) delay=2min columns=at:time,user:text,amount:int key=user \
                agg=count,sum(amount) lineage=rename(at,when);project(when,user) effective=row \
                clock=2018-02-08T20:23:00";
    let pairs = line.split_whitespace().map(|it| it.split_once('=').expect("a pair"));
    assert_eq!(plan_from_toml(text, &["world"]), Ok(plan_from_pairs(pairs).expect(line)));
}

#[test]
fn each_mistake_points_at_its_place() {
    check(
        "[plan]\ndealy = \"2min\"\n",
        &[("dealy", "expected a key of the plan; the nearest is `delay`, found `dealy`")],
    );
    check(
        "[plan]\ndelay = 600\nlate = \"never\"\n",
        &[
            ("600", "expected a unit: d, h, min, s or ms, found the end"),
            (
                "\"never\"",
                "expected `event`, `event_inclusive`, `window_end` or `frame`, found `never`",
            ),
        ],
    );
    check(
        "[plan]\ndelay = 1.5\n",
        &[("1.5", "expected a text, an integer, a boolean or a list of these, found float")],
    );
    check(
        "[plam]\n",
        &[
            ("plam", "expected `[plan]`; the nearest is `plan`, found `plam`"),
            ("", "expected a table `[plan]`, found none in the file"),
        ],
    );
    check("plan = 1\n", &[("1", "expected a table `[plan]`, found integer")]);
    check(
        "[plan]\n[other]\n",
        &[("other", "expected `[plan]`; the nearest is `world`, found `other`")],
    );
}

#[test]
fn a_file_that_is_no_toml_says_where() {
    let text = "[plan]\ndelay = \"2min\n";
    let errors = plan_from_toml(text, &[]).expect_err(text);
    assert!(errors[0].expected.starts_with("TOML: "), "{errors:?}");
    assert!(7 < errors[0].span.start, "{errors:?}");
}

#[test]
fn hostile_files_never_panic() {
    let good = "[plan]\ndelay = \"2min\" # ä\nkey = [\"k\", 0x1F, true]\n";
    for at in (0..=good.len()).filter(|it| good.is_char_boundary(*it)) {
        for add in ["", "\"", "[", "=", "\u{e4}", "\0", "0x", "'''", "\n"] {
            let text = format!("{}{add}{}", &good[..at], &good[at..]);
            for text in [&text[..], &text[..at + add.len()]] {
                for it in plan_from_toml(text, &[]).err().into_iter().flatten() {
                    assert!(text.get(it.span.clone()).is_some(), "{text}: {it:?}");
                }
            }
        }
    }
}
