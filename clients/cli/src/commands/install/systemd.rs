//! systemd: the user units, built in, with the path of the daemon filled in.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::change::Change;
use super::codex_gateway;
use super::error::missing;
use super::place;
use super::plan::{Direction, Plan};
use crate::failure::{CONFIG, Failure};

const SOCKET: &str = "longhauld.socket";
const SERVICE: &str = "longhauld.service";
const SOCKET_UNIT: &str = include_str!("../../../../../systemd/longhauld.socket");
const SERVICE_UNIT: &str = include_str!("../../../../../systemd/longhauld.service");
/// A consequence of the unit's user namespace.
const AGENTS_UNSEEN: &str = "Under systemd the daemon trusts the folder that an agent states; \
                             server.trust_stated_folder = false rejects it: see SECURITY.md";
const GATEWAY_SOCKET: &str = "longhaul-gateway.socket";
const GATEWAY_SERVICE: &str = "longhaul-gateway.service";
const GATEWAY_SOCKET_UNIT: &str = include_str!("../../../../../systemd/longhaul-gateway.socket");
const GATEWAY_SERVICE_UNIT: &str = include_str!("../../../../../systemd/longhaul-gateway.service");
/// Placeholders of the gateway's program and port in the units.
const GATEWAY_PROGRAM: &str = "%h/.local/bin/longhaul-gateway";
const GATEWAY_LISTEN: &str = "ListenStream=127.0.0.1:20000";
/// The link that `systemctl enable` creates in the folder of units.
const ENABLED: &str = "sockets.target.wants/longhauld.socket";
/// Placeholder of the daemon's program in the unit.
const PROGRAM: &str = "%h/.local/bin/longhauld";
/// The unit's address families without a model, and with one.
const LOCAL_ONLY: &str = "\nRestrictAddressFamilies=AF_UNIX\n";
const NETWORK: &str = "\nRestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n";

pub(super) fn plan(direction: Direction) -> Result<Plan, Failure> {
    if place::on_path("systemctl").is_none() {
        return Err(missing("systemctl", "without systemd, start the daemon with longhaul up"));
    }
    let units = units()?;
    let mut plan = Plan::new(direction);
    match direction {
        Direction::Install => {
            let hint = "install the daemon next to this program first";
            let daemon = place::beside("longhauld").ok_or_else(|| missing("longhauld", hint))?;
            let service = fitted(&program(&daemon)?, asks_a_model(&daemon));
            plan.change(Change::write(units.join(SOCKET), SOCKET_UNIT)?);
            plan.change(Change::write(units.join(SERVICE), &service)?);
            if !plan.is_empty() {
                plan.last.push(systemctl(&["daemon-reload"]));
            }
            // Without a login there is no user manager: an earlier run may have written the files but not enabled them.
            if !plan.is_empty() || units.join(ENABLED).symlink_metadata().is_err() {
                plan.last.push(systemctl(&["enable", "--now", SOCKET]));
                plan.notes.push("The first client starts the daemon: longhaul status".into());
                plan.notes.push(AGENTS_UNSEEN.into());
            }
        }
        Direction::Uninstall => {
            plan.change(Change::remove(units.join(SOCKET))?);
            plan.change(Change::remove(units.join(SERVICE))?);
            if !plan.is_empty() {
                plan.first.push(systemctl(&["disable", "--now", SOCKET, SERVICE]));
                plan.last.push(systemctl(&["daemon-reload"]));
                // Without a user manager none of our units run, and systemctl fails.
                plan.is_forgiving = true;
            }
        }
    }
    Ok(plan)
}

fn units() -> Result<PathBuf, Failure> {
    Ok(place::named_or_home("XDG_CONFIG_HOME", ".config")?.join("systemd/user"))
}

/// Whether systemd starts the daemon.
pub(super) fn has_units() -> Result<bool, Failure> {
    Ok(units()?.join(SOCKET).is_file() && place::on_path("systemctl").is_some())
}

/// Adds the gateway's units: its port stays open while the program restarts.
pub(super) fn put_gateway(plan: &mut Plan, port: u16) -> Result<(), Failure> {
    let units = units()?;
    let hint = "install it next to this program: cargo install --locked --path clients/gateway";
    let gateway = place::beside(codex_gateway::PROGRAM);
    let gateway = gateway.ok_or_else(|| missing(codex_gateway::PROGRAM, hint))?;
    let listen = format!("ListenStream=127.0.0.1:{port}");
    let socket = Change::write(
        units.join(GATEWAY_SOCKET),
        &GATEWAY_SOCKET_UNIT.replace(GATEWAY_LISTEN, &listen),
    )?;
    let service = Change::write(
        units.join(GATEWAY_SERVICE),
        &GATEWAY_SERVICE_UNIT.replace(GATEWAY_PROGRAM, &program(&gateway)?),
    )?;
    if !socket.is_effective() && !service.is_effective() {
        return Ok(());
    }
    plan.prepare(socket);
    plan.prepare(service);
    plan.first.push(systemctl(&["daemon-reload"]));
    plan.first.push(systemctl(&["enable", GATEWAY_SOCKET]));
    // Restart, in case it listens on another port.
    plan.first.push(systemctl(&["restart", GATEWAY_SOCKET]));
    Ok(())
}

/// Adds the removal of the gateway's units. A running gateway keeps serving the sessions that use it.
pub(super) fn remove_gateway(plan: &mut Plan) -> Result<(), Failure> {
    let units = units()?;
    if !units.join(GATEWAY_SOCKET).is_file() {
        return Ok(());
    }
    plan.change(Change::remove(units.join(GATEWAY_SOCKET))?);
    plan.change(Change::remove(units.join(GATEWAY_SERVICE))?);
    plan.first.push(systemctl(&["disable", GATEWAY_SOCKET]));
    plan.is_forgiving = true;
    Ok(())
}

/// The unit for a daemon at `program`; only one that asks a model may use the network.
fn fitted(program: &str, asks_a_model: bool) -> String {
    let unit = SERVICE_UNIT.replace(PROGRAM, program);
    match asks_a_model {
        true => unit.replace(LOCAL_ONLY, NETWORK),
        false => unit,
    }
}

/// Asks the daemon whether its configuration has a provider. Without an answer it gets no network; `longhaul doctor`
/// warns if that is wrong.
fn asks_a_model(daemon: &Path) -> bool {
    let asked = Command::new(daemon).arg("--check-config").stdin(Stdio::null()).output();
    asked.is_ok_and(|answer| names_a_provider(&String::from_utf8_lossy(&answer.stdout)))
}

fn names_a_provider(settings: &str) -> bool {
    let value = settings.lines().find_map(|line| line.strip_prefix("providers = "));
    value.is_some_and(|value| !value.starts_with("none"))
}

/// Whether a unit allows its service to use the network.
pub(in crate::commands) fn allows_network(unit: &str) -> bool {
    let families = unit.lines().filter_map(|line| line.strip_prefix("RestrictAddressFamilies="));
    let mut families = families.peekable();
    families.peek().is_none() || families.any(|line| line.contains("AF_INET"))
}

/// The path of a program in a unit; `%h` stands for the home folder.
fn program(daemon: &Path) -> Result<String, Failure> {
    escaped(daemon, &place::home()?).ok_or_else(|| {
        let path = daemon.display();
        let message =
            format!("systemd starts no program with a quote or a backslash in its path: {path}");
        Failure::new(CONFIG, message).with_hint("install longhaul in another folder")
    })
}

/// A path as systemd reads it; `None` for one that it rejects. It keeps a `$` in the path of a program.
fn escaped(program: &Path, home: &Path) -> Option<String> {
    let text = |path: &Path| path.to_string_lossy().replace('%', "%%");
    let place = match program.strip_prefix(home) {
        Ok(below) => format!("%h/{}", text(below)),
        Err(_) => text(program),
    };
    let is_rejected = |letter: char| letter.is_control() || "\"'\\".contains(letter);
    if place.contains(is_rejected) {
        return None;
    }
    Some(if place.contains(' ') { format!("\"{place}\"") } else { place })
}

fn systemctl(arguments: &[&str]) -> Vec<String> {
    ["systemctl", "--user"].iter().chain(arguments).map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_each_placeholder_once() {
        assert_eq!(SERVICE_UNIT.matches(PROGRAM).count(), 1);
        assert_eq!(GATEWAY_SERVICE_UNIT.matches(GATEWAY_PROGRAM).count(), 1);
        assert_eq!(GATEWAY_SOCKET_UNIT.matches(GATEWAY_LISTEN).count(), 1);
    }

    #[test]
    fn path_of_a_program_is_written_as_systemd_reads_it() {
        for (path, expected) in [
            ("/opt/longhauld", Some("/opt/longhauld")),
            ("/home/ada/bin/longhauld", Some("%h/bin/longhauld")),
            ("/home/ada/my 5%/longhauld", Some("\"%h/my 5%%/longhauld\"")),
            ("/opt/my tools/longhauld", Some("\"/opt/my tools/longhauld\"")),
            ("/opt/a$b/longhauld", Some("/opt/a$b/longhauld")),
            ("/opt/a\"b/longhauld", None),
            ("/opt/a\\b/longhauld", None),
        ] {
            let found = escaped(Path::new(path), Path::new("/home/ada"));
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn unit_allows_the_network_only_with_a_model() {
        assert!(!allows_network(&fitted("/d", false)));
        assert!(allows_network(&fitted("/d", true)));
        assert!(names_a_provider("model = p/m  # file\nproviders = p  # file\n"));
        assert!(!names_a_provider("providers = none  # default\n"));
    }
}
