//! The values of expressions, as far as they are strings that stand in the program.

use std::collections::HashMap;

use super::lex::ProgramToken;

/// Calls whose value is that of their argument.
const TRANSPARENT: [&str; 6] = ["Path", "PurePath", "PosixPath", "dedent", "str", "String"];

/// Methods that change a text only at its ends, or a path not at all.
const AT_ENDS: [&str; 10] = [
    "strip",
    "lstrip",
    "rstrip",
    "trim",
    "trimStart",
    "trimEnd",
    "encode",
    "resolve",
    "expanduser",
    "absolute",
];

/// Nested parentheses to follow.
const DEPTH_MAX: usize = 16;

/// The tokens of a program, with the names that are bound to strings so far.
#[derive(Default)]
pub(super) struct Values<'t> {
    tokens: &'t [ProgramToken],
    names: HashMap<&'t str, String>,
}

impl<'t> Values<'t> {
    pub(super) fn new(tokens: &'t [ProgramToken]) -> Self {
        Self { tokens, names: HashMap::new() }
    }

    pub(super) fn bind(&mut self, name: &'t str, value: Option<String>) {
        match value {
            Some(value) => self.names.insert(name, value),
            None => self.names.remove(name),
        };
    }

    pub(super) fn name(&self, at: usize) -> Option<&'t str> {
        match self.tokens.get(at) {
            Some(ProgramToken::Name(name)) => Some(name),
            _ => None,
        }
    }

    pub(super) fn is_sign(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at) == Some(&ProgramToken::Sign(sign))
    }

    /// The value of the expression that begins here, if it is known, and the token after it.
    pub(super) fn value(&self, at: usize) -> (Option<String>, usize) {
        let end = self.end_of(at);
        let value = self.sum(at, 0).filter(|(_, after)| *after == end);
        (value.map(|(value, _)| value), end)
    }

    /// The values of the arguments of a call, whose parenthesis is here.
    pub(super) fn arguments(&self, open: usize) -> Vec<Option<String>> {
        let (mut values, mut at) = (Vec::new(), open + 1);
        while at < self.tokens.len() && !self.is_sign(at, ')') {
            // `mode="w"`
            let first = if self.is_sign(at + 1, '=') { at + 2 } else { at };
            let (value, end) = self.value(first);
            values.push(value);
            at = end + usize::from(self.is_sign(end, ','));
            if at == end && !self.is_sign(end, ')') {
                break;
            }
        }
        values
    }

    /// The tokens of the arguments of a call, whose parenthesis is here.
    pub(super) fn inside(&self, open: usize) -> std::ops::Range<usize> {
        let mut at = open + 1;
        while at < self.tokens.len() && !self.is_sign(at, ')') {
            let end = self.end_of(at);
            at = end + usize::from(!self.is_sign(end, ')'));
        }
        open + 1..at
    }

    /// The name that the statement around this token binds.
    pub(super) fn bound_at(&self, at: usize) -> Option<&'t str> {
        let before = self.tokens[..at].iter().rposition(|token| *token == ProgramToken::End);
        let first = before.map_or(0, |end| end + 1);
        self.name(first).filter(|_| self.is_sign(first + 1, '='))
    }

    /// The value before the point of a method call, which is here.
    pub(super) fn receiver(&self, point: usize) -> Option<String> {
        let last = point.checked_sub(1)?;
        let (mut at, mut depth) = (last, 0_usize);
        loop {
            match &self.tokens[at] {
                ProgramToken::Sign(')') => depth += 1,
                ProgramToken::Sign('(') => depth = depth.checked_sub(1)?,
                _ => {}
            }
            let goes_on = at.checked_sub(1).is_some_and(|before| {
                let is_call = self.is_sign(at, '(') && self.name(before).is_some();
                let is_member = self.is_sign(at, '.') || self.is_sign(before, '.');
                depth > 0 || is_call || is_member
            });
            if !goes_on {
                break;
            }
            at -= 1;
        }
        let (value, after) = self.sum(at, 0)?;
        (after == point).then_some(value)
    }

    /// The token that ends the expression that begins here.
    fn end_of(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        for (index, token) in self.tokens.iter().enumerate().skip(at) {
            match token {
                ProgramToken::Sign('(' | '[' | '{') => depth += 1,
                ProgramToken::Sign(')' | ']' | '}' | ',') | ProgramToken::End if depth == 0 => {
                    return index;
                }
                ProgramToken::Sign(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// Strings that are put together, or the parts of a path.
    fn sum(&self, at: usize, depth: usize) -> Option<(String, usize)> {
        let (mut value, mut at) = self.term(at, depth)?;
        loop {
            let is_path = self.is_sign(at, '/');
            if !is_path && !self.is_sign(at, '+') {
                return Some((value, at));
            }
            let (next, after) = self.term(at + 1, depth)?;
            value = if is_path { joined(&value, &next) } else { value + &next };
            at = after;
        }
    }

    fn term(&self, at: usize, depth: usize) -> Option<(String, usize)> {
        if depth > DEPTH_MAX {
            return None;
        }
        let (mut value, mut at) = match self.tokens.get(at)? {
            ProgramToken::Text(text) => self.adjacent(text.clone(), at + 1),
            ProgramToken::Sign('(') => {
                let (value, after) = self.sum(at + 1, depth + 1)?;
                self.is_sign(after, ')').then_some((value, after + 1))?
            }
            ProgramToken::Name(name) => match self.names.get(name.as_str()) {
                Some(value) => (value.clone(), at + 1),
                None => self.call(at, depth)?,
            },
            _ => return None,
        };
        while self.is_sign(at, '.') && self.is_sign(at + 2, '(') {
            let method = self.name(at + 1).filter(|name| AT_ENDS.contains(name));
            let Some(method) = method else { break };
            if method.contains("strip") || method.contains("trim") {
                value = value.trim().to_owned();
            }
            let end = self.end_of(at + 3);
            at = self.is_sign(end, ')').then_some(end + 1)?;
        }
        Some((value, at))
    }

    /// Strings that follow each other are one.
    fn adjacent(&self, mut value: String, mut at: usize) -> (String, usize) {
        while let Some(ProgramToken::Text(next)) = self.tokens.get(at) {
            value.push_str(next);
            at += 1;
        }
        (value, at)
    }

    /// `Path("a", "b")`, `os.path.join("a", "b")`, `textwrap.dedent("""…""")`.
    fn call(&self, mut at: usize, depth: usize) -> Option<(String, usize)> {
        let (mut before, mut name) = ("", self.name(at)?);
        while self.is_sign(at + 1, '.') {
            (before, name, at) = (name, self.name(at + 2)?, at + 2);
        }
        let is_join = before == "path" && ["join", "resolve"].contains(&name);
        if !self.is_sign(at + 1, '(') || !is_join && !TRANSPARENT.contains(&name) {
            return None;
        }
        let (mut value, mut at) = self.sum(at + 2, depth + 1)?;
        while self.is_sign(at, ',') {
            let (next, after) = self.sum(at + 1, depth + 1)?;
            (value, at) = (joined(&value, &next), after);
        }
        self.is_sign(at, ')').then_some((value, at + 1))
    }
}

/// A path below a folder; an absolute one as it is.
fn joined(folder: &str, path: &str) -> String {
    match folder {
        _ if path.starts_with('/') => path.to_owned(),
        "." | "" => path.to_owned(),
        _ => format!("{}/{path}", folder.trim_end_matches('/')),
    }
}
