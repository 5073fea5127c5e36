//! The project's instructions (AGENTS.md) as Codex would read them at its next start in a folder.
//!
//! Read on every request, as [`crate::agent_settings`] is, so changes apply at once. Unreadable files count as missing.
//! [`longhaul_core::context::project`] decides which files count and how they are joined.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use longhaul_core::context::project::{InstructionRules, InstructionText};
use serde::Deserialize;

/// Maximum bytes of the global file: the agent has no bound for it, and a longer one is a mistake.
const GLOBAL_BYTES_MAX: u64 = 256 * 1_024;

/// Maximum bytes to read of the agent's configuration.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// The keys of Codex's configuration that matter here.
#[derive(Default, Deserialize)]
struct CodexConfig {
    project_doc_max_bytes: Option<toml::Value>,
    project_doc_fallback_filenames: Option<toml::Value>,
    project_root_markers: Option<toml::Value>,
}

/// The instructions for a thread in `cwd`, from the project's root down to it; `None` if there are none.
pub(crate) fn read(codex_home: &Path, cwd: &Path) -> Option<String> {
    let rules = rules(codex_home);
    let mut joined = InstructionText::new(&rules);
    let folders = folders(cwd, &rules.root_markers);
    let root = folders.first().and_then(|root| root.canonicalize().ok());
    for folder in folders {
        if joined.left == 0 {
            break;
        }
        let mut places = rules.names().map(|name| folder.join(name));
        let first = places.find_map(|path| inside(&path, root.as_deref()?));
        joined.push(&first.and_then(|path| beginning(&path, joined.left)).unwrap_or_default());
    }
    let global = InstructionRules::global_names().find_map(|name| {
        let bytes = beginning(&codex_home.join(name), GLOBAL_BYTES_MAX)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (!text.trim().is_empty()).then_some(text)
    });
    joined.finish(&global.unwrap_or_default())
}

/// The folders from the project's root to `cwd`; only `cwd` if nothing marks a root.
fn folders<'a>(cwd: &'a Path, markers: &[String]) -> Vec<&'a Path> {
    let is_root = |folder: &Path| markers.iter().any(|marker| folder.join(marker).exists());
    let depth = cwd.ancestors().position(is_root).unwrap_or(0);
    let mut folders: Vec<&Path> = cwd.ancestors().take(depth + 1).collect();
    folders.reverse();
    folders
}

/// The real path of a project's file. A link out of the project is skipped: a repository could make the daemon read any
/// file of the person as its instructions.
fn inside(path: &Path, root: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    (real.starts_with(root) && is_file(&real)).then_some(real)
}

/// Skips folders and pipes, since reading them would fail or never end.
fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file())
}

fn beginning(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = if is_file(path) { File::open(path).ok()? } else { return None };
    file.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The user's settings of the agent; a key of another type counts as unset.
fn rules(codex_home: &Path) -> InstructionRules {
    let bytes = beginning(&codex_home.join("config.toml"), CONFIG_BYTES_MAX).unwrap_or_default();
    let config: CodexConfig = toml::from_str(&String::from_utf8_lossy(&bytes)).unwrap_or_default();
    let defaults = InstructionRules::default();
    let bytes_max = config.project_doc_max_bytes.and_then(|value| value.as_integer());
    let texts = |value: Option<toml::Value>| value?.try_into::<Vec<String>>().ok();
    InstructionRules {
        bytes_max: bytes_max.and_then(|max| u64::try_from(max).ok()).unwrap_or(defaults.bytes_max),
        fallback_names: texts(config.project_doc_fallback_filenames).unwrap_or_default(),
        root_markers: texts(config.project_root_markers).unwrap_or(defaults.root_markers),
    }
}

#[cfg(test)]
mod tests;
