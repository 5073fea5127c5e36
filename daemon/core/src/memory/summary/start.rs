//! The text for the start of a session: the person's rules, how to build and test, and the purpose and end of the
//! last threads.
//!
//! Every session pays for it without asking, so it omits anything that is only possibly useful.

use std::collections::{BTreeMap, BTreeSet};

use super::{Scope, project};
use crate::checkpoint::semantic::policy;
use crate::choice::cost;
use crate::memory::consolidate::{Entry, Handbook, MapEntry, Project, TaskEntry};
use crate::memory::day::date;
use crate::memory::extract::hazard;
use crate::memory::learning::{NameKind, Outcome};
use crate::rollout::contextual;
use crate::rollout::shell::{self, Class, Joint};
use crate::text;

/// Maximum tokens, both by o200k and by bytes / 4; with the hook's own text they are 300.
pub const START_TOKENS: u64 = 270;

/// Percent of the budget that rules get before commands and threads are added.
const RULES_PERCENT: u64 = 50;

const THREADS: usize = 3;

/// The heading that prompt templates put before the typed text.
const TEMPLATE_TITLE: &str = "User Input";

const RULE_BYTES: usize = 240;
const TITLE_BYTES: usize = 110;
const LAST_WORDS_BYTES: usize = 150;

/// Maximum bytes of a command line: longer ones were written for one occasion.
const COMMAND_BYTES: usize = 90;

/// The text for the scope, at most `max_tokens`; empty if nothing is known. `last_words` has the agent's last
/// message by thread.
pub fn start(
    handbook: &Handbook,
    scope: Scope<'_>,
    last_words: &BTreeMap<String, String>,
    max_tokens: u64,
) -> String {
    let known = project(handbook, scope);
    let own = known.iter().flat_map(|(_, project)| &project.entries);
    let mut rules: Vec<&Entry> =
        handbook.profile.iter().chain(own).filter(|entry| entry.is_standing_rule()).collect();
    rules.sort_by_key(|entry| (std::cmp::Reverse((entry.threads, entry.last_ms)), &entry.text));
    let mut draft = Draft { parts: Default::default(), used: 0, max_tokens };
    let rule = |entry: &Entry| text::cut_words(&entry.text, RULE_BYTES).into_owned();
    let mut later = Vec::new();
    for rule in rules.into_iter().map(rule) {
        if !draft.push(Part::Rules, &rule, max_tokens * RULES_PERCENT / 100) {
            later.push(rule);
        }
    }
    if let Some((folder, project)) = known {
        for line in commands(folder, project) {
            draft.push(Part::Commands, &line, max_tokens);
        }
        for line in threads(project, last_words) {
            draft.push(Part::Threads, &line, max_tokens);
        }
    }
    for rule in later {
        draft.push(Part::Rules, &rule, max_tokens);
    }
    draft.text()
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Rules,
    Commands,
    Threads,
}

const HEADINGS: [&str; 3] =
    ["Rules the user set:", "To build and test here:", "Last threads here:"];

/// The lines of each part so far.
struct Draft {
    parts: [Vec<String>; 3],
    /// Tokens of the lines and headings so far, each counted alone.
    used: u64,
    max_tokens: u64,
}

impl Draft {
    /// Adds a line if the draft then has at most `limit` tokens. Returns whether it did.
    fn push(&mut self, part: Part, line: &str, limit: u64) -> bool {
        let line = format!("- {line}\n");
        let lines = &mut self.parts[part as usize];
        let heading = if lines.is_empty() { cost(HEADINGS[part as usize]) + 1 } else { 0 };
        let used = self.used + heading + cost(&line);
        let is_kept = used <= limit.min(self.max_tokens);
        if is_kept {
            lines.push(line);
            self.used = used;
        }
        is_kept
    }

    fn text(&self) -> String {
        let parts = HEADINGS.iter().zip(&self.parts).filter(|(_, lines)| !lines.is_empty());
        let text: String =
            parts.map(|(heading, lines)| format!("{heading}\n{}", lines.concat())).collect();
        contextual::quoted(&text).into_owned()
    }
}

/// For each of test, lint and build, the command that worked in most threads.
fn commands(folder: &str, project: &Project) -> Vec<String> {
    let mut uses: BTreeMap<(Class, String), (u32, u32)> = BTreeMap::new();
    let worked = |entry: &&MapEntry| {
        entry.kind == NameKind::Command && entry.done > 0 && !hazard::is_hazardous(&entry.text)
    };
    for entry in project.map.iter().filter(worked) {
        for (class, line) in checks(folder, &entry.text) {
            let (users, age) = uses.entry((class, line)).or_insert((0, u32::MAX));
            *users += entry.users.max(1);
            *age = entry.age_threads.min(*age);
        }
    }
    [Class::Test, Class::Lint, Class::Build]
        .into_iter()
        .filter_map(|class| {
            let of_class = uses.iter().filter(|((of, _), _)| *of == class);
            // Prefer commands for the whole project, then by threads, then the newest, then the shortest.
            let best = of_class.min_by_key(|((_, line), (users, age))| {
                (is_narrow(line), std::cmp::Reverse(*users), *age, line.len())
            });
            best.map(|((_, line), _)| format!("{}: `{line}`", class.into_str()))
        })
        .collect()
}

/// The checks among a line's commands, each with its folder and without output filters.
fn checks(folder: &str, line: &str) -> Vec<(Class, String)> {
    // Fallbacks, and commands with input or variables, were written for one occasion.
    let is_plain = |part: &str| !part.contains(['$', '`', '\n', '<', '{', '"']);
    let parts = shell::parts(line);
    if parts.iter().any(|part| part.after == Some(Joint::Or)) {
        return Vec::new();
    }
    let (mut inside, mut found) = (String::new(), Vec::new());
    for part in parts.into_iter().filter(|part| part.before != Some(Joint::Pipe)) {
        if let Some(entered) = part.text.strip_prefix("cd ") {
            match below(folder, entered.trim()) {
                Some(entered) => inside = entered,
                None => return found,
            }
            continue;
        }
        let command = part.text.split('>').next().unwrap_or(part.text);
        let command = command.trim_end_matches([' ', '2', '&']);
        let class = Class::of(command);
        let whole = match inside.as_str() {
            "" => command.to_owned(),
            inside => format!("cd {inside} && {command}"),
        };
        if class.is_check()
            && is_plain(command)
            && !is_occasional(command)
            && whole.len() <= COMMAND_BYTES
        {
            found.push((class, whole));
        }
    }
    found
}

/// A folder relative to the project's; `None` if it is outside.
fn below(folder: &str, entered: &str) -> Option<String> {
    let entered = entered.trim_matches(['"', '\'']).trim_end_matches('/');
    let relative = match entered.strip_prefix(folder) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => entered,
    };
    let is_elsewhere = relative.starts_with(['/', '~', '.']) || relative.contains([':', '$', ' ']);
    (!is_elsewhere).then(|| relative.to_owned())
}

/// Whether a command only asks a tool about itself, or names one source file or one test.
fn is_occasional(command: &str) -> bool {
    const TOOLS: &[&str] = &[
        "which", "command", "type", "where", "whereis", "man", "pip", "pip3", "brew", "git", "gh",
        "env", "do", "then", "if", "for", "while", "export", "sudo",
    ];
    const ASKS: &[&str] =
        &["--version", "-V", "--help", "-h", "-c", "-k", "-t", "-run", "--filter", "-n"];
    const SOURCES: &[&str] = &[
        "rs", "py", "ts", "tsx", "js", "jsx", "mjs", "go", "java", "kt", "rb", "php", "c", "cc",
        "cpp", "h", "cs", "swift", "sh", "md", "mdx", "txt", "html", "css", "patch", "diff", "log",
    ];
    let mut words = command.split_whitespace();
    let first = words.next().unwrap_or_default();
    let names_source = |word: &str| {
        let suffix = word.rsplit_once('.').map_or("", |(_, suffix)| suffix);
        word.contains("::") || SOURCES.contains(&suffix)
    };
    // The program itself may be a script; its arguments may not be source files.
    TOOLS.contains(&first)
        || first.contains('=')
        || first.starts_with(['/', '(', '['])
        || words
            .any(|word| ASKS.contains(&word) || names_source(word) || word.starts_with(['/', '~']))
}

/// Whether a command is for one part of the project: one package, folder or project file.
fn is_narrow(line: &str) -> bool {
    line.split_whitespace().skip(1).any(|word| {
        matches!(word, "-p" | "--package" | "-C" | "--manifest-path" | "-w" | "--project")
            || (word.contains('/') && !matches!(word, "./..." | "."))
    })
}

/// The newest threads by request and end; of identical lines only the newest.
fn threads(project: &Project, last_words: &BTreeMap<String, String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let line = |task: &TaskEntry| {
        let title =
            task.title.rsplit_once(" (changed ").map_or(task.title.as_str(), |(title, _)| title);
        let title = text::cut_words(title, TITLE_BYTES).into_owned();
        let ended = ending(task, last_words.get(&task.thread_id).map(String::as_str));
        (title, ended)
    };
    let lines = project.tasks.iter().map(|task| (task, line(task)));
    let new = lines.filter(|(_, line)| seen.insert(line.clone()));
    new.take(THREADS)
        .map(|(task, (title, ended))| {
            // A template's heading says nothing.
            let title =
                if title == TEMPLATE_TITLE { String::new() } else { format!(" \"{title}\"") };
            format!("{}{title}: {ended}", date(task.updated_at_ms))
        })
        .collect()
}

fn ending(task: &TaskEntry, last_words: Option<&str>) -> String {
    let outcome = match task.outcome {
        Outcome::Success => "done",
        Outcome::Partial => "partly done",
        Outcome::Fail => "failed",
        Outcome::Uncertain => "",
    };
    // Text that reads like an instruction is not passed on, whatever its origin.
    let words = last_words.map(|words| text::one_line(words).trim().to_owned());
    let words = words.filter(|words| !words.is_empty() && policy::behavior(words).is_none());
    match words {
        None if outcome.is_empty() => "its end is not known".to_owned(),
        None => outcome.to_owned(),
        Some(words) => {
            let text = format!(
                "the agent's last words: \"{}\"",
                text::cut_words(&words, LAST_WORDS_BYTES)
            );
            if outcome.is_empty() { text } else { format!("{outcome}; {text}") }
        }
    }
}

#[cfg(test)]
mod tests;
