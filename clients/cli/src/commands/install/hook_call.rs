//! Finds the call of `longhaul hook` in a command line, which may run other commands of the user around it.

use std::ops::Range;
use std::path::PathBuf;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct HookCall {
    pub(super) program: PathBuf,
    /// The socket it names.
    pub(super) socket: Option<PathBuf>,
    /// From the program to the last argument that we write.
    span: Range<usize>,
    /// What to remove with it; `None` if the shell needs a command in its place.
    removal: Option<Range<usize>>,
}

/// Words of a shell after which a command must follow.
const RESERVED: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "{", "!"];

/// A word, or an operator between two commands.
struct Token {
    span: Range<usize>,
    text: String,
    is_operator: bool,
}

/// Finds the call; the program is recognized by its file name in any folder.
pub(super) fn find(command: &str) -> Option<HookCall> {
    let tokens = tokens(command);
    let mut part_begin = 0;
    for (at, token) in tokens.iter().enumerate() {
        if token.is_operator {
            part_begin = at + 1;
            continue;
        }
        let is_first = tokens[part_begin..at].iter().all(|before| before.text.contains('='));
        let is_program = token.text == "longhaul" || token.text.ends_with("/longhaul");
        // A wrapper such as `timeout 5` may precede a path; a bare word may be an argument of `echo`.
        if !is_program || !(is_first || token.text.contains('/')) {
            continue;
        }
        let Some(end) = end_of_call(&tokens, at) else { continue };
        let part_end = tokens[at..].iter().position(|token| token.is_operator);
        let part_end = part_end.map_or(tokens.len(), |length| at + length);
        return Some(HookCall {
            program: PathBuf::from(&token.text),
            socket: (tokens[at + 1].text == "--socket").then(|| (&tokens[at + 2].text).into()),
            span: token.span.start..tokens[end].span.end,
            removal: removal(&tokens, part_begin..part_end, command.len()),
        });
    }
    None
}

impl HookCall {
    /// The command line with the call replaced.
    pub(super) fn replaced(&self, command: &str, call: &str) -> String {
        format!("{}{call}{}", &command[..self.span.start], &command[self.span.end..])
    }

    /// The command line without the call; `None` if nothing is left.
    pub(super) fn removed(&self, command: &str) -> Option<String> {
        let Some(removal) = &self.removal else { return Some(self.replaced(command, "true")) };
        let rest = format!("{}{}", &command[..removal.start], &command[removal.end..]);
        let rest = rest.trim();
        (!rest.is_empty()).then(|| rest.to_owned())
    }
}

/// What to remove of a line of `bytes` bytes with the simple command in `part`, its redirections and wrappers: it must
/// stand alone, or be joined with `&&` or `;` to the commands around it.
fn removal(tokens: &[Token], part: Range<usize>, bytes: usize) -> Option<Range<usize>> {
    if RESERVED.contains(&tokens[part.start].text.as_str()) {
        return None;
    }
    let text = |token: Option<&Token>| token.map(|token| token.text.clone()).unwrap_or_default();
    let before = text(part.start.checked_sub(1).map(|at| &tokens[at]));
    let after = text(tokens.get(part.end));
    // A newline at the end of the line joins nothing.
    let is_last = part.end + 1 == tokens.len() && after == "\n";
    let after = if is_last { String::new() } else { after };
    match (before.as_str(), after.as_str()) {
        ("", "") => Some(0..bytes),
        // `a && call; b` keeps the `;`, `a; call && b` too.
        ("" | ";", "&&" | ";") => {
            let next = tokens.get(part.end + 1).map_or(bytes, |token| token.span.start);
            Some(tokens[part.start].span.start..next)
        }
        ("&&" | ";", "" | "&&" | ";") => {
            let last = part.start.checked_sub(2).map_or(0, |at| tokens[at].span.end);
            Some(last..tokens[part.end - 1].span.end)
        }
        _ => None,
    }
}

/// The last token of `longhaul [--socket PATH] hook EVENT [--agent NAME]`.
fn end_of_call(tokens: &[Token], program: usize) -> Option<usize> {
    let word = |at: usize| tokens.get(at).filter(|token| !token.is_operator);
    let is = |at: usize, text: &str| word(at).is_some_and(|token| token.text == text);
    let hook = if is(program + 1, "--socket") { program + 3 } else { program + 1 };
    if !is(hook, "hook") {
        return None;
    }
    let event = word(hook + 1).map(|_| hook + 1)?;
    let has_agent = is(event + 1, "--agent") && word(event + 2).is_some();
    Some(if has_agent { event + 2 } else { event })
}

/// Splits into words as a shell does, and operators between commands.
fn tokens(command: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let (mut quote, mut is_escaped, mut is_in_word) = (None, false, false);
    for (at, letter) in command.char_indices() {
        let end = at + letter.len_utf8();
        let is_bare = quote.is_none() && !is_escaped;
        // The `&` of `2>&1` is not an operator.
        let is_operator = is_bare
            && matches!(letter, '&' | '|' | ';' | '(' | ')' | '\n' | '`')
            && !command[..at].ends_with(['>', '<']);
        if is_bare && !is_operator && letter.is_whitespace() {
            is_in_word = false;
            continue;
        }
        let joins = match tokens.last() {
            Some(last) if is_operator => last.is_operator && last.span.end == at,
            Some(last) => is_in_word && !last.is_operator,
            None => false,
        };
        if !joins {
            tokens.push(Token { span: at..end, text: String::new(), is_operator });
        }
        is_in_word = !is_operator;
        let Some(token) = tokens.last_mut() else { continue };
        token.span.end = end;
        match letter {
            _ if is_escaped => {
                token.text.push(letter);
                is_escaped = false;
            }
            '\\' if quote != Some('\'') => is_escaped = true,
            '\'' | '"' if quote.is_none() => quote = Some(letter),
            _ if quote == Some(letter) => quote = None,
            _ => token.text.push(letter),
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_found_in_any_folder_and_among_other_commands() {
        for (command, program) in [
            ("/usr/bin/longhaul hook Stop --agent codex", "/usr/bin/longhaul"),
            ("'/my dir/longhaul' --socket /s hook Stop", "/my dir/longhaul"),
            ("pre && longhaul hook Stop && post", "longhaul"),
            ("A=1 longhaul hook Stop", "longhaul"),
            ("timeout 5 /opt/longhaul hook Stop >> log 2>&1", "/opt/longhaul"),
        ] {
            assert_eq!(find(command).map(|call| call.program), Some(program.into()), "{command}");
        }
        let call = find("pre; '/my dir/longhaul' --socket '/a b' hook Stop").unwrap();
        assert_eq!(call.socket, Some("/a b".into()));
        for command in [
            "/usr/bin/notlonghaul hook Stop",
            "echo longhaul",
            "echo longhaul hook Stop",
            "echo '/bin/longhaul hook Stop'",
            "/bin/longhaul; hook Stop",
        ] {
            assert_eq!(find(command), None, "{command}");
        }
    }

    #[test]
    fn user_commands_around_a_call_stay() {
        for (command, replaced, removed) in [
            ("/a/longhaul hook Stop", "NEW", None),
            ("pre && longhaul hook Stop && post", "pre && NEW && post", Some("pre && post")),
            ("pre; longhaul hook Stop", "pre; NEW", Some("pre")),
            ("/a/longhaul hook Stop --agent codex; post", "NEW; post", Some("post")),
            ("tee x | longhaul hook Stop", "tee x | NEW", Some("tee x | true")),
            ("longhaul hook Stop | tee x", "NEW | tee x", Some("true | tee x")),
            ("pre && longhaul hook Stop >> log 2>&1", "pre && NEW >> log 2>&1", Some("pre")),
            ("pre && longhaul hook Stop; post", "pre && NEW; post", Some("pre; post")),
            ("pre; longhaul hook Stop && post", "pre; NEW && post", Some("pre; post")),
            ("pre || longhaul hook Stop; post", "pre || NEW; post", Some("pre || true; post")),
            ("longhaul hook Stop;", "NEW;", None),
            ("timeout 5 /a/longhaul hook Stop > log", "timeout 5 NEW > log", None),
        ] {
            let call = find(command).unwrap();
            assert_eq!(call.replaced(command, "NEW"), replaced);
            assert_eq!(call.removed(command).as_deref(), removed, "{command}");
        }
    }

    #[test]
    fn what_is_left_without_a_call_is_a_valid_command() {
        for (command, removed) in [
            ("if [ -z \"$N\" ]; then /a/longhaul hook Stop; fi", "if [ -z \"$N\" ]; then true; fi"),
            (
                "if [ -z \"$N\" ]; then\n/a/longhaul hook Stop; fi",
                "if [ -z \"$N\" ]; then\ntrue; fi",
            ),
            ("if a; then b && /a/longhaul hook Stop; fi", "if a; then b; fi"),
            ("if a; then b; /a/longhaul hook Stop; fi", "if a; then b; fi"),
            ("if /a/longhaul hook Stop; then x; fi", "if true; then x; fi"),
            ("{ /a/longhaul hook Stop; } 2>>/tmp/log", "{ true; } 2>>/tmp/log"),
            ("{ a; /a/longhaul hook Stop; }", "{ a; }"),
            ("(/a/longhaul hook Stop; a)", "(true; a)"),
            ("(a; /a/longhaul hook Stop)", "(a; true)"),
            ("while a; do /a/longhaul hook Stop; done", "while a; do true; done"),
            ("x=$(/a/longhaul hook Stop)", "x=$(true)"),
            ("/a/longhaul hook Stop &", "true &"),
        ] {
            let call = find(command);
            let rest = call.and_then(|call| call.removed(command)).unwrap_or_default();
            assert_eq!(rest, removed, "{command}");
            let checked = std::process::Command::new("sh").args(["-n", "-c", &rest]).status();
            assert!(checked.unwrap().success(), "{rest}");
        }
    }
}
