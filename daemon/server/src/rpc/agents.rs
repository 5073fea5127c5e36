//! What a call on the agents' socket may carry, and what its answer may hold.
//!
//! Which methods an agent may call stands in the protocol's own table. For those it may call for its project, every
//! param it may give is listed here with what it names; what is not listed is refused, so that a new param is closed
//! until somebody has said what it means. What names something (a thread, a folder, a handle) must be of the project
//! the agent runs in, and an absent folder is the agent's. Answers are redacted, whatever the method.

use std::sync::Arc;

use longhaul_core::redact::redact_value;
use longhaul_protocol::ErrorKind;
use longhaul_protocol::text::gated;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::error::Failure;
use crate::link::{CallContext, Caller};
use crate::peer::WorkFolder;
use crate::service::projects::{ProjectSubject, Projects, project_at};

/// What a param names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Nothing that belongs to a project.
    Plain,
    Thread,
    /// A transcript, whose thread is known from the answer alone.
    Transcript,
    Handle,
    Compaction,
    /// A folder; absent, where nothing else is named: the agent's.
    Folder,
    /// A folder; absent, where nothing else is named: all folders of the agent's project, by
    /// [`AgentGate::folders`].
    FolderOrProject,
    /// This value, which is also the one that is meant where it is absent.
    Only(&'static str),
    /// No item: an agent puts nothing into its own prompt in the daemon's name.
    NoItems,
    /// An event of a watcher: the end of a turn, of which the person is told and nothing is begun.
    TurnEnd,
}

use Field::{
    Compaction, Folder, FolderOrProject, Handle, NoItems, Only, Plain, Thread, Transcript, TurnEnd,
};

/// The params an agent may give, by method.
const FIELDS: &[(&str, &[(&str, Field)])] = &[
    ("checkpoint/apply", &[("thread_id", Thread), ("update", Plain), ("expected_seq", Plain)]),
    ("checkpoint/choices", &[("thread_id", Thread)]),
    ("checkpoint/get", &[("thread_id", Thread), ("as_of", Plain)]),
    (
        "checkpoint/view",
        &[
            ("thread_id", Thread),
            ("caps", Plain),
            ("max_tokens", Plain),
            ("as_of", Plain),
            ("focus", Plain),
        ],
    ),
    ("compaction/get", &[("compaction_id", Compaction)]),
    ("compaction/list", &[("thread_id", Thread), ("limit", Plain), ("cursor", Plain)]),
    (
        "compaction/preview",
        &[
            ("thread_id", Thread),
            ("strategy", Only("checkpoint")),
            ("phase", Plain),
            ("max_tokens", Plain),
            ("as_of", Plain),
            ("focus", Plain),
        ],
    ),
    (
        "compaction/run",
        &[
            ("thread_id", Thread),
            // The others may ask a model, at the person's cost.
            ("strategy", Only("checkpoint")),
            ("phase", Plain),
            ("initial_context", NoItems),
            ("trigger", Plain),
            ("reason", Plain),
            ("agent_step", Plain),
            ("max_tokens", Plain),
            ("deadline_ms", Plain),
            ("as_of", Plain),
            ("focus", Plain),
        ],
    ),
    (
        "compaction/should",
        &[
            ("thread_id", Thread),
            ("items", Plain),
            ("phase", Plain),
            ("follow_up", Plain),
            ("model", Plain),
            ("context_window", Plain),
            ("auto_compact_limit", Plain),
            ("previous_model", Plain),
            ("previous_context_window", Plain),
        ],
    ),
    (
        "context/usage",
        &[
            ("thread_id", Thread),
            ("items", Plain),
            ("model", Plain),
            ("context_window", Plain),
            ("auto_compact_limit", Plain),
            ("as_of", Plain),
            ("resume", Plain),
        ],
    ),
    (
        "history/expand",
        &[("handle", Handle), ("thread_id", Thread), ("cursor", Plain), ("max_bytes", Plain)],
    ),
    (
        "history/get",
        &[
            ("thread_id", Thread),
            ("as_of", Plain),
            ("cursor", Plain),
            ("max_bytes", Plain),
            ("opaque", Plain),
        ],
    ),
    ("memory/add_note", &[("text", Plain), ("cwd", Folder), ("origin", Plain)]),
    ("memory/cite", &[("answer", Plain)]),
    // A path below the memory's own folder: which of its lines are the project's, the reader knows.
    (
        "memory/read",
        &[("path", Plain), ("line", Plain), ("max_lines", Plain), ("max_tokens", Plain)],
    ),
    (
        "memory/search",
        &[("query", Plain), ("cwd", Folder), ("limit", Plain), ("max_tokens", Plain)],
    ),
    (
        "memory/summary",
        &[("cwd", Folder), ("max_tokens", Plain), ("brief", Plain), ("framed", Plain)],
    ),
    (
        "policy/evaluate",
        &[
            ("thread_id", Thread),
            ("point", Plain),
            ("as_of", Plain),
            ("model", Plain),
            ("context_window", Plain),
        ],
    ),
    (
        "policy/step",
        &[
            ("thread_id", Thread),
            ("event", TurnEnd),
            ("agent", Plain),
            ("model", Plain),
            ("context_window", Plain),
        ],
    ),
    (
        "thread/continue",
        &[
            ("thread_id", Thread),
            ("to", Plain),
            ("as_of", Plain),
            // As in `compaction/run`. Templates would put an agent's words into its own prompt in the daemon's name.
            ("strategy", Only("checkpoint")),
            ("max_tokens", Plain),
        ],
    ),
    ("thread/get", &[("thread_id", Thread)]),
    (
        "thread/items",
        &[("thread_id", Thread), ("from_seq", Plain), ("last", Plain), ("limit", Plain)],
    ),
    (
        "thread/list",
        &[
            ("cwd", FolderOrProject),
            ("source", Plain),
            ("limit", Plain),
            ("cursor", Plain),
            ("blocked", Plain),
        ],
    ),
    (
        "thread/search",
        &[
            ("query", Plain),
            ("cwd", FolderOrProject),
            ("thread_id", Thread),
            ("source", Plain),
            ("since", Plain),
            ("until", Plain),
            ("kinds", Plain),
            ("limit", Plain),
            ("max_tokens", Plain),
        ],
    ),
    (
        "thread/sync",
        &[
            ("thread_id", Thread),
            ("path", Transcript),
            ("min_offset", Plain),
            ("min_seq", Plain),
            ("timeout_ms", Plain),
            ("context_window", Plain),
            ("context_tokens", Plain),
        ],
    ),
];

impl Field {
    /// Whether it says which project a request is about.
    fn is_binding(self) -> bool {
        matches!(self, Thread | Transcript | Handle | Compaction | Folder | FolderOrProject)
    }
}

/// Holds agents to their projects.
pub(super) struct AgentGate {
    projects: Arc<Projects>,
}

impl AgentGate {
    pub(super) fn new(projects: Arc<Projects>) -> Self {
        Self { projects }
    }

    /// The params of a call for the agent's own project, with the agent's folder where one is absent.
    pub(super) async fn admit(
        &self,
        method: &'static str,
        context: &CallContext,
        mut params: Map<String, Value>,
    ) -> Result<Map<String, Value>, Failure> {
        let folder = work_folder(context)?;
        let listed = FIELDS.iter().find(|(name, _)| *name == method);
        let fields = listed.map(|(_, fields)| *fields).unwrap_or_default();
        params.retain(|_, value| !value.is_null());
        for name in params.keys() {
            if !fields.iter().any(|(known, _)| known == name) {
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
            return Err(Failure::invalid("thread_id", "an agent names a thread of its project"));
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
        let subject = match field {
            Plain | Transcript => return Ok(()),
            Only(expected) if value == expected => return Ok(()),
            NoItems if value.as_array().is_some_and(Vec::is_empty) => return Ok(()),
            TurnEnd if is_turn_end(value) => return Ok(()),
            Only(expected) => {
                return Err(Failure::forbidden(format!("params.{name}: {expected} only")));
            }
            NoItems => return Err(Failure::forbidden(format!("params.{name}: no items only"))),
            TurnEnd => {
                let why = format!(
                    "params.{name}: turn_ended with notify_only or compact_only, and compaction_ended"
                );
                return Err(Failure::forbidden(why));
            }
            Thread => ProjectSubject::Thread(text()?),
            Handle => ProjectSubject::Handle(text()?),
            Compaction => ProjectSubject::Compaction(text()?),
            Folder | FolderOrProject => ProjectSubject::Folder(text()?),
        };
        self.is_own(subject, folder).await.map_err(|failure| match failure.kind() {
            ErrorKind::Forbidden => {
                Failure::forbidden(format!("params.{name} is not of the project in {folder}"))
            }
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

    /// The folders whose threads a list or a search may hold, `None` for any: the one that is named, of an agent
    /// that names neither it nor a thread all of its project.
    pub(super) async fn folders(
        &self,
        context: &CallContext,
        (cwd, thread_id): (Option<String>, Option<&str>),
    ) -> Result<Option<Vec<String>>, Failure> {
        match (cwd, thread_id, context.link.caller) {
            (None, None, Caller::Agent) => {
                Ok(Some(self.projects.folders_of(work_folder(context)?).await?))
            }
            (cwd, ..) => Ok(cwd.map(|cwd| vec![cwd])),
        }
    }

    /// Refuses an answer about a thread of another project.
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

/// A result as JSON. It passes the gate for text here, where its types still say which strings have lines.
pub(super) fn readable(result: &impl Serialize) -> Result<Value, Failure> {
    let gated = gated(result).map_err(Failure::internal)?;
    serde_json::from_str(gated.get()).map_err(Failure::internal)
}

/// What an agent is given of an answer.
pub(super) fn redacted(mut answer: Value) -> Result<Box<RawValue>, Failure> {
    redact_value(&mut answer);
    to_raw_value(&answer).map_err(Failure::internal)
}

fn is_turn_end(event: &Value) -> bool {
    match event["kind"].as_str() {
        Some("turn_ended") => event["notify_only"] == true || event["compact_only"] == true,
        // It ends no sequence but that of such a client.
        Some("compaction_ended") => true,
        Some(_) | None => false,
    }
}

/// The folder the calling agent works in.
pub(super) fn work_folder(context: &CallContext) -> Result<&str, Failure> {
    match context.link.folder() {
        Some(WorkFolder::Known(folder)) => Ok(folder),
        Some(WorkFolder::Hidden) => {
            let message = "the folder this agent works in cannot be read from its process";
            Err(Failure::forbidden(message)
                .with_hint("connect from a process that does not hide from its own user"))
        }
        None => Err(Failure::forbidden("the folder this agent works in cannot be checked")
            .with_hint(UNCHECKED)),
    }
}

/// What a person does where the system does not tell the folder of an agent.
const UNCHECKED: &str = "the daemon may not look at its process, as under systemd: start it by longhaul up, or let \
                         server.trust_stated_folder be true";

/// Takes over the folder an agent names in the handshake: where the system does not tell it, and `is_trusted`. An
/// agent whose folder nobody knows is let in, and has no project.
pub(super) fn note_folder(
    context: &CallContext,
    folder: &str,
    is_trusted: bool,
) -> Result<(), Failure> {
    if !folder.starts_with('/') {
        return Err(Failure::invalid("folder", "an absolute path"));
    }
    if is_trusted {
        context.link.note_folder(WorkFolder::Known(folder.to_owned()));
    }
    if context.link.folder().is_none() {
        return Ok(());
    }
    let own = work_folder(context)?;
    match own == folder || project_at(own) == project_at(folder) {
        true => Ok(()),
        false => Err(Failure::forbidden(format!(
            "params.folder is not in the project of {own}, where this process works"
        ))),
    }
}

#[cfg(test)]
mod tests;
