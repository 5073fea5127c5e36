//! The route that answers Claude Code's compactions, and the result of the last one.

use std::path::Path;

use super::check::Check;
use crate::commands::install::setup::{Installation, PluginSetup, VERSION_MIN};
use crate::style::Style;

const NAME: &str = "compaction";
const AGAIN: &str = "longhaul install claude";

/// The check of one agent whose compactions we can answer.
pub(super) fn check(setup: &PluginSetup, style: &Style, runs: fn(&Path) -> bool) -> Check {
    let by_hooks =
        |why: String| format!("claude: by Claude Code itself, with our hooks beside it: {why}");
    let is_old = setup.claude.filter(|version| *version < VERSION_MIN);
    let Some(plugin) = &setup.installation else {
        return match (is_old, setup.claude) {
            (Some(version), _) => Check::ok(
                NAME,
                by_hooks(format!("{version} loads no plugins like ours (from {VERSION_MIN} on)")),
            ),
            (None, None) => Check::ok(NAME, by_hooks("claude is not on the PATH".into())),
            (None, Some(_)) => {
                Check::warn(NAME, by_hooks("the plugin is not installed".into()), AGAIN)
            }
        };
    };
    if let Some(version) = is_old {
        let why = format!("{version} does not load the plugin (from {VERSION_MIN} on)");
        return Check::warn(NAME, by_hooks(why), "update Claude Code");
    }
    if !plugin.is_enabled {
        let hint = format!("claude plugin enable {}", plugin.id);
        return Check::warn(NAME, by_hooks("the plugin is switched off".into()), hint);
    }
    in_force(setup, plugin, style, runs)
}

/// Whether the plugin that Claude Code asks can answer, and whether it did.
fn in_force(
    setup: &PluginSetup,
    plugin: &Installation,
    style: &Style,
    runs: fn(&Path) -> bool,
) -> Check {
    if let Some(program) = plugin.program.as_deref().filter(|program| !runs(program)) {
        let detail = format!("claude: the plugin runs {}, which is no program", program.display());
        return Check::fail(NAME, detail, AGAIN);
    }
    if !plugin.is_current {
        return Check::warn(
            NAME,
            "claude: the plugin is of another version than this program",
            AGAIN,
        );
    }
    let by_plugin = format!("claude: by the plugin ({}), without a model", plugin.id);
    match &setup.last {
        None => Check::ok(NAME, by_plugin),
        Some(last) => {
            let (ago, ms) = (style.ago(last.at_ms), last.ms);
            match &last.reason {
                None => {
                    Check::ok(NAME, format!("{by_plugin}; the last one answered in {ms} ms, {ago}"))
                }
                Some(reason) => Check::warn(
                    NAME,
                    format!("{by_plugin}; the last one, {ago}, was left to Claude Code: {reason}"),
                    "this stays until the next compaction is answered",
                ),
            }
        }
    }
}
