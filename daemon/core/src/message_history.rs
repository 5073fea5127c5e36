//! Prompt history: the lines of its file, and which lines a full file drops.
//!
//! The format extends that of Codex's `history.jsonl`; one reader handles both. The first line of our own
//! file identifies the log and counts trimmed entries, so that an entry's number never changes. It is
//! rewritten together with the lines it counts.

use serde::{Deserialize, Serialize};

/// Percent of the limit that a trimmed file keeps, so that not every message trims. As in Codex.
pub const SOFT_CAP_PERCENT: u64 = 80;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Id of the log; changes if the file is deleted.
    pub log_id: String,
    /// Number of entries trimmed before the first one in the file.
    pub base: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// When it was sent, Unix milliseconds.
    pub at_ms: i64,
    pub text: String,
    pub thread_id: Option<String>,
    pub cwd: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct HistoryLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// Unix seconds.
    ts: i64,
    text: String,
    /// Unix milliseconds, more precise than `ts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ts_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
}

impl Header {
    /// Renders the line, including the newline.
    pub fn line(&self) -> String {
        // Strings and numbers: serializing them cannot fail.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Parses the first line of a file.
    pub fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

impl Message {
    /// Renders the line, including the newline.
    pub fn line(&self) -> String {
        let wire = HistoryLine {
            session_id: self.thread_id.clone(),
            ts: self.at_ms.div_euclid(1_000),
            text: self.text.clone(),
            ts_ms: Some(self.at_ms),
            cwd: self.cwd.clone(),
        };
        serde_json::to_string(&wire).unwrap_or_default() + "\n"
    }

    /// Parses a line of our or Codex's history; `None` for anything else.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let wire: HistoryLine = serde_json::from_slice(line).ok()?;
        Some(Self {
            at_ms: wire.ts_ms.unwrap_or(wire.ts.saturating_mul(1_000)),
            text: wire.text,
            thread_id: wire.session_id,
            cwd: wire.cwd,
        })
    }
}

/// How many of the oldest lines to drop. `lines` are line lengths in bytes, oldest first, including the
/// newline. Nothing is dropped while they fit `max_bytes`; otherwise the newest lines that fit the soft cap
/// are kept, and always the newest one.
pub fn lines_to_drop(lines: &[u64], max_bytes: u64) -> usize {
    let total: u64 = lines.iter().sum();
    if total <= max_bytes {
        return 0;
    }
    let cap =
        (max_bytes / 100 * SOFT_CAP_PERCENT + max_bytes % 100 * SOFT_CAP_PERCENT / 100).max(1);
    let mut kept = 0;
    let fits = |length: &&u64| {
        kept += **length;
        kept <= cap
    };
    let newest = lines.iter().rev().take_while(fits).count();
    lines.len() - newest.max(1).min(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_programs_are_read() {
        let ours = Message {
            at_ms: 1_778_145_302_123,
            text: "fix\nthe parser".into(),
            thread_id: Some("t1".into()),
            cwd: Some("/w".into()),
        };
        assert_eq!(Message::parse(ours.line().trim_end().as_bytes()), Some(ours));
        let codex = br#"{"session_id":"t2","ts":1778145302,"text":"fix the parser"}"#;
        let read = Message::parse(codex).unwrap();
        assert_eq!((read.at_ms, read.thread_id.as_deref()), (1_778_145_302_000, Some("t2")));
        for other in [&b"{}"[..], b"", b"\xff", br#"{"ts":"x","text":"y"}"#] {
            assert_eq!(Message::parse(other), None);
        }
        let header = Header { log_id: "l".into(), base: 7 };
        assert_eq!(Header::parse(header.line().trim_end().as_bytes()), Some(header.clone()));
        assert_eq!(Message::parse(header.line().trim_end().as_bytes()), None);
        assert_eq!(Header::parse(codex), None);
    }

    #[test]
    fn a_full_file_keeps_the_newest_within_the_soft_cap() {
        assert_eq!(lines_to_drop(&[10; 10], 100), 0, "at the cap nothing is dropped");
        assert_eq!(lines_to_drop(&[10; 11], 100), 3, "80 of 100 bytes stay");
        assert_eq!(
            lines_to_drop(&[10, 10, 500], 100),
            2,
            "the newest stays though it is over the cap"
        );
        assert_eq!(lines_to_drop(&[10; 16], 150), 4, "80 % of any limit: 120 of 150 bytes stay");
        assert_eq!(lines_to_drop(&[10; 6], 50), 2);
        assert_eq!(lines_to_drop(&[500], 100), 0);
        assert_eq!(lines_to_drop(&[1, 1], 1), 1, "a cap of almost nothing keeps one line");
        assert_eq!(lines_to_drop(&[], 0), 0);
    }
}
