//! Claude Code: hooks in its `settings.json`, the MCP server in `.claude.json`, the plugin in `skills`.
//!
//! A running Claude Code also writes `.claude.json` and may overwrite our change; running the command again repairs
//! it.

use std::path::{Path, PathBuf};

use jsonc_parser::cst::CstObject;
use jsonc_parser::json;

use super::agent_hooks::{self, Hooks, set_string, string};
use super::bridge::{self, SERVER};
use super::change::Change;
use super::error::missing;
use super::plan::{Direction, Plan};
use super::{claude_plugin, json_file, place};
use crate::failure::Failure;

pub(super) fn plan(
    direction: Direction,
    socket: Option<&Path>,
    excerpts: bool,
) -> Result<Plan, Failure> {
    let folder = place::named_or_home("CLAUDE_CONFIG_DIR", ".claude")?;
    if !folder.is_dir() {
        let missing_folder = folder.display();
        let hint =
            format!("start claude once, or set CLAUDE_CONFIG_DIR: {missing_folder} is missing");
        return Err(missing("Claude Code", &hint));
    }
    let (settings, state) = (folder.join("settings.json"), state_file()?);
    let mut plan = Plan::new(direction);
    match direction {
        Direction::Install => {
            let hooks = Hooks::new(&place::longhaul()?, socket, "claude");
            plan.change(edited(settings, |root| hooks.put(root))?);
            match place::beside(bridge::PROGRAM) {
                Some(program) => plan.change(edited(state, |root| put_server(root, &program, socket))?),
                None => plan.notes.push(format!(
                    "note: {} is neither next to this program nor on the PATH; its tools are not installed",
                    bridge::PROGRAM
                )),
            }
            claude_plugin::install(&mut plan, &folder, (socket, excerpts))?;
            if !plan.is_empty() {
                plan.notes.push("Restart running sessions to use it.".into());
            }
        }
        Direction::Uninstall => {
            plan.change(edited(settings, |root| {
                agent_hooks::remove(root);
                Ok(())
            })?);
            plan.change(edited(state, |root| {
                remove_server(root);
                Ok(())
            })?);
            claude_plugin::uninstall(&mut plan, &folder)?;
        }
    }
    Ok(plan)
}

/// Claude Code's file with the MCP servers of all projects.
pub(super) fn state_file() -> Result<PathBuf, Failure> {
    let folder = place::set("CLAUDE_CONFIG_DIR").map_or_else(place::home, Ok)?;
    Ok(folder.join(".claude.json"))
}

/// An edit that neither creates an empty file nor leaves one that had only entries of ours.
fn edited(
    path: PathBuf,
    change: impl FnOnce(&CstObject) -> Result<(), String>,
) -> Result<Change, Failure> {
    let shown = path.clone();
    Change::edit(path, |before| {
        let after = json_file::edit(&shown, before, change)?;
        let had_none = before.is_some_and(|it| it.trim().is_empty() || json_file::is_empty(it));
        Ok((had_none || !json_file::is_empty(&after)).then_some(after))
    })
}

fn put_server(root: &CstObject, program: &Path, socket: Option<&Path>) -> Result<(), String> {
    let servers = root.object_value_or_create("mcpServers");
    let servers = servers.ok_or("`mcpServers` is not an object")?;
    let program = program.to_string_lossy();
    let socket = socket.map(|path| path.to_string_lossy().into_owned());
    match servers.object_value(SERVER) {
        Some(server) => {
            bridge::check(string(&server, "command").as_deref(), server.get("url").is_some())?;
            set_string(&server, "command", &program);
        }
        None => {
            let arguments: Vec<String> =
                socket.into_iter().flat_map(|path| ["--socket".to_owned(), path]).collect();
            let server =
                json!({ "type": "stdio", "command": (program.as_ref()), "args": arguments });
            servers.append(SERVER, server);
        }
    }
    Ok(())
}

fn remove_server(root: &CstObject) {
    let Some(servers) = root.object_value("mcpServers") else { return };
    let Some(property) = servers.get(SERVER) else { return };
    let command = property.object_value().and_then(|server| string(&server, "command"));
    if command.is_some_and(|command| bridge::is_ours(&command)) {
        property.remove();
        if servers.properties().is_empty()
            && let Some(servers) = root.get("mcpServers")
        {
            servers.remove();
        }
    }
}
