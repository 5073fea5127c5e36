//! The project's instructions (AGENTS.md) as Codex would read them at its next start in a folder.
//!
//! Read each time they are asked for, as [`crate::agent_settings`] is: what the user changed holds at once.
//! Files that cannot be read count as not there; which of them count, and how they are joined, is decided in
//! [`longhaul_core::context::project`].

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use longhaul_core::context::project::{InstructionRules, InstructionText};
use serde::Deserialize;

/// Bytes of the file that holds everywhere: the agent has no bound for it, and a longer one is a mistake.
const GLOBAL_BYTES_MAX: u64 = 256 * 1_024;

/// Bytes of the agent's configuration that are read.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// The keys of the agent's configuration that matter here.
#[derive(Default, Deserialize)]
struct Told {
    project_doc_max_bytes: Option<toml::Value>,
    project_doc_fallback_filenames: Option<toml::Value>,
    project_root_markers: Option<toml::Value>,
}

/// What a thread in `cwd` is told, from the root of its project down to it; `None` when there is nothing.
pub(crate) fn read(codex_home: &Path, cwd: &Path) -> Option<String> {
    let rules = rules(codex_home);
    let mut joined = InstructionText::new(&rules);
    let folders = folders(cwd, &rules.root_markers);
    let root = folders.first().and_then(|root| root.canonicalize().ok());
    for folder in folders {
        if joined.left() == 0 {
            break;
        }
        let mut places = rules.names().map(|name| folder.join(name));
        let first = places.find_map(|path| inside(&path, root.as_deref()?));
        joined.push(&first.and_then(|path| beginning(&path, joined.left())).unwrap_or_default());
    }
    let global = InstructionRules::global_names().find_map(|name| {
        let bytes = beginning(&codex_home.join(name), GLOBAL_BYTES_MAX)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (!text.trim().is_empty()).then_some(text)
    });
    joined.finish(&global.unwrap_or_default())
}

/// The folders from the project's root to `cwd`; `cwd` alone where nothing marks a root.
fn folders<'a>(cwd: &'a Path, markers: &[String]) -> Vec<&'a Path> {
    let is_root = |folder: &Path| markers.iter().any(|marker| folder.join(marker).exists());
    let depth = cwd.ancestors().position(is_root).unwrap_or(0);
    let mut folders: Vec<&Path> = cwd.ancestors().take(depth + 1).collect();
    folders.reverse();
    folders
}

/// Where a file of the project really is. One that is a link out of the project is passed by: a repository could
/// have any file of the person's read as its instructions.
fn inside(path: &Path, root: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    (real.starts_with(root) && is_file(&real)).then_some(real)
}

/// A folder or a pipe of that name is passed by: reading it would fail, or never end.
fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file())
}

fn beginning(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = if is_file(path) { File::open(path).ok()? } else { return None };
    file.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// What the user told the agent; a key of another shape counts as not said.
fn rules(codex_home: &Path) -> InstructionRules {
    let bytes = beginning(&codex_home.join("config.toml"), CONFIG_BYTES_MAX).unwrap_or_default();
    let told: Told = toml::from_str(&String::from_utf8_lossy(&bytes)).unwrap_or_default();
    let usual = InstructionRules::default();
    let bytes_max = told.project_doc_max_bytes.and_then(|value| value.as_integer());
    let texts = |value: Option<toml::Value>| value?.try_into::<Vec<String>>().ok();
    InstructionRules {
        bytes_max: bytes_max.and_then(|max| u64::try_from(max).ok()).unwrap_or(usual.bytes_max),
        fallback_names: texts(told.project_doc_fallback_filenames).unwrap_or_default(),
        root_markers: texts(told.project_root_markers).unwrap_or(usual.root_markers),
    }
}

#[cfg(test)]
mod tests;
