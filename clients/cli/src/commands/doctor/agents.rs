//! Agents: whether our hooks and MCP server are installed and would run.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::check::Check;
use super::{gateway, route};
use crate::commands::install::setup::{self, AgentSetup, GatewaySeat, Seat, Trust};
use crate::style::{Style, counted};

pub(super) fn checks(style: &Style) -> Vec<Check> {
    setup::all().iter().flat_map(|agent| of(agent, style)).collect()
}

fn of(agent: &AgentSetup, style: &Style) -> Vec<Check> {
    let again = format!("longhaul install {}", agent.name);
    let has_seat = match &agent.seat {
        Seat::Plugin(plugin) => plugin.installation.is_some(),
        Seat::Gateway(gateway) => !matches!(gateway, GatewaySeat::Absent),
    };
    if agent.hooks.is_empty() && agent.server.is_none() && !has_seat {
        let detail = format!("{} is used without our hooks and tools", agent.name);
        let mut check = Check::ok("agent", detail);
        check.hint = Some(format!("{again} installs them"));
        return vec![check];
    }
    let mut checks = vec![hooks(agent, &again), server(agent, &again)];
    checks.push(match &agent.seat {
        Seat::Plugin(plugin) => route::check(plugin, style),
        Seat::Gateway(gateway) => gateway::check(gateway, style),
    });
    checks
}

fn hooks(agent: &AgentSetup, again: &str) -> Check {
    let name = agent.name;
    let warn = |detail: String, hint: &str| Check::warn("hooks", format!("{name}: {detail}"), hint);
    let gone = agent.hooks.iter().map(|hook| &hook.program).find(|program| !runs(program));
    if let Some(program) = gone {
        let detail = format!("{name}: they run {}, which is not a program", program.display());
        return Check::fail("hooks", detail, again);
    }
    if let Some(setting) = agent.switched_off {
        return warn(format!("switched off by {setting}"), "remove that line to run them");
    }
    if !agent.missing.is_empty() {
        return warn(format!("missing for {}", agent.missing.join(", ")), again);
    }
    let with = |trust: Trust| agent.hooks.iter().filter(|hook| hook.trust == trust).count() as u64;
    let approve = "start codex and approve them: /hooks";
    let (missing, outdated, off) = (with(Trust::Missing), with(Trust::Outdated), with(Trust::Off));
    match (missing, outdated, off) {
        (0, 0, 0) => {
            let all = counted(agent.hooks.len() as u64, "hook");
            let trusted = if with(Trust::Given) > 0 { ", all trusted" } else { "" };
            Check::ok("hooks", format!("{name}: {all}{trusted}"))
        }
        (0, 0, off) => warn(format!("{off} switched off by you"), "/hooks switches them on"),
        (0, outdated, _) => {
            warn(format!("{outdated} changed since you trusted them and do not run"), approve)
        }
        (missing, ..) => warn(format!("{missing} not trusted yet and do not run"), approve),
    }
}

fn server(agent: &AgentSetup, again: &str) -> Check {
    let name = agent.name;
    match &agent.server {
        None => Check::warn("tools", format!("{name}: the MCP server is not set up"), again),
        Some(server) if !runs(&server.program) => {
            let detail = format!("{name}: {} is not a program", server.program.display());
            Check::fail("tools", detail, again)
        }
        Some(server) if !server.is_enabled => {
            let detail = format!("{name}: the MCP server is switched off");
            Check::warn("tools", detail, "remove enabled = false below [mcp_servers.longhaul]")
        }
        Some(server) => Check::ok("tools", format!("{name}: {}", server.program.display())),
    }
}

pub(super) fn runs(program: &Path) -> bool {
    program.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
