//! `longhaul pin`.

use clap::Args;
use longhaul_client::Client;
use longhaul_protocol::checkpoint::{
    Choice, ChoiceAction, Choices, ChoicesParams, ChoicesResult, Choose, ChooseParams,
    ChooseResult, Unchoose, UnchooseParams, UnchooseResult,
};

use crate::failure::{Failure, USAGE};
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, count, counted, crop, tokens};

/// Keep an item or text in every later view of a thread, word for word
///
/// Every compaction keeps it, with any strategy: by the Claude Code plugin, the Codex gateway, longhaul compact and
/// longhaul continue. Threads that continue from this one keep it, too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul pin \"Never touch the public API\"
  longhaul pin '#747'                        an item, by its handle
  longhaul pin '#747' --thread 0199a213
  longhaul pin --list                        list pinned and dropped texts
  longhaul pin --remove 3fa2b1c4")]
pub(crate) struct PinArgs {
    #[command(flatten)]
    what: ChoiceArgs,
}

/// Arguments of `pin` and `drop`.
#[derive(Debug, Args)]
pub(crate) struct ChoiceArgs {
    /// A handle such as #747, or a text
    #[arg(value_name = "HANDLE|TEXT", required_unless_present_any = ["list", "remove"])]
    subject: Option<String>,
    /// Treat it as text even if it looks like a handle
    #[arg(long)]
    text: bool,
    /// Id of the thread, or a unique prefix [default: the newest of this folder or project]
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// List pinned and dropped texts instead
    #[arg(long, conflicts_with_all = ["subject", "remove"])]
    list: bool,
    /// Remove the pin or drop with this id instead
    #[arg(long, value_name = "ID", conflicts_with = "subject")]
    remove: Option<String>,
}

pub(crate) async fn run(args: PinArgs, session: &Session) -> Result<(), Failure> {
    choose(ChoiceAction::Pin, args.what, session).await
}

pub(crate) async fn choose(
    action: ChoiceAction,
    args: ChoiceArgs,
    session: &Session,
) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = match args.list {
        true => select::thread(&client, args.thread.as_deref(), session).await?,
        false => {
            let example = format!("longhaul {action} … --thread THREAD");
            select::thread_to_change(&client, args.thread.as_deref(), &example).await?
        }
    };
    select::catch_up(&client, &thread, session).await;
    let thread_id = thread.thread_id;
    if args.list {
        return session.print(&list_choices(&client, thread_id).await?);
    }
    if let Some(choice_id) = args.remove {
        let choice_id = choice_id.trim().to_owned();
        let removed = client.call::<Unchoose>(UnchooseParams { thread_id, choice_id }).await?;
        return session.print(&removed);
    }
    let subject = args.subject.unwrap_or_default();
    if subject.trim().is_empty() {
        return Err(Failure::new(USAGE, "the text is empty"));
    }
    let (text, handle) = match is_handle(&subject) && !args.text {
        true => (None, Some(subject)),
        false => (Some(subject), None),
    };
    let params = ChooseParams { thread_id, action, text, handle };
    session.print(&client.call::<Choose>(params).await?)
}

pub(crate) async fn list_choices(
    client: &Client,
    thread_id: String,
) -> Result<ChoicesResult, Failure> {
    Ok(client.call::<Choices>(ChoicesParams { thread_id }).await?)
}

/// Whether the text is a handle as we print them: `#747`, `#7-9`, `0199a213#747.1a2b3c`.
fn is_handle(text: &str) -> bool {
    let Some((thread, position)) = text.trim().rsplit_once('#') else { return false };
    let (lines, digest) = position.split_once('.').unwrap_or((position, ""));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let is_id = thread.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    is_id && is_number(first) && is_number(last) && digest.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The text of a choice on one line, cropped to the terminal.
fn text_line(choice: &Choice, style: &Style) -> String {
    let text = choice.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let width = usize::from(style.width).saturating_sub(4).clamp(20, 400);
    format!("  {}\n", crop(&text, width))
}

/// A note if only a part of the text was kept.
fn cut_note(choice: &Choice) -> String {
    match (choice.whole_bytes, &choice.handle) {
        (Some(bytes), Some(handle)) => {
            let kept = count(choice.text.len() as u64);
            let bytes = count(bytes);
            format!("the first {kept} of {bytes} bytes; the rest: longhaul expand {handle}\n")
        }
        _ => String::new(),
    }
}

impl Page for ChooseResult {
    fn text(&self, style: &Style) -> String {
        let Self { choice, was_there } = self;
        let already = if *was_there { " already" } else { "" };
        let heading = match choice.action {
            ChoiceAction::Pin => {
                format!("pinned{already}: takes {} tokens of every view\n", tokens(choice.tokens))
            }
            ChoiceAction::Drop => format!("dropped{already}: left out of later views\n"),
        };
        let next = format!(
            "preview: longhaul compact --preview {thread}\nundo:    longhaul {} --remove {} --thread {thread}\n",
            choice.action,
            choice.choice_id,
            thread = choice.thread_id,
        );
        [style.bold(&heading), text_line(choice, style), cut_note(choice), style.dim(&next)]
            .concat()
    }
}

impl Page for UnchooseResult {
    fn text(&self, style: &Style) -> String {
        let heading = match self.choice.action {
            ChoiceAction::Pin => "no longer pinned\n",
            ChoiceAction::Drop => "no longer dropped\n",
        };
        style.bold(heading) + &text_line(&self.choice, style)
    }
}

impl Page for ChoicesResult {
    fn text(&self, style: &Style) -> String {
        if self.choices.is_empty() {
            return "nothing is pinned or dropped in this thread\n".to_owned();
        }
        let row = |choice: &Choice| {
            vec![
                choice.choice_id.clone(),
                choice.action.to_string(),
                match choice.action {
                    ChoiceAction::Pin => tokens(choice.tokens),
                    ChoiceAction::Drop => "-".to_owned(),
                },
                style.ago(choice.created_at),
                choice.text.split_whitespace().collect::<Vec<_>>().join(" "),
            ]
        };
        let rows: Vec<_> = self.choices.iter().map(row).collect();
        let table = style.table(&["id", "", ">tokens", "chosen", "text"], rows);
        let sum = format!(
            "{}; pins use {} of {} tokens\n",
            counted(self.choices.len() as u64, "choice"),
            count(self.pinned_tokens),
            count(self.pinned_tokens_max)
        );
        table + &style.dim(&sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_differ_from_text() {
        for handle in ["#747", "0199a213-7#747.1a2b3c", "#7-9", " #7-9.ab "] {
            assert!(is_handle(handle), "{handle}");
        }
        for words in ["747", "fix #747", "#todo", "issue#", "C# 7", "see a.b#1 now", "#7.xyz"] {
            assert!(!is_handle(words), "{words}");
        }
    }
}
