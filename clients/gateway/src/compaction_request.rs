//! Whether a request asks for a compaction, of which thread, and in which form to answer; and whether it is one in the
//! middle of a turn, before which the policy may want a compaction.

use hyper::header::HeaderMap;
use longhaul_protocol::compaction::{Phase, Trigger};
use serde::Deserialize;

use crate::fingerprint::Fingerprint;
use crate::request::{InputItem, ResponsesRequest};

/// Codex's description of the turn a request belongs to, since 0.130.
const METADATA_HEADER: &str = "x-codex-turn-metadata";
/// Headers with the thread's id, in order of preference; earlier versions send the later ones.
const THREAD_HEADERS: [&str; 4] = ["thread-id", "session-id", "session_id", "conversation_id"];
/// Items that ask a provider for its own compaction, by version.
const TRIGGERS: [&str; 2] = ["compaction_trigger", "context_compaction"];
/// Beginning of Codex's own summary prompt.
const SUMMARY_PROMPT: &str = "You are performing a CONTEXT CHECKPOINT COMPACTION";
const ROOT_AGENT: &str = "/root";
const UUID_LENGTH: usize = 36;

/// Form of the answer that the agent expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// An opaque item: the agent stores it and sends it back unchanged.
    Item,
    /// The text of a summary.
    Text,
}

/// A request for a compaction.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CompactionRequest {
    pub(crate) form: Form,
    pub(crate) thread_id: String,
    pub(crate) trigger: Trigger,
    pub(crate) phase: Phase,
    /// The newest item that the agent has recorded; a view without it would lose the latest work.
    pub(crate) newest: Fingerprint,
}

/// A request in the middle of a turn: tools have ended, and the model goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MidTurnRequest {
    pub(crate) thread_id: String,
    /// As in [`CompactionRequest`].
    pub(crate) newest: Fingerprint,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TurnMetadata {
    request_kind: Option<String>,
    /// `/root`, or a sub-agent.
    agent_name: Option<String>,
    thread_id: Option<String>,
    session_id: Option<String>,
    compaction: CompactionMetadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompactionMetadata {
    trigger: String,
    phase: String,
}

impl CompactionRequest {
    /// `None` for any other request, and for one without a thread id.
    pub(crate) fn of(
        headers: &HeaderMap,
        request: &ResponsesRequest<'_>,
        prompts: &[String],
    ) -> Option<Self> {
        let (last, before) = request.input.split_last()?;
        if !request.stream {
            return None;
        }
        let metadata = metadata(headers);
        let form = form(&InputItem::of(last), metadata.request_kind.as_deref(), prompts)?;
        let named = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
        let thread_id = (metadata.thread_id.or_else(|| named(THREAD_HEADERS[0])))
            .or(metadata.session_id)
            .or_else(|| THREAD_HEADERS[1..].iter().find_map(|name| named(name)))
            .or_else(|| Some(request.prompt_cache_key.as_deref()?.to_owned()))
            .filter(|id| is_uuid(id))?;
        let newest = before.iter().rev().find_map(|raw| Fingerprint::of(raw))?;
        let trigger = match metadata.compaction.trigger.as_str() {
            "manual" => Trigger::Manual,
            _ => Trigger::Auto,
        };
        let phase = match metadata.compaction.phase.as_str() {
            "mid_turn" => Phase::MidTurn,
            "pre_turn" => Phase::PreTurn,
            _ => Phase::Standalone,
        };
        Some(Self { form, thread_id, trigger, phase, newest })
    }
}

impl MidTurnRequest {
    /// `None` for any other request, for that of a sub-agent, and for a version of Codex that does not say what it sends.
    pub(crate) fn of(headers: &HeaderMap, request: &ResponsesRequest<'_>) -> Option<Self> {
        let metadata = metadata(headers);
        let is_turn = request.stream && metadata.request_kind.as_deref() == Some("turn");
        let is_root = metadata.agent_name.is_none_or(|name| name == ROOT_AGENT);
        if !is_turn || !is_root {
            return None;
        }
        let newest = Fingerprint::of(request.input.last()?)?;
        let thread_id = metadata.thread_id.filter(|id| is_uuid(id))?;
        matches!(newest, Fingerprint::Call { is_output: true, .. })
            .then_some(Self { thread_id, newest })
    }
}

fn metadata(headers: &HeaderMap) -> TurnMetadata {
    let header = headers.get(METADATA_HEADER).map(|value| value.as_bytes()).unwrap_or_default();
    serde_json::from_slice(header).unwrap_or_default()
}

/// The form in which the last item asks for a compaction; `None` if it does not.
fn form(last: &InputItem, kind: Option<&str>, prompts: &[String]) -> Option<Form> {
    if TRIGGERS.contains(&last.kind.as_str()) && last.encrypted_content.is_none() {
        return Some(Form::Item);
    }
    let is_message = last.role == "user" && matches!(last.kind.as_str(), "message" | "");
    let is_prompt = || {
        let text = last.text();
        let text = text.trim();
        text.starts_with(SUMMARY_PROMPT) || prompts.iter().any(|prompt| prompt.trim() == text)
    };
    // The agent's own description decides: a person may quote the prompt, a setting may replace it.
    let is_asked = is_message && kind.map_or_else(is_prompt, |kind| kind == "compaction");
    is_asked.then_some(Form::Text)
}

fn is_uuid(id: &str) -> bool {
    id.len() == UUID_LENGTH && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    const THREAD: &str = "01a1fb89-d149-7880-b4c7-a406f611a53c";
    const SESSION: &str = "01a1fb89-d149-7880-b4c7-a406f611a000";

    fn asked(
        headers: &[(&'static str, &str)],
        last: &serde_json::Value,
    ) -> Option<CompactionRequest> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        let input = json!([{ "role": "user", "content": "do it" }, last]);
        let body = json!({ "input": input, "stream": true, "prompt_cache_key": SESSION });
        let body = body.to_string();
        let prompts = ["Sum it up.\n".to_owned()];
        CompactionRequest::of(&map, &ResponsesRequest::read(body.as_bytes()).unwrap(), &prompts)
    }

    fn says(text: &str) -> serde_json::Value {
        let content = [json!({ "type": "input_text", "text": text })];
        json!({ "type": "message", "role": "user", "content": content })
    }

    #[test]
    fn both_forms_are_told_from_every_other_request() {
        let form = |last: &serde_json::Value| asked(&[], last).map(|asked| asked.form);
        assert_eq!(form(&json!({ "type": "compaction_trigger" })), Some(Form::Item));
        assert_eq!(form(&json!({ "type": "context_compaction" })), Some(Form::Item));
        let earlier = json!({ "type": "context_compaction", "encrypted_content": "gAAA" });
        assert_eq!(form(&earlier), None, "it is an earlier compaction");
        assert_eq!(form(&says(&format!("{SUMMARY_PROMPT}. Write it."))), Some(Form::Text));
        assert_eq!(form(&says(" Sum it up. ")), Some(Form::Text), "the prompt of the settings");
        assert_eq!(form(&says("go on")), None);
    }

    #[test]
    fn what_the_agent_says_of_its_request_counts_more_than_its_words() {
        let of = |kind: &str, last| {
            let metadata = json!({ "request_kind": kind, "thread_id": THREAD }).to_string();
            asked(&[(METADATA_HEADER, &metadata)], &last).map(|asked| asked.form)
        };
        assert_eq!(of("turn", says(SUMMARY_PROMPT)), None, "a person quotes the prompt");
        assert_eq!(of("compaction", says("a prompt nobody knows")), Some(Form::Text));
    }

    #[test]
    fn the_thread_is_named_by_the_closest_that_names_one() {
        let trigger = json!({ "type": "compaction_trigger" });
        let thread =
            |headers: &[(&'static str, &str)]| asked(headers, &trigger).map(|it| it.thread_id);
        let metadata = json!({ "thread_id": THREAD, "session_id": SESSION }).to_string();
        let known: [&[(&str, &str)]; 3] = [
            &[("session-id", SESSION), (METADATA_HEADER, &metadata)],
            &[("session-id", SESSION), ("thread-id", THREAD)],
            &[("conversation_id", THREAD)],
        ];
        for headers in known {
            assert_eq!(thread(headers).as_deref(), Some(THREAD), "{headers:?}");
        }
        assert_eq!(thread(&[]).as_deref(), Some(SESSION), "the key of the prompt cache");
        assert_eq!(thread(&[("thread-id", "../../etc/passwd")]), None);
    }

    #[test]
    fn only_a_request_of_the_main_agent_after_tools_is_in_the_middle_of_a_turn() {
        let of = |metadata: serde_json::Value, last: serde_json::Value| {
            let value = HeaderValue::from_str(&metadata.to_string()).unwrap();
            let headers = HeaderMap::from_iter([(METADATA_HEADER.parse().unwrap(), value)]);
            let body = json!({ "input": [last], "stream": true }).to_string();
            MidTurnRequest::of(&headers, &ResponsesRequest::read(body.as_bytes()).unwrap())
        };
        let turn =
            |name: &str| json!({ "request_kind": "turn", "thread_id": THREAD, "agent_name": name });
        let output = || json!({ "type": "function_call_output", "call_id": "c1", "output": "ok" });
        let found = of(turn("/root"), output()).unwrap();
        assert_eq!(found.thread_id, THREAD);
        assert_eq!(found.newest, Fingerprint::Call { id: "c1".into(), is_output: true });
        let call = json!({ "type": "function_call", "call_id": "c1", "name": "x" });
        for (metadata, last) in [
            (turn("/root"), says("go on")),
            (turn("/root"), call),
            (turn("helper"), output()),
            (json!({ "request_kind": "compaction", "thread_id": THREAD }), output()),
            (json!({ "thread_id": THREAD }), output()),
            (json!({ "request_kind": "turn" }), output()),
        ] {
            assert_eq!(of(metadata.clone(), last), None, "{metadata}");
        }
    }

    #[test]
    fn when_and_why_come_from_the_agent() {
        let metadata = json!({
            "request_kind": "compaction",
            "compaction": { "trigger": "auto", "reason": "context_limit", "phase": "mid_turn" },
        });
        let trigger = json!({ "type": "compaction_trigger" });
        let asked = asked(&[(METADATA_HEADER, &metadata.to_string())], &trigger).unwrap();
        assert_eq!((asked.trigger, asked.phase), (Trigger::Auto, Phase::MidTurn));
    }
}
