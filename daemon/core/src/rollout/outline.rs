//! Short descriptions of lines, for tests of sources whose lines are assembled.

use super::source::ReadLine;
use super::{Body, Item};

pub(super) fn outline(read: ReadLine, lines: &[u8]) -> Vec<String> {
    let mut entries = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        read(line, true, &mut |entry| entries.push(short(&entry.body)));
    }
    entries
}

fn short(body: &Body<'_>) -> String {
    match body {
        Body::Item(Item::Message { role, text, images }, _) => {
            format!("{role:?} {text} {}", images.count)
        }
        Body::Item(Item::Call(call), _) => format!("call {} {}", call.name, call.call_id),
        Body::Item(Item::Output { call_id, text, images }, _) => {
            format!("{call_id}: {text} {}", images.count)
        }
        Body::Item(Item::Reasoning { .. }, tokens) => format!("reasoning {tokens}"),
        Body::Compacted(compacted) => format!("compacted {}", compacted.message),
        Body::Usage(usage) => format!("usage {:?}", usage.total_tokens),
        Body::Settings(settings) => format!("model {}", settings.model.as_deref().unwrap_or("")),
        Body::Folder { path } => format!("in {path}"),
        Body::Meta(meta) => {
            format!("meta {:?} {:?} {:?} {:?}", meta.id, meta.cwd, meta.kind, meta.parent_thread_id)
        }
        Body::Title { words, .. } => format!("title {words}"),
        other => format!("{other:?}"),
    }
}
