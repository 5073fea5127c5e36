//! The rung `remote`: the provider's own compaction, with our view next to it, since only the provider can read it.

use std::collections::BTreeMap;

use longhaul_core::checkpoint::view::Rendered;
use longhaul_core::compaction::classify::{
    Class, ClassifiedItem, brings_model_switch, classify, model_switch_alone,
};
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::quoted::QuotedItems;
use longhaul_core::compaction::receipt::{Disposition, UnseenItems};
use longhaul_core::compaction::remote::{self, TrimmedHistory};
use longhaul_core::compaction::{Phase, assemble};
use longhaul_core::model::Endpoint;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::input::NumberedItems;
use super::super::record::Notice;
use super::super::replacement::{Replacement, pins_notice, texts_of};
use super::{Attempt, unseen_notice};
use crate::model::Remote;

impl Attempt<'_> {
    pub(in super::super) async fn remote(
        &mut self,
        NumberedItems { seqs, items }: &NumberedItems,
        form: Remote,
    ) -> Result<Replacement, String> {
        let items_read = classify(items);
        let sent = remote::trimmed(&items_read, self.choice.context_window / 100 * 95);
        let view_tokens = self.text_room();
        let room = remote::MESSAGES_TOKENS_MAX.min(self.messages_room(view_tokens));
        let endpoint = match form {
            Remote::No => return Err("not_configured".to_owned()),
            Remote::Streamed => Endpoint::StreamedCompact,
            Remote::Unary => Endpoint::Compact,
        };
        let answer = self.ask(&sent.items, endpoint).await;
        let answer = answer.map_err(|fault| fault.kind.into_str().to_owned())?;
        let accepted = match form {
            Remote::Streamed => remote::accepted(&answer.items, Some(&sent.items), room),
            _ => remote::accepted(&answer.items, None, room),
        };
        let accepted = match accepted {
            Ok(accepted) => accepted,
            Err(fault) => {
                self.models.forget(&self.answer_key).await;
                return Err(format!("{}: {}", fault.kind.into_str(), fault.detail));
            }
        };
        let dispositions = dispositions(&accepted, &items_read, &sent, seqs);
        let rendered = self.input.view(view_tokens);
        let mut notices: Vec<Notice> = pins_notice(rendered.pins_incomplete).into_iter().collect();
        if self.input.choices().drops().next().is_some() {
            let message = "dropped texts are in no view of ours; what the provider made of the history is not \
                           readable, and may hold them";
            notices.push(Notice::new("drops_unchecked", message));
        }
        let quoted = QuotedItems::of(&rendered);
        let Rendered { text: view, lines, .. } = rendered;
        let beside = format!("{}\n\n{view}", self.texts.guide());
        let view_item = assemble::message("user", &beside);
        let context = self.context(&items_read);
        let mut history = remote::installed(accepted, view_item, context, self.request.phase);
        let ghosts = items_read.iter().filter(|items_read| items_read.class == Class::Ghost);
        let ghosts = ghosts
            .filter_map(|items_read| serde_json::from_str::<Value>(items_read.raw.get()).ok());
        let before_last = history.len().saturating_sub(1);
        history.splice(before_last..before_last, ghosts);
        let unseen = unseen(&sent, &items_read, seqs);
        notices.extend(unseen.iter().map(|unseen| unseen_notice(unseen, items_read.len())));
        Ok(Replacement {
            strategy: Strategy::Remote,
            history,
            view,
            view_tokens,
            lines,
            quoted,
            dispositions,
            redacted: sent.redacted,
            texts: self.texts.used(texts_of(Strategy::Remote)),
            notices,
            unseen,
        })
    }

    /// Items the harness sends only once, and, in the middle of a turn, its context.
    fn context(&self, items_read: &[ClassifiedItem<'_>]) -> Vec<Value> {
        let (phase, context) = (self.request.phase, &self.request.initial_context);
        let switch =
            items_read.iter().rev().find(|items_read| items_read.class == Class::ModelSwitch);
        let switch = switch.filter(|_| !brings_model_switch(phase, context));
        let switch = switch.and_then(|items_read| model_switch_alone(items_read.raw));
        let fresh = match phase {
            Phase::MidTurn => context.as_slice(),
            _ => &[],
        };
        switch.into_iter().chain(fresh.iter().cloned()).collect()
    }
}

/// Dispositions: which items are in the history returned by the provider, or were sent. Compared by their text,
/// newest first.
fn dispositions(
    accepted: &[Value],
    items_read: &[ClassifiedItem<'_>],
    sent: &TrimmedHistory,
    seqs: &[u64],
) -> BTreeMap<u64, Disposition> {
    let mut dispositions = BTreeMap::new();
    let mut left: Vec<(usize, Value)> =
        sent.items.iter().enumerate().filter_map(|(at, item)| Some((at, content(item)?))).collect();
    for item in accepted.iter().rev() {
        let found = left.iter().rposition(|(_, content)| item.get("content") == Some(content));
        let Some(found) = found else { continue };
        let (at, _) = left.remove(found);
        let is_whole = items_read
            .get(at)
            .is_some_and(|items_read| items_read.raw.get() == sent.items[at].get());
        let disposition = if is_whole { Disposition::Kept } else { Disposition::Shortened };
        dispositions.extend(seqs.get(at).map(|seq| (*seq, disposition)));
    }
    dispositions
}

/// The content of a message; `None` for any other item.
fn content(item: &RawValue) -> Option<Value> {
    let mut item: Value = serde_json::from_str(item.get()).ok()?;
    Some(item.get_mut("content")?.take())
}

/// The outputs that were replaced by a note.
fn unseen(
    sent: &TrimmedHistory,
    items_read: &[ClassifiedItem<'_>],
    seqs: &[u64],
) -> Option<UnseenItems> {
    let seq = |at: Option<&usize>| at.and_then(|at| seqs.get(*at)).copied();
    let tokens = sent
        .left_out
        .iter()
        .filter_map(|at| items_read.get(*at))
        .map(|items_read| items_read.tokens)
        .sum();
    Some(UnseenItems {
        left_out: sent.left_out.len() as u64,
        tokens,
        cut: 0,
        first: seq(sent.left_out.first())?,
        last: seq(sent.left_out.last())?,
    })
}
