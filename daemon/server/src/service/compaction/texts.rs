//! The texts of one compaction: the caller's, else a person's files, else what is built in.

use std::collections::BTreeMap;

use longhaul_core::compaction::assemble::marked;
use longhaul_core::digest::Digest128;
use longhaul_core::rollout::contextual::{CHECKPOINT_OPENING, SUMMARY_OPENING};
use longhaul_core::template::{self, Kind, TemplateGroup};

use super::record::{Notice, TextSource, TextUsed};
use crate::service::texts::TextStore;

/// The texts, their places filled.
#[derive(Debug, Clone)]
pub(super) struct CompactionTexts {
    texts: BTreeMap<Kind, (String, TextUsed)>,
    /// Files that are there and not in force.
    pub(super) problems: Vec<Notice>,
}

impl CompactionTexts {
    /// Puts the texts together; `places` are the values for their places. The prompt that a person gave their agent
    /// stands below one that they gave us, and has no places.
    pub(super) fn of(
        store: &TextStore,
        (given, of_agent): (&BTreeMap<Kind, String>, Option<&str>),
        places: &[(&str, &str)],
    ) -> Self {
        let mut filled = Self { texts: BTreeMap::new(), problems: Vec::new() };
        for status in store.look(TemplateGroup::Compaction) {
            let kind = status.kind;
            if let Some(problem) = status.problem {
                let message = format!(
                    "{} is not in force, the text before it is: {problem}",
                    status.path.display()
                );
                filled.problems.push(Notice::new("template", message));
            }
            let of_agent = of_agent.filter(|_| kind == Kind::SummaryPrompt);
            let (text, source) = match (given.get(&kind), status.is_of_file, of_agent) {
                (Some(text), ..) => (text.clone(), TextSource::Call),
                (None, true, _) => (store.text(kind), TextSource::File),
                (None, false, Some(text)) => (text.to_owned(), TextSource::Agent),
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

    /// What a model is asked for a summary.
    pub(super) fn prompt(&self) -> &str {
        self.text(Kind::SummaryPrompt)
    }

    /// Stands above a summary. It opens with the mark by which a summary is known again.
    pub(super) fn prefix(&self) -> String {
        marked(SUMMARY_OPENING, self.text(Kind::SummaryPrefix))
    }

    /// Stands above a view. It opens with the mark by which a view is known again.
    pub(super) fn guide(&self) -> String {
        marked(CHECKPOINT_OPENING, self.text(Kind::CheckpointGuide))
    }

    /// Which editions of `kinds` are in force.
    pub(super) fn used(&self, kinds: &[Kind]) -> Vec<TextUsed> {
        kinds.iter().filter_map(|kind| Some(self.texts.get(kind)?.1.clone())).collect()
    }

    fn text(&self, kind: Kind) -> &str {
        self.texts.get(&kind).map_or("", |(text, _)| text)
    }
}
