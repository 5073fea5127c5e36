//! The gateway in Codex's settings: redirects the selected provider to it.
//!
//! The provider's own address is kept in the gateway's settings; uninstalling restores it. If they are lost, it is taken
//! from a backup (`codex_provider`).

use std::net::TcpListener;
use std::path::Path;

use longhaul_client::gateway::{GatewayRoute, GatewaySettings};
use toml_edit::{DocumentMut, Item, TableLike};

use super::change::Change;
use super::codex::{parsed, set};
use super::codex_provider::{self, BUILT_IN, BUILT_IN_KEY, is_gateways};
use super::error::{missing, unreadable};
use super::gateway_threads;
use super::place;
use super::plan::Plan;
use super::systemd;
use crate::failure::{CONFIG, Failure};

pub(in crate::commands) const PROGRAM: &str = "longhaul-gateway";
/// Ports to try: below those that the system uses for outgoing connections.
const PORTS: std::ops::Range<u16> = 20_000..30_000;
const PORTS_TRIED: usize = 64;

/// The gateway's new settings, while Codex's are edited.
pub(super) struct GatewayPlan {
    settings: GatewaySettings,
    warnings: Vec<String>,
}

impl GatewayPlan {
    /// Keeps the secret and the port of an earlier installation.
    pub(super) fn new(port: Option<u16>) -> Result<Self, Failure> {
        if place::beside(PROGRAM).is_none() {
            let hint =
                "install it next to this program: cargo install --locked --path clients/gateway";
            return Err(missing(PROGRAM, hint));
        }
        let known = known()?;
        let is_known = |port| known.as_ref().is_some_and(|known| known.port == port);
        if let Some(port) = port.filter(|&port| !is_known(port) && !is_free(port)) {
            let message = format!("port {port} of 127.0.0.1 is in use by another program");
            return Err(Failure::new(CONFIG, message).with_hint("name another one with --port"));
        }
        let mut settings = match known {
            Some(known) => known,
            None => GatewaySettings::new(free_port()?)?,
        };
        settings.port = port.unwrap_or(settings.port);
        Ok(Self { settings, warnings: Vec::new() })
    }

    /// Redirects the selected provider to the gateway.
    pub(super) fn put(&mut self, path: &Path, text: &str) -> Result<String, Failure> {
        let mut document = parsed(path, text)?;
        let name = selected_provider(&document);
        let prompts = compact_prompts(&document);
        let (table, key) =
            codex_provider::place(&mut document, &name).ok_or_else(|| no_provider(path, &name))?;
        let present = table.get(key).and_then(Item::as_str).map(str::to_owned);
        if name != BUILT_IN && present.is_none() {
            return Err(no_provider(path, &name));
        }
        let mut route = match present {
            Some(url) if is_gateways(&url, &name) => match known_route(&self.settings, &name) {
                Some(route) => route,
                None => self.lost_route(path, &name)?,
            },
            upstream => {
                let websockets = table.get("supports_websockets").and_then(Item::as_bool);
                let supports_websockets = websockets.filter(|_| name != BUILT_IN);
                GatewayRoute { upstream, supports_websockets, compact_prompts: Vec::new() }
            }
        };
        route.compact_prompts = prompts;
        self.settings.routes.insert(name.clone(), route);
        if name != BUILT_IN {
            set(table.entry("supports_websockets").or_insert(Item::None), false.into());
        }
        set(table.entry(key).or_insert(Item::None), self.settings.base_url(&name).into());
        Ok(document.to_string())
    }

    /// The route of a gateway whose settings were lost.
    fn lost_route(&mut self, path: &Path, name: &str) -> Result<GatewayRoute, Failure> {
        let route = codex_provider::backed_up(path, name).ok_or_else(|| {
            let hint =
                format!("set base_url of [model_providers.{name}] to the provider's own address");
            Failure::new(CONFIG, lost(path, name)).with_hint(hint)
        })?;
        self.warnings.push(from_backup(&route, name));
        Ok(route)
    }

    /// Adds the settings and starts the gateway before Codex uses it.
    pub(super) fn finish(&self, plan: &mut Plan, socket: Option<&Path>) -> Result<(), Failure> {
        plan.warnings.extend(self.warnings.iter().cloned());
        let (path, folder) = settings_place()?;
        let text = serde_json::to_string_pretty(&self.settings)? + "\n";
        plan.prepare(Change::write(path, &text)?.own(&folder));
        if systemd::has_units()? {
            systemd::put_gateway(plan, self.settings.port)?;
        } else if self.settings.is_down() {
            plan.first.push(up(socket)?);
        }
        if !plan.is_empty() {
            plan.notes.push(
                "Compactions: by the gateway, without a model, else by Codex itself. Restart running Codex \
                 sessions to use it."
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// The command that starts the gateway and the daemon.
fn up(socket: Option<&Path>) -> Result<Vec<String>, Failure> {
    let word = |path: &Path| path.to_string_lossy().into_owned();
    let mut command = vec![word(&place::longhaul()?)];
    command.extend(socket.into_iter().flat_map(|path| ["--socket".to_owned(), word(path)]));
    command.push("up".to_owned());
    Ok(command)
}

/// Restores the providers' own addresses in Codex's settings.
pub(super) fn remove(
    path: &Path,
    text: &str,
    warnings: &mut Vec<String>,
) -> Result<String, Failure> {
    let settings = known()?;
    let mut document = parsed(path, text)?;
    for name in codex_provider::redirected(&document) {
        let known = settings.as_ref().and_then(|settings| known_route(settings, &name));
        let route = match known {
            Some(route) => route,
            None => match codex_provider::backed_up(path, &name) {
                Some(route) => {
                    warnings.push(from_backup(&route, &name));
                    route
                }
                None => {
                    warnings.push(format!("{}; set it by hand", lost(path, &name)));
                    continue;
                }
            },
        };
        let Some((table, key)) = codex_provider::place(&mut document, &name) else { continue };
        put_back(table, key, route.upstream.as_deref().map(Into::into));
        if name != BUILT_IN {
            put_back(table, "supports_websockets", route.supports_websockets.map(Into::into));
        }
    }
    Ok(document.to_string())
}

/// The route of a provider, unless it leads back to a gateway.
fn known_route(settings: &GatewaySettings, name: &str) -> Option<GatewayRoute> {
    let leads_back =
        |route: &GatewayRoute| route.upstream.as_ref().is_some_and(|url| is_gateways(url, name));
    settings.routes.get(name).filter(|route| !leads_back(route)).cloned()
}

fn lost(path: &Path, name: &str) -> String {
    let path = path.display();
    format!("the gateway's settings are lost, and no backup of {path} has the address of {name}")
}

fn from_backup(route: &GatewayRoute, name: &str) -> String {
    match &route.upstream {
        Some(address) => {
            format!(
                "the gateway's settings are lost: the address of {name} is from a backup: {address}"
            )
        }
        None => format!("the gateway's settings are lost: {name} gets its default address again"),
    }
}

/// Removes the gateway's files. A running gateway keeps serving the sessions that use it.
pub(super) fn finish_removal(plan: &mut Plan, home: &Path) -> Result<(), Failure> {
    systemd::remove_gateway(plan)?;
    let Some(settings) = known()? else { return Ok(()) };
    let (path, folder) = settings_place()?;
    plan.change(Change::remove(path)?.own(&folder));
    if let Ok(status) = settings.ask() {
        plan.notes.push(format!(
            "The gateway keeps serving running Codex sessions; when they have ended: kill {}",
            status.pid
        ));
    }
    plan.warnings.extend(gateway_threads::warning(home));
    Ok(())
}

/// The gateway's routes that Codex's settings use, for `longhaul doctor`.
pub(super) fn routes_in_use(config: &DocumentMut, settings: &GatewaySettings) -> Vec<String> {
    let in_use = |name: &&String| {
        let base_url = match name.as_str() {
            BUILT_IN => config.get(BUILT_IN_KEY),
            _ => {
                config.get("model_providers").and_then(|it| it.get(name.as_str())?.get("base_url"))
            }
        };
        base_url.and_then(Item::as_str) == Some(&settings.base_url(name))
    };
    settings.routes.keys().filter(in_use).cloned().collect()
}

fn known() -> Result<Option<GatewaySettings>, Failure> {
    let (path, _) = settings_place()?;
    GatewaySettings::read(&path).map_err(|error| unreadable(&path, error))
}

fn settings_place() -> Result<(std::path::PathBuf, std::path::PathBuf), Failure> {
    let path = GatewaySettings::path();
    let path =
        path.ok_or_else(|| Failure::new(CONFIG, "there is no home folder").with_hint("set HOME"))?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    Ok((path, folder))
}

/// The provider of the chosen profile, else of the file, else the built-in one.
fn selected_provider(document: &DocumentMut) -> String {
    let chosen = document.get("profile").and_then(Item::as_str);
    let profile = chosen.and_then(|name| document.get("profiles")?.get(name));
    let of_profile = profile.and_then(|profile| profile.get("model_provider"));
    let name = of_profile.or_else(|| document.get("model_provider")).and_then(Item::as_str);
    name.unwrap_or(BUILT_IN).to_owned()
}

fn no_provider(path: &Path, name: &str) -> Failure {
    let message = format!("{} has no [model_providers.{name}] with a base_url", path.display());
    Failure::new(CONFIG, message).with_hint("the gateway needs this provider's address")
}

/// The configured prompts for a summary.
fn compact_prompts(document: &DocumentMut) -> Vec<String> {
    let text = |key: &str| document.get(key).and_then(Item::as_str);
    let in_file = text("experimental_compact_prompt_file");
    let in_file = in_file.and_then(|path| std::fs::read_to_string(path).ok());
    let named = text("compact_prompt").map(str::to_owned);
    named.into_iter().chain(in_file).filter(|prompt| !prompt.trim().is_empty()).collect()
}

fn put_back(table: &mut dyn TableLike, key: &str, value: Option<toml_edit::Value>) {
    match value {
        Some(value) => set(table.entry(key).or_insert(Item::None), value),
        None => drop(table.remove(key)),
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

fn free_port() -> Result<u16, Failure> {
    // Start at different ports for the users of one machine.
    let begin = usize::try_from(std::process::id()).unwrap_or_default() % PORTS.len();
    let ports = PORTS.cycle().skip(begin).take(PORTS_TRIED);
    let mut free = ports.filter(|&port| is_free(port));
    free.next().ok_or_else(|| {
        Failure::new(CONFIG, "no free port was found on 127.0.0.1")
            .with_hint("name one with --port")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> GatewayPlan {
        let settings = GatewaySettings::new(20_001).unwrap();
        GatewayPlan { settings, warnings: Vec::new() }
    }

    fn route(plan: &GatewayPlan, name: &str) -> GatewayRoute {
        plan.settings.routes[name].clone()
    }

    #[test]
    fn built_in_provider_is_redirected_by_its_key() {
        let path = Path::new("config.toml");
        let before = "# mine\nmodel = \"m\" # good\n\n[tui]\ntheme = \"dark\"\n";
        let mut plan = plan();
        let put = plan.put(path, before).unwrap();
        let line = format!("openai_base_url = \"{}\"\n", plan.settings.base_url("openai"));
        assert_eq!(put, before.replace("# good\n", &format!("# good\n{line}")));
        assert_eq!(route(&plan, "openai"), GatewayRoute::default());
        assert_eq!(plan.put(path, &put).unwrap(), put, "a second run changes nothing");
        assert_eq!(routes_in_use(&put.parse().unwrap(), &plan.settings), ["openai"]);
        assert!(routes_in_use(&before.parse().unwrap(), &plan.settings).is_empty());
    }

    #[test]
    fn custom_provider_is_redirected_and_its_address_kept() {
        let path = Path::new("config.toml");
        let before = "model_provider = \"corp\"\ncompact_prompt = \"Sum it up.\"\n\n[model_providers.corp]\nname = \"Corp\"\n\
                      base_url = \"https://llm.example/v1\" # ask Ada\nenv_key = \"K\"\n";
        let mut plan = plan();
        let put = plan.put(path, before).unwrap();
        let url = plan.settings.base_url("corp");
        let wanted =
            before.replace("https://llm.example/v1", &url) + "supports_websockets = false\n";
        assert_eq!(put, wanted);
        let expected = GatewayRoute {
            upstream: Some("https://llm.example/v1".to_owned()),
            supports_websockets: None,
            compact_prompts: vec!["Sum it up.".to_owned()],
        };
        assert_eq!(route(&plan, "corp"), expected);
        plan.settings.port = 20_002;
        let moved = plan.put(path, &put).unwrap();
        assert_eq!(moved, put.replace(":20001/", ":20002/"), "another port");
        assert_eq!(route(&plan, "corp"), expected, "the provider's address is not forgotten");
    }

    #[test]
    fn provider_without_an_address_is_rejected() {
        for text in [
            "model_provider = \"x\"\n",
            "model_provider = \"x\"\n[model_providers.x]\nname = \"X\"\n",
        ] {
            assert!(plan().put(Path::new("c"), text).is_err(), "{text}");
        }
        let profile = "profile = \"work\"\n[profiles.work]\nmodel_provider = \"corp\"\n";
        assert_eq!(selected_provider(&profile.parse().unwrap()), "corp");
    }
}
