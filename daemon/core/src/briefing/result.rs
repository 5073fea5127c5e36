//! Condenses what a command printed to the lines that say what came of it.

use super::{documents, listing, warnings};
use crate::rollout::output;
use crate::text;

/// Maximum bytes of a result, of a line of it if there are several, and number of those.
const RESULT_BYTES: usize = 240;
const LINE_BYTES: usize = 120;
const LINES_MAX: usize = 3;

/// Programs that show parts of files or folders, and maximum bytes of an answer of theirs that is a result.
const LOOKS: [&str; 16] = [
    "rg", "grep", "find", "fd", "sed", "ls", "cat", "head", "tail", "nl", "tree", "awk", "jq",
    "for", "wc", "diff",
];
const LOOK_BYTES: usize = 100;

/// A look that printed more has no short answer, however its lines are written.
const LOOK_PRINTED_BYTES: usize = 4 * LOOK_BYTES;

/// Stands between the lines of a result.
pub(super) const BETWEEN: &str = " | ";

/// Ends the output of a search that found nothing.
pub(super) const NOTHING: &str = "printed nothing";

/// Git commands whose output has a section of its own.
const IN_GIT: [&str; 8] =
    ["status", "log", "add", "commit", "push", "checkout", "switch", "branch"];

/// What came of a command, on one line; `None` if its output says nothing by itself.
pub(super) fn of(command: &str, printed: &str) -> Option<String> {
    let bare = without_cd(command);
    if !command.contains(' ') || command.contains("--help") || is_in_git(bare) {
        return None;
    }
    let is_look = bare.split(' ').next().is_some_and(|program| LOOKS.contains(&program));
    if is_look && (printed.len() > LOOK_PRINTED_BYTES || printed.ends_with(NOTHING)) {
        return None;
    }
    if let Some(names) = listing::names(printed).filter(|it| !is_look || lists_steps(it)) {
        return Some(text::cut_words(&names, RESULT_BYTES).into_owned());
    }
    let lines = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines: Vec<String> = lines.filter(|line| says(line)).collect();
    let whole = lines.join(BETWEEN);
    let most = if is_look { LOOK_BYTES } else { RESULT_BYTES };
    match () {
        () if whole.is_empty() => None,
        () if whole.len() <= most => Some(whole),
        () if is_look => None,
        () => Some(best(&lines)),
    }
}

/// Files of a list from which on it is one of the steps of a workflow.
const STEPS_MIN: usize = 3;

/// Whether a result is a list of the steps of a workflow: `step-01-init.md, step-02-plan.md, …`.
pub(super) fn lists_steps(result: &str) -> bool {
    let names = result.split(", ");
    let steps = names.filter(|name| !name.contains(' ') && documents::step_in(name).is_some());
    steps.take(STEPS_MIN).count() == STEPS_MIN
}

/// The lines of a result that warn, if any.
pub(super) fn warnings_in(result: &str) -> Option<String> {
    let lines: Vec<&str> = result.split(BETWEEN).filter(|line| warnings::warns(line)).collect();
    Some(lines.join(BETWEEN)).filter(|lines| !lines.is_empty())
}

/// The lines that say most, in their order. `…` stands for those between them.
fn best(lines: &[String]) -> String {
    let last = lines.len().saturating_sub(1);
    // Most outputs report no failure in any line.
    let fails = output::says_failure(&lines.join("\n"));
    let worth = |at: usize| {
        let line = &lines[at];
        let warns = warnings::warns(line) || fails && output::says_failure(line);
        worth(line, warns, at == 0, at == last)
    };
    let mut ranked: Vec<usize> = (0..lines.len()).collect();
    ranked.sort_by_cached_key(|at| -worth(*at));
    let mut chosen: Vec<usize> = ranked.into_iter().take(LINES_MAX).collect();
    chosen.sort_unstable();
    let (mut result, mut next) = (String::new(), 0);
    for at in chosen {
        let line = text::cut_words(&lines[at], LINE_BYTES);
        if !result.is_empty() {
            result.push_str(BETWEEN);
        }
        if at > next {
            result.push_str("… ");
        }
        result.push_str(&line);
        next = at + 1;
    }
    result
}

/// A command without the change of folder in front of it.
fn without_cd(command: &str) -> &str {
    let rest = command.strip_prefix("cd ").and_then(|rest| rest.split_once(" && "));
    rest.map_or(command, |(_, next)| next)
}

fn is_in_git(command: &str) -> bool {
    let verb = command.strip_prefix("git ").and_then(|rest| rest.split(' ').next());
    verb.is_some_and(|verb| IN_GIT.contains(&verb)) || command.contains("git commit ")
}

/// Whether a line has words, and is none of a patch's headers.
fn says(line: &str) -> bool {
    const HEADERS: [&str; 5] = ["+++ ", "--- ", "@@ ", "index ", "diff --git"];
    line.contains(char::is_alphanumeric) && !HEADERS.iter().any(|header| line.starts_with(header))
}

/// How likely a line is to say what came of the command: programs warn anywhere and conclude at the end.
fn worth(line: &str, warns: bool, is_first: bool, is_last: bool) -> i32 {
    let signs = [
        (4, warns),
        (3, is_last),
        (2, is_first),
        (1, line.contains([':', '='])),
        (1, line.contains(|c: char| c.is_ascii_digit())),
        (-2, line.len() > LINE_BYTES || line.ends_with(['{', '}', ';', ',', '('])),
    ];
    signs.iter().filter(|(_, applies)| *applies).map(|(points, _)| points).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_what_a_command_concluded() {
        let long: String = (0..30).map(|n| format!("copying part {n} of the lexer\n")).collect();
        let warned = format!("{long}warning: no grammar\n{long}copied 60 parts\n");
        for (command, printed, expected) in [
            ("./sync parts", "ready\n", Some("ready")),
            ("./sync parts", "a\tb\n\nc\n", Some("a b | c")),
            (
                "./sync parts",
                &*warned,
                Some("copying part 0 of the lexer | … warning: no grammar | … copied 60 parts"),
            ),
            ("cd w && ls parts", "a.rs", Some("a.rs")),
            ("rg lexer src", &*long, None),
            (
                "ls steps",
                "step-01-read-the-grammar.md\nstep-02-list-the-tokens.md\nstep-03-write-the-lexer.md\nstep-04-check.md\nnotes.md\n",
                Some(
                    "step-01-read-the-grammar.md, step-02-list-the-tokens.md, step-03-write-the-lexer.md, step-04-check.md, notes.md",
                ),
            ),
            ("ls src", &*"the-parser-of-expressions.rs\n".repeat(5), None),
            ("rg lexer src", "exit 1, printed nothing", None),
            (
                "ls parts",
                "exit 2: ls: cannot access 'parts'",
                Some("exit 2: ls: cannot access 'parts'"),
            ),
            ("git status", "On branch main", None),
            ("git reset --soft HEAD~1 && git commit --amend", "[main ab12] lexer", None),
            ("git ls-remote origin", "ab12\trefs/heads/main", Some("ab12 refs/heads/main")),
            ("sync --help", "usage", None),
            ("src/lexer.rs", "fn lex()", None),
            ("./sync parts", "---\n", None),
        ] {
            assert_eq!(of(command, printed).as_deref(), expected, "{command}: {printed}");
        }
        assert_eq!(warnings_in("read | warning: a | b").as_deref(), Some("warning: a"));
        assert_eq!(warnings_in("read | b"), None);
    }
}
