//! Telling lines of documents that were read or written: decisions, rules, requirements, list items.

use super::lines;
use crate::rollout::patch::ANOTHER_PLACE;

/// A line of a document, with its heading.
pub(super) struct Passage {
    pub heading: String,
    pub text: String,
    pub strength: u16,
}

/// Lines of a document that are looked at.
const LINES_MAX: usize = 400;

/// Shorter lines say too little alone.
const LINE_BYTES_MIN: usize = 16;

/// Longest words that only lead to what follows.
const LEAD_IN_BYTES: usize = 80;

/// Whether a path names prose or configuration rather than code.
pub(super) fn is_document(path: &str) -> bool {
    is_prose(path) || ends_with(path, &[".yaml", ".yml", ".toml", ".json"])
}

/// Whether a path names prose.
pub(super) fn is_prose(path: &str) -> bool {
    ends_with(path, &[".md", ".mdx", ".rst", ".txt", ".adoc"])
}

/// Folders of an agent's own, where its skills and manuals are.
const AGENT_FOLDERS: [&str; 6] =
    ["/.codex/", "/.claude/", "/.agents/", "/skills/", "/plugins/", "/.gemini/"];

/// Percent of its lines' strength that a document has by its place: what tells an agent how to work, rather than what
/// is built, matters less, and it is read again when it is wanted.
pub(super) fn percent_of(path: &str) -> u16 {
    let is_of_agent = AGENT_FOLDERS
        .iter()
        .any(|folder| path.contains(folder) || path.starts_with(folder.trim_start_matches('/')));
    match () {
        () if is_of_agent || path.contains("SKILL") => 12,
        () if path.starts_with('/') || path.contains("template") => 50,
        () => 100,
    }
}

fn ends_with(path: &str, endings: &[&str]) -> bool {
    let lower = path.to_ascii_lowercase();
    endings.iter().any(|ending| lower.ends_with(ending))
}

/// The passages of a document worth quoting, at most [`LINES_MAX`] lines of it.
pub(super) fn passages(path: &str, text: &str, mut visit: impl FnMut(Passage)) {
    let is_prose = is_prose(path);
    let mut heading = String::new();
    let mut paragraph = String::new();
    let mut end = |heading: &str, paragraph: &mut String| {
        // A few words that end with a colon say nothing without what follows.
        let is_lead_in = paragraph.len() < LEAD_IN_BYTES && paragraph.ends_with([':', '：']);
        if paragraph.len() >= LINE_BYTES_MIN && !is_lead_in {
            let strength = strength(paragraph, is_prose);
            visit(Passage {
                heading: heading.to_owned(),
                text: std::mem::take(paragraph),
                strength,
            });
        }
        paragraph.clear();
    };
    let (mut is_comment, mut is_code) = (false, false);
    // What a document says of itself to programs, before it begins.
    let is_front = |line: &str| without_number(line).trim() == "---";
    let mut in_front = is_prose && text.lines().next().is_some_and(is_front);
    for (index, line) in text.lines().take(LINES_MAX).enumerate() {
        if in_front {
            in_front = index == 0 || !is_front(line);
            continue;
        }
        if let Some(above) = line.strip_prefix(ANOTHER_PLACE) {
            end(&heading, &mut paragraph);
            lines::heading_of(above.trim()).unwrap_or_default().clone_into(&mut heading);
            continue;
        }
        let line = without_number(line).trim();
        // Comments of a template speak to whoever fills it in.
        let begins_comment = line.starts_with("<!--");
        if begins_comment || is_comment {
            is_comment = !line.contains("-->");
            continue;
        }
        if line.starts_with("```") {
            end(&heading, &mut paragraph);
            is_code = !is_code;
            continue;
        }
        if let Some(title) = lines::heading_of(line).filter(|_| !is_code) {
            end(&heading, &mut paragraph);
            title.clone_into(&mut heading);
            continue;
        }
        // Prose that was wrapped belongs together; an item, a row or a key begins anew.
        let begins = line.is_empty()
            || line.starts_with(['-', '*', '|', '>', '`', '+'])
            || line.starts_with(|c: char| c.is_ascii_digit())
            || is_code
            || !is_prose;
        if begins || paragraph.len() > 400 {
            end(&heading, &mut paragraph);
        }
        if !line.is_empty() {
            paragraph.push_str(if paragraph.is_empty() { "" } else { " " });
            paragraph.push_str(line);
        }
    }
    end(&heading, &mut paragraph);
}

/// Marks of a decision with its reasons.
const DECISION_MARKS: [&str; 8] = [
    "**Decision",
    "**Rationale",
    "**Alternatives",
    "Decision:",
    "Rationale:",
    "rejected",
    "**Scope",
    "**Goal",
];

const RULE_MARKS: [&str; 7] = ["must", "MUST", "never", "always", "only", "do not", "don't"];

fn strength(line: &str, is_prose: bool) -> u16 {
    let has = |marks: &[&str]| marks.iter().any(|mark| line.contains(mark));
    let is_item = lines::item_of(line).is_some();
    let strength = match () {
        () if is_placeholder(line) => 10,
        () if has(&DECISION_MARKS) => 180,
        () if has(&RULE_MARKS) => 110,
        () if is_item || is_command(line) => 80,
        () => 45,
    };
    if is_prose { strength } else { strength * 6 / 10 }
}

/// Whether a line is mostly a template's `[what to write here]`, which nobody has filled in.
fn is_placeholder(line: &str) -> bool {
    if line.contains("ACTION REQUIRED") || line.contains("{{") {
        return true;
    }
    let Some((before, rest)) = line.split_once('[') else { return false };
    let Some((inside, after)) = rest.split_once(']') else { return false };
    let is_name = inside.len() > 3 && inside.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    let is_open = inside.starts_with("NEEDS") || after.starts_with('(');
    let asks = is_name || inside.contains(' ') && inside.len() * 2 >= before.len() + after.len();
    asks && !is_open
}

/// Whether a line shows how a program is run.
fn is_command(line: &str) -> bool {
    let first = line.trim_start_matches(['$', ' ']).split(' ').next().unwrap_or_default();
    let programs = [
        "npm", "npx", "bun", "pnpm", "yarn", "cargo", "go", "python", "pytest", "make", "docker",
        "dotnet", "uv",
    ];
    programs.contains(&first) || first.starts_with("./")
}

/// Without the line number that `nl`, `cat -n` and reading tools put before a line.
fn without_number(line: &str) -> &str {
    let bare = line.trim_start();
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    match bare.get(digits..).and_then(|rest| rest.strip_prefix(['\t', '→', '│'])) {
        Some(rest) if digits > 0 => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_filled_in_is_told_from_what_is_open() {
        for (line, expected) in [
            ("Storage: [if applicable, e.g., PostgreSQL, files or N/A]", true),
            ("**Version**: [CONSTITUTION_VERSION]", true),
            ("Target: [NEEDS CLARIFICATION: which platforms?]", false),
            ("See [the guide of the parser](docs/guide.md)", false),
            ("- [x] T001 [US1] Write the lexer", false),
        ] {
            assert_eq!(is_placeholder(line), expected, "{line}");
        }
    }

    #[test]
    fn decisions_and_rules_stand_out_and_wrapped_prose_is_joined() {
        let text = "# Queue\n<!-- Fill in:\nall must be said -->\n     1\t- **Decision**: one queue per pool, since order matters\n\nThe queue is read by\nall workers at once.\nWorkers must never sleep while they hold it.\n";
        let mut seen = Vec::new();
        passages("a/research.md", text, |p| seen.push((p.heading, p.text, p.strength)));
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert_eq!(seen[0].0, "Queue");
        assert_eq!(seen[0].2, 180);
        assert!(seen[1].1.starts_with("The queue is read by all workers"));
    }

    #[test]
    fn lines_from_another_place_stand_below_the_heading_of_that_place() {
        let patch = "*** Begin Patch\n*** Update File: PLAN.md\n@@\n+# Sprint 4\n+- Write the lexer of the new grammar.\n@@\n+- Ship it to those who asked for it.\n@@\n # Sprint 6\n-old\n+- Measure what it costs in memory.\n*** End Patch";
        let op = crate::rollout::patch::parse(patch).remove(0);
        assert_eq!((op.counts.added, op.counts.removed), (4, 1));
        let mut seen = Vec::new();
        passages("PLAN.md", &op.added, |p| seen.push((p.heading, p.text)));
        let headings: Vec<&str> = seen.iter().map(|(heading, _)| heading.as_str()).collect();
        assert_eq!(headings, ["Sprint 4", "", "Sprint 6"], "{seen:?}");
    }
}
