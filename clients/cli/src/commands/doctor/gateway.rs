//! Whether the gateway answers Codex's compactions, and how the last one ended.

use std::io::ErrorKind;

use longhaul_client::gateway::GatewayStatus;

use super::check::Check;
use crate::commands::install::setup::{GatewaySeat, GatewaySetup};
use crate::style::{Style, counted};

const NAME: &str = "compaction";
const INSTALL_COMMAND: &str = "longhaul install codex --gateway";
const BY_CODEX: &str = "codex: by Codex itself, with our hooks";

pub(super) fn check(gateway: &GatewaySeat, style: &Style) -> Check {
    let setup = match gateway {
        GatewaySeat::Absent => {
            let mut check = Check::ok(NAME, BY_CODEX);
            check.hint = Some(format!("{INSTALL_COMMAND} answers them without a model"));
            return check;
        }
        GatewaySeat::Lost(providers) => {
            let providers = providers.join(", ");
            let detail = format!(
                "codex: its config.toml sends {providers} to a gateway whose settings (gateway.json) are lost"
            );
            return Check::fail(NAME, detail, format!("{INSTALL_COMMAND} makes new ones"));
        }
        GatewaySeat::Installed(setup) => setup,
    };
    let address = setup.settings.address();
    if setup.in_use.is_empty() {
        let why = "its config.toml does not use the gateway";
        return Check::warn(NAME, format!("{BY_CODEX}: {why}"), INSTALL_COMMAND);
    }
    match setup.settings.ask() {
        Ok(status) => answers(setup, &status, style),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            let detail = format!(
                "codex: nothing is listening on {address}, so Codex cannot reach its provider"
            );
            Check::fail(NAME, detail, "longhaul up starts the gateway")
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            let detail = format!("codex: another program has {address}, the gateway's port");
            Check::fail(NAME, detail, format!("{INSTALL_COMMAND} --port PORT chooses another one"))
        }
        // systemd has the port, but cannot start the gateway.
        Err(error) => {
            let detail = format!(
                "codex: the gateway does not answer on {address}, so Codex cannot reach its provider: {error}"
            );
            Check::fail(NAME, detail, "systemctl --user status longhaul-gateway")
        }
    }
}

fn answers(setup: &GatewaySetup, status: &GatewayStatus, style: &Style) -> Check {
    let detail = format!(
        "codex: by the gateway ({} for {}), without a model; {} passed, {} answered",
        setup.settings.address(),
        setup.in_use.join(", "),
        counted(status.passed, "request"),
        counted(status.answered, "compaction"),
    );
    let Some(last) = &status.last else { return Check::ok(NAME, detail) };
    let ago = style.ago(last.at_ms);
    match &last.reason {
        None => Check::ok(NAME, format!("{detail}, the last one in {} ms, {ago}", last.ms)),
        Some(reason) => Check::warn(
            NAME,
            format!("{detail}; the last one, {ago}, was left to the provider: {reason}"),
            "this warning stays until the next compaction is answered",
        ),
    }
}
