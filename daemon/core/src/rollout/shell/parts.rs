//! The commands of a line as text, and what joins them.

use std::ops::Range;

use super::scan::{Joint, Scanner, ShellToken};
use super::wrappers::is_assignment;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandPart<'a> {
    /// As in the line, without comments and without the bodies of heredocs.
    pub text: &'a str,
    /// Offset in the line.
    pub at: usize,
    /// `None` for the first one.
    pub before: Option<Joint>,
    /// `None` for the last one.
    pub after: Option<Joint>,
}

/// The commands of a line, in order. A substitution is part of its command; the commands in parentheses are
/// parts of their own.
pub fn parts(line: &str) -> Vec<CommandPart<'_>> {
    let mut parts = Vec::new();
    let mut scanner = Scanner::new(line);
    let (mut before, mut start) = (None, None);
    let mut end = 0;
    let mut at = 0;
    while let Some((token, text)) = scanner.next() {
        let from = std::mem::replace(&mut at, line.len() - scanner.rest().len());
        let is_inside = scanner.quotes() + scanner.substitutions() > 0;
        match token {
            ShellToken::Joint(joint) if !is_inside => {
                push(&mut parts, line, start.take().map(|start| start..end), before);
                before = Some(joint);
            }
            ShellToken::Space | ShellToken::Comment if !is_inside => {}
            // The body of a heredoc that begins on an earlier line.
            ShellToken::Heredoc | ShellToken::Delimiter if start.is_none() => {}
            _ => {
                start.get_or_insert(from);
                end = from + text.len();
            }
        }
    }
    push(&mut parts, line, start.map(|start| start..end), before);
    parts
}

fn push<'a>(
    parts: &mut Vec<CommandPart<'a>>,
    line: &'a str,
    range: Option<Range<usize>>,
    before: Option<Joint>,
) {
    let Some(range) = range else { return };
    let before = before.filter(|_| !parts.is_empty());
    if let Some(last) = parts.last_mut() {
        last.after = before;
    }
    parts.push(CommandPart { at: range.start, text: &line[range], before, after: None });
}

/// The parts of a line, those of a substitution that a variable is set to in its place: the exit code of
/// `out=$(make | tail)` is that of `tail`.
pub fn parts_run(line: &str) -> Vec<CommandPart<'_>> {
    let mut all = Vec::new();
    for part in parts(line) {
        let Some((at, inner)) = assigned_substitution(part.text) else {
            all.push(part);
            continue;
        };
        let mut inner = parts(inner);
        inner.iter_mut().for_each(|it| it.at += part.at + at);
        if let Some(first) = inner.first_mut() {
            first.before = part.before;
        }
        if let Some(last) = inner.last_mut() {
            last.after = part.after;
        }
        all.extend(inner);
    }
    all
}

/// Offset and script of the substitution that a command sets a variable to, if it does nothing else.
fn assigned_substitution(command: &str) -> Option<(usize, &str)> {
    let (_, value) = command.split_once('=').filter(|_| is_assignment(command))?;
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    let inner = value.strip_prefix("$(")?.strip_suffix(')')?;
    let mut scanner = Scanner::new(value);
    while scanner.next().is_some() && scanner.substitutions() > 0 {}
    scanner.rest().is_empty().then_some((command.find("$(")? + 2, inner))
}

/// The line's commands; those with a joint other than `;` and a newline between them are together.
pub fn lists(line: &str) -> Vec<&str> {
    let mut lists: Vec<Range<usize>> = Vec::new();
    for part in parts(line) {
        let end = part.at + part.text.len();
        match (lists.last_mut(), part.before) {
            (None, _) | (_, Some(Joint::Semicolon | Joint::Line)) => lists.push(part.at..end),
            (Some(last), _) => last.end = end,
        }
    }
    lists.into_iter().map(|list| &line[list]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a line, each joint between two bars.
    fn split(line: &str) -> String {
        let part = |part: CommandPart<'_>| match part.before {
            Some(joint) => format!(" ⟨{}⟩ {}", joint.text().escape_debug(), part.text),
            None => part.text.to_owned(),
        };
        parts(line).into_iter().map(part).collect()
    }

    #[test]
    fn a_line_is_split_at_its_joints_only() {
        for (line, expected) in [
            ("", ""),
            ("make", "make"),
            ("cd a && make || echo no; ls | wc -l", "cd a ⟨&&⟩ make ⟨||⟩ echo no ⟨;⟩ ls ⟨|⟩ wc -l"),
            ("make 2>&1 |& tail &", "make 2>&1 ⟨|⟩ tail"),
            ("npm start & sleep 1", "npm start ⟨&⟩ sleep 1"),
            ("make &> log && ls >| a 2>/dev/null", "make &> log ⟨&&⟩ ls >| a 2>/dev/null"),
            ("a\nb", "a ⟨\\n⟩ b"),
            ("a \\\n  && b", "a \\\n ⟨&&⟩ b"),
            ("a \\\r\n  && b", "a \\\r\n ⟨&&⟩ b"),
            ("read x <&3; b", "read x <&3 ⟨;⟩ b"),
            (";; a ;; b ;", "a ⟨;⟩ b"),
        ] {
            assert_eq!(split(line), expected, "{line}");
        }
    }

    #[test]
    fn quoted_joints_do_not_split() {
        for (line, expected) in [
            ("pytest -k 'a && b' | tail", "pytest -k 'a && b' ⟨|⟩ tail"),
            ("echo \"a; 'b\" ; c", "echo \"a; 'b\" ⟨;⟩ c"),
            (r#"echo "a \" ; b" && c"#, r#"echo "a \" ; b" ⟨&&⟩ c"#),
            (r"find . -exec rm {} \; && ls", r"find . -exec rm {} \; ⟨&&⟩ ls"),
            (r"echo it\'s; ls", r"echo it\'s ⟨;⟩ ls"),
            ("echo 'open ; a", "echo 'open ; a"),
            ("echo é ü; 'ß' \"ö;\" && ä", "echo é ü ⟨;⟩ 'ß' \"ö;\" ⟨&&⟩ ä"),
        ] {
            assert_eq!(split(line), expected, "{line}");
        }
    }

    #[test]
    fn a_substitution_is_part_of_its_command() {
        for (line, expected) in [
            ("x=$(a | b; c) && d", "x=$(a | b; c) ⟨&&⟩ d"),
            ("echo \"$(a \"b; c\" | d)\"; e", "echo \"$(a \"b; c\" | d)\" ⟨;⟩ e"),
            ("echo `a | b` | c", "echo `a | b` ⟨|⟩ c"),
            ("diff <(a; b) <(c) && d", "diff <(a; b) <(c) ⟨&&⟩ d"),
            ("(cd a && b) && c", "(cd a ⟨&&⟩ b) ⟨&&⟩ c"),
            ("x=$( (a); b ) && c", "x=$( (a); b ) ⟨&&⟩ c"),
            ("Get-Item a `\n -b; c", "Get-Item a `\n -b ⟨;⟩ c"),
        ] {
            assert_eq!(split(line), expected, "{line}");
        }
    }

    #[test]
    fn comments_and_heredocs_are_no_commands() {
        for (line, expected) in [
            ("a # it's; b\nc", "a ⟨\\n⟩ c"),
            ("a#b; c", "a#b ⟨;⟩ c"),
            ("echo 'a'#b; c", "echo 'a'#b ⟨;⟩ c"),
            ("echo \\a#b; c", "echo \\a#b ⟨;⟩ c"),
            ("cat <<A\na\nA\ncat <<B; ls\nb; c\nB", "cat <<A ⟨\\n⟩ cat <<B ⟨;⟩ ls"),
            ("cat <<EOF\nEOF\nls", "cat <<EOF ⟨\\n⟩ ls"),
            ("cat <<'E' it's; x E && ls", "cat <<'E' it's; x E ⟨&&⟩ ls"),
            ("cat <<EOF > x && b\nit's; c\nEOF\nd", "cat <<EOF > x ⟨&&⟩ b ⟨\\n⟩ d"),
            ("cat <<A <<-'B'; c\na\nA\nb; b\n\tB\nd", "cat <<A <<-'B' ⟨;⟩ c ⟨\\n⟩ d"),
            ("cat <<< a; b", "cat <<< a ⟨;⟩ b"),
            (
                "git commit -m \"$(cat <<'EOF'\nit's \"new\"; x\nEOF\n)\" && git push",
                "git commit -m \"$(cat <<'EOF'\nit's \"new\"; x\nEOF\n)\" ⟨&&⟩ git push",
            ),
            (
                "git commit -m \"$(cat <<'EOF' it's \"new\"; x EOF )\" && git push",
                "git commit -m \"$(cat <<'EOF' it's \"new\"; x EOF )\" ⟨&&⟩ git push",
            ),
            ("python - <<PY; ls", "python - <<PY ⟨;⟩ ls"),
        ] {
            assert_eq!(split(line), expected, "{line}");
        }
    }

    #[test]
    fn a_variable_is_set_by_the_commands_of_its_substitution() {
        for (line, expected) in [
            ("out=$(cd a && make | tail); ls", &["cd a", "make", "tail", "ls"][..]),
            ("out=\"$(make)\" && ls", &["make", "ls"]),
            ("a=$(b)$(c)", &["a=$(b)$(c)"]),
            ("a=1 b; c=\"$d\"", &["a=1 b", "c=\"$d\""]),
            ("echo x=$(make)", &["echo x=$(make)"]),
        ] {
            let found: Vec<_> = parts_run(line).into_iter().map(|part| part.text).collect();
            assert_eq!(found, expected, "{line}");
            for part in parts_run(line) {
                assert!(line[part.at..].starts_with(part.text), "{line}: {part:?}");
            }
        }
        let joints: Vec<_> = parts_run("a && x=$(b | c); d").iter().map(|it| it.after).collect();
        let expected = [Some(Joint::And), Some(Joint::Pipe), Some(Joint::Semicolon), None];
        assert_eq!(joints, expected);
    }

    #[test]
    fn lists_end_at_semicolons_and_lines() {
        for (line, expected) in [
            ("a && b | c; d 'x; y' || e", &["a && b | c", "d 'x; y' || e"][..]),
            ("a\nb & c", &["a", "b & c"]),
        ] {
            assert_eq!(lists(line), expected, "{line}");
        }
    }
}
