//! Compares our history with the input of a request.

use std::fmt;

use serde_json::Value;

/// Fields that only a transcript or only a request has.
const UNSENT: [&str; 4] =
    ["id", "status", "metadata", "internal_chat_message_metadata_passthrough"];

pub(super) struct Row {
    pub(super) step: &'static str,
    pub(super) agrees: bool,
    told: String,
}

impl Row {
    pub(super) fn told(step: &'static str, agrees: bool, told: String) -> Self {
        Self { step, agrees, told }
    }

    pub(super) fn failed(step: &'static str, told: String) -> Self {
        Self { step, agrees: false, told }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.agrees { "agrees" } else { "DIFFERS" };
        write!(f, "{:26} {verdict}: {}", self.step, self.told)
    }
}

/// All of `history` must stand in `input` as one run. What stands before it is what the harness puts in
/// front without writing it down; what stands after it is the new turn. In front stand, of new versions,
/// the instructions as an item of their own; of old ones (0.80.0), after a compaction that wrote down no
/// replacement history, the AGENTS.md and environment of today, made anew at the resume. The oldest versions
/// (0.50.0) put the requests and the summary of a compaction into one message, with words of their own around
/// them ([`bridged`]): all of it is there, but it is not ours to write their words into a history.
pub(super) fn compare(step: &'static str, history: &[Value], input: &[Value]) -> Row {
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
    let mut told = format!("{same} of {} items, {} sent", ours.len(), theirs.len());
    if lead > 0 {
        let before: Vec<String> = theirs.iter().take(lead).map(opening).collect();
        told.push_str(&format!("; before them {}", before.join(", ")));
    }
    if !agrees {
        let side = |items: &[Value], at: usize| items.get(at).map_or_else(String::new, shown);
        let (ours, theirs) = (side(&ours, same), side(&theirs, lead + same));
        told.push_str(&format!("\n        ours {ours}\n        sent {theirs}"));
    }
    Row { step, agrees, told }
}

/// Our history with that message in place of the consecutive ones it contains, if any.
fn bridged(mut ours: Vec<Value>, theirs: &[Value]) -> Vec<Value> {
    let from = ours.iter().take_while(|item| !begins_turn(item)).count();
    let Some(bridge) = theirs.iter().find(|item| begins_turn(item)) else { return ours };
    let mut rest = text(bridge);
    if ours.get(from).is_none_or(|first| text(first) == rest) {
        return ours;
    }
    let held = ours[from..].iter().take_while(|item| {
        let words = if item["role"] == "user" { text(item).trim() } else { "" };
        let after = rest.split_once(words).filter(|_| !words.is_empty());
        after.is_some_and(|(_, after)| {
            rest = after;
            true
        })
    });
    let held = held.count();
    if held > 0 {
        ours.splice(from..from + held, [bridge.clone()]);
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
