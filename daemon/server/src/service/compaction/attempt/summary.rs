//! The rungs `summary` and `hybrid`.

use longhaul_core::checkpoint::view::Rendered;
use longhaul_core::choice;
use longhaul_core::compaction::classify::{Class, ClassifiedItem, classify};
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::quoted::QuotedItems;
use longhaul_core::compaction::receipt::{Disposition, UnseenItems};
use longhaul_core::compaction::summary::{
    self, FittedInput, InputSearch, Layout, Split, USER_TOKENS_MAX,
};
use longhaul_core::model::{Answer, Endpoint, FaultKind};
use longhaul_core::rollout::contextual::SUMMARY_OPENING;
use longhaul_core::{text, tokens};

use super::super::input::NumberedItems;
use super::super::record::Notice;
use super::super::replacement::{Replacement, pins_notice, texts_of};
use super::{Attempt, unseen_notice};

/// Maximum names of changed files that a summary is checked against.
const FILES_MAX: usize = 20;

/// Maximum bytes of messages, newest first, that a summary is checked against.
const KNOWN_BYTES: usize = 16 << 10;

/// Bytes of a view's header: the thread and its folder.
const HEADER_BYTES: usize = 400;

/// Maximum tokens of checkpoint quotations in the prompt.
///
/// # Source
/// With them, readers of a hybrid view of 3,000 tokens answered 95 % of an exam; without, 89 %.
const QUOTATIONS_TOKENS: u64 = 6_000;

/// No checklist for a conversation of which a quarter is shorter than this.
const QUOTATIONS_TOKENS_MIN: u64 = 500;

/// Introduces the quotations to a model that is sent the whole conversation.
const CHECKLIST: &str = "\n\nA program kept the quotations below from the conversation above, without understanding them. Use them as a checklist: before you finish, look for each changed file, decision, limit, check and open step among them that still matters and is not in your text, and work it in. Leave out what was answered, revoked or overtaken.\n\n";

/// Introduces the quotations to a model that is not, because the conversation is too long or was compacted before.
const CARRY_OVER: &str = "\n\nA part of the conversation is not above. A program kept these quotations of all of it; carry over what still holds.\n\n";

struct SummaryAnswer<'a> {
    answer: Answer,
    sent: FittedInput<'a>,
    redacted: u64,
}

impl Attempt<'_> {
    /// A summary of the items, given with their lines; followed by the checkpoint's view if the strategy says so.
    pub(in super::super) async fn summary(
        &mut self,
        NumberedItems { seqs, items }: &NumberedItems,
    ) -> Result<Replacement, String> {
        let mut items_read = classify(items);
        // A message that the person dropped is neither sent nor kept.
        items_read.retain(|items_read| !self.is_dropped(items_read, seqs));
        let split = Split::of(items_read);
        if split.is_empty() {
            return Err("nothing_to_summarize".to_owned());
        }
        let known = self.known(&split);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let body = summary::readable(&split.body);
        // The view names an unanswered request, which the model must not see: it follows the summary unchanged.
        let is_answered = split.unanswered.is_empty();
        let prompts = self.prompts(&body, is_answered);
        let SummaryAnswer { answer, sent, redacted } =
            self.ask_for_summary(&body, &known, &prompts).await?;
        if let Err(refusal) = self.refuse(&answer, &known) {
            self.models.forget(&self.answer_key).await;
            return Err(refusal);
        }
        let mut notices = Vec::new();
        let unseen = (!sent.is_whole()).then(|| unseen(&sent, seqs));
        notices.extend(unseen.as_ref().map(|unseen| unseen_notice(unseen, body.len())));
        if summary::is_doubtful(&answer.text, &known) {
            notices.push(Notice::new(
                "doubtful_summary",
                "the summary has hardly a word in common with the conversation; see whether it is of this one",
            ));
        }
        let words = longhaul_core::redact::redact(answer.text.trim());
        let shown = self.input.choices().without_hidden(&words.text);
        if shown.trim().is_empty() {
            return Err("blank_summary".to_owned());
        }
        let view_tokens = self.text_room();
        let rendered = self.text(&longhaul_core::quote::block(&shown), view_tokens);
        let quoted = QuotedItems::of(&rendered);
        let Rendered { text: view, lines, pins_incomplete, .. } = rendered;
        notices.extend(pins_notice(pins_incomplete));
        let layout = Layout {
            split: &split,
            summary: &view,
            initial_context: &self.request.initial_context,
            phase: self.request.phase,
            user_tokens: USER_TOKENS_MAX.min(self.messages_room(tokens::of_text(&view))),
        };
        let replaced = summary::replacement(layout);
        let disposition = |disposition: Disposition| move |at: &usize| (*at, disposition);
        let kept = replaced.kept.iter().map(disposition(Disposition::Kept));
        let dispositions =
            kept.chain(replaced.shortened.iter().map(disposition(Disposition::Shortened)));
        Ok(Replacement {
            strategy: self.strategy,
            history: replaced.items,
            view,
            view_tokens,
            lines,
            quoted,
            dispositions: dispositions
                .filter_map(|(at, disposition)| Some((*seqs.get(at)?, disposition)))
                .collect(),
            redacted: replaced.redacted + redacted + u64::from(words.hits),
            texts: self.texts.used(texts_of(self.strategy)),
            unseen,
            notices,
        })
    }

    fn refuse(&self, answer: &Answer, known: &[&str]) -> Result<(), String> {
        let before = self.input.fold.visible().tokens();
        summary::refuse(&answer.text, self.texts.prompt(), known, before)
            .map_err(|refusal| refusal.into_str().to_owned())
    }

    /// Asks with as much of the newest history as the model takes.
    async fn ask_for_summary<'a>(
        &mut self,
        body: &[ClassifiedItem<'a>],
        known: &[&str],
        prompts: &[String; 2],
    ) -> Result<SummaryAnswer<'a>, String> {
        let around = prompts.iter().map(|prompt| tokens::of_text(prompt)).max().unwrap_or(0);
        let reserved = around.saturating_add(self.choice.max_output_tokens);
        let mut room = (self.choice.context_window / 100 * 95).saturating_sub(reserved);
        let mut search = InputSearch::default();
        let (mut best, mut refused) = (None, u64::MAX);
        loop {
            let sent = FittedInput::of(body, room);
            let size = sent.tokens() + around;
            // The provider would refuse an unreduced request again.
            if size >= refused {
                break;
            }
            let is_all = sent.is_whole() && self.input.fold.checkpoint().compactions == 0;
            let (input, redacted) = summary::input(&sent, &prompts[usize::from(!is_all)]);
            let begun = self.clock.elapsed();
            let next = match self.ask(&input, Endpoint::Answer).await {
                Ok(answer) => {
                    let took = self.clock.elapsed().saturating_sub(begun);
                    if best.is_none() || self.refuse(&answer, known).is_ok() {
                        best = Some(SummaryAnswer { answer, sent, redacted });
                    }
                    search.answered(size).filter(|_| self.left() > 2 * took)
                }
                Err(fault) if fault.kind == FaultKind::ContextOverflow => {
                    refused = size;
                    search.refused(size, &fault.detail)
                }
                Err(_) if best.is_some() => None,
                Err(fault) => return Err(fault.kind.into_str().to_owned()),
            };
            let Some(next) = next else { break };
            room = next.saturating_sub(around);
        }
        best.ok_or_else(|| FaultKind::ContextOverflow.into_str().to_owned())
    }

    /// The prompt, including the person's pins and drops.
    fn prompt(&self) -> String {
        let choices = self.input.choices();
        let mut prompt = self.texts.prompt().to_owned();
        let pinned = choice::pinned(choices.pins(), u64::MAX);
        if !pinned.text.is_empty() {
            prompt.push_str("\n\nThe person pinned the texts below. They are put next to your summary word for word: do not contradict them, and do not repeat them.\n");
            prompt.push_str(&pinned.text);
        }
        let dropped: String =
            choices.drops().map(|drop| format!("> {}\n", text::one_line(&drop.text))).collect();
        if !dropped.is_empty() {
            prompt.push_str("\n\nThe person wants nothing of the following in the summary; leave it out without a word about it.\n");
            prompt.push_str(&dropped);
        }
        prompt
    }

    /// The prompt for a model that is sent the whole conversation, and for one that is not.
    fn prompts(&self, body: &[ClassifiedItem<'_>], is_answered: bool) -> [String; 2] {
        let (prompt, most) =
            (self.prompt(), QUOTATIONS_TOKENS.min(self.choice.context_window / 20));
        let with = |head: &str, tokens| format!("{prompt}{head}{}", self.input.view(tokens).text);
        let quarter = body.iter().map(|item| item.tokens).sum::<u64>() / 4;
        let has_checklist =
            is_answered && self.texts.is_prompt_extensible() && quarter >= QUOTATIONS_TOKENS_MIN;
        let carry_over = with(CARRY_OVER, most);
        [if has_checklist { with(CHECKLIST, most.min(quarter)) } else { prompt }, carry_over]
    }

    fn is_dropped(&self, items_read: &ClassifiedItem<'_>, seqs: &[u64]) -> bool {
        let is_message = matches!(items_read.class, Class::Request | Class::Assistant);
        let seq = seqs.get(items_read.at).copied();
        // Checked by line only: a dropped phrase is not a reason to remove the whole message.
        is_message && seq.is_some() && self.input.choices().hides("", seq)
    }

    /// Prefix, summary and view in one text within the caller's limit. The view omits what the summary says.
    fn text(&self, summary: &str, max_tokens: u64) -> Rendered {
        let room = tokens::bytes_of(max_tokens);
        let (mut head, guide) = (self.texts.prefix() + "\n\n", self.texts.guide());
        if head.len() > room / 2 {
            head = format!("{SUMMARY_OPENING}\n");
        }
        if self.strategy == Strategy::Summary || room < 2 * (head.len() + guide.len()) {
            return self.text_alone(&head, summary, room);
        }
        let guide = format!("\n\n{guide}\n\n");
        // Pins are guaranteed room in the view, up to three quarters of it.
        let pinned = choice::cost(&choice::pinned(self.input.choices().pins(), u64::MAX).text);
        let beside = tokens::bytes_of(pinned) / 3 * 4 + guide.len() + HEADER_BYTES;
        let words_room = (room / 5 * 4).min(room.saturating_sub(beside)).saturating_sub(head.len());
        let words = text::cut_middle(summary, words_room);
        let left = room - head.len() - words.len() - guide.len();
        let view = self.input.view_below(&words, (left / 4) as u64);
        Rendered { text: format!("{head}{words}{guide}{}", view.text), ..view }
    }

    /// A summary without a view, followed by the pins.
    fn text_alone(&self, head: &str, summary: &str, room: usize) -> Rendered {
        let pins_room = room.saturating_sub(head.len()) / 4 * 3;
        let pinned = choice::pinned(self.input.choices().pins(), (pins_room / 4) as u64);
        let below = match pinned.text.is_empty() {
            true => String::new(),
            false => format!("\n\n{}", pinned.text),
        };
        let words = text::cut_middle(summary, room.saturating_sub(head.len() + below.len()));
        let text = text::prefix(&format!("{head}{words}{below}"), room).to_owned();
        Rendered {
            text,
            pins_incomplete: pinned.incomplete,
            pins: pinned.shown,
            ..Rendered::default()
        }
    }

    /// Texts that a summary of the conversation should mention: changed files and the newest messages.
    fn known(&self, split: &Split<'_>) -> Vec<String> {
        let state = self.input.fold.checkpoint();
        let files = state.files.iter().map(|(path, _)| path.rsplit('/').next().unwrap_or(path));
        let files = files.take(FILES_MAX).map(str::to_owned);
        let mut room = KNOWN_BYTES;
        let messages = split.body.iter().chain(&split.unanswered).rev();
        let messages = messages.filter(|items_read| {
            matches!(items_read.class, Class::Request | Class::Assistant | Class::Summary)
        });
        let messages = messages.map_while(|items_read| {
            let words = text::prefix(&items_read.text, room);
            room -= words.len();
            (!words.is_empty()).then(|| words.to_owned())
        });
        files.chain(messages).collect()
    }
}

/// The part of the history that is not in `sent`.
fn unseen(sent: &FittedInput<'_>, seqs: &[u64]) -> UnseenItems {
    let partly: Vec<usize> = match sent.left_out.is_empty() {
        true => sent.cut.clone(),
        false => sent.left_out.clone(),
    };
    let seq = |at: Option<&usize>| at.and_then(|at| seqs.get(*at)).copied().unwrap_or(0);
    UnseenItems {
        left_out: sent.left_out.len() as u64,
        tokens: sent.left_out_tokens,
        cut: sent.cut.len() as u64,
        first: seq(partly.first()),
        last: seq(partly.last()),
    }
}
