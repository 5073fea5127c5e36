//! Validates the agent's files against the handbook.

use std::collections::{BTreeMap, BTreeSet};

use super::line::{Bullet, group};
use super::scope::Scope;
use super::{Refusal, is_input, is_skill, skill};
use crate::checkpoint::semantic::policy::behavior;
use crate::memory::Files;
use crate::memory::consolidate::{Entry, Handbook, PROFILE_WORDS_MAX};
use crate::memory::own::TITLES;
use crate::redact::redact;
use crate::{text, tokens};

/// Maximum bytes of a line quoted in a refusal.
const SHOWN_BYTES: usize = 160;

const SKILLS_MAX: usize = 64;

/// Maximum bytes of a heading.
const HEADING_BYTES: usize = 120;

/// Maximum growth of `MEMORY.md` beyond its draft.
const GROWTH_BYTES: usize = 16 * 1_024;

#[derive(Debug, Clone, Copy)]
pub struct CheckInputs<'a> {
    /// The files the agent started from; publishable as they are.
    pub draft: &'a Files,
    pub book: &'a Handbook,
    /// Tokens of `memory_summary.md`.
    pub summary_tokens: u64,
}

/// Returns the files to publish: the draft with the agent's valid changes from `found`.
///
/// # Errors
/// [`Refusal`]: the first invalid line. Nothing is accepted then.
pub fn check(found: &Files, on: CheckInputs<'_>) -> Result<Files, Refusal> {
    let mut files = on.draft.clone();
    files.retain(|path, _| !is_skill(path));
    let mut skills = 0;
    for (path, text) in found {
        let wrong = |reason: &str| Err(file(path, reason));
        if redact(text).hits > 0 {
            return wrong("it contains what looks like a credential");
        }
        if is_skill(path) {
            skills += 1;
            if skills > SKILLS_MAX {
                return wrong("there are too many skills");
            }
            if on.draft.get(path) != Some(text) {
                skill(path, text, on)?;
            }
            files.insert(path.clone(), text.clone());
        } else if !is_input(path) && !on.draft.contains_key(path) {
            return wrong("no such file is allowed here");
        }
    }
    let of = |path: &str| found.get(path).ok_or_else(|| file(path, "it is missing"));
    files.insert("MEMORY.md".to_owned(), handbook(of("MEMORY.md")?, on)?);
    let summary = of("memory_summary.md")?;
    first_page(summary, on)?;
    files.insert("memory_summary.md".to_owned(), summary.clone());
    Ok(files)
}

fn file(path: &str, reason: &str) -> Refusal {
    Refusal::File { path: text::one_line_cut(path, SHOWN_BYTES), reason: reason.to_owned() }
}

fn line(path: &str, number: usize, words: &str, reason: &str) -> Refusal {
    let shown = text::one_line_cut(&redact(words).text, SHOWN_BYTES);
    Refusal::Line { path: path.to_owned(), number, reason: reason.to_owned(), line: shown }
}

/// Scopes by project; `None` is global.
struct Scopes<'a> {
    on: CheckInputs<'a>,
    made: BTreeMap<Option<String>, Scope<'a>>,
}

impl<'a> Scopes<'a> {
    fn new(on: CheckInputs<'a>) -> Self {
        Self { on, made: BTreeMap::new() }
    }

    fn of(&mut self, key: Option<&str>) -> &Scope<'a> {
        let on = self.on;
        let made = self.made.entry(key.map(str::to_owned));
        made.or_insert_with(|| Scope::of(key, on.book, on.draft))
    }
}

/// Validates `MEMORY.md`; every mark as in the draft.
fn handbook(found: &str, on: CheckInputs<'_>) -> Result<String, Refusal> {
    const PATH: &str = "MEMORY.md";
    let draft = on.draft.get(PATH).map_or("", String::as_str);
    if !found.starts_with(TITLES[0]) {
        return Err(file(PATH, "its first line must be `# Memory`"));
    }
    if found.len() > draft.len() + GROWTH_BYTES {
        return Err(file(PATH, "it grew by more than 16 KiB"));
    }
    let draft_lines: BTreeSet<&str> = draft.lines().map(str::trim_end).collect();
    let marks: BTreeMap<&str, &str> = draft
        .lines()
        .filter_map(Bullet::read)
        .filter_map(|bullet| Some((bullet.ids().next()?, bullet.mark)))
        .collect();
    let mut scopes = Scopes::new(on);
    let mut key: Option<&str> = None;
    let mut seen: BTreeSet<(Option<&str>, &str)> = BTreeSet::new();
    let mut out = String::with_capacity(found.len());
    for (number, words) in (1..).zip(found.lines().map(str::trim_end)) {
        let wrong = |reason: &str| Err(line(PATH, number, words, reason));
        if let Some(named) = group(words) {
            if !on.book.projects.contains_key(named) {
                return wrong("no such project");
            }
            key = Some(named);
        } else if words == "# Everywhere" {
            key = None;
        }
        let Some(bullet) = Bullet::read(words) else {
            if let Some(reason) = unmarked(words, &draft_lines) {
                return wrong(reason);
            }
            out.push_str(words);
            out.push('\n');
            continue;
        };
        let scope = scopes.of(key);
        let Some((id, entry)) = bullet.ids().next().and_then(|id| scope.entries.get_key_value(id))
        else {
            return wrong("its entry is not known in this project");
        };
        if let Some(reason) = wording_error(bullet.words, entry, scope) {
            return wrong(reason);
        }
        if seen.insert((key, *id)) {
            let mark = marks.get(id).unwrap_or(&bullet.mark);
            out.push_str(&format!("- {} [{mark}]\n", bullet.words));
        }
    }
    check_rules(on.book, &seen)?;
    Ok(out)
}

/// Why a wording of an entry is invalid.
fn wording_error(words: &str, entry: &Entry, scope: &Scope<'_>) -> Option<&'static str> {
    if words == entry.text {
        return None;
    }
    if entry.kind.is_rule() {
        return Some("a rule stays in the person's own words");
    }
    scope.doubt(words, &[entry])
}

/// Why a line without a mark is invalid.
fn unmarked(words: &str, draft_lines: &BTreeSet<&str>) -> Option<&'static str> {
    let is_heading = words.starts_with("## ") || words.starts_with("### ");
    if words.is_empty() || draft_lines.contains(words) {
        None
    } else if !is_heading {
        Some("it has no source mark")
    } else if words.len() > HEADING_BYTES || behavior(words).is_some() || words.contains('`') {
        Some("a heading only names what is below it")
    } else {
        None
    }
}

/// Checks that every rule of the person is in its section.
fn check_rules(book: &Handbook, seen: &BTreeSet<(Option<&str>, &str)>) -> Result<(), Refusal> {
    let of_projects = book.projects.iter().flat_map(|(key, project)| {
        project.entries.iter().map(move |entry| (Some(key.as_str()), entry))
    });
    let all = book.profile.iter().map(|entry| (None, entry)).chain(of_projects);
    for (key, entry) in all.filter(|(_, entry)| entry.kind.is_rule()) {
        if !seen.contains(&(key, entry.id.as_str())) {
            let (text, id) = (entry.text.clone(), entry.id.clone());
            return Err(Refusal::RuleGone { text, id });
        }
    }
    Ok(())
}

/// Validates `memory_summary.md`: lines of the draft, and lines with marks.
fn first_page(found: &str, on: CheckInputs<'_>) -> Result<(), Refusal> {
    const PATH: &str = "memory_summary.md";
    const PROFILE: &str = "## User profile";
    let draft = on.draft.get(PATH).map_or("", String::as_str);
    if !found.starts_with(TITLES[1]) {
        return Err(file(PATH, "its first line must be `# Memory summary`"));
    }
    if tokens::of_text(found) > on.summary_tokens {
        return Err(file(PATH, "it has more tokens than allowed"));
    }
    let draft_lines: BTreeSet<&str> = draft.lines().map(str::trim_end).collect();
    for heading in draft.lines().filter(|line| line.starts_with("## ")) {
        if !found.lines().any(|line| line.trim_end() == heading) {
            return Err(file(PATH, &format!("the part `{heading}` is missing")));
        }
    }
    let profile = found.lines().skip_while(|line| line.trim_end() != PROFILE).skip(1);
    let profile = profile.take_while(|line| !line.starts_with("## "));
    let profile = profile.filter_map(|line| line.strip_prefix("- "));
    if profile.flat_map(str::split_whitespace).count() > PROFILE_WORDS_MAX {
        return Err(file(PATH, &format!("its profile has more than {PROFILE_WORDS_MAX} words")));
    }
    let mut scopes = Scopes::new(on);
    let (mut key, mut is_profile) = (None, false);
    for (number, words) in (1..).zip(found.lines().map(str::trim_end)) {
        let wrong = |reason: &str| Err(line(PATH, number, words, reason));
        if words.starts_with("## ") {
            (key, is_profile) = (None, words == PROFILE);
        } else if let Some(named) = words.strip_prefix("### ") {
            if !on.book.projects.contains_key(named) {
                return wrong("no such project");
            }
            key = Some(named);
        }
        let is_draft = draft_lines.contains(words) && (key.is_none() || belongs(words, key, draft));
        if is_draft || words.is_empty() {
            continue;
        }
        let Some(bullet) = Bullet::read(words) else {
            return wrong("it has no source mark `[id …]`");
        };
        let scope = scopes.of(key);
        let entries: Vec<&Entry> =
            bullet.ids().filter_map(|id| scope.entries.get(id).copied()).collect();
        if entries.is_empty() || entries.len() != bullet.ids().count() {
            return wrong("its entries are not known in this part");
        }
        if is_profile && !entries.iter().all(|entry| entry.kind.is_rule()) {
            return wrong("the profile may only contain the person's rules");
        }
        if let Some(reason) = scope.doubt(bullet.words, &entries) {
            return wrong(reason);
        }
    }
    Ok(())
}

/// Whether the draft has the line under the same project.
fn belongs(words: &str, key: Option<&str>, draft: &str) -> bool {
    let mut under = None;
    draft.lines().map(str::trim_end).any(|line| {
        if line.starts_with("## ") {
            under = None;
        } else if let Some(named) = line.strip_prefix("### ") {
            under = Some(named);
        }
        line == words && under == key
    })
}

/// Validates a new or changed skill.
fn skill(path: &str, found: &str, on: CheckInputs<'_>) -> Result<(), Refusal> {
    let name = path.strip_prefix("skills/").and_then(|rest| rest.strip_suffix("/SKILL.md"));
    let is_name = |name: &&str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=64).contains(&name.len()) && name.bytes().all(plain)
    };
    let Some(name) = name.filter(is_name) else {
        return Err(file(path, "a skill is skills/<name>/SKILL.md with a lower-case name"));
    };
    skill::check(name, found, on.book).map_err(|wrong| match wrong.line {
        None => file(path, wrong.reason),
        Some(number) => {
            let words = found.lines().nth(number - 1).unwrap_or_default();
            line(path, number, words, wrong.reason)
        }
    })
}
