//! Recognizes from a line's first bytes the kinds that we do not need.
//!
//! A third of a rollout's bytes are counters and duplicates. Their kind is within the first hundred bytes,
//! always in the same order of keys, so they are skipped at memory speed. Everything that does not match
//! exactly is parsed. The rest of a skipped line is not checked except for its last byte.

/// The text between a payload and the metadata next to it.
const METADATA_KEY: &str = r#"},"metadata":{"#;

/// Bytes at the end of a line to search for that text.
const METADATA_WINDOW_BYTES: usize = 512;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineHead<'a> {
    pub timestamp: &'a str,
    pub kind: &'a str,
    /// Kind of the payload; empty if the payload does not begin with one.
    pub payload_kind: &'a str,
    /// Offset of the payload's opening brace.
    pub payload_at: usize,
}

/// Parses the canonical beginning of an enveloped line.
pub(super) fn scan(line: &[u8]) -> Option<LineHead<'_>> {
    let rest = line.strip_prefix(br#"{"timestamp":""#)?;
    let (timestamp, mut rest) = word(rest)?;
    if let Some(after) = rest.strip_prefix(br#","ordinal":"#) {
        let digits = after.iter().take_while(|b| b.is_ascii_digit()).count();
        rest = &after[digits..];
    }
    let (kind, rest) = word(rest.strip_prefix(br#","type":""#)?)?;
    let rest = rest.strip_prefix(br#","payload":{"#)?;
    let payload_at = line.len() - rest.len() - 1;
    let payload_kind = match rest.strip_prefix(br#""type":""#) {
        Some(rest) => word(rest)?.0,
        None => "",
    };
    Some(LineHead { timestamp, kind, payload_kind, payload_at })
}

/// The payload of a canonical line, up to the end of the envelope or the `metadata` next to it. The caller must
/// parse it: a torn line or a second object on the line leaves a tail.
pub(super) fn payload<'a>(scanned: &LineHead<'_>, line: &'a str) -> Option<&'a str> {
    let rest = line.get(scanned.payload_at..)?;
    let tail_at = rest.ceil_char_boundary(rest.len().saturating_sub(METADATA_WINDOW_BYTES));
    // Nearly always the only braces are the last two bytes.
    let tail = &rest[tail_at..];
    let is_metadata = |at: &usize| tail[*at..].starts_with(METADATA_KEY);
    match memchr::memrchr_iter(b'}', tail.as_bytes()).find(is_metadata) {
        Some(at) => Some(&rest[..=tail_at + at]),
        None => rest.strip_suffix('}'),
    }
}

/// Whether lines of this kind hold nothing beyond the items next to them.
pub(super) fn is_passed(scanned: &LineHead<'_>, line: &[u8]) -> bool {
    line.ends_with(b"}")
        && match scanned.kind {
            "event_msg" => is_passed_event(scanned.payload_kind),
            "token_usage_record" | "world_state" | "retained_context" => true,
            _ => false,
        }
}

/// Whether events of this kind hold nothing we need, whatever their payload.
pub(super) fn is_passed_event(kind: &str) -> bool {
    matches!(
        kind,
        "agent_message"
            | "agent_reasoning"
            | "agent_reasoning_raw_content"
            | "user_message"
            | "context_compacted"
            | "mcp_tool_call_end"
            | "web_search_end"
            | "view_image_tool_call"
            | "image_generation_end"
            | "thread_settings_applied"
            | "entered_review_mode"
            | "exited_review_mode"
            | "collab_waiting_end"
            | "collab_agent_spawn_end"
            | "collab_agent_interaction_end"
            | "guardian_assessment"
            | "thread_goal_updated"
            | "sub_agent_activity"
    )
}

/// Takes an unescaped string up to its closing quote.
fn word(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = memchr::memchr2(b'"', b'\\', bytes.get(..64).unwrap_or(bytes))?;
    if bytes[end] != b'"' {
        return None;
    }
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_beginnings_are_read() {
        let line = br#"{"timestamp":"T","ordinal":12,"type":"event_msg","payload":{"type":"agent_message","info":null}}"#;
        let scanned = scan(line).unwrap();
        assert_eq!((scanned.kind, scanned.payload_kind), ("event_msg", "agent_message"));
        assert!(is_passed(&scanned, line));
        assert!(!is_passed(&scanned, &line[..40]), "a torn line is left to the parser");
    }

    #[test]
    fn other_beginnings_are_left_to_the_parser() {
        for line in [
            r#"{"type":"message"}"#,
            r#"{"timestamp":"a\"b","type":"x"}"#,
            "",
            "{",
            "{\"timestamp\":\"",
        ] {
            assert_eq!(scan(line.as_bytes()), None, "{line}");
        }
    }
}
