//! Whether a thread may be compacted again, and whether it is compacting in a loop.
//!
//! Guards against a failure seen in the field: threads compacted 74 times in a day, each time followed by
//! reading the same files again.

use crate::checkpoint::Checkpoint;
use crate::checkpoint::files::FileState;

/// Tokens a thread must grow by before the next automatic compaction: a twentieth of its size, and more
/// than a usual single message.
pub fn needed(visible_tokens: u64) -> u64 {
    (visible_tokens / 20).max(1_000)
}

/// Number of compactions without an edit or an effective command in between that counts as a loop.
pub const LOOP_COMPACTIONS: usize = 3;

/// Maximum files named in a warning.
const REREAD_MAX: usize = 8;

/// A thread that is compacted without making progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionLoop {
    /// Compactions since the last progress, including this one.
    pub compactions: usize,
    /// Files read again in between, most often read first.
    pub reread: Vec<String>,
}

/// Detects a loop that includes this compaction; `earlier` has the lines of earlier compactions of the thread, newest
/// first.
pub fn detect_loop(state: &Checkpoint, earlier: &[u64]) -> Option<CompactionLoop> {
    let changes = state.files.iter().filter(|(_, file)| file.state.is_change());
    let commands = state.commands.newest().filter(|command| !command.is_look);
    let done = changes.map(|(_, file)| file.seq).chain(commands.map(|command| command.seq)).max();
    let since = earlier.iter().filter(|made| done.is_none_or(|done| **made > done)).count();
    if since + 1 < LOOP_COMPACTIONS {
        return None;
    }
    let first = earlier.get(since.saturating_sub(1)).copied().unwrap_or_default();
    let is_reread =
        |state: FileState, reads: u32, seq: u64| !state.is_change() && reads > 1 && seq > first;
    let mut reread: Vec<(u32, &str)> = state
        .files
        .iter()
        .filter(|(_, file)| is_reread(file.state, file.reads, file.seq))
        .map(|(_, file)| (file.reads, file.path.as_str()))
        .collect();
    reread.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let reread = reread.into_iter().take(REREAD_MAX).map(|(_, path)| path.to_owned()).collect();
    Some(CompactionLoop { compactions: since + 1, reread })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fold::{Fold, Place, Source};

    fn fold(lines: &[serde_json::Value]) -> Fold {
        let mut fold = Fold::new(Source::Codex);
        for (line, item) in (0..).zip(lines) {
            let text =
                json!({"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":item});
            let text = text.to_string();
            let place = Place { line, offset: line * 1_000, bytes: text.len() as u64 };
            fold.line(place, text.as_bytes());
        }
        fold
    }

    fn run(id: &str, command: &str) -> [serde_json::Value; 2] {
        let arguments = json!({ "cmd": command }).to_string();
        [
            json!({"type":"function_call","name":"exec_command","arguments":arguments,"call_id":id}),
            json!({"type":"function_call_output","call_id":id,
                "output":"Exit code: 0\nOutput:\nok\n"}),
        ]
    }

    #[test]
    fn rereading_files_is_a_loop_and_progress_is_not() {
        let mut lines = vec![json!({"type":"message","role":"user",
            "content":[{"type":"input_text","text":"fix it"}]})];
        lines.extend(run("a", "cargo build"));
        for id in ["o1", "o2"] {
            lines.extend(run(id, "cat src/old.rs"));
        }
        for n in 0..6 {
            lines.extend(run(&format!("r{n}"), "cat src/app.rs"));
        }
        lines.extend(run("s", "cat src/once.rs"));
        let earlier = [10, 6];
        let found = detect_loop(fold(&lines).checkpoint(), &earlier);
        let expected = CompactionLoop { compactions: 3, reread: vec!["src/app.rs".to_owned()] };
        assert_eq!(found, Some(expected));
        assert_eq!(
            detect_loop(fold(&lines).checkpoint(), &earlier[..1]),
            None,
            "twice is no circle"
        );
        let during = [10, 1];
        let found = detect_loop(fold(&lines).checkpoint(), &during);
        assert_eq!(found, None, "the command ended after the compaction that covers its call");
        lines.extend(run("b", "cargo test"));
        assert_eq!(detect_loop(fold(&lines).checkpoint(), &earlier), None, "something was done");
    }

    #[test]
    fn a_large_thread_must_grow_by_more() {
        assert_eq!((needed(0), needed(200_000)), (1_000, 10_000));
    }
}
