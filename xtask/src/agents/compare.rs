//! Compares our history with the input of a request.

use std::fmt;

use serde_json::Value;

/// Fields that only a transcript or only a request has.
const UNSENT: [&str; 4] =
    ["id", "status", "metadata", "internal_chat_message_metadata_passthrough"];

pub(super) struct Row {
    pub(super) step: String,
    pub(super) agrees: bool,
    detail: String,
}

impl Row {
    pub(super) fn new(step: &str, agrees: bool, detail: String) -> Self {
        Self { step: step.to_owned(), agrees, detail }
    }

    pub(super) fn failed(step: &str, detail: String) -> Self {
        Self::new(step, false, detail)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.agrees { "agrees" } else { "DIFFERS" };
        write!(f, "{:34} {verdict}: {}", self.step, self.detail)
    }
}

/// `input` must contain all of `history` as one run. After it comes the new turn; before it, what the harness sends
/// without recording it: in new versions the instructions; in 0.80.0, after a compaction that recorded no
/// replacement history, the current AGENTS.md and environment. Version 0.50.0 joins the requests and the summary
/// of a compaction into one message with text around them ([`bridged`]), which is not part of our history.
pub(super) fn compare(step: &str, history: &[Value], input: &[Value]) -> Row {
    let theirs: Vec<Value> = input.iter().filter(|item| !is_tools(item)).map(sent).collect();
    let ours = bridged(history.iter().map(sent).collect(), &theirs);
    let equal = |lead: usize| {
        let pairs = ours.iter().zip(theirs.iter().skip(lead));
        pairs.take_while(|(ours, theirs)| ours == theirs).count()
    };
    let is_context = |item: &&Value| !begins_turn(item);
    let lead_max = theirs.iter().take_while(is_context).count();
    let lead = (0..=lead_max).max_by_key(|lead| (equal(*lead), lead_max - lead)).unwrap_or(0);
    let same = equal(lead);
    let agrees = same == ours.len() && !ours.is_empty();
    let mut detail = format!("{same} of {} items, {} sent", ours.len(), theirs.len());
    if lead > 0 {
        let before: Vec<String> = theirs.iter().take(lead).map(opening).collect();
        detail.push_str(&format!("; before them {}", before.join(", ")));
    }
    if !agrees {
        let side = |items: &[Value], at: usize| items.get(at).map_or_else(String::new, shown);
        let (ours, theirs) = (side(&ours, same), side(&theirs, lead + same));
        detail.push_str(&format!("\n        ours {ours}\n        sent {theirs}"));
    }
    Row::new(step, agrees, detail)
}

/// Replaces the consecutive messages of our history that one message of theirs joins, by that message.
fn bridged(mut ours: Vec<Value>, theirs: &[Value]) -> Vec<Value> {
    let from = ours.iter().take_while(|item| !begins_turn(item)).count();
    let Some(bridge) = theirs.iter().find(|item| begins_turn(item)) else { return ours };
    let mut rest = text(bridge);
    if ours.get(from).is_none_or(|first| text(first) == rest) {
        return ours;
    }
    let joined = ours[from..].iter().take_while(|item| {
        let words = if item["role"] == "user" { text(item).trim() } else { "" };
        let after = rest.split_once(words).filter(|_| !words.is_empty());
        after.is_some_and(|(_, after)| {
            rest = after;
            true
        })
    });
    let joined = joined.count();
    if joined > 0 {
        ours.splice(from..from + joined, [bridge.clone()]);
    }
    ours
}

/// Some versions send tools among the items.
fn is_tools(item: &&Value) -> bool {
    item["type"] == "additional_tools"
}

fn begins_turn(item: &Value) -> bool {
    item["role"] == "user" && !text(item).starts_with(['<', '#'])
}

fn sent(item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.retain(|name, value| !value.is_null() && !UNSENT.contains(&name.as_str()));
    }
    item
}

fn text(item: &Value) -> &str {
    item.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default()
}

fn opening(item: &Value) -> String {
    let words: String = text(item).chars().take(24).collect();
    let who = item["role"].as_str().or(item["type"].as_str()).unwrap_or("item");
    format!("{who} {words:?}")
}

fn shown(item: &Value) -> String {
    item.to_string().chars().take(240).collect()
}
