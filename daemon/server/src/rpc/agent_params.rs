//! Limits what a call on the agents' socket may contain and what its answer may hold.
//!
//! The protocol's table says which methods an agent may call. For those it may call for its project, this file lists
//! every permitted param with what it names; other params are rejected, so a new param is closed until it is listed.
//! Whatever a param names (a thread, a folder, a handle) must belong to the project the agent runs in; an absent folder
//! means the agent's. Answers are redacted, whatever the method.

use std::sync::Arc;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::text::gate_into;
use serde::Serialize;
use serde_json::{Map, Value};

use super::error::Failure;
use crate::peer::{CallContext, Caller};
use crate::service::projects::{ProjectSubject, Projects, project_at};
use crate::work_folder::WorkFolder;

/// What a param names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Thread,
    /// A transcript, whose thread only the answer names.
    Transcript,
    Handle,
    Compaction,
    /// A folder. If it is absent and nothing else is named: the agent's folder.
    Folder,
    /// A folder. If it is absent and nothing else is named: all folders of the agent's project, by
    /// [`AgentGate::folders`].
    FolderOrProject,
    /// Only this value, which is also the default.
    Only(&'static str),
    /// No items: an agent must not put items into its own prompt in the daemon's name.
    NoItems,
    /// An event of the agent's own session (the end of a turn, the middle of one, the end of a compaction) that at
    /// most has it compacted.
    TurnEnd,
}

use Field::{
    Compaction, Folder, FolderOrProject, Handle, NoItems, Only, Thread, Transcript, TurnEnd,
};

struct MethodFields {
    method: &'static str,
    /// Params that name something, or whose values are limited.
    named: &'static [(&'static str, Field)],
    /// Params that name nothing of a project.
    plain: &'static [&'static str],
}

const fn fields(
    method: &'static str,
    named: &'static [(&'static str, Field)],
    plain: &'static [&'static str],
) -> MethodFields {
    MethodFields { method, named, plain }
}

/// The permitted params, by method. Other strategies than `checkpoint` may ask a model, at the person's cost. The path of
/// `memory/read` is below the memory folder, and the reader knows which of its lines belong to the project. Templates
/// would put an agent's words into its own prompt in the daemon's name.
const FIELDS: &[MethodFields] = &[
    fields("checkpoint/apply", &[("thread_id", Thread)], &["update", "expected_seq"]),
    fields("checkpoint/choices", &[("thread_id", Thread)], &[]),
    fields("checkpoint/get", &[("thread_id", Thread)], &["as_of"]),
    fields("checkpoint/view", &[("thread_id", Thread)], &["caps", "max_tokens", "as_of", "focus"]),
    fields("compaction/get", &[("compaction_id", Compaction)], &[]),
    fields("compaction/list", &[("thread_id", Thread)], &["limit", "cursor"]),
    fields(
        "compaction/preview",
        &[("thread_id", Thread), ("strategy", Only("checkpoint"))],
        &["phase", "max_tokens", "as_of", "focus"],
    ),
    fields(
        "compaction/run",
        &[("thread_id", Thread), ("strategy", Only("checkpoint")), ("initial_context", NoItems)],
        &[
            "phase",
            "trigger",
            "reason",
            "agent_step",
            "max_tokens",
            "deadline_ms",
            "as_of",
            "focus",
        ],
    ),
    fields(
        "compaction/should",
        &[("thread_id", Thread)],
        &[
            "items",
            "phase",
            "follow_up",
            "model",
            "context_window",
            "auto_compact_limit",
            "previous_model",
            "previous_context_window",
        ],
    ),
    fields(
        "context/usage",
        &[("thread_id", Thread)],
        &["items", "model", "context_window", "auto_compact_limit", "as_of", "resume"],
    ),
    fields(
        "history/expand",
        &[("handle", Handle), ("thread_id", Thread)],
        &["cursor", "max_bytes"],
    ),
    fields("history/get", &[("thread_id", Thread)], &["as_of", "cursor", "max_bytes", "opaque"]),
    fields("memory/add_note", &[("cwd", Folder)], &["text", "origin"]),
    fields("memory/cite", &[], &["answer"]),
    fields("memory/read", &[], &["path", "line", "max_lines", "max_tokens"]),
    fields("memory/search", &[("cwd", Folder)], &["query", "limit", "max_tokens"]),
    fields("memory/summary", &[("cwd", Folder)], &["max_tokens", "brief", "framed"]),
    fields(
        "policy/evaluate",
        &[("thread_id", Thread)],
        &["point", "as_of", "model", "context_window"],
    ),
    fields(
        "policy/step",
        &[("thread_id", Thread), ("event", TurnEnd)],
        &["agent", "model", "context_window"],
    ),
    fields(
        "thread/continue",
        &[("thread_id", Thread), ("strategy", Only("checkpoint"))],
        &["to", "as_of", "max_tokens"],
    ),
    fields("thread/get", &[("thread_id", Thread)], &[]),
    fields("thread/items", &[("thread_id", Thread)], &["from_seq", "last", "limit"]),
    fields("thread/list", &[("cwd", FolderOrProject)], &["source", "limit", "cursor", "blocked"]),
    fields(
        "thread/search",
        &[("cwd", FolderOrProject), ("thread_id", Thread)],
        &["query", "source", "since", "until", "kinds", "limit", "max_tokens"],
    ),
    fields(
        "thread/sync",
        &[("thread_id", Thread), ("path", Transcript)],
        &["min_offset", "min_seq", "timeout_ms", "context_window", "context_tokens"],
    ),
];

impl Field {
    /// Whether it determines the project of a request.
    fn is_binding(self) -> bool {
        matches!(self, Thread | Transcript | Handle | Compaction | Folder | FolderOrProject)
    }
}

/// Restricts agents to their projects.
pub(super) struct AgentGate {
    pub(super) projects: Arc<Projects>,
}

impl AgentGate {
    /// Checks the params of a call for the agent's own project, and fills in the agent's folder if absent.
    pub(super) async fn admit(
        &self,
        method: &'static str,
        context: &CallContext,
        mut params: Map<String, Value>,
    ) -> Result<Map<String, Value>, Failure> {
        let folder = work_folder(context)?;
        let listed = FIELDS.iter().find(|listed| listed.method == method);
        let (fields, plain) = listed.map(|listed| (listed.named, listed.plain)).unwrap_or_default();
        params.retain(|_, value| !value.is_null());
        for name in params.keys() {
            let is_plain = plain.contains(&name.as_str());
            if !is_plain && !fields.iter().any(|(known, _)| known == name) {
                return Err(Failure::forbidden(format!("params.{name} is not for agents")));
            }
        }
        let is_bound =
            |(name, field): &(&str, Field)| field.is_binding() && params.contains_key(*name);
        let is_bound = fields.iter().any(is_bound);
        for (name, field) in fields {
            let absent = match field {
                Only(value) => Some(*value),
                Folder if !is_bound => Some(folder),
                _ => None,
            };
            if let Some(value) = absent.filter(|_| !params.contains_key(*name)) {
                params.insert((*name).to_owned(), value.into());
            }
        }
        let has_default = |(_, field): &(&str, Field)| matches!(field, Folder | FolderOrProject);
        let needs_one = fields.iter().any(|(_, field)| field.is_binding());
        if needs_one && !is_bound && !fields.iter().any(has_default) {
            return Err(Failure::invalid(
                "thread_id",
                "an agent must name a thread of its project",
            ));
        }
        for (name, field) in fields {
            if let Some(value) = params.get(*name) {
                self.check(name, *field, value, folder).await?;
            }
        }
        Ok(params)
    }

    async fn check(
        &self,
        name: &str,
        field: Field,
        value: &Value,
        folder: &str,
    ) -> Result<(), Failure> {
        let text = || {
            let expected = || Failure::invalid(name, "a string");
            value.as_str().ok_or_else(expected)
        };
        let limited =
            |bound: &str| Err(Failure::forbidden(format!("params.{name}: an agent may {bound}")));
        let subject = match field {
            Transcript => return Ok(()),
            Only(expected) if value == expected => return Ok(()),
            NoItems if value.as_array().is_some_and(Vec::is_empty) => return Ok(()),
            TurnEnd if is_turn_end(value) => return Ok(()),
            Only(expected) => return limited(&format!("only give {expected}")),
            NoItems => return limited("give no items"),
            TurnEnd => {
                return limited(
                    "only send turn_ended with notify_only or compact_only, mid_turn with compact_only, and \
                     compaction_ended",
                );
            }
            Thread => ProjectSubject::Thread(text()?),
            Handle => ProjectSubject::Handle(text()?),
            Compaction => ProjectSubject::Compaction(text()?),
            Folder | FolderOrProject => ProjectSubject::Folder(text()?),
        };
        self.is_own(subject, folder).await.map_err(|failure| match failure.kind() {
            ErrorKind::Forbidden => Failure::forbidden(format!(
                "params.{name} does not belong to the project in {folder}"
            )),
            _ => failure,
        })
    }

    async fn is_own(&self, subject: ProjectSubject<'_>, folder: &str) -> Result<(), Failure> {
        let found = self.projects.of(subject).await?;
        let own = self.projects.of(ProjectSubject::Folder(folder)).await?;
        match found.is_some() && found == own {
            true => Ok(()),
            false => Err(Failure::forbidden("not of the agent's project")),
        }
    }

    /// The folders whose threads a list or a search may show, `None` for any: the named folder, or for an agent that
    /// names neither a folder nor a thread, all folders of its project.
    pub(super) async fn folders(
        &self,
        context: &CallContext,
        (cwd, thread_id): (Option<String>, Option<&str>),
    ) -> Result<Option<Vec<String>>, Failure> {
        match (cwd, thread_id, context.peer.caller) {
            (None, None, Caller::Agent) => {
                Ok(Some(self.projects.folders_of(work_folder(context)?).await?))
            }
            (cwd, ..) => Ok(cwd.map(|cwd| vec![cwd])),
        }
    }

    /// Rejects an answer about a thread of another project.
    pub(super) async fn check_answer(
        &self,
        context: &CallContext,
        answer: &Value,
    ) -> Result<(), Failure> {
        match answer.get("thread_id").and_then(Value::as_str) {
            Some(id) => self.is_own(ProjectSubject::Thread(id), work_folder(context)?).await,
            None => Ok(()),
        }
    }
}

/// A result as JSON. It passes the gate for text here, while its types still say which strings may have several lines.
pub(super) fn readable(result: &impl Serialize) -> Result<Value, Failure> {
    let mut text = Vec::new();
    gate_into(&mut text, result).map_err(Failure::internal)?;
    serde_json::from_slice(&text).map_err(Failure::internal)
}

fn is_turn_end(event: &Value) -> bool {
    match event["kind"].as_str() {
        Some("turn_ended") => event["notify_only"] == true || event["compact_only"] == true,
        Some("mid_turn") => event["compact_only"] == true,
        // Ends only the sequence of such a client.
        Some("compaction_ended") => true,
        Some(_) | None => false,
    }
}

pub(super) fn work_folder(context: &CallContext) -> Result<&str, Failure> {
    match context.peer.folder() {
        Some(WorkFolder::Known(folder)) => Ok(folder),
        Some(WorkFolder::Hidden) => {
            let message = "the folder this agent works in cannot be read from its process";
            Err(Failure::forbidden(message)
                .with_hint("connect from a process whose folder its own user can read"))
        }
        None => Err(Failure::forbidden("the folder this agent works in cannot be checked")
            .with_hint(UNCHECKED)),
    }
}

/// The hint if the system does not reveal an agent's folder.
const UNCHECKED: &str = "the daemon may not inspect its process, as under systemd: start the daemon with longhaul up, \
                         or set server.trust_stated_folder = true";

/// Notes the folder an agent states in the handshake, if the system does not reveal it and `is_trusted`. An agent
/// without a known folder may connect, and has no project.
pub(super) fn note_folder(
    context: &CallContext,
    folder: &str,
    is_trusted: bool,
) -> Result<(), Failure> {
    if !folder.starts_with('/') {
        return Err(Failure::invalid("folder", "an absolute path"));
    }
    if is_trusted {
        context.peer.note_folder(WorkFolder::Known(folder.to_owned()));
    }
    if context.peer.folder().is_none() {
        return Ok(());
    }
    let own = work_folder(context)?;
    match own == folder || project_at(own) == project_at(folder) {
        true => Ok(()),
        false => Err(Failure::forbidden(format!(
            "params.folder is not in the project of {own}, the folder of this process"
        ))),
    }
}

#[cfg(test)]
mod tests;
