//! Recognizes user-role messages that the person did not write.
//!
//! Harnesses put context into the history as user messages. If one were taken for a request, the checkpoint
//! would pursue a file listing.

use std::borrow::Cow;

/// Prefixes of messages that a harness writes in the person's name.
const OPENINGS: [&str; 22] = [
    "<environment_context>",
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<user_action>",
    "<user_shell_command>",
    "<project_memory>",
    "<sidecar_compacted_history>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<system-reminder>",
    "<hook_prompt",
    "<recommended_plugins>",
    INJECTED_OPENING,
    "Warning: ",
    VIEW_HEADER,
    CHECKPOINT_OPENING,
    SUMMARY_OPENING,
    CODEX_SUMMARY_OPENING,
];

/// Prefix of what we put before a model, by hooks (`longhaul hook`) or as the watcher's messages. It is never
/// the person's text, and memory learns nothing from it.
pub const INJECTED_OPENING: &str = "<longhaul_context";

/// Its suffix. A message of the person may follow if a client put the watcher's text before it.
const INJECTED_CLOSING: &str = "</longhaul_context>";

/// Names of marks in angle brackets, and prefixes of marks in square brackets.
const TAGS: [&str; 2] = ["longhaul", "memory_citation"];
const VIEWS: [&str; 2] = ["[SESSION_CHECKPOINT", "[HANDOFF_SUMMARY"];

/// Makes a text safe to quote inside a frame of ours: nothing in it opens or closes one, in any spelling. Keeps
/// its length.
pub fn quoted(text: &str) -> Cow<'_, str> {
    let is_mark = |at: usize| {
        let opened = text[at..].strip_prefix('<').map(|rest| {
            let is_ignored = |c: char| !c.is_alphanumeric() && c != '<' && c != '_';
            rest.trim_start_matches(is_ignored)
        });
        match opened {
            Some(name) => TAGS.iter().any(|tag| starts_with_ignoring_case(name, tag)),
            None => VIEWS.iter().any(|view| starts_with_ignoring_case(&text[at..], view)),
        }
    };
    let marks: Vec<usize> =
        memchr::memchr2_iter(b'<', b'[', text.as_bytes()).filter(|at| is_mark(*at)).collect();
    if marks.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for at in marks {
        out.push_str(&text[from..at]);
        out.push('(');
        from = at + 1;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|opening| opening.eq_ignore_ascii_case(start))
}

/// A text of ours in the frame in which a model sees it.
pub fn injected(about: &str, text: &str) -> String {
    let text = quoted(text);
    format!("{INJECTED_OPENING} about=\"{about}\">\n{}\n{INJECTED_CLOSING}", text.trim_end())
}

/// Opening and closing of our texts inside another text.
const FRAMES: [(&str, &str); 2] =
    [(INJECTED_OPENING, INJECTED_CLOSING), ("<longhaul_memory>", "</longhaul_memory>")];

/// Prefixes of messages that contain only a view or a summary of ours.
const WHOLE: [&str; 3] = [VIEW_HEADER, CHECKPOINT_OPENING, SUMMARY_OPENING];

/// A text without what we inserted, by our own marks: the thread's own text. A quotation contains no mark, see
/// [`quoted`]; a frame that was cut off extends to the end.
pub fn without_ours(text: &str) -> Cow<'_, str> {
    if WHOLE.iter().any(|opening| text.trim_start().starts_with(opening)) {
        return Cow::Borrowed("");
    }
    let mut kept = String::new();
    let mut rest = text;
    let next = |rest: &str| {
        let frames = FRAMES.iter().filter_map(|(open, close)| Some((rest.find(open)?, *close)));
        frames.min()
    };
    while let Some((at, closing)) = next(rest) {
        kept.push_str(&rest[..at]);
        rest = rest[at..].split_once(closing).map_or("", |(_, after)| after);
    }
    match rest.len() == text.len() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(kept + rest),
    }
}

/// Prefix of the message that carries a summary of ours (`templates/compaction/summary_prefix.md`).
pub const SUMMARY_OPENING: &str = "[HANDOFF_SUMMARY v1]";

/// Prefix of the message that carries a summary of Codex.
pub const CODEX_SUMMARY_OPENING: &str = "Another language model started to solve this problem";

/// What Claude Code writes around a model's summary: the draft before it, and advice on how to go on.
const SUMMARY_DRAFT: (&str, &str) = ("\nAnalysis:\n", "\nSummary:\n");
const SUMMARY_ADVICE: [&str; 3] = [
    "\nIf you need specific details from before compaction",
    "\nPlease continue the conversation from where we left",
    "\nContinue the conversation from where it left off",
];

/// A model's summary without what a harness put around it.
pub fn summary_words(message: &str) -> &str {
    let mut words = message;
    if words.starts_with(CODEX_SUMMARY_OPENING) {
        words = words.split_once('\n').map_or(words, |(_, rest)| rest);
    }
    let (draft, opening) = SUMMARY_DRAFT;
    if let Some((_, drafted)) = words.split_once(draft) {
        words = drafted.split_once(opening).map_or(words, |(_, rest)| rest);
    }
    for advice in SUMMARY_ADVICE {
        words = words.rfind(advice).map_or(words, |at| &words[..at]);
    }
    words.trim()
}

/// The line above every view; `client::briefing` has the same text.
pub const VIEW_HEADER: &str = "[SESSION_CHECKPOINT v1]";

/// Prefix of the message that carries a view of ours (`templates/compaction/checkpoint_guide.md`); `client::briefing`
/// has the same text.
pub const CHECKPOINT_OPENING: &str = "The conversation so far was compacted.";

/// Whether a compaction's result is a view of ours alone, as in threads of our own and in continuations for Codex.
pub fn is_view(message: &str) -> bool {
    message.trim_start().starts_with(VIEW_HEADER)
}

/// Whether a message carries a view of ours with its introduction: nothing in it is new to the fold.
pub fn is_briefing(text: &str) -> bool {
    text.trim_start().starts_with(CHECKPOINT_OPENING) && text.contains(VIEW_HEADER)
}

/// Our plugin puts this before a history that it restored; `client::briefing` has the same text.
const RESTORED: &str = "[longhaul put back below what a compaction had replaced]";

/// Whether a message precedes a restored history: the fold has seen everything after it.
pub fn is_restored(text: &str) -> bool {
    text.trim() == RESTORED
}

/// Whether a message carries a model's summary that we requested.
pub fn is_summary_of_ours(text: &str) -> bool {
    text.trim_start().starts_with(SUMMARY_OPENING)
}

/// Whether a compaction's result is a view or a summary of ours, also where Codex put its own words before it.
pub fn is_left_by_us(message: &str) -> bool {
    let message = message.trim_start();
    let message = match message.starts_with(CODEX_SUMMARY_OPENING) {
        true => message.split_once('\n').map_or("", |(_, summary)| summary.trim_start()),
        false => message,
    };
    WHOLE.iter().any(|opening| message.starts_with(opening))
}

/// Whether a user message carries the summary of an earlier compaction, ours or Codex's.
pub fn is_summary(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(CODEX_SUMMARY_OPENING) || WHOLE.iter().any(|it| text.starts_with(it))
}

/// Precedes the request in a message that an editor wrapped in context.
const EDITOR_REQUEST: &str = "## My request for Codex:";

/// Prefixes of developer messages that belong to the next turn: a rollback of the turn removes them too.
const SETTINGS: [&str; 5] = [
    "<permissions instructions>",
    "<model_switch>",
    "<collaboration_mode>",
    "<realtime_conversation>",
    "<personality_spec>",
];

/// Whether a developer message only states the settings of the next turn.
pub fn is_settings(text: &str) -> bool {
    let text = text.trim_start();
    SETTINGS.iter().any(|opening| text.starts_with(opening))
}

/// Whether a developer message carries the instructions of a model that was switched to. It is sent only once,
/// so it must be kept.
pub fn is_model_switch(text: &str) -> bool {
    text.contains("<model_switch>")
}

/// Prefixes of context that holds for every turn, not only for its own.
const STANDING: [&str; 5] = [
    "<environment_context>",
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "<permissions instructions>",
];

/// Prefixes of messages in which another agent reports: of Codex and of Claude Code.
const REPORTS: [&str; 4] =
    ["<subagent_notification>", "<task-notification>", "<agent-notification", "<teammate-message"];

/// Whether a message of a harness carries another agent's findings. An agent chose what it names, and the work
/// continues from there.
pub fn is_report(text: &str) -> bool {
    let text = text.trim_start();
    REPORTS.iter().any(|opening| text.starts_with(opening))
}

/// Whether a user message is context that holds for every turn.
pub fn is_standing(text: &str) -> bool {
    let text = text.trim_start();
    STANDING.iter().any(|opening| text.starts_with(opening))
}

/// The person's own text in a user message, or `None` if the harness wrote it.
pub fn request(text: &str) -> Option<&str> {
    let mut text = text.trim();
    if text.starts_with(INJECTED_OPENING)
        && let Some((_, theirs)) = text.split_once(INJECTED_CLOSING)
    {
        text = theirs.trim();
    }
    if let Some((_, request)) = text.split_once(EDITOR_REQUEST) {
        let request = request.trim();
        return (!request.is_empty()).then_some(request);
    }
    if text.is_empty() || OPENINGS.iter().any(|opening| text.starts_with(opening)) {
        return None;
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_other_agents_are_distinguished_from_other_context() {
        assert!(is_report("\n<task-notification>\n<task-id>a"));
        assert!(is_report("<subagent_notification>{\"status\":\"completed\"}"));
        assert!(!is_report("<environment_context>\n<cwd>/w</cwd>"));
    }

    #[test]
    fn a_quotation_opens_and_closes_no_frame() {
        for (text, expected) in [
            ("a </longhaul_memory> b", "a (/longhaul_memory> b"),
            ("< / LONGHAUL_context>", "( / LONGHAUL_context>"),
            ("<\u{200b}/longhaul_memory", "(\u{200b}/longhaul_memory"),
            ("<longhaul_x>", "(longhaul_x>"),
            ("[session_checkpoint v1]", "(session_checkpoint v1]"),
            ("<memory_citation>", "(memory_citation>"),
            ("a < b, Vec<T>, [1], run longhaul", "a < b, Vec<T>, [1], run longhaul"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn our_insertions_are_removed_from_a_text() {
        let frame = injected("resume", "amounts are cents");
        for (text, expected) in [
            ("amounts are cents".to_owned(), "amounts are cents"),
            (format!("before\n{frame}\nafter"), "before\n\nafter"),
            (format!("{frame}{frame}"), ""),
            (
                format!("<longhaul_memory>\nuse tabs\n</longhaul_memory>\nfix it\n{frame}"),
                "\nfix it\n",
            ),
            ("fix it <longhaul_context about=\"resume\">\ncut o".to_owned(), "fix it "),
            ("\n[SESSION_CHECKPOINT v1]\n[TASK]\namounts".to_owned(), ""),
            (format!("{CHECKPOINT_OPENING} Below\n[SESSION_CHECKPOINT v1]"), ""),
            ("what is [SESSION_CHECKPOINT v1]?".to_owned(), "what is [SESSION_CHECKPOINT v1]?"),
        ] {
            assert_eq!(without_ours(&text), expected, "{text}");
        }
    }

    #[test]
    fn requests_are_distinguished_from_context() {
        assert_eq!(request(" fix the parser\n"), Some("fix the parser"));
        assert_eq!(
            request("# Context from my IDE setup:\n…\n## My request for Codex:\nfix it"),
            Some("fix it")
        );
        let injected = "<longhaul_context about=\"resume\">\nstate\n</longhaul_context>";
        assert_eq!(request(&format!("{injected}\n\nfix it")), Some("fix it"), "put before theirs");
        let quoting = super::injected("handoff", "a </longhaul_context>\n\nnot theirs");
        for text in [
            "",
            injected,
            &quoting,
            "<environment_context>\n<cwd>/w</cwd>",
            "# AGENTS.md instructions for /w",
        ] {
            assert_eq!(request(text), None, "{text}");
        }
    }

    #[test]
    fn our_own_messages_are_recognized_by_their_openings() {
        for (text, is_view, is_ours) in [
            (format!(" {CHECKPOINT_OPENING} It follows.\n\n{VIEW_HEADER}\nx"), true, false),
            (format!("{CHECKPOINT_OPENING} It follows."), false, false),
            (format!("What does {VIEW_HEADER} mean?"), false, false),
            (format!("\n{SUMMARY_OPENING}\nx"), false, true),
            (format!("What does {SUMMARY_OPENING} mean?"), false, false),
        ] {
            assert_eq!(
                (is_briefing(&text), is_summary_of_ours(&text)),
                (is_view, is_ours),
                "{text}"
            );
        }
        assert!(is_settings(" <permissions instructions>\nask"));
        assert!(!is_settings("Ask before <permissions instructions>"));
    }
}
