//! Telling lines of documents that were read or written: decisions, rules, requirements, list items.

use std::sync::LazyLock;

use regex::RegexSet;

use super::lines;
use super::openapi;
use super::placeholders::{is_placeholder, is_template};
use crate::phrases::Phrases;
use crate::rollout::patch::ANOTHER_PLACE;

/// A line of a document, with its heading.
pub(super) struct Passage {
    pub heading: String,
    pub text: String,
    pub strength: u16,
    /// Code in prose, which mostly shows how something is used; a command stands for itself.
    pub is_sample: bool,
}

/// Lines of a document that are looked at.
const LINES_MAX: usize = 400;

/// Shorter lines say too little alone.
const LINE_BYTES_MIN: usize = 16;

/// Bytes of what a document says of itself that are quoted, as one line.
const FRONT_BYTES: usize = 220;

/// A longer line tells more than a version.
const VERSION_LINE_BYTES: usize = 160;

/// Longest words that only lead to what follows.
const LEAD_IN_BYTES: usize = 80;

/// Whether a path names prose or configuration rather than code.
pub(super) fn is_document(path: &str) -> bool {
    is_prose(path) || ends_with(path, &[".yaml", ".yml", ".toml", ".json"])
}

/// Whether a path names prose.
pub(super) fn is_prose(path: &str) -> bool {
    ends_with(path, &[".md", ".mdx", ".rst", ".txt", ".adoc"]) || is_instructions(path)
}

/// Whether a path names instructions to an agent that are kept as XML.
fn is_instructions(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_named = ["instruction", "workflow", "prompt"].iter().any(|it| name.contains(it));
    is_named && ends_with(path, &[".xml"])
}

/// Folders of an agent's own, where its skills and manuals are.
const AGENT_FOLDERS: [&str; 6] =
    ["/.codex/", "/.claude/", "/.agents/", "/skills/", "/plugins/", "/.gemini/"];

/// Percent of its lines' strength that a document has by its place: what tells an agent how to work, rather than what
/// is built, matters less, and it is read again when it is wanted.
pub(super) fn percent_of(path: &str) -> u16 {
    match () {
        () if is_of_agents(path) || path.contains("SKILL") => 12,
        () if path.starts_with('/') || is_template(path) => 50,
        // Written for whoever sees the project for the first time.
        () if path.rsplit('/').next().is_some_and(|name| name.starts_with("README")) => 40,
        () => 100,
    }
}

/// Whether a path is in a folder that an agent keeps for itself.
pub(super) fn is_of_agents(path: &str) -> bool {
    AGENT_FOLDERS
        .iter()
        .any(|folder| path.contains(folder) || path.starts_with(folder.trim_start_matches('/')))
}

/// Whether a path names the words of a licence, which are the same everywhere.
pub(super) fn is_licence(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    ["license", "licence", "copying"].iter().any(|begin| name.starts_with(begin))
}

/// Files of a repository that say how to work on it. Those that an agent is given at its start anyway are not among them.
const GOVERNING: [&str; 5] =
    [".agents/", "contributing", "conventions", "copilot-instructions", ".cursor/rules"];

/// Parts of the path of a skill that do not name it.
const UNNAMED: [&str; 5] = ["skill", "skills", "agents", "reference", "references"];

/// Whether a document says how to work here: by its place, or since the person named it in what they `typed`.
pub(super) fn binds<'a>(path: &str, typed: impl Iterator<Item = &'a str>) -> bool {
    let lower = path.to_lowercase();
    let is_skill = lower.contains("skill");
    if is_instructions(path) {
        return true;
    }
    if !is_skill {
        return is_prose(path) && GOVERNING.iter().any(|place| lower.contains(place));
    }
    let parts = lower.rsplit('/').take(3).map(|part| part.split('.').next().unwrap_or(part));
    let names = parts.filter(|name| name.len() > 4 && !UNNAMED.contains(name));
    let names: Vec<String> = names.map(|name| name.replace(['-', '_'], " ")).collect();
    let mut typed = typed.map(|text| text.to_lowercase().replace(['-', '_'], " "));
    typed.any(|text| names.iter().any(|name| text.contains(name)))
}

/// Words of a rule, and of what rules matter most to whoever ends a piece of work.
static BINDING: Phrases = Phrases::new(&[
    "must ",
    "never",
    "always",
    "do not",
    "don't",
    "only if",
    "only when",
    "only after",
    "not sufficient",
    "required",
    "unless",
    "shall ",
]);
static DELIVERY: Phrases = Phrases::new(&[
    "push",
    "pull request",
    " pr ",
    "git add",
    "worktree",
    "merge",
    "a branch",
    "to main",
]);
static CARE: Phrases = Phrases::new(&["commit", "branch", "test", "verif", "stage", "report"]);

/// First words of an order, and words that stress one.
const ORDERING: [&str; 8] =
    ["do not", "don't", "never ", "always ", "only ", "you must", "you never", "use "];
static ORDERS_LOUDLY: Phrases = Phrases::new(&["MUST", "NEVER", "ALWAYS", " NOT "]);

/// How telling a rule is; `None` where a passage orders nothing.
pub(super) fn rule_strength(passage: &str) -> Option<u16> {
    if passage.starts_with('|') {
        return None;
    }
    let lower = passage.to_lowercase();
    let bare = lower.trim_start_matches(|c: char| !c.is_alphabetic());
    let orders =
        ORDERING.iter().any(|opening| bare.starts_with(opening)) || ORDERS_LOUDLY.is_in(passage);
    match () {
        () if !BINDING.is_in(&lower) => None,
        () if DELIVERY.is_in(&lower) => Some(170),
        () if CARE.is_in(&lower) => Some(110),
        // Prose on any subject says "never" and "must" of others than its reader.
        () => orders.then_some(70),
    }
}

fn ends_with(path: &str, endings: &[&str]) -> bool {
    let lower = path.to_ascii_lowercase();
    endings.iter().any(|ending| lower.ends_with(ending))
}

/// Lines of a configuration that is short.
const SHORT_LINES: usize = 120;

/// Bytes of the lines of a configuration that are quoted together, and how much they say.
const SETTINGS_BYTES: usize = 200;
const SETTINGS_STRENGTH: u16 = 70;

/// An operation of an API says more than any line of its description.
const OPERATION_STRENGTH: u16 = 160;

/// The passages of a document worth quoting, at most [`LINES_MAX`] lines of it.
pub(super) fn passages(path: &str, text: &str, mut visit: impl FnMut(Passage)) {
    let is_prose = is_prose(path);
    let is_marked_up = is_instructions(path);
    if ends_with(path, &[".yaml", ".yml"]) {
        let (heading, strength, is_sample) = (String::new(), OPERATION_STRENGTH, false);
        for text in openapi::operations(text) {
            visit(Passage { heading: heading.clone(), text, strength, is_sample });
        }
    }
    // Each line of a short configuration is a choice that somebody made.
    if !is_prose && text.lines().count() <= SHORT_LINES {
        return settings(text, visit);
    }
    let mut heading = String::new();
    let mut paragraph = String::new();
    let mut end = |heading: &str, paragraph: &mut String, is_code: bool| {
        let text = std::mem::take(paragraph);
        passage(heading, text, (is_prose, is_code)).into_iter().for_each(&mut visit);
    };
    let (mut is_comment, mut is_code, mut is_begun) = (false, false, false);
    let (front, front_lines) = if is_prose { front_matter(text) } else { (String::new(), 0) };
    paragraph.push_str(&front);
    end("front matter", &mut paragraph, false);
    for line in text.lines().take(LINES_MAX).skip(front_lines) {
        if let Some(above) = line.strip_prefix(ANOTHER_PLACE) {
            end(&heading, &mut paragraph, is_code);
            lines::heading_of(above.trim()).unwrap_or_default().clone_into(&mut heading);
            continue;
        }
        let line = without_number(line).trim();
        // Comments of a template speak to whoever fills it in; the one that a document begins with speaks of it.
        if is_comment || line.starts_with("<!--") && is_begun {
            is_comment = !line.contains("-->");
            continue;
        }
        is_begun |= !line.is_empty();
        let line = line.trim_start_matches("<!--").trim_end_matches("-->").trim();
        let bare = is_marked_up.then(|| without_tags(line));
        let line = bare.as_deref().unwrap_or(line);
        if line.starts_with("```") {
            end(&heading, &mut paragraph, is_code);
            is_code = !is_code;
            continue;
        }
        if let Some(title) = lines::heading_of(line).filter(|_| !is_code) {
            end(&heading, &mut paragraph, is_code);
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
            end(&heading, &mut paragraph, is_code);
        }
        if !line.is_empty() {
            paragraph.push_str(if paragraph.is_empty() { "" } else { " " });
            paragraph.push_str(line);
        }
    }
    end(&heading, &mut paragraph, is_code);
}

/// The lines of a configuration, several to a passage: a key and its value are few words, and mean little alone.
fn settings(text: &str, mut visit: impl FnMut(Passage)) {
    let mut together = String::new();
    let mut end = |together: &mut String| {
        let text = std::mem::take(together);
        let (heading, strength) = (String::new(), SETTINGS_STRENGTH);
        if text.len() >= LINE_BYTES_MIN {
            visit(Passage { heading, text, strength, is_sample: false });
        }
    };
    for line in text.lines() {
        let bare = without_number(line).trim();
        let is_elsewhere = line.starts_with(ANOTHER_PLACE);
        if is_elsewhere || together.len() + bare.len() > SETTINGS_BYTES {
            end(&mut together);
        }
        if !is_elsewhere && !bare.is_empty() {
            together.push_str(if together.is_empty() { "" } else { " " });
            together.push_str(bare);
        }
    }
    end(&mut together);
}

/// A paragraph as a passage, unless it says nothing alone.
fn passage(heading: &str, text: String, (is_telling, is_code): (bool, bool)) -> Option<Passage> {
    // A few words that end with a colon say nothing without what follows.
    let is_lead_in = text.len() < LEAD_IN_BYTES && text.ends_with([':', '：']);
    if text.len() < LINE_BYTES_MIN || is_lead_in {
        return None;
    }
    let strength = strength(heading, &text, is_telling);
    let is_sample = is_code && !is_command(&text);
    Some(Passage { heading: heading.to_owned(), text, strength, is_sample })
}

/// What a document says of itself to programs before it begins, in one line, and the lines it takes.
fn front_matter(text: &str) -> (String, usize) {
    let mut lines = text.lines().map(|line| without_number(line).trim());
    if lines.next() != Some("---") {
        return (String::new(), 0);
    }
    let (mut front, mut count) = (String::new(), 1);
    for line in lines {
        count += 1;
        if line == "---" {
            break;
        }
        if front.len() < FRONT_BYTES {
            front.push_str(if front.is_empty() { "" } else { "; " });
            front.push_str(line);
        }
    }
    (front, count)
}

/// Marks of a decision with its reasons.
const DECISION_MARKS: [&str; 6] =
    ["**Decision", "Decision**", "Decision:", "- Decision", "**Scope", "**Goal"];

/// Marks of what was decided against.
const REJECTION_MARKS: [&str; 2] = ["Alternatives", "rejected"];

/// Marks of a list of the values that something may have.
pub(super) const VALUES_MARKS: [&str; 3] = ["enum:", "enum ", "one of "];

/// Marks of a line that says that nothing is there.
const EMPTY_MARKS: [&str; 4] = ["N/A", "None", "left empty", "not applicable"];

/// A longer line says more than that nothing is there.
const EMPTY_BYTES: usize = 160;

const RULE_MARKS: [&str; 7] = ["must", "MUST", "never", "always", "only", "do not", "don't"];

/// Whether a line of a document states a decision.
pub(super) fn decides(line: &str) -> bool {
    DECISION_MARKS.iter().any(|mark| line.contains(mark))
}

/// Marks by which the strength of a line is told, each set in one place of [`marks_of`].
const MARKS: [&[&str]; 6] =
    [&DECISION_MARKS, &EMPTY_MARKS, &["Rationale"], &REJECTION_MARKS, &RULE_MARKS, &VALUES_MARKS];

/// All sets at once: lines are many, and looking for each mark alone took a tenth of the fold.
static MARK_SET: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let set = |marks: &&[&str]| {
        let escaped: Vec<String> = marks.iter().map(|mark| regex::escape(mark)).collect();
        escaped.join("|")
    };
    RegexSet::new(MARKS.iter().map(set)).ok()
});

/// Which sets of marks a line has one of.
fn marks_of(line: &str) -> [bool; MARKS.len()] {
    let found = MARK_SET.as_ref().map(|set| set.matches(line));
    std::array::from_fn(|set| found.as_ref().is_some_and(|found| found.matched(set)))
}

fn strength(heading: &str, line: &str, is_prose: bool) -> u16 {
    let [decides_here, is_empty, is_reason, is_rejection, is_rule, has_values] = marks_of(line);
    let is_item = lines::item_of(line).is_some();
    let strength = match () {
        // What it opens stands below it.
        () if line.ends_with(['{', '[']) => 10,
        () if is_placeholder(line) => 10,
        () if decides_here => 190,
        () if is_empty && line.len() < EMPTY_BYTES => 20,
        () if decides(heading) => 180,
        () if is_reason || has_version(line) => 140,
        () if is_rejection => 150,
        () if is_rule || has_values => 110,
        () if is_item || is_command(line) || is_entry(line) => 80,
        () => 45,
    };
    if is_prose { strength } else { strength * 6 / 10 }
}

/// Whether a line says which version something has or gets: `**Version**: 1.1.0`.
fn has_version(line: &str) -> bool {
    let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let mut words = line.split(|c: char| c.is_whitespace() || c == '*' || c == 'v');
    line.len() < VERSION_LINE_BYTES && line.contains("ersion") && words.any(number)
}

/// Whether a line is an entry: `**Storage**: SQLite`.
fn is_entry(line: &str) -> bool {
    let key = line.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    key.is_some_and(|(key, value)| key.ends_with(':') || value.starts_with(':'))
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

/// The words of a line between its tags.
fn without_tags(line: &str) -> String {
    let (before, rest) = line.split_once('<').unwrap_or((line, ""));
    let parts = rest.split('<').map(|part| part.split_once('>').map_or(part, |(_, words)| words));
    format!("{before}{}", parts.collect::<String>()).trim().to_owned()
}

/// Without the line number that `nl`, `cat -n` and reading tools put before a line.
pub(super) fn without_number(line: &str) -> &str {
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
    fn the_lines_of_a_configuration_stand_together() {
        let text =
            "{\n  \"build\": {\n    \"dest\": \"_site\",\n    \"src\": [\"api/**.yml\"]\n  }\n}\n";
        let mut seen = Vec::new();
        passages("docfx.json", text, |p| seen.push(p.text));
        assert_eq!(seen, ["{ \"build\": { \"dest\": \"_site\", \"src\": [\"api/**.yml\"] } }"]);
        let long: String = (0..60).map(|n| format!("key{n} = \"value {n}\"\n")).collect();
        let mut seen = Vec::new();
        passages("a.toml", &long, |p| seen.push(p.text));
        assert!(seen.len() < 8 && seen.iter().all(|text| text.len() <= SETTINGS_BYTES), "{seen:?}");
    }

    #[test]
    fn the_comment_that_a_document_begins_with_speaks_of_it() {
        let text = "<!--\nVersion change: 1.0.0 → 1.1.0\n-->\n# Rules\n<!-- Write the rules\nbelow this line -->\n- We write the tests first.\n";
        let mut seen = Vec::new();
        passages("rules.md", text, |p| seen.push((p.text, p.strength)));
        assert_eq!(
            seen,
            [
                ("Version change: 1.0.0 → 1.1.0".to_owned(), 140),
                ("- We write the tests first.".to_owned(), 80)
            ]
        );
    }

    #[test]
    fn a_decision_stands_before_its_reason_and_both_before_what_is_empty() {
        let strengths = [
            "- **Decision**: one queue per pool",
            "- **Alternatives considered**: a queue per worker",
            "- **Rationale**: the order of tasks matters",
            "state: enum: [pending, running, done]",
            "The queue is read by all workers.",
            "Violations: None, left empty",
        ];
        let strengths = strengths.map(|line| strength("", line, true));
        assert!(strengths.is_sorted_by(|one, next| one > next), "{strengths:?}");
        assert_eq!(strength("", "**Structure Decision**: one crate", true), strengths[0]);
    }

    #[test]
    fn a_document_binds_by_its_place_or_since_the_person_named_it() {
        let typed = ["do it by our code changes guidelines", "$coordinator"];
        for (path, expected) in [
            (".agents/workflow.md", true),
            ("CONTRIBUTING.md", true),
            ("docs/layout.md", false),
            ("AGENTS.md", false),
            ("/x/skills/coordinator/SKILL.md", true),
            ("/x/skills/code-changes/deliver.md", true),
            ("/x/skills/release-notes/SKILL.md", false),
        ] {
            assert_eq!(binds(path, typed.into_iter()), expected, "{path}");
        }
        assert_eq!(rule_strength("Do not push unless asked."), Some(170));
        assert_eq!(rule_strength("- Never weaken a lint."), Some(70));
        assert_eq!(rule_strength("The lexer reads lines."), None);
        assert_eq!(rule_strength("The sun never sets upon the hills."), None);
    }

    #[test]
    fn decisions_and_rules_stand_out_and_wrapped_prose_is_joined() {
        let text = "# Queue\n<!-- Fill in:\nall must be said -->\n     1\t- **Decision**: one queue per pool, since order matters\n\nThe queue is read by\nall workers at once.\nWorkers must never sleep while they hold it.\n";
        let mut seen = Vec::new();
        passages("a/research.md", text, |p| seen.push((p.heading, p.text, p.strength)));
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert_eq!(seen[0].0, "Queue");
        assert_eq!(seen[0].2, 190);
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

    #[test]
    fn instructions_in_xml_are_read_without_their_tags() {
        let path = "work/review/instructions.xml";
        let text = "<step n=\"1\" goal=\"Read\">\n  <critical>You MUST read <b>every</b> file of the list</critical>\n</step>\n";
        let mut seen = Vec::new();
        passages(path, text, |p| seen.push(p.text));
        assert_eq!(seen, ["You MUST read every file of the list"]);
        assert!(is_document(path) && binds(path, std::iter::empty()));
        assert!(!is_document("pom.xml"));
        assert!(is_licence("crates/lexer/LICENSE-MIT") && !is_licence("src/licensing.rs"));
    }
}
