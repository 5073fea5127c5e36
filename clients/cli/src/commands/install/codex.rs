//! Codex: hooks in `hooks.json`, the MCP server and the gateway's address in `config.toml`, both in `$CODEX_HOME`.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, Value};

use super::agent_hooks::{self, Hooks};
use super::bridge::{self, SERVER};
use super::change::Change;
use super::codex_gateway::{self, GatewayPlan};
use super::error::{missing, unreadable};
use super::plan::{Direction, Plan};
use super::{json_file, place, setup};
use crate::failure::Failure;

/// Codex passes few variables to a server (seen in 0.169.0: HOME, PATH, LANG …). Without these the bridge would look
/// for another socket than other clients, and start a daemon that reads other folders.
const VARIABLES: [&str; 9] = [
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
    "CODEX_HOME",
    "CLAUDE_CONFIG_DIR",
    "LONGHAUL_SOCKET",
    "LONGHAUL_STATE_DIR",
    "LONGHAUL_CONFIG",
    "LONGHAUL_AUTOSTART",
];

/// Some editors write it at the beginning of a file.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Seconds that Codex waits for a tool, more than the 135 s in which the MCP server answers a hand-over.
const TOOL_TIMEOUT_SECONDS: i64 = 150;

/// Installs hooks and server, on request with the gateway; uninstalls all of it, on request only the gateway.
pub(super) fn plan(
    direction: Direction,
    socket: Option<&Path>,
    (is_gateway, port): (bool, Option<u16>),
) -> Result<Plan, Failure> {
    let mut plan = Plan::new(direction);
    let home = home()?;
    match direction {
        Direction::Install => {
            let gateway = is_gateway.then(|| GatewayPlan::new(port)).transpose()?;
            let socket = socket_for(&home, socket);
            install(&mut plan, &home, socket.as_deref(), gateway)?;
        }
        Direction::Uninstall => uninstall(&mut plan, &home, is_gateway)?,
    }
    Ok(plan)
}

/// The given socket, or that of an earlier install.
fn socket_for(home: &Path, given: Option<&Path>) -> Option<PathBuf> {
    let present = || setup::socket(&setup::json(&home.join("hooks.json")));
    given.map(Path::to_owned).or_else(present)
}

fn home() -> Result<PathBuf, Failure> {
    let home = place::named_or_home("CODEX_HOME", ".codex")?;
    match home.is_dir() {
        true => Ok(home),
        false => {
            let hint =
                format!("start codex once, or set CODEX_HOME: {} is missing", home.display());
            Err(missing("Codex", &hint))
        }
    }
}

fn install(
    plan: &mut Plan,
    home: &Path,
    socket: Option<&Path>,
    mut gateway: Option<GatewayPlan>,
) -> Result<(), Failure> {
    let (hooks_path, config_path) = (home.join("hooks.json"), home.join("config.toml"));
    let hooks = Hooks::new(&place::longhaul()?, socket, "codex");
    plan.change(Change::edit(hooks_path.clone(), |text| {
        json_file::edit(&hooks_path, text, |root| hooks.put(root)).map(Some)
    })?);
    let program = place::beside(bridge::PROGRAM);
    let has_secret = gateway.is_some();
    let config = edit_config(&config_path, |before| {
        let mut text = before.map(str::to_owned);
        if let Some(program) = &program {
            text = Some(put_server(&config_path, text.as_deref(), program, socket)?);
        }
        if let Some(gateway) = &mut gateway {
            text = Some(gateway.put(&config_path, text.as_deref().unwrap_or_default())?);
        }
        Ok(text)
    })?;
    plan.change(if has_secret { config.private() } else { config });
    if program.is_none() {
        plan.notes.push(format!(
            "note: {} is neither next to this program nor on the PATH; its tools are not installed",
            bridge::PROGRAM
        ));
    }
    if has_hooks(&config_path) {
        plan.notes.push(
            "note: config.toml also has hooks; Codex runs the hooks of both files and says so"
                .into(),
        );
    }
    plan.notes.push(
        "Codex runs new hooks only after you approve them: start codex and type /hooks.".into(),
    );
    gateway.map_or(Ok(()), |gateway| gateway.finish(plan, socket))
}

fn uninstall(plan: &mut Plan, home: &Path, only_gateway: bool) -> Result<(), Failure> {
    let (hooks_path, config_path) = (home.join("hooks.json"), home.join("config.toml"));
    if !only_gateway {
        plan.change(Change::edit(hooks_path.clone(), |text| remove_hooks(&hooks_path, text))?);
    }
    let warnings = &mut plan.warnings;
    let config = edit_config(&config_path, |text| {
        let text = match only_gateway {
            true => text.map(str::to_owned),
            false => remove_server(&config_path, text)?,
        };
        text.map(|text| codex_gateway::remove(&config_path, &text, warnings)).transpose()
    })?;
    plan.change(config);
    if !only_gateway && !plan.is_empty() {
        plan.notes.push(
            "Codex may ask you to approve hooks that were listed after ours again (/hooks).".into(),
        );
    }
    codex_gateway::finish_removal(plan, home)
}

/// Edits `config.toml` and keeps its byte order mark and its line ends, which `toml_edit` drops.
fn edit_config(
    path: &Path,
    edit: impl FnOnce(Option<&str>) -> Result<Option<String>, Failure>,
) -> Result<Change, Failure> {
    Change::edit(path.to_owned(), |before| {
        let edited = edit(before)?;
        Ok(edited.map(|text| in_form_of(before.unwrap_or_default(), text)))
    })
}

fn in_form_of(before: &str, mut edited: String) -> String {
    if before.contains("\r\n") {
        edited = edited.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    match before.strip_prefix(BYTE_ORDER_MARK) {
        Some(_) if !edited.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK.to_owned() + &edited,
        _ => edited,
    }
}

fn remove_hooks(path: &Path, text: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let edited = json_file::edit(path, Some(text), |root| {
        agent_hooks::remove(root);
        Ok(())
    })?;
    // Remove the file if only our hooks were in it.
    let is_spent = edited != text && json_file::is_empty(&edited);
    Ok((!is_spent).then_some(edited))
}

pub(super) fn parsed(path: &Path, text: &str) -> Result<DocumentMut, Failure> {
    text.parse().map_err(|error: toml_edit::TomlError| unreadable(path, error.message()))
}

/// Whether the user keeps hooks in this file. Codex's record of trusted hooks does not count.
fn has_hooks(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let Ok(document) = text.parse::<DocumentMut>() else { return false };
    let hooks = document.get("hooks").and_then(Item::as_table_like);
    hooks.is_some_and(|hooks| hooks.iter().any(|(name, _)| name != "state"))
}

fn put_server(
    path: &Path,
    text: Option<&str>,
    program: &Path,
    socket: Option<&Path>,
) -> Result<String, Failure> {
    let mut document = parsed(path, text.unwrap_or_default())?;
    let servers = document.entry("mcp_servers").or_insert_with(implicit);
    let servers = servers.as_table_like_mut();
    let servers = servers.ok_or_else(|| unreadable(path, "`mcp_servers` is not a table"))?;
    let server = servers.entry(SERVER).or_insert_with(|| Item::Table(Table::new()));
    let server = server.as_table_like_mut();
    let server = server.ok_or_else(|| unreadable(path, "`mcp_servers.longhaul` is not a table"))?;
    bridge::check(server.get("command").and_then(Item::as_str), server.contains_key("url"))
        .map_err(|why| unreadable(path, why))?;
    let program = program.to_string_lossy();
    set(server.entry("command").or_insert(Item::None), program.as_ref().into());
    if !server.contains_key("env_vars") {
        let variables: toml_edit::Array = VARIABLES.into_iter().collect();
        set(server.entry("env_vars").or_insert(Item::None), variables.into());
    }
    if !server.contains_key("tool_timeout_sec") {
        set(server.entry("tool_timeout_sec").or_insert(Item::None), TOOL_TIMEOUT_SECONDS.into());
    }
    if let Some(socket) = socket {
        let present = server.get("args").and_then(Item::as_array).into_iter().flatten();
        let present = present.filter_map(|word| word.as_str().map(str::to_owned)).collect();
        let arguments = bridge::with_socket(present, socket);
        let arguments: toml_edit::Array = arguments.into_iter().collect();
        set(server.entry("args").or_insert(Item::None), arguments.into());
    }
    Ok(document.to_string())
}

/// Sets a value and keeps the comment and spaces around the old one; leaves an equal one untouched.
pub(super) fn set(item: &mut Item, value: Value) {
    match item.as_value_mut() {
        Some(old) if old.to_string().trim() == value.to_string().trim() => {}
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => *item = Item::Value(value),
    }
}

fn implicit() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn remove_server(path: &Path, text: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let mut document = parsed(path, text)?;
    let servers = document.get_mut("mcp_servers").and_then(Item::as_table_like_mut);
    let Some(servers) = servers else { return Ok(Some(text.to_owned())) };
    let command = servers.get(SERVER).and_then(|server| server.get("command"));
    let is_ours = command.and_then(Item::as_str).is_some_and(bridge::is_ours);
    if is_ours {
        servers.remove(SERVER);
        if servers.is_empty() {
            document.remove("mcp_servers");
        }
    }
    Ok(Some(document.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str =
        "# mine\nmodel = \"m\" # the good one\n\n[mcp_servers.other]\ncommand = \"x\"\n";

    #[test]
    fn server_install_and_removal_keep_everything_else() {
        let path = Path::new("config.toml");
        let bridge = Path::new("/opt/longhaul-mcp");
        for before in [CONFIG, "", "model = 'm'\n"] {
            let put = put_server(path, Some(before), bridge, None).unwrap();
            let wanted = "[mcp_servers.longhaul]\ncommand = \"/opt/longhaul-mcp\"\nenv_vars = [";
            assert!(put.starts_with(before) && put.contains(wanted), "{put}");
            assert!(put.ends_with("]\ntool_timeout_sec = 150\n"), "{put}");
            assert_eq!(put_server(path, Some(&put), bridge, None).unwrap(), put);
            let removed = remove_server(path, Some(&put)).unwrap().unwrap();
            assert_eq!(removed.trim_end(), before.trim_end());
        }
    }

    #[test]
    fn moved_bridge_is_updated_and_user_settings_stay() {
        let before = "[mcp_servers.longhaul]\ncommand = \"/old/longhaul-mcp\" # here\nenv_vars = []\ntool_timeout_sec = 30\nenabled = false\n";
        let put = put_server(Path::new("c"), Some(before), Path::new("/new/longhaul-mcp"), None);
        assert_eq!(put.unwrap(), before.replace("/old/", "/new/"));
    }

    #[test]
    fn foreign_server_of_the_same_name_stays() {
        let theirs = "[mcp_servers.longhaul]\ncommand = \"docker\"\n";
        let path = Path::new("c");
        assert_eq!(remove_server(path, Some(theirs)).unwrap().unwrap(), theirs);
        for theirs in [theirs, "[mcp_servers.longhaul]\nurl = \"https://x.example\"\n"] {
            assert!(put_server(path, Some(theirs), Path::new("/longhaul-mcp"), None).is_err());
        }
    }
}
