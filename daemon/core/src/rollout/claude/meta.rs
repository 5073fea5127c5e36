//! Identity of a thread. Every line of a conversation has it, so the first one is enough.

use serde::Deserialize;

use super::super::Meta;
use super::super::continuation::Mark;
use super::{Line, Text};
use crate::rollout::tool::slashed;
use crate::thread::ThreadKind;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ForkedFrom {
    session_id: Option<String>,
}

/// `None` for lines outside the conversation: they name the session and nothing else.
pub(super) fn of(line: &Line<'_>) -> Option<Meta> {
    let owned = |text: &Option<Text<'_>>| text.as_ref().map(|text| text.0.to_string());
    let (session, agent) = (owned(&line.session_id)?, owned(&line.agent_id));
    line.cwd.as_ref()?;
    let is_subagent = line.is_sidechain == Some(true) && agent.is_some();
    if line.is_sidechain == Some(true) && !is_subagent {
        return None;
    }
    let forked_from = line
        .forked_from
        .and_then(|raw| serde_json::from_str::<ForkedFrom>(raw.get()).ok())
        .and_then(|fork| fork.session_id)
        .filter(|from| *from != session);
    let kind = match line.entrypoint.as_ref().map(|by| by.0.as_ref()) {
        _ if is_subagent => ThreadKind::Subagent,
        Some("sdk-cli" | "sdk-ts" | "sdk-py") => ThreadKind::Exec,
        _ => ThreadKind::Interactive,
    };
    let mark = line.longhaul.and_then(|raw| serde_json::from_str::<Mark>(raw.get()).ok());
    let history_base = mark.map(|mark| mark.continues);
    Some(Meta {
        id: agent.filter(|_| is_subagent).or(Some(session.clone())),
        created_at_ms: None,
        cwd: line.cwd.as_ref().map(|cwd| slashed(&cwd.0).into_owned()),
        title: None,
        originator: Some(
            line.entrypoint.as_ref().map_or("claude-code".into(), |by| by.0.to_string()),
        ),
        cli_version: owned(&line.version),
        kind,
        parent_thread_id: is_subagent.then_some(session),
        forked_from,
        is_ephemeral: false,
        history_base,
        git_branch: owned(&line.git_branch).filter(|branch| !branch.is_empty()),
    })
}
