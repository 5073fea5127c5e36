//! A command's failure: a message, at most one hint, and an exit code for scripts.

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use longhaul_client::ClientError;
use longhaul_printable as printable;
use longhaul_protocol::{ErrorKind as WireKind, Retry, WireError};
use serde_json::{Value, json};

use crate::output;
use crate::style::Style;

/// The daemon rejected the request, or a check found damage.
pub(crate) const REFUSED: u8 = 1;
/// The command line is wrong.
pub(crate) const USAGE: u8 = 64;
/// The daemon cannot be reached.
pub(crate) const UNREACHABLE: u8 = 69;
/// A defect here, in the daemon or in a model.
pub(crate) const INTERNAL: u8 = 70;
/// The same command may work later.
pub(crate) const TRY_LATER: u8 = 75;
/// Something a person must change: configuration, disk, versions.
pub(crate) const CONFIG: u8 = 78;

#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    exit: u8,
    /// For scripts, in `--json`.
    kind: Option<&'static str>,
    /// The daemon's own error, for `--json`.
    wire: Option<Box<WireError>>,
    /// Our output is closed, which is not an error.
    is_broken_pipe: bool,
}

impl Failure {
    pub(crate) fn new(exit: u8, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { message, hint: None, exit, kind: None, wire: None, is_broken_pipe: false }
    }

    /// Something that waits for a person's yes, where nobody can be asked.
    pub(crate) fn unconfirmed(question: &str, hint: &str) -> Self {
        let kind = Some("not_confirmed");
        let message = format!("not confirmed, and nothing was changed: {question}");
        Self { kind, ..Self::new(USAGE, message).with_hint(hint) }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Prints it to stderr and returns the exit code.
    pub(crate) fn print(self, is_json: bool, style: &Style) -> ExitCode {
        if self.is_broken_pipe {
            return ExitCode::SUCCESS;
        }
        let text = match is_json {
            true => printable::json(&(self.json().to_string() + "\n")).into_owned(),
            false => {
                let hint = self.hint.iter().map(|hint| style.wrap(&format!("hint: {hint}\n"), 6));
                let error = style.wrap(&format!("error: {}\n", self.message), 7);
                let text = error + &hint.collect::<String>();
                output::text(&text, false).into_owned()
            }
        };
        output::to_stderr(&text);
        ExitCode::from(self.exit)
    }

    /// An invalid command line, for `--json`.
    pub(crate) fn of_usage(message: &str) -> Value {
        let message = message.trim().trim_start_matches("error: ");
        json!({ "error": { "message": message, "data": { "hint": "longhaul help" } }, "exit": USAGE })
    }

    /// `{"error": …}` as on the wire; for other errors, a message and a hint.
    fn json(&self) -> Value {
        match &self.wire {
            Some(wire) => json!({ "error": wire, "exit": self.exit }),
            None => {
                let mut data = json!({ "hint": self.hint });
                if let Some(kind) = self.kind {
                    data["kind"] = json!(kind);
                }
                let error = json!({ "message": self.message, "data": data });
                json!({ "error": error, "exit": self.exit })
            }
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let (message, of_param) = in_words_of_the_command_line(error.to_string());
        let mut hint = error.hint().or(of_param.map(str::to_owned));
        let has_other_version = match &error {
            ClientError::Refused(wire) => is_of_another_version(wire),
            ClientError::Unreadable { .. } => true,
            _ => false,
        };
        if has_other_version {
            hint = Some(OTHER_VERSION.to_owned());
        }
        let exit = match &error {
            ClientError::Refused(wire) => exit_of(wire),
            ClientError::TooLarge { .. } => USAGE,
            ClientError::TooOld(_) | ClientError::TooNew(_) => CONFIG,
            ClientError::Timeout { .. } => TRY_LATER,
            ClientError::Unreadable { .. } => INTERNAL,
            // Not running, unusable, broken, and variants of later clients.
            _ => UNREACHABLE,
        };
        let wire = match error {
            ClientError::Refused(wire) => Some(wire),
            _ => None,
        };
        Self { message, hint, exit, kind: None, wire, is_broken_pipe: false }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let is_broken_pipe = error.kind() == ErrorKind::BrokenPipe;
        Self { is_broken_pipe, ..Self::new(INTERNAL, error.to_string()) }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::new(INTERNAL, error.to_string())
    }
}

/// Params with another name on the command line, and where a person finds a right value.
const PARAMS: [(&str, &str, Option<&str>); 14] = [
    ("as_of", "--as-of", None),
    ("client_thread_id", "--key", None),
    ("context_window", "--window", None),
    ("cursor", "--cursor", Some("use the one that the list ends with")),
    ("entry_id", "--entry", Some("longhaul memory show MEMORY.md: lines end with their ids")),
    ("handle", "HANDLE", Some("longhaul history and longhaul compaction show list handles")),
    ("kinds", "--kind", None),
    ("max_tokens", "--max-tokens", None),
    ("note_id", "NOTE", Some("longhaul memory note and longhaul memory review print the ids")),
    ("path", "FILE", Some("longhaul memory show --files lists the files")),
    ("source", "--source", None),
    ("text", "TEXT", None),
    ("to", "--to", None),
    ("thread_id", "THREAD", Some("longhaul thread list shows the ids")),
];

/// A message of the daemon about a param, with the name that the person gave it; and a hint.
fn in_words_of_the_command_line(message: String) -> (String, Option<&'static str>) {
    let Some(rest) = message.strip_prefix("params.") else { return (message, None) };
    let named = |(param, _, _): &&(&str, &str, _)| {
        rest.strip_prefix(param).is_some_and(|rest| rest.starts_with(':'))
    };
    match PARAMS.iter().find(named) {
        Some((param, name, hint)) => (format!("{name}{}", &rest[param.len()..]), *hint),
        None => (rest.to_owned(), None),
    }
}

/// An update of the programs leaves the daemon running.
const OTHER_VERSION: &str =
    "the daemon has another version: update both, then run longhaul down and longhaul up";

/// Whether the daemon lacks a method or a param that this program uses. Names inside a param may be the caller's.
fn is_of_another_version(error: &WireError) -> bool {
    let is_unknown_param = || {
        let (name, rest) =
            error.message.strip_prefix("params.")?.split_once(": unknown field `")?;
        Some(rest.strip_prefix(name)?.starts_with('`'))
    };
    match error.kind() {
        WireKind::MethodNotFound => true,
        WireKind::InvalidParams => is_unknown_param() == Some(true),
        _ => false,
    }
}

/// The thousands of an error code say who must act; see the protocol's error table.
fn exit_of(error: &WireError) -> u8 {
    match error.code {
        // Among the invalid requests, but what is invalid is a file.
        code if code == WireKind::ConfigInvalid.code() => CONFIG,
        1000..=1999 | -32700 | -32602..=-32600 | -32008..=-32006 => USAGE,
        2000..=2999 => REFUSED,
        3000..=3999 => TRY_LATER,
        5000..=5999 => CONFIG,
        _ if error.retry() == Retry::Backoff => TRY_LATER,
        _ => INTERNAL,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use longhaul_protocol::METHODS;
    use longhaul_protocol::error::ERROR_KINDS;

    use super::*;
    use crate::args::Args;

    #[test]
    fn every_error_kind_has_an_exit_code() {
        for kind in ERROR_KINDS {
            let expected = match kind.code() {
                -32603 | 4000..=4999 => INTERNAL,
                -32009 | 3000..=3999 => TRY_LATER,
                2000..=2999 => REFUSED,
                5000..=5999 => CONFIG,
                _ if *kind == WireKind::ConfigInvalid => CONFIG,
                _ => USAGE,
            };
            assert_eq!(exit_of(&WireError::new(*kind, "m")), expected, "{}", kind.name());
        }
    }

    #[test]
    fn hints_name_commands_that_exist() {
        let mut named = 0;
        for hint in ERROR_KINDS.iter().filter_map(|kind| kind.default_hint()) {
            let is_named = |name: &str| name.contains('/') && hint.contains(name);
            assert!(!METHODS.iter().any(|method| is_named(method.name)), "{hint}");
            for words in hint.split("longhaul ").skip(1) {
                let mut command = Args::command();
                for word in words.split([' ', ':', ',']) {
                    match command.find_subcommand(word) {
                        Some(found) => command = found.clone(),
                        None => break,
                    }
                }
                assert!(command.get_name() != "longhaul", "{hint}");
                assert!(!command.has_subcommands(), "{hint}");
                named += 1;
            }
        }
        assert!(named > 5);
    }

    #[test]
    fn a_daemon_that_does_not_know_a_method_or_param_of_ours_has_another_version() {
        let hint = |kind, message: &str| {
            let wire = WireError::new(kind, message);
            Failure::from(ClientError::Refused(Box::new(wire))).hint.unwrap_or_default()
        };
        for (kind, message, is_ours) in [
            (WireKind::MethodNotFound, "no such method", true),
            (WireKind::InvalidParams, "params.k: unknown field `k`, expected `limit`", true),
            (WireKind::InvalidParams, "params.update.k: unknown field `k`, expected `key`", false),
            (WireKind::InvalidParams, "params.update: unknown field `k`, expected `key`", false),
            (WireKind::InvalidParams, "params.limit: must be above 0", false),
        ] {
            assert_eq!(hint(kind, message).contains("longhaul down"), is_ours, "{message}");
        }
    }

    #[test]
    fn errors_about_params_use_the_words_of_the_command_line() {
        let shown = |message: &str| {
            let wire = WireError::new(WireKind::InvalidParams, message);
            let failure = Failure::from(ClientError::Refused(Box::new(wire)));
            (failure.message, failure.hint.unwrap_or_default())
        };
        let (message, hint) = shown("params.note_id: no such note");
        assert_eq!(message, "NOTE: no such note");
        assert!(hint.contains("memory note"), "{hint}");
        assert_eq!(shown("params.kinds: one of a, b").0, "--kind: one of a, b");
        assert_eq!(shown("params.client_thread_id: none").0, "--key: none");
        assert_eq!(shown("params.source: one of a, b").0, "--source: one of a, b");
        assert_eq!(shown("params.text: must not be blank").0, "TEXT: must not be blank");
        assert_eq!(shown("params.kindness: none").0, "kindness: none");
        for (param, name, _) in PARAMS {
            assert!(name.starts_with("--") || name.to_uppercase() == name, "{param}");
        }
    }

    #[test]
    fn json_keeps_the_error_of_the_daemon() {
        let wire = WireError::new(WireKind::ThreadNotFound, "no thread t");
        let failure = Failure::from(ClientError::Refused(Box::new(wire)));
        let json = failure.json();
        assert_eq!((&json["error"]["code"], &json["exit"]), (&json!(2001), &json!(1)));
        assert_eq!(json["error"]["data"]["kind"], "thread_not_found");
    }
}
