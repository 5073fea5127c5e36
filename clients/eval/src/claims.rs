//! Checks the statements of a view against the transcript, which this module reads independently: none may be false.
//!
//! It checks how a command ended (`… → exit 1`, `… (exit 1)`), what happened to a file (`a.rs (edited, …`), which
//! request is the last one (`[TASK]`), and that no test was seen (`not seen: tests`). A command is identified by its first words,
//! since a view may cut it; a statement about something that the transcript does not show is skipped.

use std::collections::HashMap;

use regex::Regex;

use crate::entity::flatten;
use crate::fact::Fact;
use crate::transcript::{StepKind, Transcript};

/// A view's statements, and whether the transcript contradicts them.
#[derive(Debug, Default)]
pub struct ClaimCounts {
    pub statements: u64,
    /// False statements, each with what the transcript says.
    pub contradicted: Vec<String>,
}

/// Shorter prefixes of a command are ambiguous.
const COMMAND_CHARS_MIN: usize = 16;

#[derive(Debug)]
pub struct ClaimReader {
    ended: Regex,
    file: Regex,
}

impl ClaimReader {
    pub fn new() -> Result<Self, regex::Error> {
        Ok(Self {
            ended: Regex::new(r"^(?:#\d+ )?(.+?)(?: → exit | \(exit )(\d+)\b")?,
            file: Regex::new(r"^(\S+) \((created|edited|deleted)\b")?,
        })
    }

    /// Compares the statements of `view` with how the commands ended and with the facts of the same cut.
    pub fn check(&self, view: &str, codes: &ExitCodes, facts: &[Fact]) -> ClaimCounts {
        let mut counts = ClaimCounts::default();
        let mut lines = view.lines();
        while let Some(line) = lines.next() {
            if line == "[TASK]" {
                let task = lines.next().unwrap_or_default();
                counts.note(request(task, facts));
            } else if let Some(found) = self.ended.captures(line) {
                counts.note(ended(&found[1], &found[2], codes));
            } else if let Some(found) = self.file.captures(line) {
                counts.note(file(&found[1], &found[2], facts));
            } else if line.contains("not seen: tests") {
                let ran = facts.iter().any(|fact| matches!(fact, Fact::Test(..)));
                counts.note(Some(if ran { Err(line.to_owned()) } else { Ok(()) }));
            }
        }
        counts
    }
}

impl ClaimCounts {
    /// Counts a result; `None` means that the transcript does not show the subject.
    fn note(&mut self, result: Option<Result<(), String>>) {
        self.statements += u64::from(result.is_some());
        if let Some(Err(contradicted)) = result {
            self.contradicted.push(contradicted);
        }
    }
}

/// Commands and the exit codes each ended with.
pub type ExitCodes = Vec<(String, Vec<i64>)>;

/// The commands before the step `first_hidden`.
pub fn exit_codes(transcript: &Transcript, first_hidden: usize) -> ExitCodes {
    let mut ids: HashMap<&str, String> = HashMap::new();
    let mut codes: HashMap<String, Vec<i64>> = HashMap::new();
    for step in &transcript.steps[..first_hidden] {
        match &step.kind {
            StepKind::Call(call) => {
                if let Some(command) = &call.command {
                    ids.insert(&call.call_id, flatten(command));
                }
            }
            StepKind::Output(output) => {
                let command = ids.get(output.call_id.as_str());
                if let (Some(command), Some(code)) = (command, output.exit_code) {
                    codes.entry(command.clone()).or_default().push(code);
                }
            }
            _ => {}
        }
    }
    codes.into_iter().collect()
}

fn ended(claim: &str, code: &str, codes: &ExitCodes) -> Option<Result<(), String>> {
    let command = flatten(claim.split(['…', '<']).next().unwrap_or(claim));
    if command.chars().count() < COMMAND_CHARS_MIN {
        return None;
    }
    let code: i64 = code.parse().ok()?;
    let of_it = codes.iter().filter(|(known, _)| known.contains(&command));
    let known: Vec<i64> = of_it.flat_map(|(_, codes)| codes).copied().collect();
    match known.is_empty() {
        true => None,
        false if known.contains(&code) => Some(Ok(())),
        false => Some(Err(format!("{command}: said exit {code}, was {known:?}"))),
    }
}

fn file(path: &str, state: &str, facts: &[Fact]) -> Option<Result<(), String>> {
    let states = facts.iter().find_map(|fact| match fact {
        Fact::File { paths, states } if paths.iter().any(|known| known == path) => Some(states),
        _ => None,
    })?;
    // A new file that was edited may be called either.
    let said = |known: &crate::transcript::PatchAction| known.into_str().starts_with(&state[..4]);
    Some(match states.iter().any(said) {
        true => Ok(()),
        false => Err(format!("{path}: said {state}, was {states:?}")),
    })
}

fn request(task: &str, facts: &[Fact]) -> Option<Result<(), String>> {
    let request = facts.iter().find_map(|fact| match fact {
        Fact::Request(text) => Some(text),
        _ => None,
    })?;
    // `#12 (in progress) words (in answer to: an offer)`; a template is named rather than quoted.
    let words = task.split_once(") ")?.1;
    let words = words.split(" (in answer to: ").next().unwrap_or(words);
    if words.starts_with('(') {
        return None;
    }
    let head: String = flatten(words).chars().take(24).collect();
    let head = head.split('…').next().unwrap_or_default().trim();
    Some(match request.contains(head) {
        true => Ok(()),
        false => Err(format!("last request: said {head:?}, was {:?}", request.get(..60))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::FactReader;
    use crate::transcript::PatchAction;

    fn transcript() -> Transcript {
        let lines = [
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Mend the lexer"}]}}"#,
            r#"{"type":"response_item","payload":{"type":"function_call","name":"exec_command","call_id":"a","arguments":"{\"cmd\":\"cargo test --workspace\"}"}}"#,
            r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"{\"output\":\"FAILED\",\"metadata\":{\"exit_code\":101}}"}}"#,
        ];
        Transcript::parse(lines.join("\n").as_bytes())
    }

    #[test]
    fn contradicted_statements_are_found() {
        let transcript = transcript();
        let all = transcript.steps.len();
        let mut facts = FactReader::new().unwrap().read(&transcript, all);
        let codes = exit_codes(&transcript, all);
        let (paths, states) = (vec!["src/a.rs".to_owned()], vec![PatchAction::Delete]);
        facts.push(Fact::File { paths, states });
        let claims = ClaimReader::new().unwrap();
        for (view, statements, contradicted) in [
            ("#4 cargo test --workspace → exit 101; 1 failed", 1, 0),
            ("#4 cargo test --workspace → exit 0", 1, 1),
            ("cargo test --works… (exit 0, 2x)", 1, 1),
            ("cargo build --workspace (exit 0)", 0, 0),
            ("src/a.rs (deleted)", 1, 0),
            ("src/a.rs (edited 2x, +4 -0)", 1, 1),
            ("src/b.rs (edited)", 0, 0),
            ("[TASK]\n#1 (in progress) Mend the lexer", 1, 0),
            ("[TASK]\n#1 (in progress) Mend (in answer to: 1. Mend the lexer)", 1, 0),
            ("[TASK]\n#1 (in progress) Mend the parser", 1, 1),
            ("not seen: tests, builds; changed files seen: 0", 1, 1),
        ] {
            let counts = claims.check(view, &codes, &facts);
            let found = (counts.statements, counts.contradicted.len());
            assert_eq!(found, (statements, contradicted), "{view}: {:?}", counts.contradicted);
        }
    }
}
