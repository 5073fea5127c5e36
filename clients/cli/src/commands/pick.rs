//! `longhaul pick`.

use std::cmp::Reverse;
use std::io::{self, IsTerminal, stderr, stdin};

use clap::Args;
use dialoguer::MultiSelect;
use dialoguer::console::Term;
use longhaul_client::Client;
use longhaul_protocol::checkpoint::{
    Choice, ChoiceAction, Choose, ChooseParams, Unchoose, UnchooseParams,
};
use longhaul_protocol::compaction::{Preview, PreviewItem, PreviewParams, PreviewResult};
use serde::Serialize;

use super::pin::list_choices;
use crate::failure::{Failure, REFUSED, USAGE};
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, counted, crop};

/// Visible rows of the list.
const ROWS_SHOWN: usize = 20;

/// Choose interactively what to pin and drop in later views of a thread
///
/// Checked rows are in the next view, unchecked rows are not. Uncheck a row to drop its text, check one to pin its
/// item. Enter saves, escape cancels.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul pick                              the newest thread of this folder
  longhaul pick 0199a213 --max-tokens 2000")]
pub(crate) struct PickArgs {
    /// Id of the thread, or a unique prefix
    thread: Option<String>,
    /// Maximum tokens of the result, as in longhaul compact
    #[arg(long, value_name = "N", value_parser = select::one_or_more)]
    max_tokens: Option<u64>,
}

pub(crate) async fn run(args: PickArgs, session: &Session) -> Result<(), Failure> {
    if !stdin().is_terminal() || !stderr().is_terminal() {
        return Err(Failure::new(USAGE, "longhaul pick needs a terminal").with_hint(
            "use longhaul compact --preview --json, longhaul pin and longhaul drop instead",
        ));
    }
    tokio::select! {
        signal = tokio::signal::ctrl_c() => Err(signal.map_or_else(Failure::from, |()| interrupted())),
        done = pick(args, session) => done,
    }
}

/// The list reads Ctrl-C and also raises its signal: whichever is seen first.
fn interrupted() -> Failure {
    // The list has hidden it.
    let shown = Term::stderr().show_cursor();
    shown.map_or_else(Failure::from, |()| Failure::new(REFUSED, "interrupted"))
}

async fn pick(args: PickArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let named = args.thread.as_deref();
    let thread = select::thread_to_change(&client, named, "longhaul pick THREAD").await?;
    select::catch_up(&client, &thread, session).await;
    let thread_id = thread.thread_id;
    let params = PreviewParams {
        thread_id: thread_id.clone(),
        max_tokens: args.max_tokens,
        ..PreviewParams::default()
    };
    let preview = client.call::<Preview>(params).await?;
    let rows = rows(&list_choices(&client, thread_id.clone()).await?.choices, &preview);
    let width = usize::from(session.style.width.min(200)).saturating_sub(6);
    let labels: Vec<(String, bool)> =
        rows.iter().map(|row| (crop(&row.label, width), row.is_in)).collect();
    let asking = tokio::task::spawn_blocking(move || {
        let list = MultiSelect::new()
            .with_prompt("In every later view (space changes, enter saves, escape cancels)")
            .items_checked(labels)
            .max_length(ROWS_SHOWN)
            .report(false);
        list.interact_on_opt(&Term::stderr())
    });
    let answer = asking.await.map_err(|error| Failure::new(USAGE, error.to_string()))?;
    let answer = answer.map_err(|dialoguer::Error::IO(error)| match error.kind() {
        io::ErrorKind::Interrupted => interrupted(),
        _ => Failure::new(USAGE, error.to_string()),
    })?;
    let made = match answer {
        Some(checked) => write(&client, &thread_id, changes(&rows, &checked)).await?,
        None => Vec::new(),
    };
    session.print(&PickPage { thread_id, changes: made })
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    label: String,
    /// Whether it is in the next view.
    is_in: bool,
    change: Change,
}

/// The effect of changing a row's check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
enum Change {
    Pin { handle: String },
    Drop { text: String },
    Remove { choice_id: String },
}

/// Choices first, then the lines of the view, then the items of which it has only a part or nothing, newest first.
fn rows(choices: &[Choice], preview: &PreviewResult) -> Vec<Row> {
    let chosen = choices.iter().map(|choice| {
        let is_in = choice.action == ChoiceAction::Pin;
        let name = if is_in { "pinned" } else { "dropped" };
        let words = choice.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let change = Change::Remove { choice_id: choice.choice_id.clone() };
        Row { label: format!("{name}: {words}"), is_in, change }
    });
    let held = preview.lines.iter().map(|line| Row {
        label: format!("{}: {}", line.part.to_lowercase().replace('_', " "), line.text),
        is_in: true,
        change: Change::Drop { text: line.text.clone() },
    });
    let mut left: Vec<&PreviewItem> = preview.shortened.iter().chain(&preview.dropped).collect();
    left.sort_by_key(|item| Reverse(item.seq));
    let left = left.into_iter().map(|item| Row {
        label: format!("#{} {}: {}", item.seq, item.kind.replace('_', " "), item.excerpt),
        is_in: false,
        change: Change::Pin { handle: item.handle.clone() },
    });
    chosen.chain(held).chain(left).collect()
}

/// Changes of the rows whose check differs from before. `checked` are indexes of rows.
fn changes(rows: &[Row], checked: &[usize]) -> Vec<Change> {
    let is_changed = |(at, row): &(usize, &Row)| checked.contains(at) != row.is_in;
    let mut changes: Vec<Change> =
        rows.iter().enumerate().filter(is_changed).map(|(_, row)| row.change.clone()).collect();
    // Removals first, to make room.
    changes.sort_by_key(|change| !matches!(change, Change::Remove { .. }));
    changes
}

/// Saves the changes in order and returns them; stops at the first that is rejected.
async fn write(
    client: &Client,
    thread_id: &str,
    changes: Vec<Change>,
) -> Result<Vec<Change>, Failure> {
    let choose = |action, text, handle| {
        let thread_id = thread_id.to_owned();
        client.call::<Choose>(ChooseParams { thread_id, action, text, handle })
    };
    for change in &changes {
        match change.clone() {
            Change::Pin { handle } => {
                choose(ChoiceAction::Pin, None, Some(handle)).await?;
            }
            Change::Drop { text } => {
                choose(ChoiceAction::Drop, Some(text), None).await?;
            }
            Change::Remove { choice_id } => {
                let thread_id = thread_id.to_owned();
                client.call::<Unchoose>(UnchooseParams { thread_id, choice_id }).await?;
            }
        }
    }
    Ok(changes)
}

#[derive(Debug, Serialize)]
struct PickPage {
    thread_id: String,
    changes: Vec<Change>,
}

impl Page for PickPage {
    fn text(&self, style: &Style) -> String {
        if self.changes.is_empty() {
            return "nothing changed\n".to_owned();
        }
        let of =
            |wanted: fn(&Change) -> bool| self.changes.iter().filter(|c| wanted(c)).count() as u64;
        let counts = [
            (of(|change| matches!(change, Change::Pin { .. })), "pinned"),
            (of(|change| matches!(change, Change::Drop { .. })), "dropped"),
            (of(|change| matches!(change, Change::Remove { .. })), "removed"),
        ];
        let counts = counts.iter().filter(|(number, _)| *number > 0);
        let words: Vec<String> =
            counts.map(|(number, name)| format!("{} {name}", counted(*number, "text"))).collect();
        let next = format!("preview: longhaul compact --preview {}\n", self.thread_id);
        format!("{}\n{}", style.bold(&words.join(", ")), style.dim(&next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(is_in: bool, change: Change) -> Row {
        Row { label: String::new(), is_in, change }
    }

    #[test]
    fn only_changes_are_saved_removals_first() {
        let drop = |text: &str| Change::Drop { text: text.into() };
        let pin = |handle: &str| Change::Pin { handle: handle.into() };
        let remove = Change::Remove { choice_id: "3fa2b1c4".into() };
        let rows = [
            row(true, drop("a")),
            row(true, drop("b")),
            row(false, pin("#7")),
            row(false, pin("#8")),
            row(false, remove.clone()),
        ];
        assert_eq!(changes(&rows, &[0, 1]), []);
        assert_eq!(changes(&rows, &[1, 3, 4]), [remove, drop("a"), pin("#8")]);
    }
}
