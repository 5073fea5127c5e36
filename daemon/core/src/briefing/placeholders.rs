//! Placeholders of a template.

use super::marks;

/// Whether a line is mostly an unreplaced placeholder, `[what to write here]`.
pub(super) fn is_placeholder(line: &str) -> bool {
    // Most lines have none of these, and a `Q` is rarer than any word.
    if memchr::memchr3(b'{', b'Q', b'[', line.as_bytes()).is_none() {
        return false;
    }
    if line.contains("{{") || line.contains("ACTION REQUIRED") {
        return true;
    }
    if !line.contains('[') || marks::VALUES.is_in(line) {
        return false;
    }
    let (mut asking, mut has_name) = (0, false);
    for (open, _) in line.match_indices('[') {
        let Some((inside, after)) = line[open + 1..].split_once(']') else { break };
        if inside.starts_with("NEEDS") || after.starts_with('(') {
            return false;
        }
        let is_named = || inside.contains('_') || is_value(&line[..open], after);
        has_name |= is_name(inside) && is_named();
        asking += if inside.contains(' ') { inside.len() } else { 0 };
    }
    has_name || asking > 0 && asking * 3 >= line.len()
}

/// `PROJECT_NAME`, but not `US1` or `T001`, which name things.
fn is_name(inside: &str) -> bool {
    let of_name = |b: u8| b.is_ascii_uppercase() || b == b'_' || b.is_ascii_digit();
    let is_numbered = inside.bytes().any(|b| b.is_ascii_digit());
    inside.len() > 3 && inside.bytes().all(of_name) && (!is_numbered || inside.contains('_'))
}

/// Whether a bracket is the value of a key or the whole line. A single word elsewhere is a tag: `- [x] [HIGH] text`.
fn is_value(before: &str, after: &str) -> bool {
    let is_alone =
        || !before.contains(char::is_alphanumeric) && !after.contains(char::is_alphanumeric);
    before.trim_end_matches(['*', '`', ' ']).ends_with(':') || is_alone()
}

/// Whether a path names a template.
pub(super) fn is_template(path: &str) -> bool {
    path.contains("template")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreplaced_placeholders_are_recognized() {
        for (line, expected) in [
            ("Storage: [if applicable, e.g., PostgreSQL, files or N/A]", true),
            ("**Version**: [CONSTITUTION_VERSION]", true),
            ("| [e.g., 4th project] | [current need] | [why 3 are too few] |", true),
            ("1. Given [initial state], When [action taken], Then [expected outcome]", true),
            ("Target: [NEEDS CLARIFICATION: which platforms?]", false),
            ("See [the guide of the parser](docs/guide.md)", false),
            ("- [x] T001 [US1] Write the lexer", false),
            ("**Date:** [DATE] | **Spec**: [link]", true),
            ("- [NAME]", true),
            ("- Written by [AUTHOR_NAME] and others", true),
            ("- [x] [AI-Review][HIGH] Close the file in every branch [src/a.rs:40-48]", false),
            ("- **[MEDIUM]** The lexer reads a comment twice.", false),
            ("3. Write the printer [BLOCKED]", false),
        ] {
            assert_eq!(is_placeholder(line), expected, "{line}");
        }
    }
}
