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
use super::{claude_plugin, json_file, place, setup};
use crate::failure::Failure;

pub(super) fn plan(
    direction: Direction,
    socket: Option<&Path>,
    excerpts: Option<bool>,
) -> Result<Plan, Failure> {
    let folder = place::named_or_home("CLAUDE_CONFIG_DIR", ".claude")?;
    if !folder.is_dir() {
        let missing_folder = folder.display();
        let hint =
            format!("start claude once, or set CLAUDE_CONFIG_DIR: {missing_folder} is missing");
        return Err(missing("Claude Code", &hint));
    }
    let (settings, state) = (folder.join("settings.json"), state_file()?);
    let present = || setup::socket(&setup::json(&settings));
    let socket = socket.map(Path::to_owned).or_else(present);
    let socket = socket.as_deref();
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
    match servers.object_value(SERVER) {
        Some(server) => {
            bridge::check(string(&server, "command").as_deref(), server.get("url").is_some())?;
            set_string(&server, "command", &program);
            if let Some(socket) = socket {
                set_socket(&server, socket);
            }
        }
        None => {
            let arguments = socket.map_or(Vec::new(), |path| bridge::with_socket(Vec::new(), path));
            let server =
                json!({ "type": "stdio", "command": (program.as_ref()), "args": arguments });
            servers.append(SERVER, server);
        }
    }
    Ok(())
}

/// Sets the socket of our server; leaves an equal one untouched.
fn set_socket(server: &CstObject, socket: &Path) {
    let present = server.array_value("args").map(|words| words.elements()).unwrap_or_default();
    let words = present.iter().filter_map(|word| word.as_string_lit()?.decoded_value().ok());
    let present: Vec<String> = words.collect();
    let arguments = bridge::with_socket(present.clone(), socket);
    match server.get("args") {
        Some(_) if arguments == present => {}
        Some(property) => property.set_value(json!(arguments)),
        None => drop(server.append("args", json!(arguments))),
    }
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
