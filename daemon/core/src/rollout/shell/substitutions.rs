//! Command substitutions, whose output becomes part of another command: `$(…)`, `` `…` ``, `<(…)`.

use super::scan::{Scanner, ShellToken};

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
    fn read(&mut self, script: &str, mut scanner: Scanner<'_>) {
        // Where the script of the outermost substitution begins.
        let mut begin = None;
        while let Some((token, text)) = scanner.next() {
            let at = script.len() - scanner.rest().len();
            match (begin, token) {
                (Some(from), ShellToken::Close) if scanner.substitutions() == 0 => {
                    self.lift(&script[from..at - text.len()]);
                    begin = None;
                }
                (Some(_), _) => {}
                (None, ShellToken::Open) => begin = Some(at),
                // The shell replaces them in a heredoc, too.
                (None, ShellToken::Heredoc) => self.read(text, Scanner::of_body(text)),
                (None, _) => self.script.extend(text.split(MARK)),
            }
        }
        if let Some(from) = begin {
            self.lift(&script[from..]);
        }
    }

    fn lift(&mut self, inner: &str) {
        self.script.push_str(&format!("{MARK}{}{MARK}", self.inner.len()));
        self.inner.push(inner.to_owned());
    }

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
    out.read(script, Scanner::new(script));
    out
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
            ("echo \"now `date`\"", &["date"]),
            ("cat <<E\n$(id)\"it's\" $(pwd)\nE", &["id", "pwd"]),
            ("ls # it's\ncat $(pwd)", &["pwd"]),
            ("cat <<E\nit's $(id)\nE\n$(pwd)", &["id", "pwd"]),
        ] {
            let lifted = without_substitutions(script);
            assert_eq!(lifted.inner, inner, "{script}");
            if !script.contains('`') && !script.contains('<') && script.contains(')') {
                assert_eq!(lifted.restored(&lifted.script), script);
            }
        }
    }
}
