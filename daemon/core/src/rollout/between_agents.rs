//! Messages from one agent to another.
//!
//! Codex writes them as if the agent had sent them itself, as JSON in the only text of an answer. Claude Code puts
//! those of a team into the user's role, several in one text. What the leader of a team writes begins a turn as a
//! person's request does: a rollback takes it back, and its content is the thread's current request. What other members
//! write is a report.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::text::between;

/// All five fields make the envelope; other JSON is an answer that happens to be JSON.
#[derive(Deserialize)]
#[expect(dead_code, reason = "their being there tells the envelope from other JSON")]
struct Envelope<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
    author: IgnoredAny,
    recipient: IgnoredAny,
    other_recipients: Vec<IgnoredAny>,
    trigger_turn: bool,
}

/// The request of another agent; `None` for an agent's own message.
pub fn request(answer: &str) -> Option<Cow<'_, str>> {
    let is_object = answer.trim_start().starts_with('{');
    // Cheap check first: answers that are JSON can be long.
    if !is_object || !answer.contains(r#""trigger_turn""#) {
        return None;
    }
    serde_json::from_str::<Envelope<'_>>(answer).ok().map(|envelope| envelope.content)
}

/// Opens a message to an agent of a team.
const TEAMMATE: &str = "<teammate-message";

/// The name of a team's leader in messages to its members.
const LEADER: &str = "team-lead";

/// A message to an agent of a team.
#[derive(Debug, PartialEq)]
pub struct TeamMessage<'a> {
    pub from: &'a str,
    pub summary: &'a str,
    pub words: &'a str,
}

/// The messages of a text that begins with one; else none.
pub fn team_messages(text: &str) -> impl Iterator<Item = TeamMessage<'_>> {
    let is_from_team = text.trim_start().starts_with(TEAMMATE);
    let messages = text.split(TEAMMATE).skip(1).filter(move |_| is_from_team);
    messages.filter_map(|message| {
        // The summary may have an arrow.
        let end = message.find("\">")? + 1;
        let (attributes, words) = (&message[..end], &message[end + 1..]);
        let words = words.split("</teammate-message>").next().unwrap_or(words).trim();
        let attribute = |opening| between(attributes, opening, "\"").unwrap_or_default();
        let (from, summary) = (attribute("teammate_id=\""), attribute("summary=\""));
        Some(TeamMessage { from, summary, words })
    })
}

/// A task that a program of the team hands over.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assignment<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    task_id: Cow<'a, str>,
    #[serde(borrow)]
    subject: Cow<'a, str>,
    #[serde(borrow, default)]
    description: Cow<'a, str>,
}

impl TeamMessage<'_> {
    /// Whether a program wrote it for another one, in JSON: that an agent is idle, that it shuts down.
    pub fn is_notice(&self) -> bool {
        self.words.is_empty() || self.words.starts_with('{')
    }

    /// What the leader orders.
    fn order(&self) -> Option<Cow<'_, str>> {
        if self.from != LEADER || self.words.is_empty() {
            return None;
        }
        if !self.is_notice() {
            return Some(Cow::Borrowed(self.words));
        }
        let assigned: Assignment<'_> = serde_json::from_str(self.words).ok()?;
        let Assignment { kind, task_id, subject, description } = assigned;
        (kind == "task_assignment").then(|| {
            let lines = [&*format!("Task {task_id}: {subject}"), description.trim()];
            Cow::Owned(lines.join("\n").trim_end().to_owned())
        })
    }
}

/// What the leader of a team orders one of its members, then what is said after it; `None` without an order. It begins
/// with the leader's name, as no person asks for it. A member could write its leader's tag into its own message, so
/// nothing after a member's message is an order.
pub fn team_order(text: &str) -> Option<String> {
    let (mut orders, mut said) = (Vec::new(), Vec::new());
    let mut is_leaders = true;
    for message in team_messages(text) {
        is_leaders &= message.from == LEADER;
        match message.order() {
            Some(order) if is_leaders => orders.push(order.into_owned()),
            None if message.is_notice() => {}
            _ => said.push(format!("{} says:\n{}", message.from, message.words)),
        }
    }
    let orders = (!orders.is_empty()).then(|| format!("{LEADER}: {}", orders.join("\n\n")))?;
    Some([vec![orders], said].concat().join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(name: &str, words: &str) -> String {
        format!("<teammate-message teammate_id=\"{name}\">\n{words}\n</teammate-message>\n\n")
    }

    #[test]
    fn the_leaders_orders_are_told_from_reports_and_notices() {
        let task = r#"{"type":"task_assignment","taskId":"7","subject":"Quote names","description":"In `name.rs`.","assignedBy":"team-lead"}"#;
        let idle = r#"{"type":"idle_notification","from":"bob"}"#;
        for (text, order) in [
            (from("team-lead", "You own the lexer."), Some("team-lead: You own the lexer.")),
            (
                from("team-lead", "Start.") + &from("team-lead", task),
                Some("team-lead: Start.\n\nTask 7: Quote names\nIn `name.rs`."),
            ),
            (
                from("team-lead", "Go on.")
                    + &from("bob", "It is done.")
                    + &from("team-lead", "Push."),
                Some("team-lead: Go on.\n\nbob says:\nIt is done.\n\nteam-lead says:\nPush."),
            ),
            (from("bob", idle) + &from("team-lead", "Push."), None),
            (from("team-lead", r#"{"type":"shutdown_request"}"#), None),
            (from("bob", "The parser is done."), None),
            (from("bob", task), None),
            (format!("See {}", from("team-lead", "Go on.")), None),
        ] {
            assert_eq!(team_order(&text).as_deref(), order, "{text}");
        }
    }

    #[test]
    fn only_a_complete_envelope_counts() {
        let envelope = r#" {"author":"/lead","recipient":"/lead/a","other_recipients":[],"content":"Fix \"it\"","trigger_turn":true}"#;
        assert_eq!(request(envelope).as_deref(), Some("Fix \"it\""));
        for own in [
            "",
            "done",
            r#"{"trigger_turn":true}"#,
            r#"{"author":"a","recipient":"b","content":"old style"}"#,
            &envelope.replace("[]", "null"),
            &envelope[..envelope.len() - 1],
        ] {
            assert_eq!(request(own), None, "{own}");
        }
    }
}
