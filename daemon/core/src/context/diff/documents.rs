//! Finds the project's instructions and memory in a history: the inverse of [`super::render`].
//!
//! A transcript records the names of the five dimensions (`turn_context`); of these two it has only the text,
//! in the messages that sent them.

use super::render::{AGENTS_MD_GONE, AGENTS_MD_OPENING, MEMORY_GONE};
use crate::item::MessageItem;

/// The documents a history last showed. `None` if never shown or withdrawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownDocuments {
    pub agents_md: Option<String>,
    pub memory: Option<String>,
}

impl ShownDocuments {
    /// Applies the next item of a history; other items change nothing.
    pub fn read(&mut self, item: &str) {
        let Some(MessageItem { role, texts }) = MessageItem::read(item) else { return };
        for text in &texts {
            match role.as_str() {
                "user" if text.trim_start().starts_with(AGENTS_MD_OPENING) => {
                    self.agents_md = words(text, "INSTRUCTIONS", AGENTS_MD_GONE);
                }
                "developer" if text.trim_start().starts_with("<memory>") => {
                    self.memory = words(text, "memory", MEMORY_GONE);
                }
                _ => {}
            }
        }
    }
}

/// Content of the element that [`super::render`] writes; `None` if it announces the end.
fn words(text: &str, tag: &str, gone: &str) -> Option<String> {
    let (_, inside) = text.split_once(&format!("<{tag}>"))?;
    let (inside, _) = inside.rsplit_once(&format!("</{tag}>"))?;
    let inside = inside.strip_prefix('\n').unwrap_or(inside).trim_end();
    (!inside.is_empty() && inside != gone).then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::{OptIn, Settings, diff};
    use super::*;

    fn settings(agents_md: Option<&str>, memory: Option<&str>) -> Settings {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Settings { agents_md: owned(agents_md), memory: owned(memory), ..Settings::default() }
    }

    #[test]
    fn rendered_documents_and_their_end_are_parsed_back() {
        let both = OptIn { agents_md: true, memory: true };
        let first = settings(Some("Run the tests.\n</INSTRUCTIONS> is no end."), Some("Tabs."));
        let (mut shown, mut before) = (ShownDocuments::default(), None);
        for now in
            [first.clone(), settings(Some("Run the linter."), None), settings(None, None), first]
        {
            for item in diff(before.as_ref(), &now, both).items {
                shown.read(&item.to_string());
            }
            let ShownDocuments { agents_md, memory } = shown.clone();
            assert_eq!((agents_md, memory), (now.agents_md.clone(), now.memory.clone()));
            before = Some(now);
        }
    }

    #[test]
    fn mentions_in_messages_are_ignored() {
        let known = ShownDocuments { agents_md: Some("Run.".into()), memory: Some("Tabs.".into()) };
        let mut shown = known.clone();
        for item in [
            r#"{"type":"message","role":"user","content":"why <INSTRUCTIONS>\nx\n</INSTRUCTIONS>?"}"#,
            r#"{"type":"message","role":"user","content":"no document"}"#,
            r#"{"type":"message","role":"developer","content":"a <memory>\nx\n</memory>"}"#,
            r#"{"type":"message","role":"developer","content":"no document"}"#,
            r#"{"type":"message","role":"user","content":"<memory>\nx\n</memory>"}"#,
            r##"{"type":"message","role":"assistant","content":"# AGENTS.md instructions for /w\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>"}"##,
            r#"{"type":"function_call_output","call_id":"c","output":"x"}"#,
            "no item",
        ] {
            shown.read(item);
        }
        assert_eq!(shown, known);
    }
}
