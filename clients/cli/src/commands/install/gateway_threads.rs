//! Finds Codex threads that depend on the gateway: they contain a view of ours as a marker that only the gateway can
//! expand.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use longhaul_client::gateway::MARKER;
use memchr::memmem::Finder;

/// Where Codex keeps transcripts, below its home.
const FOLDERS: [&str; 2] = ["sessions", "archived_sessions"];
/// Maximum depth of folders: year, month, day.
const DEPTH_MAX: usize = 4;
/// Maximum threads to name; others are counted.
const NAMED_MAX: usize = 5;
const PIECE_BYTES: usize = 1 << 20;
/// Length of a thread id, at the end of the file's name.
const ID_LETTERS: usize = 36;

/// A warning that names these threads; `None` if there are none.
pub(super) fn warning(home: &Path) -> Option<String> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        transcripts(&home.join(folder), DEPTH_MAX, &mut files);
    }
    // File names begin with the date: newest first.
    files.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
    let held = files.iter().filter(|path| holds_marker(path).unwrap_or(false));
    let threads: Vec<String> = held.filter_map(|path| thread_id(path)).collect();
    let all = match threads.as_slice() {
        [] => return None,
        [_] => "1 thread has a view".to_owned(),
        all => format!("{} threads have views", all.len()),
    };
    let named = threads.iter().take(NAMED_MAX).map(|id| format!("\n  longhaul continue {id}"));
    let named: String = named.collect();
    let more = match threads.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("\n  and {more} older"),
    };
    Some(format!(
        "{all} of longhaul that only the gateway can read; without it the provider rejects them. To continue one \
         in a new thread:{named}{more}"
    ))
}

fn transcripts(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        match is_folder {
            true if depth > 0 => transcripts(&entry.path(), depth - 1, found),
            true => {}
            false => found.extend(thread_id(&entry.path()).map(|_| entry.path())),
        }
    }
}

/// The thread of a transcript; `None` for other files.
fn thread_id(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl")?;
    let id = stem.strip_prefix("rollout-")?;
    id.get(id.len().checked_sub(ID_LETTERS)?..).map(str::to_owned)
}

/// Whether an item of the transcript is a marker. A marker quoted in a text has escaped quotes.
fn holds_marker(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    match path.extension().is_some_and(|extension| extension == "zst") {
        true => holds(zstd::stream::Decoder::new(file)?),
        false => holds(file),
    }
}

fn holds(mut reader: impl Read) -> io::Result<bool> {
    let needle = format!("\"encrypted_content\":\"{MARKER}");
    let finder = Finder::new(&needle);
    let mut piece = Vec::new();
    loop {
        let kept = piece.len().min(needle.len());
        piece.drain(..piece.len() - kept);
        let read = reader.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
        if finder.find(&piece).is_some() {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(home: &Path, folder: &str, number: usize, text: &[u8], ending: &str) {
        let folder = home.join(folder).join("2026/11/28");
        fs::create_dir_all(&folder).unwrap();
        let id = format!("0199a213-0000-7000-8000-{number:012}");
        let name = format!("rollout-2026-11-28T01-00-{number:02}-{id}{ending}");
        fs::write(folder.join(name), text).unwrap();
    }

    #[test]
    fn threads_with_a_marker_are_named_newest_first() {
        let home = tempfile::tempdir().unwrap();
        let marker = br#"{"type":"compaction","encrypted_content":"longhaul-view-1.KLUv"}"#;
        let own = br#"{"type":"compaction","encrypted_content":"gAAAA"}"#;
        let quoted = br#"{"output":"{\"encrypted_content\":\"longhaul-view-1.KLUv\"}"}"#;
        write(home.path(), "sessions", 1, own, ".jsonl");
        write(home.path(), "sessions", 2, quoted, ".jsonl");
        assert_eq!(warning(home.path()), None);
        // Across the border of two pieces, and compressed.
        let across = [&vec![b' '; PIECE_BYTES - 20][..], marker].concat();
        write(home.path(), "sessions", 3, &across, ".jsonl");
        let one = warning(home.path()).unwrap();
        assert!(one.starts_with("1 thread has") && one.contains("-000000000003"), "{one}");
        let packed = zstd::stream::encode_all(&marker[..], 3).unwrap();
        write(home.path(), "archived_sessions", 4, &packed, ".jsonl.zst");
        for number in 5..10 {
            write(home.path(), "sessions", number, marker, ".jsonl");
        }
        let all = warning(home.path()).unwrap();
        let newest = "new thread:\n  longhaul continue 0199a213-0000-7000-8000-000000000009\n";
        assert!(all.starts_with("7 threads have") && all.contains(newest), "{all}");
        assert!(all.ends_with("\n  and 2 older"), "{all}");
    }
}
