//! Programs that a command line passes to an interpreter: which files they write, and what they put there.
//!
//! A partial reader. It knows strings that stand in the program, names bound to them, paths put together of them, and the
//! replacement of one text by another. What it does not understand, such as a path that is computed, it leaves out.

mod lex;
mod value;

use std::collections::HashSet;

use self::lex::Language;
use self::value::Values;
use super::patch::{FileOp, Op};
use crate::limits;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramWrite {
    /// The path is as the program names it.
    pub op: FileOp,
    /// It changes more than is known.
    pub is_partial: bool,
}

/// Parts of a call that writes a file.
const WRITES: [&str; 4] = [".write", "writeFile", "'w'", "\"w\""];

/// Shorter texts that are put into a list are no lines of a file.
const INSERTED_BYTES_MIN: usize = 12;

/// Methods that insert their last argument, and those that only look for their first.
const INSERTING: [&str; 5] = ["append", "insert", "push", "extend", "unshift"];
const SEARCHING: [&str; 9] =
    ["index", "find", "split", "partition", "indexOf", "includes", "startswith", "count", "search"];

/// The files that a command's inline program writes, in order. `input` is what the command reads from the script.
pub fn writes(words: &[String], input: &str) -> Vec<ProgramWrite> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let language = match words.first().map(|program| program.rsplit('/').next()) {
        Some(Some("python" | "python3")) => Language::Python,
        Some(Some("node")) => Language::JavaScript,
        _ => return Vec::new(),
    };
    let option = words.iter().position(|word| matches!(*word, "-c" | "-e"));
    let program = match option {
        Some(option) => words.get(option + 1).copied().unwrap_or_default(),
        None => input,
    };
    if !WRITES.iter().any(|it| program.contains(it)) {
        return Vec::new();
    }
    let Some(tokens) = lex::tokens(program, language) else { return Vec::new() };
    let mut reader = Reader { values: Values::new(&tokens), ..Reader::default() };
    for at in 0..tokens.len() {
        reader.assignment(at);
        if at >= reader.read_until {
            reader.method(at);
            reader.function(at);
        }
    }
    reader.writes
}

/// What a program did up to a token.
#[derive(Default)]
struct Reader<'t> {
    values: Values<'t>,
    /// Texts replaced since the last write.
    replaced: Vec<Replaced<'t>>,
    /// The tokens before this one were read as part of a write.
    read_until: usize,
    /// Other texts since then, with the name that each is bound to.
    inserted: Vec<(Option<&'t str>, String)>,
    /// Names whose texts are only looked for.
    searched: HashSet<&'t str>,
    /// The file that is open for writing.
    open: Option<Target>,
    writes: Vec<ProgramWrite>,
}

/// A text that another one replaces, in a value of these names.
struct Replaced<'t> {
    old: String,
    new: String,
    at: usize,
    names: [Option<&'t str>; 2],
}

#[derive(Clone)]
struct Target {
    path: String,
    is_appended: bool,
}

impl<'t> Reader<'t> {
    /// `name = value`, `name += value`, `name in text`.
    fn assignment(&mut self, at: usize) {
        let Some(name) = self.values.name(at) else { return };
        if self.values.name(at + 1) == Some("in") {
            self.searched.insert(name);
        }
        let is_more = self.values.is_sign(at + 1, '+');
        let sign = at + 1 + usize::from(is_more);
        let is_compared = |at| self.values.is_sign(at, '=');
        if !self.values.is_sign(sign, '=') || is_compared(sign + 1) {
            return;
        }
        let (value, _) = self.values.value(sign + 1);
        if let Some(text) = value.as_ref().filter(|text| is_more || text.trim().contains('\n')) {
            self.inserted.push((Some(name).filter(|_| !is_more), text.clone()));
        }
        self.values.bind(name, value.filter(|_| !is_more));
    }

    /// `.name(…)`.
    fn method(&mut self, at: usize) {
        let Some(method) = self.values.name(at + 1) else { return };
        if !self.values.is_sign(at, '.') || !self.values.is_sign(at + 2, '(') {
            return;
        }
        let argument = self.values.name(at + 3);
        let mut arguments = self.values.arguments(at + 2).into_iter();
        match method {
            "replace" | "replaceAll" => {
                self.searched.extend(argument);
                match (arguments.next().flatten(), arguments.next().flatten()) {
                    (Some(old), Some(new)) => {
                        let of = at.checked_sub(1).and_then(|before| self.values.name(before));
                        let names = [of, self.values.bound_at(at)];
                        self.replaced.push(Replaced { old, new, at, names });
                    }
                    (None, Some(new)) => self.inserted.push((None, new)),
                    _ => {}
                }
            }
            "sub" => {
                let new = arguments.nth(1).flatten().filter(|new| !new.contains('\\'));
                self.inserted.extend(new.map(|new| (None, new)));
            }
            _ if INSERTING.contains(&method) => {
                let text = arguments.last().flatten();
                let text = text.filter(|text| text.len() >= INSERTED_BYTES_MIN);
                self.inserted.extend(text.map(|text| (None, text)));
            }
            _ if SEARCHING.contains(&method) => self.searched.extend(argument),
            "write_text" => {
                let path = self.values.receiver(at);
                let target = path.map(|path| Target { path, is_appended: false });
                self.write(target, arguments.next().flatten(), at + 2);
            }
            "write" if !self.is_printed(at) => {
                self.write(self.open.clone(), arguments.next().flatten(), at + 2);
            }
            "open" => {
                let path = self.values.receiver(at);
                self.opened(path, arguments.next().flatten());
            }
            "dump" if self.open.is_some() => self.write(self.open.clone(), None, at + 2),
            _ => {}
        }
    }

    /// Whether a method is one of a stream that is printed.
    fn is_printed(&self, point: usize) -> bool {
        let before = point.checked_sub(1).and_then(|at| self.values.name(at));
        before.is_some_and(|name| ["stdout", "stderr"].contains(&name))
    }

    /// `open(…)`, `writeFileSync(…)`.
    fn function(&mut self, at: usize) {
        let Some(name) = self.values.name(at) else { return };
        if !self.values.is_sign(at + 1, '(') {
            return;
        }
        let is_method = at.checked_sub(1).is_some_and(|before| self.values.is_sign(before, '.'));
        let mut arguments = self.values.arguments(at + 1).into_iter();
        let mut next = || arguments.next().flatten();
        match name {
            "open" if !is_method => {
                let (path, mode) = (next(), next());
                self.opened(path, mode);
            }
            "writeFileSync" | "writeFile" | "appendFileSync" | "appendFile" => {
                let is_appended = name.starts_with("append");
                let (path, content) = (next(), next());
                self.write(path.map(|path| Target { path, is_appended }), content, at + 1);
            }
            _ => {}
        }
    }

    fn opened(&mut self, path: Option<String>, mode: Option<String>) {
        if let Some(mode) = mode.filter(|mode| mode.contains(['w', 'a', 'x'])) {
            let is_appended = mode.contains('a');
            self.open = path.map(|path| Target { path, is_appended });
        }
    }

    /// Ends what was done for a file: a call whose parenthesis is here writes it. A text that was replaced in a value that
    /// it does not write is none of the file.
    fn write(&mut self, target: Option<Target>, content: Option<String>, open: usize) {
        let inside = self.values.inside(open);
        inside.clone().for_each(|at| self.method(at));
        self.read_until = inside.end;
        let mut replaced = std::mem::take(&mut self.replaced);
        let written: Vec<&str> = inside.clone().filter_map(|at| self.values.name(at)).collect();
        replaced.retain(|it| {
            let is_of_written = |name: &&str| written.contains(name);
            inside.contains(&it.at) || it.names.iter().flatten().any(is_of_written)
        });
        let inserted = std::mem::take(&mut self.inserted);
        let Some(Target { path, is_appended }) = target.filter(|it| is_file(&it.path)) else {
            return;
        };
        let (op, is_partial) = match content {
            Some(content) if !is_appended => (FileOp::write(path, content), false),
            Some(content) => {
                let mut op = FileOp::new(path, Op::Edited);
                op.replace("", &content);
                (op, false)
            }
            None => {
                let mut op = FileOp::new(path, Op::Edited);
                replaced.iter().for_each(|it| op.replace(&it.old, &it.new));
                let is_other = |(name, text): &&(Option<&str>, String)| {
                    let is_searched = name.is_some_and(|name| self.searched.contains(name));
                    let is_known = replaced.iter().any(|it| it.new.contains(text.as_str()));
                    !is_searched && !is_known
                };
                let mut others: Vec<_> = inserted.iter().filter(is_other).collect();
                let mut known = HashSet::new();
                others.retain(|(_, text)| known.insert(text));
                for (_, text) in &others {
                    op.replace("", text);
                    // The next one need not follow it.
                    op.added.push('\n');
                }
                (op, replaced.is_empty() || !others.is_empty())
            }
        };
        self.writes.push(ProgramWrite { op, is_partial });
    }
}

/// Whether a text may be the path of a file.
fn is_file(path: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !"*?\"<>|{}$".contains(c);
    !path.is_empty()
        && path.len() <= limits::PATH_BYTES
        && path.chars().all(is_plain)
        && !path.contains("://")
        && !path.ends_with('/')
}

#[cfg(test)]
mod tests;
