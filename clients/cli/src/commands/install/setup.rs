//! Reads our entries in agents' settings, for `longhaul doctor` and for another install.
//!
//! Unreadable settings count as having none of our entries: the agent itself reports what is wrong with them.

use std::fs;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use longhaul_client::gateway::GatewaySettings;
use serde_json::Value;
use toml_edit::{DocumentMut, Item};

pub(in crate::commands) use super::claude_plugin::{Installation, PluginSetup, VERSION_MIN};
pub(in crate::commands) use super::trust::Trust;
use super::{
    agent_hooks, bridge, claude, claude_plugin, codex_gateway, codex_provider, hook_call, place,
    trust,
};

/// An agent that has run on this machine.
pub(in crate::commands) struct AgentSetup {
    /// Its name in `longhaul install`.
    pub(in crate::commands) name: &'static str,
    pub(in crate::commands) hooks: Vec<Hook>,
    /// Events without a hook of ours.
    pub(in crate::commands) missing: Vec<&'static str>,
    /// The setting that disables all hooks.
    pub(in crate::commands) switched_off: Option<&'static str>,
    pub(in crate::commands) server: Option<Server>,
    pub(in crate::commands) seat: Seat,
}

/// What can answer an agent's compactions.
pub(in crate::commands) enum Seat {
    Plugin(PluginSetup),
    Gateway(GatewaySeat),
}

/// Codex's gateway.
pub(in crate::commands) enum GatewaySeat {
    Absent,
    /// Codex's settings redirect these providers to a gateway without settings.
    Lost(Vec<String>),
    Installed(GatewaySetup),
}

pub(in crate::commands) struct GatewaySetup {
    pub(in crate::commands) settings: GatewaySettings,
    /// Providers that the agent's settings redirect to it.
    pub(in crate::commands) in_use: Vec<String>,
}

pub(in crate::commands) struct Hook {
    pub(in crate::commands) program: PathBuf,
    pub(in crate::commands) trust: Trust,
}

/// Our MCP server.
pub(in crate::commands) struct Server {
    pub(in crate::commands) program: PathBuf,
    pub(in crate::commands) is_enabled: bool,
}

/// Codex's home; `None` if it has never run.
pub(in crate::commands) fn codex_home() -> Option<PathBuf> {
    place::named_or_home("CODEX_HOME", ".codex").ok().filter(|home| home.is_dir())
}

/// Every agent whose folder exists.
pub(in crate::commands) fn all() -> Vec<AgentSetup> {
    [codex(), claude()].into_iter().flatten().collect()
}

fn codex() -> Option<AgentSetup> {
    let home = codex_home()?;
    let config = fs::read_to_string(home.join("config.toml")).unwrap_or_default();
    let config: DocumentMut = config.parse().unwrap_or_default();
    let file = home.join("hooks.json");
    let settings = json(&file);
    let trusted = |event: &str, group: usize, handler: usize| {
        let place = trust::HookLocation { file: &file, event, group, handler };
        trust::of(&config, &place, &settings["hooks"][event][group])
    };
    let (hooks, missing) = hooks(&settings, trusted);
    let features = config.get("features").and_then(Item::as_table_like);
    let is_off = |name| {
        let feature = features.and_then(|features| features.get(name));
        feature.and_then(Item::as_bool) == Some(false)
    };
    let switched_off = is_off("hooks").then_some("features.hooks = false in its config.toml");
    let server = config.get("mcp_servers").and_then(|servers| servers.get(bridge::SERVER));
    let server = server.and_then(Item::as_table_like).and_then(|server| {
        let program = server.get("command").and_then(Item::as_str)?.into();
        let is_enabled = server.get("enabled").and_then(Item::as_bool) != Some(false);
        Some(Server { program, is_enabled })
    });
    let redirected = || codex_provider::redirected(&config);
    let seat = Seat::Gateway(match GatewaySettings::in_force() {
        Some(settings) => {
            let in_use = codex_gateway::routes_in_use(&config, &settings);
            GatewaySeat::Installed(GatewaySetup { settings, in_use })
        }
        None if redirected().is_empty() => GatewaySeat::Absent,
        None => GatewaySeat::Lost(redirected()),
    });
    Some(AgentSetup { name: "codex", hooks, missing, switched_off, server, seat })
}

/// Whether Claude Code has our plugin, in this program's version and enabled.
pub(in crate::commands) fn has_plugin() -> bool {
    let folder = place::named_or_home("CLAUDE_CONFIG_DIR", ".claude").ok();
    let found = folder.and_then(|folder| claude_plugin::installation(&folder));
    found.is_some_and(|plugin| plugin.is_enabled && plugin.is_current)
}

fn claude() -> Option<AgentSetup> {
    let folder = place::named_or_home("CLAUDE_CONFIG_DIR", ".claude").ok()?;
    if !folder.is_dir() {
        return None;
    }
    let settings = json(&folder.join("settings.json"));
    let (hooks, missing) = hooks(&settings, |_, _, _| Trust::NotRequired);
    let is_off = settings["disableAllHooks"] == true;
    let switched_off = is_off.then_some("disableAllHooks in its settings.json");
    let state = claude::state_file().map(|file| json(&file)).unwrap_or_default();
    let command = state["mcpServers"][bridge::SERVER]["command"].as_str();
    let server = command.map(|command| Server { program: command.into(), is_enabled: true });
    let seat = Seat::Plugin(claude_plugin::setup(&folder));
    Some(AgentSetup { name: "claude", hooks, missing, switched_off, server, seat })
}

/// Our hooks, and the events without one.
fn hooks(
    settings: &Value,
    trusted: impl Fn(&str, usize, usize) -> Trust,
) -> (Vec<Hook>, Vec<&'static str>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for event in agent_hooks::EVENTS {
        match ours(&settings["hooks"][event]) {
            Some((group, handler, command)) => found.push(Hook {
                program: hook_call::find(command).map(|call| call.program).unwrap_or_default(),
                trust: trusted(event, group, handler),
            }),
            None => missing.push(event),
        }
    }
    (found, missing)
}

/// The socket that our hooks name.
pub(super) fn socket(settings: &Value) -> Option<PathBuf> {
    let mut calls = agent_hooks::EVENTS.iter().filter_map(|event| {
        let (_, _, command) = ours(&settings["hooks"][event])?;
        hook_call::find(command)
    });
    calls.find_map(|call| call.socket)
}

/// Our first hook in a list of groups: indexes of group and handler, and the command.
fn ours(groups: &Value) -> Option<(usize, usize, &str)> {
    let groups = groups.as_array()?.iter().enumerate();
    let mut all = groups.flat_map(|(group, it)| {
        let handlers = it["hooks"].as_array().into_iter().flatten().enumerate();
        handlers.filter_map(move |(handler, it)| Some((group, handler, it["command"].as_str()?)))
    });
    all.find(|(_, _, command)| hook_call::find(command).is_some())
}

pub(super) fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_default();
    jsonc_parser::parse_to_serde_value(&text, &ParseOptions::default()).unwrap_or_default()
}
