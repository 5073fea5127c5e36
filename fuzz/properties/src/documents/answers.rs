//! Answers of a model.

use longhaul_core::fold::Place;
use longhaul_core::memory::agent::AgentAnswer;
use longhaul_core::memory::extract::ThreadRef;
use longhaul_core::memory::input::Collector;
use longhaul_core::memory::own::Own;
use longhaul_core::model::WireApi;
use longhaul_core::model::answer::AnswerReader;
use longhaul_core::thread::Source;

/// What the thread says that the model was asked about.
const LINES: [&str; 3] = [
    r#"{"type":"session_meta","payload":{"id":"t","cwd":"/w","originator":"codex_cli_rs","source":"cli"}}"#,
    r#"{"type":"event_msg","payload":{"type":"user_message","message":"Always use tabs. Add a retry."}}"#,
    r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Always use tabs. Add a retry."}]}}"#,
];

/// What a model learned of a thread.
pub(super) fn memory(document: &str) {
    let thread = ThreadRef { thread_id: "t".to_owned(), source: Source::Codex, project: None };
    let mut collector = Collector::new(thread, Own::default(), 2_000);
    for (line, text) in (0..).zip(LINES) {
        let bytes = text.len() as u64;
        collector.line(Place { line, offset: line * 1_000, bytes }, text.as_bytes());
    }
    let question = collector.finish().expect("a person asks for something");
    if let Ok(reading) = question.read(document) {
        assert_eq!(question.read(document).unwrap().memory, reading.memory);
    }
}

pub(super) fn agent_step(document: &str) {
    assert!(AgentAnswer::read(document).err().is_none_or(|reason| !reason.is_empty()));
}

/// A stream of a provider, whole and byte by byte.
pub(super) fn stream(document: &str) {
    for wire in [WireApi::Responses, WireApi::Chat, WireApi::Messages] {
        let mut whole = AnswerReader::new(wire);
        whole.push(document.as_bytes());
        let mut parts = AnswerReader::new(wire);
        for byte in document.as_bytes() {
            if parts.push(&[*byte]) {
                break;
            }
        }
        assert_eq!(whole.words(), parts.words());
        let (whole, parts) = (whole.finish(), parts.finish());
        assert_eq!(format!("{whole:?}"), format!("{parts:?}"), "an answer depends on its chunks");
        drop(AnswerReader::whole(wire, document.as_bytes()));
    }
}
