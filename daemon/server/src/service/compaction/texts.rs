//! The texts of one compaction: the caller's, else a person's files, else the prompt of the agent's configuration, else the
//! built-in ones.

use std::collections::BTreeMap;

use longhaul_core::compaction::assemble::marked;
use longhaul_core::digest::Digest128;
use longhaul_core::redact::redact;
use longhaul_core::rollout::contextual::{CHECKPOINT_OPENING, SUMMARY_OPENING};
use longhaul_core::template::{self, Kind, TemplateGroup};

use super::record::{Notice, TextSource, TextUsed};
use crate::service::texts::TextStore;

/// Texts with filled placeholders.
#[derive(Debug, Clone)]
pub(super) struct CompactionTexts {
    texts: BTreeMap<Kind, (String, TextUsed)>,
    /// Files that exist but cannot be used.
    pub(super) problems: Vec<Notice>,
}

impl CompactionTexts {
    /// Selects the texts; `places` are the values of the placeholders. A prompt from the person's agent
    /// configuration ranks below one given to us, and has no placeholders.
    pub(super) fn of(
        store: &TextStore,
        given: &BTreeMap<Kind, String>,
        of_agent: Option<&str>,
        places: &[(&str, &str)],
    ) -> Self {
        let mut filled = Self { texts: BTreeMap::new(), problems: Vec::new() };
        for status in store.statuses(TemplateGroup::Compaction) {
            let kind = status.kind;
            if let Some(problem) = status.problem {
                let message = format!(
                    "cannot use {}, so the next text in line is used: {problem}",
                    status.path.display()
                );
                filled.problems.push(Notice::new("template", message));
            }
            let of_agent = of_agent.filter(|_| kind == Kind::SummaryPrompt);
            let (text, source) = match (given.get(&kind), status.is_of_file, of_agent) {
                (Some(text), ..) => (text.clone(), TextSource::Call),
                (None, true, _) => (store.text(kind), TextSource::File),
                (None, false, Some(text)) => (redact(text).text.into_owned(), TextSource::Agent),
                (None, false, None) => (store.text(kind), TextSource::BuiltIn),
            };
            let digest = Digest128::of(text.as_bytes()).to_string();
            let text = match source {
                TextSource::Agent => text,
                _ => template::fill(text.trim(), places),
            };
            filled.texts.insert(kind, (text, TextUsed { kind, digest, source }));
        }
        filled
    }

    pub(super) fn prompt(&self) -> &str {
        self.text(Kind::SummaryPrompt)
    }

    /// Whether text may be added to the prompt. One from the call or the agent's configuration is sent word for word.
    pub(super) fn is_prompt_extensible(&self) -> bool {
        let source = self.texts.get(&Kind::SummaryPrompt).map(|(_, used)| used.source);
        matches!(source, Some(TextSource::BuiltIn | TextSource::File))
    }

    /// Precedes a summary. Starts with the mark that identifies a summary later.
    pub(super) fn prefix(&self) -> String {
        marked(SUMMARY_OPENING, self.text(Kind::SummaryPrefix))
    }

    /// Precedes a view. Starts with the mark that identifies a view later.
    pub(super) fn guide(&self) -> String {
        marked(CHECKPOINT_OPENING, self.text(Kind::CheckpointGuide))
    }

    pub(super) fn used(&self, kinds: &[Kind]) -> Vec<TextUsed> {
        kinds.iter().filter_map(|kind| Some(self.texts.get(kind)?.1.clone())).collect()
    }

    fn text(&self, kind: Kind) -> &str {
        self.texts.get(&kind).map_or("", |(text, _)| text)
    }
}

#[cfg(test)]
mod tests {
    use longhaul_client::briefing::{self, OPENING, RESTORED};
    use longhaul_core::rollout::contextual::{VIEW_HEADER, is_restored};

    use super::*;

    /// Models and views get the texts.
    #[test]
    fn a_secret_in_the_prompt_of_an_agents_configuration_is_not_passed_on() {
        let temp = tempfile::tempdir().unwrap();
        let store = TextStore::new(temp.path().to_owned());
        let of_agent = Some("Summarize. password=let!me1n");
        let texts = CompactionTexts::of(&store, &BTreeMap::new(), of_agent, &[]);
        assert_eq!(texts.prompt(), "Summarize. password=[REDACTED_SECRET]");
    }

    #[test]
    fn the_daemon_recognizes_the_marks_that_clients_write() {
        assert_eq!(OPENING, CHECKPOINT_OPENING);
        assert_eq!(briefing::VIEW_HEADER, VIEW_HEADER);
        assert!(is_restored(RESTORED));
    }
}
