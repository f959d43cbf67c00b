//! Errors shown in the source, with a caret.
//!
//! A broken file is never described by its byte offset alone: the line is shown, the place is
//! marked, and the mark says what was expected and what was found.
//!
//! Invariant: any span may be asked for; one that does not fit the text is moved to where it does.

use crate::source::Source;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
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
