//! The addresses of providers in Codex's settings, and what they were before the gateway's.
//!
//! The gateway's settings can be lost: they are in the state folder. So a gateway's address is recognized without them,
//! and the provider's own is then looked for in the backups that install left next to Codex's settings.

use std::fs;
use std::path::Path;

use longhaul_client::gateway::GatewayRoute;
use toml_edit::{DocumentMut, Item, TableLike};

/// Codex's built-in provider, and the key of its address.
pub(super) const BUILT_IN: &str = "openai";
pub(super) const BUILT_IN_KEY: &str = "openai_base_url";
/// Digits of a gateway's secret.
const SECRET_DIGITS: usize = 32;
/// The newest first.
const BACKUPS: [&str; 2] = [".longhaul-backup-2", ".longhaul-backup"];

/// The table with a provider's address, and the address's key; `None` for a provider that is not configured.
pub(super) fn place<'a>(
    document: &'a mut DocumentMut,
    name: &str,
) -> Option<(&'a mut dyn TableLike, &'static str)> {
    if name == BUILT_IN {
        return Some((document.as_table_mut(), BUILT_IN_KEY));
    }
    let table = document.get_mut("model_providers")?.get_mut(name)?.as_table_like_mut()?;
    Some((table, "base_url"))
}

/// Whether an address is that of a gateway for this provider, on any port and with any secret.
pub(super) fn is_gateways(url: &str, name: &str) -> bool {
    let rest = url.strip_prefix("http://127.0.0.1:");
    let Some((port, path)) = rest.and_then(|rest| rest.split_once('/')) else { return false };
    let Some((secret, route)) = path.split_once('/') else { return false };
    let is_secret = secret.len() == SECRET_DIGITS && secret.bytes().all(|b| b.is_ascii_hexdigit());
    port.parse::<u16>().is_ok() && is_secret && route == name
}

/// The providers whose address is a gateway's.
pub(super) fn redirected(document: &DocumentMut) -> Vec<String> {
    let custom = document.get("model_providers").and_then(Item::as_table_like);
    let custom = custom
        .into_iter()
        .flat_map(TableLike::iter)
        .map(|(name, provider)| (name.to_owned(), provider.get("base_url").and_then(Item::as_str)));
    let built_in = document.get(BUILT_IN_KEY).and_then(Item::as_str);
    let all = [(BUILT_IN.to_owned(), built_in)].into_iter().chain(custom);
    all.filter(|(name, url)| url.is_some_and(|url| is_gateways(url, name)))
        .map(|(name, _)| name)
        .collect()
}

/// A provider's own address and settings, from the newest backup that has them. Without a backup there were no settings
/// before ours, so the built-in provider had no address.
pub(super) fn backed_up(path: &Path, name: &str) -> Option<GatewayRoute> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut backups = BACKUPS.iter().filter_map(|ending| {
        let mut backup = path.clone().into_os_string();
        backup.push(ending);
        own(&mut fs::read_to_string(backup).ok()?.parse().ok()?, name)
    });
    let found = backups.next();
    found.or_else(|| (name == BUILT_IN).then(GatewayRoute::default))
}

/// A provider's settings; `None` if they are a gateway's or have no address.
fn own(document: &mut DocumentMut, name: &str) -> Option<GatewayRoute> {
    let (table, key) = place(document, name)?;
    let upstream = table.get(key).and_then(Item::as_str).map(str::to_owned);
    if upstream.as_ref().map_or(name != BUILT_IN, |url| is_gateways(url, name)) {
        return None;
    }
    let supports_websockets = match name {
        BUILT_IN => None,
        _ => table.get("supports_websockets").and_then(Item::as_bool),
    };
    Some(GatewayRoute { upstream, supports_websockets, compact_prompts: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_of_a_gateway_is_recognized_without_its_settings() {
        let secret = "0123456789abcdef".repeat(2);
        assert!(is_gateways(&format!("http://127.0.0.1:29871/{secret}/corp"), "corp"));
        for url in [
            "https://llm.example/v1".to_owned(),
            "http://127.0.0.1:8080/v1".to_owned(),
            format!("http://127.0.0.1:x/{secret}/corp"),
            format!("http://127.0.0.1:29871/{secret}/other"),
            format!("http://127.0.0.1:29871/{}/corp", &secret[1..]),
        ] {
            assert!(!is_gateways(&url, "corp"), "{url}");
        }
    }

    #[test]
    fn own_address_is_in_the_newest_backup_without_a_gateway() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let gateway = format!("http://127.0.0.1:29871/{}/corp", "0".repeat(32));
        let put = |ending: &str, url: &str| {
            let text = format!("[model_providers.corp]\nbase_url = \"{url}\"\n");
            fs::write(folder.path().join(format!("config.toml{ending}")), text).unwrap();
        };
        let upstream = |name| backed_up(&path, name).map(|route| route.upstream);
        assert_eq!((upstream("corp"), upstream(BUILT_IN)), (None, Some(None)), "no backup");
        put(".longhaul-backup", "https://first.example");
        put(".longhaul-backup-2", "https://second.example");
        assert_eq!(upstream("corp"), Some(Some("https://second.example".into())));
        put(".longhaul-backup-2", &gateway);
        assert_eq!(upstream("corp"), Some(Some("https://first.example".into())));
        assert_eq!(upstream("other"), None);
    }
}
