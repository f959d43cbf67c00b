//! Errors shown in the source, with a caret.
//!
//! A broken file is never described by its byte offset alone: the line is shown, the place is
//! marked, and the mark says what was expected and what was found.
//!
//! Invariant: any span may be asked for; one that does not fit the text is moved to where it does.

use crate::source::Source;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use plimsoll_sim::plan_toml::PlanTomlError;
use plimsoll_sim::trace::parse::TraceError;
use std::fmt;
use std::ops::Range;

/// One mistake in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mistake {
    /// Where, in bytes.
    pub(crate) span: Range<usize>,
    /// What is wrong, in one sentence.
    pub(crate) title: String,
    /// What stands beside the caret; may be empty.
    pub(crate) label: String,
    /// What to do about it, where there is something to say.
    pub(crate) help: Option<String>,
}

/// Mistakes as one error, ready to be printed.
#[derive(Debug)]
pub(crate) struct Diagnosis(String);

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Diagnosis {}

/// What a plan in TOML has wrong.
pub(crate) fn plan_mistake(error: &PlanTomlError) -> Mistake {
    let PlanTomlError { span, expected, found } = error;
    let (title, label) = ("this plan cannot be read".into(), label(expected, found));
    Mistake { span: span.clone(), title, label, help: None }
}

/// What a trace has wrong.
pub(crate) fn trace_mistake(source: &Source, error: &TraceError) -> Mistake {
    let TraceError { line, column, expected, found } = error;
    let start = offset(&source.text, *line, *column);
    let rest = source.text.get(start..).unwrap_or_default();
    let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (title, label) = ("this trace cannot be read".into(), label(expected, found));
    Mistake { span: start..start + word, title, label, help: None }
}

pub(crate) fn label(expected: &str, found: &str) -> String {
    // What was expected may say what was found already.
    if expected.contains("found ") {
        format!("expected {expected}")
    } else {
        format!("expected {expected}, found {found}")
    }
}

/// The byte at a line and a column, both from 1, the column in characters.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let Some(found) = text.split_inclusive('\n').nth(line.saturating_sub(1)) else {
        return text.len();
    };
    let start = found.as_ptr().addr() - text.as_ptr().addr();
    let mut characters = found.trim_end_matches('\n').char_indices();
    let inside = characters.nth(column.saturating_sub(1)).map(|it| it.0);
    start + inside.unwrap_or(found.trim_end_matches('\n').len())
}

/// Shows mistakes in their source.
pub(crate) fn diagnose(source: &Source, mistakes: &[Mistake], colour: bool) -> Diagnosis {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let shown = mistakes.iter().map(|it| {
        let span = fitting(it.span.clone(), &source.text);
        let mut mark = AnnotationKind::Primary.span(span);
        if !it.label.is_empty() {
            mark = mark.label(it.label.as_str());
        }
        let snippet = Snippet::source(source.text.as_str()).path(source.name.as_str());
        let mut group =
            Level::ERROR.primary_title(it.title.as_str()).element(snippet.annotation(mark));
        if let Some(help) = &it.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        renderer.render(&[group])
    });
    Diagnosis(shown.collect::<Vec<_>>().join("\n\n"))
}

/// The nearest span that lies within the text and between its characters.
fn fitting(span: Range<usize>, text: &str) -> Range<usize> {
    let start = text.floor_char_boundary(span.start);
    let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, span: Range<usize>) -> String {
        let source = Source { name: "plan.toml".into(), text: text.into() };
        let mistake = Mistake {
            span,
            title: "the delay cannot be read".into(),
            label: "expected a span such as 2min, found `soon`".into(),
            help: Some("write `delay = \"2min\"`".into()),
        };
        diagnose(&source, &[mistake], false).to_string()
    }

    #[test]
    fn a_mistake_is_shown_in_its_line_with_a_caret() {
        let text = shown("[plan]\ndelay = \"soon\"\n", 15..21);
        assert_eq!(
            text,
            "error: the delay cannot be read
 --> plan.toml:2:9
  |
2 | delay = \"soon\"
  |         ^^^^^^ expected a span such as 2min, found `soon`
  |
  = help: write `delay = \"2min\"`"
        );
    }

    #[test]
    fn a_mistake_in_a_trace_is_found_by_its_line_and_column() {
        let text = "plan delay=2min\n# ü\nrow p0 ü10:08 k=a";
        let source = Source { name: "found.trace".into(), text: text.into() };
        let of = |line, column| {
            let (expected, found) = ("a time".into(), "`ü10:08`".into());
            trace_mistake(&source, &TraceError { line, column, expected, found })
        };
        assert_eq!(&text[of(3, 8).span], "ü10:08");
        assert_eq!(of(3, 8).label, "expected a time, found `ü10:08`");
        assert_eq!(&text[of(1, 1).span], "plan");
        for (line, column) in [(1, 99), (4, 1), (0, 0), (99, 99)] {
            let span = of(line, column).span;
            assert!(text.get(span.clone()).is_some(), "{line}:{column} gives {span:?}");
        }
    }

    #[test]
    fn a_span_that_does_not_fit_is_moved_to_where_it_does() {
        for text in ["", "\n", "ü", "delay = ü\n"] {
            for start in 0..12 {
                for end in 0..12 {
                    assert!(
                        shown(text, start..end).contains("plan.toml"),
                        "{text:?} {start}..{end}"
                    );
                }
            }
        }
    }
}
