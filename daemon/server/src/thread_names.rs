//! Names that people gave their threads in Codex (`/rename`), from `$CODEX_HOME/session_index.jsonl`.
//!
//! Codex only appends to this file. The last entry of a thread counts, so an earlier name is no longer found. It is read on
//! every request, as [`crate::agent_settings`] is, from its end; lines that are not entries are skipped.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use longhaul_core::{limits, redact, text};
use serde::Deserialize;

/// The file, in the agent's folder.
const FILE: &str = "session_index.jsonl";

/// Bytes to read from its end: some ten thousand names.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Deserialize)]
struct NameLine {
    id: String,
    thread_name: String,
}

/// The redacted names of the wanted threads, by thread id.
pub(crate) fn read(codex_home: &Path, wanted: impl Fn(&str) -> bool) -> HashMap<String, String> {
    let bytes = end_of(&codex_home.join(FILE)).unwrap_or_default();
    let entries = bytes.split(|byte| *byte == b'\n').filter_map(|line| {
        let entry: NameLine = serde_json::from_slice(line).ok()?;
        wanted(&entry.id).then_some((entry.id, entry.thread_name))
    });
    let last: HashMap<String, String> = entries.collect();
    let names = last.into_iter().map(|(id, name)| (id, clean(&name)));
    names.filter(|(_, name)| !name.is_empty()).collect()
}

fn clean(name: &str) -> String {
    text::prefix(&redact::redact(name.trim()).text, limits::NAME_BYTES).to_owned()
}

fn end_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(BYTES_MAX)))?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, String)> {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(read(home.path(), |_| true), HashMap::new(), "no file, no names");
        std::fs::write(home.path().join(FILE), text).unwrap();
        let mut names: Vec<_> = read(home.path(), |id| id != "nobody").into_iter().collect();
        names.sort();
        names
    }

    #[test]
    fn the_last_entry_wins() {
        let text = concat!(
            r#"{"id":"a","thread_name":"parser","updated_at":"2026-03-02T09:00:00Z"}"#,
            "\n",
            r#"{"id":"b","thread_name":"lexer"}"#,
            "\n",
            "no entry\n",
            r#"{"id":"a","thread_name":" the new parser "}"#,
            "\n",
            r#"{"id":"b","thread_name":""}"#,
            "\n",
            r#"{"id":"nobody","thread_name":"not asked for"}"#,
            "\n",
            r#"{"id":"c","thread_name":"to"#,
        );
        assert_eq!(names(text), [("a".to_owned(), "the new parser".to_owned())]);
    }

    #[test]
    fn the_newest_names_of_a_long_file_are_read() {
        let line =
            |number: usize| format!("{{\"id\":\"{number}\",\"thread_name\":\"n{number}\"}}\n");
        let text: String = (0..60_000).map(line).collect();
        let found = names(&text);
        assert!(found.iter().any(|(id, _)| id == "59999"));
        assert!(found.len() > 20_000 && !found.iter().any(|(id, _)| id == "0"));
    }
}
