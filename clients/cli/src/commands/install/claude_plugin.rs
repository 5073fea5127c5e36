//! The plugin of Claude Code, in the folder for skills, which needs no marketplace.
//!
//! The hooks stay installed: they give a session its memory, and work if Claude Code does not load the plugin (an old
//! version, or switched off by its vendor). If both run, the plugin omits what the hook adds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::change::Change;
use super::place;
use super::plan::Plan;
use super::plugin_files::{CLAUDE_FILES, PROGRAM};
use crate::failure::Failure;

/// Oldest version of Claude Code that the plugin was tested with.
pub(in crate::commands) const VERSION_MIN: Version = Version(2, 1, 290);
/// The plugin's ids in Claude Code's settings: installed here, and from the marketplace.
const SKILLS_ID: &str = "longhaul@skills-dir";
const MARKETPLACE_ID: &str = "longhaul@longhaul";
/// What Claude Code adds to a plugin in this folder.
const ADDED: [&str; 2] = [".claude-plugin/types", "tsconfig.json"];
/// Prefix of the plugin's file in Claude Code's folder for stored values.
const RECORD_PREFIX: &str = "longhaul_";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::commands) struct Version(u32, u32, u32);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[derive(Debug)]
pub(in crate::commands) struct PluginSetup {
    pub(in crate::commands) claude: Option<Version>,
    pub(in crate::commands) installation: Option<Installation>,
    pub(in crate::commands) last: Option<Record>,
    pub(in crate::commands) excerpts: ExcerptCounts,
}

#[derive(Debug)]
pub(in crate::commands) struct Installation {
    pub(in crate::commands) id: &'static str,
    pub(in crate::commands) is_enabled: bool,
    /// Whether its files are this version's.
    pub(in crate::commands) is_current: bool,
    /// The program it runs, if its files name one by its path.
    pub(in crate::commands) program: Option<PathBuf>,
}

/// The plugin's record of its last compaction.
#[derive(Debug, Deserialize)]
pub(in crate::commands) struct Record {
    pub(in crate::commands) at_ms: i64,
    pub(in crate::commands) ms: u64,
    /// Why it was left to Claude Code; absent if it was answered.
    pub(in crate::commands) reason: Option<String>,
}

/// The plugin's counts of results that entered a session as excerpts.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(in crate::commands) struct ExcerptCounts {
    pub(in crate::commands) results: u64,
    /// Characters left out.
    pub(in crate::commands) characters: u64,
}

/// Adds the plugin to a plan, or a note why it is not used.
pub(super) fn install(
    plan: &mut Plan,
    folder: &Path,
    (socket, excerpts): (Option<&Path>, Option<bool>),
) -> Result<(), Failure> {
    let root = root(folder);
    let present =
        || fs::read_to_string(root.join(PROGRAM)).is_ok_and(|text| text.contains(&switch(true)));
    let excerpts = excerpts.unwrap_or_else(present);
    let found = setup(folder);
    let why = match (&found.installation, found.claude) {
        (Some(from), _) if from.id == MARKETPLACE_ID => {
            plan.notes
                .push(format!("{MARKETPLACE_ID} is already installed and answers compactions."));
            return Ok(());
        }
        (_, None) => "claude is not on the PATH, so its version is unknown".to_owned(),
        (_, Some(version)) if version < VERSION_MIN => {
            format!("the plugin needs Claude Code {VERSION_MIN}, this is {version}")
        }
        (_, Some(_)) => {
            for (path, text) in wanted(&place::longhaul()?, socket, excerpts) {
                plan.change(Change::write(root.join(path), &text)?.own(&root));
            }
            plan.notes
                .push("Compactions: by the plugin, without a model, else by the hooks.".into());
            return Ok(());
        }
    };
    plan.notes.push(format!("Compactions: by Claude Code itself, with our hooks: {why}."));
    Ok(())
}

/// Adds its removal, with what Claude Code added to it.
pub(super) fn uninstall(plan: &mut Plan, folder: &Path) -> Result<(), Failure> {
    let root = root(folder);
    if !root.join(".claude-plugin/plugin.json").is_file() {
        return Ok(());
    }
    let mut added = Vec::new();
    ADDED.iter().for_each(|path| files_below(&root.join(path), &mut added));
    let ours = CLAUDE_FILES.iter().map(|(path, _)| root.join(path));
    for path in ours.chain(added) {
        plan.change(Change::remove(path)?.own(&root));
    }
    Ok(())
}

pub(in crate::commands) fn setup(folder: &Path) -> PluginSetup {
    PluginSetup {
        claude: version(),
        installation: installation(folder),
        last: last(folder),
        excerpts: excerpts(folder),
    }
}

/// The installed plugin, read from files.
pub(in crate::commands) fn installation(folder: &Path) -> Option<Installation> {
    let settings = super::setup::json(&folder.join("settings.json"));
    let enabled = |id: &str| settings["enabledPlugins"][id].as_bool();
    let root = root(folder);
    if enabled(MARKETPLACE_ID) == Some(true) {
        let (is_enabled, is_current) = (true, true);
        return Some(Installation { id: MARKETPLACE_ID, is_enabled, is_current, program: None });
    }
    root.join(".claude-plugin/plugin.json").is_file().then(|| {
        let program =
            fs::read_to_string(root.join(PROGRAM)).ok().and_then(|text| program_in(&text));
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let others = CLAUDE_FILES.iter().filter(|(path, _)| *path != PROGRAM);
        let is_current = others.clone().all(|(path, built_in)| text(path) == *built_in);
        let is_enabled = enabled(SKILLS_ID) != Some(false);
        Installation { id: SKILLS_ID, is_enabled, is_current, program }
    })
}

fn root(folder: &Path) -> PathBuf {
    folder.join("skills/longhaul")
}

/// The files to write: the built-in ones with this program's path.
fn wanted(longhaul: &Path, socket: Option<&Path>, excerpts: bool) -> Vec<(&'static str, String)> {
    let mut words = vec![longhaul.to_string_lossy().into_owned()];
    words.extend(
        socket.iter().flat_map(|path| ["--socket".into(), path.to_string_lossy().into_owned()]),
    );
    let words = serde_json::to_string(&words).unwrap_or_default();
    let files = CLAUDE_FILES.iter().map(|&(path, text)| match path {
        PROGRAM => {
            let text = text.replace(&switch(false), &switch(excerpts));
            (path, text.replace(r#"["longhaul"]"#, &words))
        }
        _ => (path, text.to_owned()),
    });
    files.collect()
}

/// The line of the file that switches excerpts on or off.
fn switch(excerpts: bool) -> String {
    format!("excerpts: boolean = {excerpts};")
}

/// The program that the file names, if it is an absolute path.
fn program_in(text: &str) -> Option<PathBuf> {
    let words = text.rsplit_once(" = ")?.1.trim().trim_end_matches(';');
    let words: Vec<String> = serde_json::from_str(words).ok()?;
    words.into_iter().next().map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The version of the program on the `PATH`.
fn version() -> Option<Version> {
    let claude = place::on_path("claude")?;
    let output = Command::new(claude).arg("--version").stdin(Stdio::null()).output().ok()?;
    parsed(&String::from_utf8_lossy(&output.stdout))
}

fn parsed(text: &str) -> Option<Version> {
    let mut numbers = text.split_whitespace().next()?.split(['.', '-']).map(str::parse::<u32>);
    let mut next = || numbers.next()?.ok();
    Some(Version(next()?, next()?, next()?))
}

/// The plugin's newest record, from either installation.
fn last(folder: &Path) -> Option<Record> {
    let records = stored(folder, "compactions");
    records.into_iter().max_by_key(|record: &Record| record.at_ms)
}

fn excerpts(folder: &Path) -> ExcerptCounts {
    let counts = stored(folder, "excerpts").into_iter();
    counts.fold(ExcerptCounts::default(), |all, of: ExcerptCounts| ExcerptCounts {
        results: all.results.saturating_add(of.results),
        characters: all.characters.saturating_add(of.characters),
    })
}

/// What the plugin stored under a key: one value for each way it was installed.
fn stored<T: DeserializeOwned>(folder: &Path, key: &str) -> Vec<T> {
    let Ok(stores) = fs::read_dir(folder.join("plugins/store")) else { return Vec::new() };
    let ours = stores
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(RECORD_PREFIX));
    let values = ours.filter_map(|entry| {
        let mut stored: Value = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
        serde_json::from_value(stored[key].take()).ok()
    });
    values.collect()
}

fn files_below(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        found.push(path.to_owned());
    }
    let Ok(entries) = fs::read_dir(path) else { return };
    entries.flatten().for_each(|entry| files_below(&entry.path(), found));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hook_file_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../claude-plugin");
        let mut modules = Vec::new();
        files_below(&folder.join("hooks"), &mut modules);
        let built_in = |path: &PathBuf| {
            let path = path.strip_prefix(&folder).unwrap().to_str().unwrap();
            CLAUDE_FILES.iter().any(|(built_in, _)| *built_in == path)
        };
        assert!(modules.iter().all(built_in), "{modules:?}");
    }

    #[test]
    fn counts_of_all_installations_are_added() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(excerpts(folder.path()), ExcerptCounts::default());
        let store = folder.path().join("plugins/store");
        fs::create_dir_all(&store).unwrap();
        for (file, text) in [
            ("longhaul_a.json", r#"{"excerpts":{"results":2,"characters":9000}}"#),
            ("longhaul_b.json", r#"{"excerpts":{"results":1,"characters":500}}"#),
            ("longhaul_c.json", r#"{"compactions":{"at_ms":1,"ms":2}}"#),
            ("other_d.json", r#"{"excerpts":{"results":7,"characters":7}}"#),
        ] {
            fs::write(store.join(file), text).unwrap();
        }
        let counted = ExcerptCounts { results: 3, characters: 9_500 };
        assert_eq!(
            (excerpts(folder.path()), last(folder.path()).map(|it| it.ms)),
            (counted, Some(2))
        );
    }

    #[test]
    fn program_path_round_trips() {
        let socket = Some(Path::new("/run/my \"socket\""));
        let files = wanted(Path::new("/opt/my tools/longhaul"), socket, true);
        let (_, text) = files.iter().find(|(path, _)| *path == PROGRAM).unwrap();
        assert!(text.contains("excerpts: boolean = true;"), "{text}");
        assert!(
            text.contains(r#"["/opt/my tools/longhaul","--socket","/run/my \"socket\""];"#),
            "{text}"
        );
        assert_eq!(program_in(text), Some("/opt/my tools/longhaul".into()));
        let (_, built_in) = CLAUDE_FILES.iter().find(|(path, _)| *path == PROGRAM).unwrap();
        assert_eq!(program_in(built_in), None, "the marketplace's is found on the PATH");
    }

    #[test]
    fn versions_are_read_and_ordered_by_number() {
        let version = |text| parsed(text).unwrap();
        assert!(version("2.1.330 (Claude Code)") > version("2.1.99 (Claude Code)"));
        assert!(version("2.1.197 (Claude Code)") < VERSION_MIN);
        assert_eq!(version("2.1.290-dev.1 (Claude Code)"), VERSION_MIN);
        assert_eq!(parsed("claude: not found"), None);
    }
}
