//! Informative lines of documents that were read or written: decisions, rules, requirements, list items.

use super::lines::{self, without_number};
use super::marks::{self, decides};
use super::openapi;
use super::placeholders::{is_placeholder, is_template};
use crate::phrases::Phrases;
use crate::rollout::patch::ANOTHER_PLACE;
use crate::text;

/// A line of a document, with its heading.
pub(super) struct Passage<'a> {
    pub heading: &'a str,
    pub text: &'a str,
    pub strength: u16,
    /// Code in prose usually shows an example; a command is worth quoting by itself.
    pub is_sample: bool,
}

/// Maximum lines of a document to inspect.
const LINES_MAX: usize = 400;

/// Shorter lines mean little alone.
const LINE_BYTES_MIN: usize = 16;

/// Maximum bytes of the front matter to quote, as one line.
const FRONT_BYTES: usize = 220;

/// In a longer line the version is not the main point.
const VERSION_LINE_BYTES: usize = 160;

/// Maximum bytes of a lead-in to what follows.
const LEAD_IN_BYTES: usize = 80;

/// Whether a path names prose or configuration rather than code.
pub(super) fn is_document(path: &str) -> bool {
    is_prose(path) || ends_with(path, &[".yaml", ".yml", ".toml", ".json"])
}

/// Whether a path names prose.
pub(super) fn is_prose(path: &str) -> bool {
    ends_with(path, &[".md", ".mdx", ".rst", ".txt", ".adoc"]) || is_instructions(path)
}

/// Whether a path names instructions for an agent written in XML.
fn is_instructions(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_named = ["instruction", "workflow", "prompt"].iter().any(|it| name.contains(it));
    is_named && ends_with(path, &[".xml"])
}

/// Folders that hold an agent's skills and manuals.
const AGENT_FOLDERS: [&str; 6] =
    ["/.codex/", "/.claude/", "/.agents/", "/skills/", "/plugins/", "/.gemini/"];

/// Percentage applied to the strength of a document's lines because of its path. Documents on how an agent
/// works matter less than those on what is being built, and can be read again.
pub(super) fn percent_of(path: &str) -> u16 {
    match () {
        () if is_of_agents(path) || path.contains("SKILL") => 12,
        () if path.starts_with('/') || is_template(path) => 50,
        // Addressed to newcomers.
        () if path.rsplit('/').next().is_some_and(|name| name.starts_with("README")) => 40,
        () => 100,
    }
}

/// Whether a path is in an agent's own folder.
pub(super) fn is_of_agents(path: &str) -> bool {
    AGENT_FOLDERS
        .iter()
        .any(|folder| path.contains(folder) || path.starts_with(folder.trim_start_matches('/')))
}

/// Whether a path names a license, whose text is the same everywhere.
pub(super) fn is_license(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    ["license", "licence", "copying"].iter().any(|begin| name.starts_with(begin))
}

/// Files of a repository that say how to work on it, without those that the agent always loads at start.
const GOVERNING: [&str; 5] =
    [".agents/", "contributing", "conventions", "copilot-instructions", ".cursor/rules"];

/// Path segments of a skill that do not name it.
const UNNAMED: [&str; 5] = ["skill", "skills", "agents", "reference", "references"];

/// Whether a document's rules apply here: by its path, or because the person named it in `typed`.
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
    let mut typed = typed.map(|typed| text::lowercase(typed).replace(['-', '_'], " "));
    typed.any(|text| names.iter().any(|name| text.contains(name)))
}

/// Words of a rule, and words of the rules that matter most when finishing a task.
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

/// First words of an order, and words that emphasize one.
const ORDERING: [&str; 8] =
    ["do not", "don't", "never ", "always ", "only ", "you must", "you never", "use "];
static ORDERS_LOUDLY: Phrases = Phrases::new(&["MUST", "NEVER", "ALWAYS", " NOT "]);

/// The strength of a rule; `None` if the passage contains no order.
pub(super) fn rule_strength(passage: &str) -> Option<u16> {
    if passage.starts_with('|') {
        return None;
    }
    let lower = text::lowercase(passage);
    let bare = lower.trim_start_matches(|c: char| !c.is_alphabetic());
    let orders =
        ORDERING.iter().any(|opening| bare.starts_with(opening)) || ORDERS_LOUDLY.is_in(passage);
    match () {
        () if !BINDING.is_in(&lower) => None,
        () if DELIVERY.is_in(&lower) => Some(170),
        () if CARE.is_in(&lower) => Some(110),
        // Prose also uses "never" and "must" about things other than its reader.
        () => orders.then_some(70),
    }
}

fn ends_with(path: &str, endings: &[&str]) -> bool {
    let lower = path.to_ascii_lowercase();
    endings.iter().any(|ending| lower.ends_with(ending))
}

/// Maximum lines of a short configuration.
const SHORT_LINES: usize = 120;

/// Maximum bytes of configuration lines quoted together, and their strength.
const SETTINGS_BYTES: usize = 200;
const SETTINGS_STRENGTH: u16 = 70;

/// An API operation says more than any single line of its description.
const OPERATION_STRENGTH: u16 = 160;

/// Visits the passages of a document worth quoting, from at most [`LINES_MAX`] lines.
pub(super) fn passages(path: &str, text: &str, mut visit: impl FnMut(Passage<'_>)) {
    let is_prose = is_prose(path);
    let is_marked_up = is_instructions(path);
    if ends_with(path, &[".yaml", ".yml"]) {
        let (heading, strength, is_sample) = ("", OPERATION_STRENGTH, false);
        for text in &openapi::operations(text) {
            visit(Passage { heading, text, strength, is_sample });
        }
    }
    // Each line of a short configuration is a deliberate choice.
    if !is_prose && text::lines(text).count() <= SHORT_LINES {
        return settings(text, visit);
    }
    let mut heading = String::new();
    let mut paragraph = String::new();
    let mut end = |heading: &str, paragraph: &mut String, is_code: bool| {
        passage(heading, paragraph, (is_prose, is_code)).into_iter().for_each(&mut visit);
        paragraph.clear();
    };
    let (mut is_comment, mut is_code, mut is_begun) = (false, false, false);
    let (front, front_lines) = if is_prose { front_matter(text) } else { (String::new(), 0) };
    paragraph.push_str(&front);
    end("front matter", &mut paragraph, false);
    for line in text::lines(text).take(LINES_MAX).skip(front_lines) {
        if let Some(above) = line.strip_prefix(ANOTHER_PLACE) {
            end(&heading, &mut paragraph, is_code);
            lines::heading_of(above.trim()).unwrap_or_default().clone_into(&mut heading);
            continue;
        }
        let line = without_number(line).trim();
        // Comments inside a template address its author; a comment at the start of a document describes the
        // document.
        if is_comment || line.starts_with("<!--") && is_begun {
            is_comment = !line.contains("-->");
            continue;
        }
        is_begun |= !line.is_empty();
        let line = without_comment_marks(line);
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
        // Wrapped prose is joined; an item, a row or a key starts a new passage.
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

fn without_comment_marks(line: &str) -> &str {
    if !line.starts_with('<') && !line.ends_with('>') {
        return line;
    }
    line.trim_start_matches("<!--").trim_end_matches("-->").trim()
}

/// Joins the lines of a configuration: a key and its value mean little alone.
fn settings(text: &str, mut visit: impl FnMut(Passage<'_>)) {
    let mut together = String::new();
    let mut end = |together: &mut String| {
        let (heading, text, strength) = ("", together.as_str(), SETTINGS_STRENGTH);
        if text.len() >= LINE_BYTES_MIN {
            visit(Passage { heading, text, strength, is_sample: false });
        }
        together.clear();
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

/// A paragraph as a passage, unless it means nothing alone.
fn passage<'a>(
    heading: &'a str,
    text: &'a str,
    (is_prose, is_code): (bool, bool),
) -> Option<Passage<'a>> {
    // A short lead-in means nothing without what follows.
    let is_lead_in = text.len() < LEAD_IN_BYTES && text.ends_with([':', '：']);
    if text.len() < LINE_BYTES_MIN || is_lead_in {
        return None;
    }
    let strength = strength(heading, text, is_prose);
    let is_sample = is_code && !is_command(text);
    Some(Passage { heading, text, strength, is_sample })
}

/// The front matter as one line, and the number of lines it takes.
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

/// A longer line says more than that a section is empty.
const EMPTY_BYTES: usize = 160;

fn strength(heading: &str, line: &str, is_prose: bool) -> u16 {
    let is_item = lines::item_of(line).is_some();
    let is_marked = marks::ANY.is_in(line);
    let has = |marks: &Phrases| is_marked && marks.is_in(line);
    let strength = match () {
        // Its content is on the following lines.
        () if line.ends_with(['{', '[']) => 10,
        () if is_placeholder(line) => 10,
        () if is_marked && decides(line) => 190,
        () if line.len() < EMPTY_BYTES && has(&marks::EMPTY) => 20,
        () if decides(heading) => 180,
        () if has(&marks::REASONS) || is_marked && has_version(line) => 140,
        () if has(&marks::REJECTIONS) => 150,
        () if has(&marks::RULES) || has(&marks::VALUES) => 110,
        () if is_item || is_command(line) || is_entry(line) => 80,
        () => 45,
    };
    if is_prose { strength } else { strength * 6 / 10 }
}

/// Whether a line states a version: `**Version**: 1.1.0`.
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

/// Whether a line shows how to run a program.
fn is_command(line: &str) -> bool {
    let first = line.trim_start_matches(['$', ' ']).split(' ').next().unwrap_or_default();
    let programs = [
        "npm", "npx", "bun", "pnpm", "yarn", "cargo", "go", "python", "pytest", "make", "docker",
        "dotnet", "uv",
    ];
    programs.contains(&first) || first.starts_with("./")
}

/// The text of a line without its tags.
fn without_tags(line: &str) -> String {
    let (before, rest) = line.split_once('<').unwrap_or((line, ""));
    let parts = rest.split('<').map(|part| part.split_once('>').map_or(part, |(_, words)| words));
    format!("{before}{}", parts.collect::<String>()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_configuration_are_joined() {
        let text =
            "{\n  \"build\": {\n    \"dest\": \"_site\",\n    \"src\": [\"api/**.yml\"]\n  }\n}\n";
        let mut seen = Vec::new();
        passages("docfx.json", text, |p| seen.push(p.text.to_owned()));
        assert_eq!(seen, ["{ \"build\": { \"dest\": \"_site\", \"src\": [\"api/**.yml\"] } }"]);
        let long: String = (0..60).map(|n| format!("key{n} = \"value {n}\"\n")).collect();
        let mut seen = Vec::new();
        passages("a.toml", &long, |p| seen.push(p.text.to_owned()));
        assert!(seen.len() < 8 && seen.iter().all(|text| text.len() <= SETTINGS_BYTES), "{seen:?}");
    }

    #[test]
    fn a_comment_at_the_start_of_a_document_is_quoted() {
        let text = "<!--\nVersion change: 1.0.0 → 1.1.0\n-->\n# Rules\n<!-- Write the rules\nbelow this line -->\n- We write the tests first.\n";
        let mut seen = Vec::new();
        passages("rules.md", text, |p| seen.push((p.text.to_owned(), p.strength)));
        assert_eq!(
            seen,
            [
                ("Version change: 1.0.0 → 1.1.0".to_owned(), 140),
                ("- We write the tests first.".to_owned(), 80)
            ]
        );
    }

    #[test]
    fn a_decision_outweighs_its_reason_and_both_outweigh_empty_sections() {
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
    fn a_document_is_binding_by_its_path_or_because_the_person_named_it() {
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
    fn decisions_and_rules_are_strong_and_wrapped_prose_is_joined() {
        let text = "# Queue\n<!-- Fill in:\nall must be said -->\n     1\t- **Decision**: one queue per pool, since order matters\n\nThe queue is read by\nall workers at once.\nWorkers must never sleep while they hold it.\n";
        let mut seen = Vec::new();
        passages("a/research.md", text, |p| {
            seen.push((p.heading.to_owned(), p.text.to_owned(), p.strength));
        });
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert_eq!(seen[0].0, "Queue");
        assert_eq!(seen[0].2, 190);
        assert!(seen[1].1.starts_with("The queue is read by all workers"));
    }

    #[test]
    fn lines_from_another_place_get_the_heading_of_that_place() {
        let patch = "*** Begin Patch\n*** Update File: PLAN.md\n@@\n+# Sprint 4\n+- Write the lexer of the new grammar.\n@@\n+- Ship it to those who asked for it.\n@@\n # Sprint 6\n-old\n+- Measure what it costs in memory.\n*** End Patch";
        let op = crate::rollout::patch::parse(patch).remove(0);
        assert_eq!((op.counts.added, op.counts.removed), (4, 1));
        let mut seen = Vec::new();
        passages("PLAN.md", &op.added, |p| seen.push((p.heading.to_owned(), p.text.to_owned())));
        let headings: Vec<&str> = seen.iter().map(|(heading, _)| heading.as_str()).collect();
        assert_eq!(headings, ["Sprint 4", "", "Sprint 6"], "{seen:?}");
    }

    #[test]
    fn instructions_in_xml_are_read_without_their_tags() {
        let path = "work/review/instructions.xml";
        let text = "<step n=\"1\" goal=\"Read\">\n  <critical>You MUST read <b>every</b> file of the list</critical>\n</step>\n";
        let mut seen = Vec::new();
        passages(path, text, |p| seen.push(p.text.to_owned()));
        assert_eq!(seen, ["You MUST read every file of the list"]);
        assert!(is_document(path) && binds(path, std::iter::empty()));
        assert!(!is_document("pom.xml"));
        assert!(is_license("crates/lexer/LICENSE-MIT") && !is_license("src/licensing.rs"));
    }
}
