//! Sources as the tidiness tests see them: files, code without comments, and the paths in it.
//!
//! A small reader, not a parser: it knows comments, `use` trees and `::` paths, which is all that the
//! rules ask about.

use std::fs;
use std::path::{Path, PathBuf};

/// The top of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is in the project").to_owned()
}

/// One file.
#[derive(Debug)]
pub(super) struct Source {
    /// Its path from the top, with `/`.
    pub(super) path: String,
    /// Its text; what is not UTF-8 is replaced.
    pub(super) text: String,
}

/// What git ignores, and git.
const IGNORED: [&str; 6] = [".git", "target", "corpus", "artifacts", "coverage", ".DS_Store"];

/// All files below a folder of the project, in order; none where there is no such folder.
pub(super) fn files(folder: &str) -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if IGNORED.contains(&name.as_str()) || name.ends_with(".snap.new") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).expect("a readable file");
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let path = path.strip_prefix(&root).expect("below the top");
                let path = path.to_string_lossy().replace('\\', "/");
                found.push(Source { path, text });
            }
        }
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    found
}

/// All Rust sources below these folders.
pub(super) fn rust(folders: &[&str]) -> Vec<Source> {
    let all = folders.iter().flat_map(|it| files(it));
    all.filter(|it| it.path.ends_with(".rs")).collect()
}

impl Source {
    /// The file's name.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The comment at the top.
    pub(super) fn module_doc(&self) -> Vec<&str> {
        self.text.lines().take_while(|it| it.starts_with("//!")).collect()
    }

    /// Everything without comments.
    pub(super) fn all_code(&self) -> String {
        let lines = self.text.lines().map(|it| it.split("//").next().unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Everything without comments, up to the unit tests.
    pub(super) fn code(&self) -> String {
        let code = self.all_code();
        let end = code.match_indices("#[cfg(test)]").map(|it| it.0).find(|at| {
            let rest = code[*at..].trim_start_matches("#[cfg(test)]").trim_start();
            rest.starts_with("mod ") || rest.starts_with("pub(crate) mod ")
        });
        match end {
            Some(end) => code[..end].to_owned(),
            None => code,
        }
    }

    /// Whether it does more than naming modules.
    pub(super) fn has_code(&self) -> bool {
        let says = |it: &str| {
            let it = it.trim();
            !it.is_empty() && !it.contains("mod ") && !it.starts_with("use ")
        };
        self.code().lines().any(says)
    }

    /// Its module's path inside its crate: `engine/src/plan/check.rs` is `plan::check`.
    pub(super) fn module(&self) -> Vec<String> {
        let inside = self.path.split_once("/src/").map_or(self.path.as_str(), |it| it.1);
        let inside = inside.trim_end_matches(".rs");
        inside.split('/').filter(|it| !["lib", "main"].contains(it)).map(str::to_owned).collect()
    }

    /// Every path that the code names, `use` trees taken apart, `super` resolved to `crate`.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut code = self.code();
        let mut found = Vec::new();
        while let Some(start) = starts_of(&code, "use ").first().copied() {
            let end = code[start..].find(';').map_or(code.len(), |it| start + it);
            expand(&code[start + 4..end], "", &mut found);
            code.replace_range(start..end, "");
        }
        for start in ["crate", "super", "self", "std", "core", "plimsoll_"] {
            for at in starts_of(&code, start) {
                let part = |it: char| it.is_alphanumeric() || it == '_' || it == ':';
                let path = &code[at..];
                let path = &path[..path.find(|it| !part(it)).unwrap_or(path.len())];
                if path.contains("::") {
                    found.push(path.trim_end_matches(':').to_owned());
                }
            }
        }
        found.iter().map(|it| self.resolved(it)).collect()
    }

    fn resolved(&self, path: &str) -> String {
        let mut module = self.module();
        let mut rest = path;
        if let Some(tail) = rest.strip_prefix("self::") {
            rest = tail;
        } else if !rest.starts_with("super::") {
            return path.to_owned();
        }
        while let Some(tail) = rest.strip_prefix("super::") {
            rest = tail;
            module.pop();
        }
        module.insert(0, "crate".to_owned());
        module.push(rest.to_owned());
        module.join("::")
    }
}

/// Where a word begins.
fn starts_of(code: &str, word: &str) -> Vec<usize> {
    let inside = |it: char| it.is_alphanumeric() || it == '_' || it == ':';
    let found = code.match_indices(word).map(|it| it.0);
    found.filter(|at| !code[..*at].ends_with(inside)).collect()
}

/// Takes a `use` tree apart.
fn expand(tree: &str, prefix: &str, found: &mut Vec<String>) {
    let tree = tree.trim();
    match (tree.find('{'), tree.rfind('}')) {
        (Some(open), Some(close)) => {
            let prefix = format!("{prefix}{}", tree[..open].trim());
            let (mut depth, mut from) = (0, open + 1);
            for (at, it) in tree.char_indices().filter(|it| open < it.0 && it.0 <= close) {
                match it {
                    '{' => depth += 1,
                    ',' | '}' if depth == 0 => {
                        expand(&tree[from..at], &prefix, found);
                        from = at + 1;
                    }
                    '}' => depth -= 1,
                    _ => {}
                }
            }
        }
        _ => match tree.split(" as ").next().unwrap_or_default().trim() {
            "" => {}
            "self" => found.push(prefix.trim_end_matches(':').to_owned()),
            name => found.push(format!("{prefix}{name}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_trees_are_taken_apart() {
        let mut found = Vec::new();
        expand("a::{self, b as c, d::{e, f::{g}, h}, i::*}", "", &mut found);
        assert_eq!(found, ["a", "a::b", "a::d::e", "a::d::f::g", "a::d::h", "a::i::*"]);
    }

    #[test]
    fn paths_are_found_in_use_trees_and_in_the_code_and_not_in_comments_or_unit_tests() {
        let text = "//! crate::doc\nuse super::x::{Y};\nfn f() { std::fs::read(\"\"); } // std::env\n\
                    #[cfg(test)]\nmod tests { use crate::late::saving; }\n";
        let source = Source { path: "engine/src/plan/check.rs".into(), text: text.into() };
        assert_eq!(source.paths(), ["crate::plan::x::Y", "std::fs::read"]);
    }
}
