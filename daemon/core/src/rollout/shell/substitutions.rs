//! Command substitutions, whose output becomes part of another command: `$(…)`, `` `…` ``, `<(…)`.

/// A script without its substitutions.
#[derive(Debug, Default)]
pub struct Substitutions {
    /// The script, with a placeholder word for each substitution.
    pub script: String,
    /// The scripts of the substitutions, in order.
    pub inner: Vec<String>,
}

/// Delimits a placeholder; no shell uses it.
const MARK: char = '\u{1}';

impl Substitutions {
    /// The scripts whose output is part of a word.
    pub fn inside<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a str> {
        let numbers = word.split(MARK).skip(1).step_by(2);
        numbers
            .filter_map(|number| self.inner.get(number.parse::<usize>().ok()?))
            .map(String::as_str)
    }

    /// A word as it was in the script.
    pub fn restored(&self, word: &str) -> String {
        let mut out = String::with_capacity(word.len());
        for (number, part) in word.split(MARK).enumerate() {
            match number % 2 {
                0 => out.push_str(part),
                _ => {
                    let inner = part.parse::<usize>().ok().and_then(|at| self.inner.get(at));
                    out.extend(["$(", inner.map_or("", String::as_str), ")"]);
                }
            }
        }
        out
    }
}

/// Takes the outermost substitutions out of a script. Single quotes contain none.
pub fn without_substitutions(script: &str) -> Substitutions {
    let mut out = Substitutions::default();
    let mut rest = script;
    let (mut in_single, mut in_double) = (false, false);
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        let opened = match c {
            _ if in_single => None,
            '$' | '<' | '>' => behind.strip_prefix('(').filter(|_| c == '$' || !in_double),
            _ => None,
        };
        if let Some(body) = opened {
            let end = closing(body);
            lift(&mut out, &body[..end]);
            rest = body.get(end + 1..).unwrap_or_default();
            continue;
        }
        if c == '`' && !in_single {
            let end = behind.find('`').unwrap_or(behind.len());
            lift(&mut out, &behind[..end]);
            rest = behind.get(end + 1..).unwrap_or_default();
            continue;
        }
        match c {
            '\'' if !in_double => in_single = !in_single,
            '"' if !in_single => in_double = !in_double,
            '\\' if !in_single => {
                out.script.push(c);
                let escaped = behind.chars().next();
                out.script.extend(escaped);
                rest = &behind[escaped.map_or(0, char::len_utf8)..];
                continue;
            }
            _ => {}
        }
        if c != MARK {
            out.script.push(c);
        }
        rest = behind;
    }
    out
}

fn lift(out: &mut Substitutions, body: &str) {
    out.script.push_str(&format!("{MARK}{}{MARK}", out.inner.len()));
    out.inner.push(body.to_owned());
}

/// Offset of the parenthesis that closes the one open at the beginning.
fn closing(body: &str) -> usize {
    let (mut depth, mut quote) = (0_u32, None);
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => {
                chars.next();
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return at,
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_substitutions_are_extracted() {
        for (script, inner) in [
            ("sh -c \"$(curl -s 'a)b' | tr x y)\" x", &["curl -s 'a)b' | tr x y"][..]),
            ("diff <(ls a) <(ls $(pwd))", &["ls a", "ls $(pwd)"]),
            ("eval `date` '$(no)' \\$(no)", &["date"]),
            ("echo \"a <(b)\"", &[]),
            ("echo $(open", &["open"]),
        ] {
            let lifted = without_substitutions(script);
            assert_eq!(lifted.inner, inner, "{script}");
            if !script.contains('`') && !script.contains('<') && script.contains(')') {
                assert_eq!(lifted.restored(&lifted.script), script);
            }
        }
    }
}
