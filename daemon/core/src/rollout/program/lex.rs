//! Splits a program into strings, names and signs.

/// The languages whose strings are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProgramToken {
    /// A string with its escapes resolved.
    Text(String),
    /// A name, a keyword or a number.
    Name(String),
    Sign(char),
    /// A string that is filled in when the program runs, or a pattern.
    Unknown,
    /// The end of a line outside parentheses, or a semicolon.
    End,
}

/// The tokens of a program; `None` if a string does not end.
pub(super) fn tokens(program: &str, language: Language) -> Option<Vec<ProgramToken>> {
    let mut lexer = Lexer { rest: program, language, depth: 0, tokens: Vec::new() };
    while lexer.next()? {}
    Some(lexer.tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    language: Language,
    /// Open parentheses: line ends inside them mean nothing.
    depth: usize,
    tokens: Vec<ProgramToken>,
}

impl Lexer<'_> {
    /// Reads a token; `false` at the end.
    fn next(&mut self) -> Option<bool> {
        let Some(first) = self.rest.chars().next() else { return Some(false) };
        let (is_script, rest) = (self.language == Language::JavaScript, self.rest);
        let line = rest.find('\n').unwrap_or(rest.len());
        match first {
            '#' if !is_script => self.rest = &rest[line..],
            '/' if is_script && rest.starts_with("//") => self.rest = &rest[line..],
            '/' if is_script && rest.starts_with("/*") => {
                self.rest = rest.split_once("*/").map_or("", |(_, after)| after);
            }
            '/' if is_script && self.begins_pattern() => self.pattern(&rest[..line]),
            '\'' | '"' => self.string("")?,
            '`' if is_script => self.string("")?,
            _ if is_of_name(first) => self.name()?,
            _ => self.sign(first),
        }
        Some(true)
    }

    fn sign(&mut self, sign: char) {
        self.rest = &self.rest[sign.len_utf8()..];
        match sign {
            '(' | '[' => self.depth += 1,
            ')' | ']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        match sign {
            '\n' if self.depth > 0 => {}
            '\n' | ';' => self.tokens.push(ProgramToken::End),
            _ if sign.is_whitespace() => {}
            _ => self.tokens.push(ProgramToken::Sign(sign)),
        }
    }

    /// A name, or the prefix of a string.
    fn name(&mut self) -> Option<()> {
        let end = self.rest.find(|c| !is_of_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let is_prefix = self.language == Language::Python
            && rest.starts_with(['\'', '"'])
            && name.len() <= 2
            && name.chars().all(|c| "rRbBfFuU".contains(c));
        if is_prefix {
            return self.string(name);
        }
        self.tokens.push(ProgramToken::Name(name.to_owned()));
        Some(())
    }

    fn string(&mut self, prefix: &str) -> Option<()> {
        let quote = &self.rest[..1];
        let triple = quote.repeat(3);
        let is_triple = self.language == Language::Python && self.rest.starts_with(&triple);
        let quotes = if is_triple { triple.as_str() } else { quote };
        let body = &self.rest[quotes.len()..];
        let end = end_of(body, quotes)?;
        let raw = &body[..end];
        if raw.contains('\n') && !is_triple && quote != "`" {
            return None;
        }
        self.rest = &body[end + quotes.len()..];
        let is_filled_in = match self.language {
            Language::Python => prefix.contains(['f', 'F']) && raw.contains('{'),
            Language::JavaScript => quote == "`" && raw.contains("${"),
        };
        self.tokens.push(match is_filled_in {
            true => ProgramToken::Unknown,
            false if prefix.contains(['r', 'R']) => ProgramToken::Text(raw.to_owned()),
            false => ProgramToken::Text(unescaped(raw)),
        });
        Some(())
    }

    /// Whether a slash begins a pattern: it does not follow a value.
    fn begins_pattern(&self) -> bool {
        match self.tokens.last() {
            None | Some(ProgramToken::End) => true,
            Some(ProgramToken::Sign(sign)) => !")]}".contains(*sign),
            _ => false,
        }
    }

    fn pattern(&mut self, line: &str) {
        match end_of(&line[1..], "/") {
            Some(end) => {
                self.tokens.push(ProgramToken::Unknown);
                let flags = &self.rest[end + 2..];
                self.rest = flags.trim_start_matches(|c: char| c.is_ascii_lowercase());
            }
            None => self.sign('/'),
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Where a string ends, after its first quotes.
fn end_of(body: &str, quotes: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = at + body.get(at..)?.find(['\\', quotes.chars().next()?])?;
        if body[found..].starts_with('\\') {
            let escaped = body[found + 1..].chars().next()?;
            at = found + 1 + escaped.len_utf8();
        } else if body[found..].starts_with(quotes) {
            return Some(found);
        } else {
            at = found + 1;
        }
    }
}

/// A string as the program sees it. Escapes that are not understood stay as they are.
fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let Some(escape) = after.chars().next() else { break };
        rest = &after[escape.len_utf8()..];
        match escape {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' | '\n' => {}
            '\\' | '\'' | '"' | '`' | '/' => text.push(escape),
            'u' | 'x' => {
                let digits = if escape == 'u' { 4 } else { 2 };
                let code = rest.get(..digits).and_then(|it| u32::from_str_radix(it, 16).ok());
                match code.and_then(char::from_u32) {
                    Some(c) => {
                        text.push(c);
                        rest = &rest[digits..];
                    }
                    None => text.extend(['\\', escape]),
                }
            }
            _ => text.extend(['\\', escape]),
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(program: &str, language: Language) -> Option<String> {
        let shown = tokens(program, language)?.into_iter().map(|token| match token {
            ProgramToken::Text(text) => format!("<{text}>"),
            ProgramToken::Name(name) => name,
            ProgramToken::Sign(sign) => sign.to_string(),
            ProgramToken::Unknown => "?".to_owned(),
            ProgramToken::End => ";".to_owned(),
        });
        Some(shown.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn strings_names_and_signs_are_told_apart() {
        use Language::{JavaScript, Python};
        for (program, language, expected) in [
            ("p = 'a\\'b' # it's\nq", Python, "p = <a'b> ; q"),
            ("x = \"\"\"one \"two\"\n\\tthree\"\"\"", Python, "x = <one \"two\"\n\tthree>"),
            (r"r'\d' b'x' f'{a}' f'plain'", Python, r"<\d> <x> ? <plain>"),
            ("f(1,\n  'a')\ng", Python, "f ( 1 , <a> ) ; g"),
            ("a // b", Python, "a / / b"),
            ("const a = `x${b}`; // it's\nc", JavaScript, "const a = ? ; ; c"),
            ("s.replace(/it's/g, '\\u00e9')", JavaScript, "s . replace ( ? , <é> )"),
            ("a / b /* ' */ / c", JavaScript, "a / b / c"),
        ] {
            assert_eq!(shown(program, language).as_deref(), Some(expected), "{program}");
        }
        for program in ["x = 'a\nb'", "x = '''a", "'\\"] {
            assert_eq!(shown(program, Python), None, "{program}");
        }
    }
}
