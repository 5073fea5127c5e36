//! The edited files, in memory, and their tools. Every answer is bounded.

use std::collections::BTreeMap;

use longhaul_protocol::job::{FileCall, FileTool};

const FILE_BYTES_MAX: usize = 1 << 20;

/// Maximum bytes of all files: the result must fit into a message.
const ALL_BYTES_MAX: usize = 7 << 20;

const FILES_MAX: usize = 8_192;

const ANSWER_BYTES_MAX: usize = 32 * 1_024;

/// Lines that a search finds.
const HITS_MAX: usize = 100;

const PATH_BYTES_MAX: usize = 512;

/// Files by path.
#[derive(Debug)]
pub(crate) struct Files(pub(crate) BTreeMap<String, String>);

impl Files {
    /// Runs a tool call; an error tells the model why not.
    pub(crate) fn run(&mut self, call: &FileCall) -> Result<String, String> {
        let FileCall { tool, path, text, new_text, line, lines } = call;
        let (path, text) = (path.bytes().as_str(), text.bytes().as_str());
        match tool {
            FileTool::List => self.list(path),
            FileTool::Read => self.read(path, *line, *lines),
            FileTool::Write => self.write(path, text),
            FileTool::Replace => self.replace(path, text, new_text.bytes()),
            FileTool::Search => self.search(path, text),
            FileTool::Delete => self.delete(path),
        }
    }

    fn list(&self, path: &str) -> Result<String, String> {
        let mut out = String::new();
        for (path, text) in self.below(path) {
            if out.len() > ANSWER_BYTES_MAX {
                out.push_str("(more: list a folder)\n");
                break;
            }
            out.push_str(&format!("{path} {}\n", text.len()));
        }
        Ok(if out.is_empty() { "no files".to_owned() } else { out })
    }

    fn read(&self, path: &str, line: u64, lines: u64) -> Result<String, String> {
        let text = self.text(path)?;
        let first = line.max(1);
        let most = if lines == 0 { u64::MAX } else { lines };
        let mut out = String::new();
        let mut next = None;
        for (number, words) in (1_u64..).zip(text.lines()).skip_while(|(at, _)| *at < first) {
            if number - first >= most || out.len() + words.len() > ANSWER_BYTES_MAX {
                next = Some(number);
                break;
            }
            out.push_str(&format!("{number}: {words}\n"));
        }
        match next {
            Some(number) if out.is_empty() => Err(format!("line {number} is too long to be read")),
            Some(number) => Ok(out + &format!("(continues at line {number})")),
            None if out.is_empty() && first > 1 => Err(format!("{path} ends before line {first}")),
            None => Ok(out),
        }
    }

    fn write(&mut self, path: &str, text: &str) -> Result<String, String> {
        let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.');
        if path.len() > PATH_BYTES_MAX || !path.split('/').all(is_plain) {
            return Err(format!("{path:?} is no path below the folder"));
        }
        if text.len() > FILE_BYTES_MAX {
            return Err(format!("{} bytes are more than {FILE_BYTES_MAX}", text.len()));
        }
        let bytes = self.0.values().map(String::len).sum::<usize>();
        if self.0.len() >= FILES_MAX || bytes + text.len() > ALL_BYTES_MAX {
            return Err("the folder is full".to_owned());
        }
        self.0.insert(path.to_owned(), text.to_owned());
        Ok(format!("wrote {} bytes", text.len()))
    }

    fn replace(&mut self, path: &str, old: &str, new: &str) -> Result<String, String> {
        let text = self.text(path)?;
        if old.is_empty() {
            return Err("the text to be replaced is empty".to_owned());
        }
        match text.matches(old).count() {
            1 => {
                let replaced = text.replacen(old, new, 1);
                self.write(path, &replaced)
            }
            0 => Err("the file does not contain this text".to_owned()),
            many => Err(format!("the file contains this text {many} times: give more of it")),
        }
    }

    fn search(&self, path: &str, words: &str) -> Result<String, String> {
        let wanted = words.to_lowercase();
        if wanted.trim().is_empty() {
            return Err("nothing to search for".to_owned());
        }
        let mut out = String::new();
        let lines = self.below(path).flat_map(|(path, text)| {
            (1_u64..).zip(text.lines()).map(move |(number, line)| (path, number, line))
        });
        let hits = lines.filter(|(.., line)| line.to_lowercase().contains(&wanted));
        for (count, (path, number, line)) in hits.enumerate() {
            if count == HITS_MAX || out.len() + line.len() > ANSWER_BYTES_MAX {
                return Ok(out + "(more: search for more)");
            }
            out.push_str(&format!("{path}:{number}: {line}\n"));
        }
        Ok(if out.is_empty() { "nothing found".to_owned() } else { out })
    }

    fn delete(&mut self, path: &str) -> Result<String, String> {
        self.0.remove(path).map(|_| "deleted".to_owned()).ok_or_else(|| missing(path))
    }

    fn text(&self, path: &str) -> Result<&str, String> {
        self.0.get(path).map(String::as_str).ok_or_else(|| missing(path))
    }

    /// The file at `path`, or the files below it.
    fn below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (&'a String, &'a String)> {
        let folder = path.trim_end_matches('/');
        let is_all = folder.is_empty() || folder == ".";
        self.0.iter().filter(move |(path, _)| {
            let rest = path.strip_prefix(folder);
            is_all || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

fn missing(path: &str) -> String {
    format!("there is no file {path:?}")
}

#[cfg(test)]
mod tests;
