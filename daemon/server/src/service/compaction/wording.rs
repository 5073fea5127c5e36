//! The texts of one compaction: the caller's, else a person's files, else what is built in.

use std::collections::BTreeMap;

use longhaul_core::compaction::assemble::marked;
use longhaul_core::digest::Digest128;
use longhaul_core::rollout::contextual::{CHECKPOINT_OPENING, SUMMARY_OPENING};
use longhaul_core::template::{self, Kind, TemplateGroup};
use serde::{Deserialize, Serialize};

use super::{Notice, Request};
use crate::service::ServiceError;
use crate::service::texts::TextStore;

/// Whose text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextSource {
    /// Ours.
    BuiltIn,
    /// A file of the person's.
    File,
    /// The caller's, for this compaction alone.
    Call,
}

/// A text that a compaction was made with: which, and which edition of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextUsed {
    /// Which.
    pub kind: Kind,
    /// Digest of the text before its places were filled.
    pub digest: String,
    /// Whose it is.
    pub source: TextSource,
}

/// The texts, their places filled.
#[derive(Debug, Clone)]
pub(super) struct Wording {
    texts: BTreeMap<Kind, (String, TextUsed)>,
    /// Files that are there and not in force.
    pub(super) problems: Vec<Notice>,
}

impl Wording {
    /// Puts the texts together; `places` are the values for their places.
    pub(super) fn of(
        store: &TextStore,
        given: &BTreeMap<Kind, String>,
        places: &[(&str, &str)],
    ) -> Self {
        let mut wording = Self { texts: BTreeMap::new(), problems: Vec::new() };
        for status in store.look(TemplateGroup::Compaction) {
            let kind = status.kind;
            if let Some(problem) = status.problem {
                let message = format!(
                    "{} is not in force, the text before it is: {problem}",
                    status.path.display()
                );
                wording.problems.push(Notice::new("template", message));
            }
            let (text, source) = match (given.get(&kind), status.is_of_file) {
                (Some(text), _) => (text.clone(), TextSource::Call),
                (None, true) => (store.text(kind), TextSource::File),
                (None, false) => (store.text(kind), TextSource::BuiltIn),
            };
            let digest = Digest128::of(text.as_bytes()).to_string();
            let filled = template::fill(text.trim(), places);
            wording.texts.insert(kind, (filled, TextUsed { kind, digest, source }));
        }
        wording
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

impl Request {
    /// Sees that the caller's own texts can be used.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] names the text and the place that it does not have.
    pub fn check_templates(&self) -> Result<(), ServiceError> {
        for (kind, text) in &self.templates {
            let field = match kind {
                Kind::SummaryPrompt => "templates.summary_prompt",
                Kind::SummaryPrefix => "templates.summary_prefix",
                Kind::CheckpointGuide => "templates.checkpoint_guide",
                _ => "templates",
            };
            template::check(*kind, text)
                .map_err(|error| ServiceError::Invalid { field, reason: error.to_string() })?;
        }
        Ok(())
    }
}
