//! What answers Claude Code's compactions, and how the last one ended.

use super::agents::runs;
use super::check::Check;
use crate::commands::install::setup::{Installation, PluginSetup, VERSION_MIN};
use crate::style::{Style, counted};

const NAME: &str = "compaction";
const INSTALL_COMMAND: &str = "longhaul install claude";

pub(super) fn check(setup: &PluginSetup, style: &Style) -> Check {
    let by_hooks = |why: String| format!("claude: by Claude Code itself, with our hooks: {why}");
    let is_old = setup.claude.filter(|version| *version < VERSION_MIN);
    let Some(plugin) = &setup.installation else {
        return match (is_old, setup.claude) {
            (Some(version), _) => Check::ok(
                NAME,
                by_hooks(format!("the plugin needs version {VERSION_MIN}, this is {version}")),
            ),
            (None, None) => Check::ok(NAME, by_hooks("claude is not on the PATH".into())),
            (None, Some(_)) => {
                Check::warn(NAME, by_hooks("the plugin is not installed".into()), INSTALL_COMMAND)
            }
        };
    };
    if let Some(version) = is_old {
        let why = format!("the plugin needs version {VERSION_MIN}, this is {version}");
        return Check::warn(NAME, by_hooks(why), "update Claude Code");
    }
    if !plugin.is_enabled {
        let hint = format!("claude plugin enable {}", plugin.id);
        return Check::warn(NAME, by_hooks("the plugin is switched off".into()), hint);
    }
    check_plugin(setup, plugin, style)
}

/// Whether the enabled plugin can answer, and whether it did.
fn check_plugin(setup: &PluginSetup, plugin: &Installation, style: &Style) -> Check {
    if let Some(program) = plugin.program.as_deref().filter(|program| !runs(program)) {
        let detail =
            format!("claude: the plugin runs {}, which is not a program", program.display());
        return Check::fail(NAME, detail, INSTALL_COMMAND);
    }
    if !plugin.is_current {
        return Check::warn(
            NAME,
            "claude: the plugin's version differs from this program's",
            INSTALL_COMMAND,
        );
    }
    let by_plugin = format!("claude: by the plugin ({}), without a model", plugin.id);
    let check = check_last(setup, by_plugin, style);
    match setup.excerpts.results {
        0 => check,
        results => {
            let (results, characters) = (counted(results, "result"), setup.excerpts.characters);
            let of = counted(characters, "character");
            let detail = format!("{}; {results} as excerpts, {of} left out", check.detail);
            Check { detail, ..check }
        }
    }
}

/// How the last compaction ended.
fn check_last(setup: &PluginSetup, by_plugin: String, style: &Style) -> Check {
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
                    "this warning stays until the next compaction is answered",
                ),
            }
        }
    }
}
