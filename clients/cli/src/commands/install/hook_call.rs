//! Finds the call of `longhaul hook` in a command line, which may run other commands of the user around it.

use std::ops::Range;
use std::path::PathBuf;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct HookCall {
    pub(super) program: PathBuf,
    /// From the program to the last argument that we write.
    span: Range<usize>,
    /// The simple command around it, with redirections and the user's words.
    part: Range<usize>,
}

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
            span: token.span.start..tokens[end].span.end,
            part: tokens[part_begin].span.start..tokens[part_end - 1].span.end,
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
        let (before, after) = (&command[..self.part.start], &command[self.part.end..]);
        let rest = match joint(after.trim_start(), str::strip_prefix) {
            Some(after) => format!("{before}{}", after.trim_start()),
            None if !after.trim().is_empty() => format!("{before}true{after}"),
            None => match joint(before.trim_end(), str::strip_suffix) {
                Some(before) => before.trim_end().to_owned(),
                None if before.trim().is_empty() => return None,
                None => format!("{before}true"),
            },
        };
        Some(rest)
    }
}

/// Strips a sequencing operator.
fn joint<'a>(
    text: &'a str,
    strip: fn(&'a str, &'static str) -> Option<&'a str>,
) -> Option<&'a str> {
    ["&&", ";"].into_iter().find_map(|operator| strip(text, operator))
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
        ] {
            let call = find(command).unwrap();
            assert_eq!(call.replaced(command, "NEW"), replaced);
            assert_eq!(call.removed(command).as_deref(), removed, "{command}");
        }
    }
}
