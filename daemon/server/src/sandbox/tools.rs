//! The file tools, as the child runs them. Every answer is bounded; no path leads out or through a link.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::{Call, Reply};

const FILE_BYTES_MAX: u64 = 1 << 20;

const FOLDER_BYTES_MAX: u64 = 64 << 20;

const FILES_MAX: usize = 8_192;

const ANSWER_BYTES_MAX: usize = 32 * 1_024;

/// Lines that a search finds.
const HITS_MAX: usize = 100;

/// Bytes of a path, and folders inside folders.
const PATH_BYTES_MAX: usize = 512;
const DEPTH_MAX: usize = 6;

/// The files of one folder.
#[derive(Debug)]
pub(super) struct Tools {
    root: PathBuf,
}

impl Tools {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Does what is asked, or says why not.
    pub(super) fn run(&self, call: Call) -> Reply {
        let done = match call {
            Call::List { path } => self.list(&path),
            Call::Read { path, line, lines } => self.read(&path, line, lines),
            Call::Write { path, text } => self.write(&path, &text),
            Call::Replace { path, old, new } => self.replace(&path, &old, &new),
            Call::Search { path, words } => self.search(&path, &words),
            Call::Delete { path } => self.delete(&path),
        };
        match done {
            Ok(text) => Reply { ok: true, text },
            Err(text) => Reply { ok: false, text },
        }
    }

    fn list(&self, path: &str) -> Result<String, String> {
        let mut out = String::new();
        for (path, bytes) in self.files(path)? {
            if out.len() > ANSWER_BYTES_MAX {
                out.push_str("(more: list a folder)\n");
                break;
            }
            out.push_str(&format!("{path} {bytes}\n"));
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
            Some(number) => Ok(out + &format!("(goes on at line {number})")),
            None if out.is_empty() && first > 1 => Err(format!("{path} ends before line {first}")),
            None => Ok(out),
        }
    }

    fn write(&self, path: &str, text: &str) -> Result<String, String> {
        let whole = self.place(path)?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(format!("{} bytes are more than {FILE_BYTES_MAX}", text.len()));
        }
        let files = self.files("")?;
        let bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
        if files.len() >= FILES_MAX || bytes + text.len() as u64 > FOLDER_BYTES_MAX {
            return Err("the folder is full".to_owned());
        }
        if let Some(parent) = whole.parent() {
            fs::create_dir_all(parent).map_err(words)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&whole)
            .map_err(words)?;
        file.write_all(text.as_bytes()).map_err(words)?;
        Ok(format!("wrote {} bytes", text.len()))
    }

    fn replace(&self, path: &str, old: &str, new: &str) -> Result<String, String> {
        let text = self.text(path)?;
        if old.is_empty() {
            return Err("the words to be replaced are empty".to_owned());
        }
        match text.matches(old).count() {
            1 => self.write(path, &text.replacen(old, new, 1)),
            0 => Err("these words do not stand in the file".to_owned()),
            many => Err(format!("these words stand there {many} times: give more of them")),
        }
    }

    fn search(&self, path: &str, words: &str) -> Result<String, String> {
        let wanted = words.to_lowercase();
        if wanted.trim().is_empty() {
            return Err("nothing to search for".to_owned());
        }
        let mut out = String::new();
        let mut hits = 0;
        for (path, _) in self.files(path)? {
            // What is no text holds no words.
            let Ok(text) = self.text(&path) else { continue };
            for (number, line) in (1_u64..).zip(text.lines()) {
                if !line.to_lowercase().contains(&wanted) {
                    continue;
                }
                hits += 1;
                if hits > HITS_MAX || out.len() + line.len() > ANSWER_BYTES_MAX {
                    return Ok(out + "(more: search for more)");
                }
                out.push_str(&format!("{path}:{number}: {line}\n"));
            }
        }
        Ok(if out.is_empty() { "nothing found".to_owned() } else { out })
    }

    fn delete(&self, path: &str) -> Result<String, String> {
        fs::remove_file(self.place(path)?).map_err(words)?;
        Ok("deleted".to_owned())
    }

    fn text(&self, path: &str) -> Result<String, String> {
        let file = File::open(self.place(path)?).map_err(words)?;
        if !file.metadata().map_err(words)?.is_file() {
            return Err(format!("{path} is no file"));
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(words)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(format!("{path} is longer than {FILE_BYTES_MAX} bytes"));
        }
        String::from_utf8(bytes).map_err(|_| format!("{path} is no text"))
    }

    /// The files below `path`, or the one that it is, by path.
    fn files(&self, path: &str) -> Result<Vec<(String, u64)>, String> {
        let start = match path.trim_end_matches('/') {
            "" | "." => self.root.clone(),
            path => self.place(path)?,
        };
        let mut found = Vec::new();
        self.collect(&start, 0, &mut found).map_err(words)?;
        found.sort();
        Ok(found)
    }

    fn collect(&self, at: &Path, depth: usize, found: &mut Vec<(String, u64)>) -> io::Result<()> {
        let stat = fs::symlink_metadata(at)?;
        if stat.is_file() && found.len() < FILES_MAX {
            if let Some(path) = at.strip_prefix(&self.root).ok().and_then(Path::to_str) {
                found.push((path.to_owned(), stat.len()));
            }
        } else if stat.is_dir() && depth <= DEPTH_MAX {
            for entry in fs::read_dir(at)? {
                self.collect(&entry?.path(), depth + 1, found)?;
            }
        }
        Ok(())
    }

    /// Where `path` is; refused where it could lead out, names something hidden, or goes through a link.
    fn place(&self, path: &str) -> Result<PathBuf, String> {
        let is_plain =
            |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\0');
        let parts = path.split('/');
        if path.len() > PATH_BYTES_MAX || !path.split('/').all(is_plain) {
            return Err(format!("{path:?} is no path below the folder"));
        }
        let mut whole = self.root.clone();
        for part in parts {
            whole.push(part);
            if fs::symlink_metadata(&whole).is_ok_and(|stat| stat.is_symlink()) {
                return Err(format!("{path:?} goes through a link"));
            }
        }
        Ok(whole)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of map_err")]
fn words(error: io::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests;
