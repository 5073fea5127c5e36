//! Whether a thread is blocked: its newest turns failed for the same reason, and nothing succeeded since.

use serde::{Deserialize, Serialize};

use crate::step::{At, Step};
use crate::thread::{Blocked, TurnFailure};

/// Consecutive over-long requests after which a thread counts as blocked. A single one is often followed by a
/// compaction.
const FULL_TWICE: u32 = 2;

/// Failures since the agent last acted or answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Failures {
    cause: Option<TurnFailure>,
    failures: u32,
    /// A request came after the newest failure. One failure is often reported twice.
    is_asked: bool,
}

impl Failures {
    /// Records the next step; returns whether the thread made progress.
    pub(super) fn step(&mut self, step: &Step<'_>) -> bool {
        match step {
            Step::Asked { .. } => self.is_asked = true,
            Step::Said(_) | Step::Called(_) | Step::Compacted(_) | Step::RolledBack { .. } => {
                *self = Self::default();
                return true;
            }
            _ => {}
        }
        false
    }

    /// Records a failure; returns what blocks the thread, if anything.
    pub(super) fn failed(&mut self, at: At, cause: TurnFailure) -> Option<Blocked> {
        match self.cause == Some(cause) {
            true if self.is_asked => self.failures += 1,
            true => {}
            false => (self.cause, self.failures) = (Some(cause), 1),
        }
        self.is_asked = false;
        let is_blocked = cause == TurnFailure::Compaction || self.failures >= FULL_TWICE;
        is_blocked.then_some(Blocked { cause, failures: self.failures, at_ms: at.ms })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fold::tests::{codex, message};
    use crate::fold::{Fold, Place, Source};
    use crate::thread::TurnFailure::{self, Compaction, ContextFull};

    fn blocked(source: Source, lines: &[Value]) -> Option<(TurnFailure, u32)> {
        let mut fold = Fold::new(source);
        for (line, value) in (0..).zip(lines) {
            // A request from the same position as an earlier one replaces it.
            let mut value = value.clone();
            value["parentUuid"] = json!(line.to_string());
            let text = value.to_string();
            let place = Place { line, offset: line * 1_000, bytes: text.len() as u64 };
            fold.line(place, text.as_bytes());
            fold = Fold::load(&fold.save().unwrap()).unwrap();
        }
        fold.head().blocked.map(|blocked| (blocked.cause, blocked.failures))
    }

    #[test]
    fn codex_is_blocked_by_the_same_failure_twice_or_a_compaction_that_failed() {
        let asked = || message("user", "go on");
        let error = json!({ "message": "Codex ran out of room in the model's context window. Start a new thread.",
            "codex_error_info": "context_window_exceeded" });
        let full = || codex("event_msg", &json!({ "type": "task_complete", "error": error }));
        let mut reported = error.clone();
        reported["type"] = json!("error");
        let also = || codex("event_msg", &reported);
        let words = "Error running remote compact task: context_length_exceeded";
        let failed = || codex("event_msg", &json!({ "type": "error", "message": words }));
        let other = || codex("event_msg", &json!({ "type": "error", "message": "stream lost" }));
        let compacted = || codex("compacted", &json!({ "message": "the state" }));
        for (what, lines, expected) in [
            ("once", vec![asked(), full()], None),
            ("once, reported twice", vec![asked(), also(), full()], None),
            ("twice", vec![asked(), full(), asked(), full()], Some((ContextFull, 2))),
            ("a compaction", vec![asked(), failed()], Some((Compaction, 1))),
            ("another error", vec![asked(), other(), asked(), other()], None),
            (
                "it made progress",
                vec![asked(), full(), asked(), full(), message("assistant", "Done.")],
                None,
            ),
            ("it compacted", vec![asked(), full(), asked(), full(), compacted()], None),
            ("asked once more", vec![asked(), failed(), asked()], Some((Compaction, 1))),
            ("another cause", vec![asked(), full(), asked(), failed()], Some((Compaction, 1))),
        ] {
            assert_eq!(blocked(Source::Codex, &lines), expected, "{what}");
        }
    }

    #[test]
    fn claude_code_is_blocked_by_prompts_that_are_too_long_and_by_failed_compactions() {
        let line = |kind: &str, content: Value, is_error: bool| {
            json!({ "type": kind, "sessionId": "s", "timestamp": "2026-01-01T00:00:00.000Z",
                "isApiErrorMessage": is_error, "message": { "role": kind,
                "model": if is_error { "<synthetic>" } else { "claude-opus-5" }, "content": content } })
        };
        let asked = || line("user", json!("go on"), false);
        let text = |words: &str| json!([{ "type": "text", "text": words }]);
        let full = || line("assistant", text("Prompt is too long"), true);
        let answered = || line("assistant", text("The error says: Prompt is too long"), false);
        let failed = "<local-command-stderr>Error: Error during compaction: Error: Conversation too long. Press \
                      esc twice</local-command-stderr>";
        let failed = || line("user", json!(failed), false);
        for (what, lines, expected) in [
            ("once", vec![asked(), full()], None),
            ("twice", vec![asked(), full(), asked(), full()], Some((ContextFull, 2))),
            ("then /compact failed", vec![asked(), full(), failed()], Some((Compaction, 1))),
            ("the words in an answer", vec![asked(), answered(), asked(), answered()], None),
            ("it made progress", vec![asked(), full(), asked(), full(), answered()], None),
        ] {
            assert_eq!(blocked(Source::Claude, &lines), expected, "{what}");
        }
    }
}
