//! Finds the memory files that a shell command reads. Used threads are kept and served first.

use serde::{Deserialize, Serialize};

use crate::paths;
use crate::rollout::shell::{self, Command, FileUse};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum UsageKind {
    /// `MEMORY.md`.
    MemoryMd,
    /// `memory_summary.md`.
    MemorySummary,
    /// `raw_memories.md`.
    RawMemories,
    /// `rollout_summaries/*.md`.
    RolloutSummaries,
    /// `skills/…`.
    Skills,
}

impl UsageKind {
    /// The kind of a file, by its path below the memory folder.
    pub fn of(path: &str) -> Option<Self> {
        match path.trim_matches('/') {
            "MEMORY.md" => Some(Self::MemoryMd),
            "memory_summary.md" => Some(Self::MemorySummary),
            "raw_memories.md" => Some(Self::RawMemories),
            "rollout_summaries" => Some(Self::RolloutSummaries),
            "skills" => Some(Self::Skills),
            path if path.starts_with("rollout_summaries/") => Some(Self::RolloutSummaries),
            path if path.starts_with("skills/") => Some(Self::Skills),
            _ => None,
        }
    }
}

/// The memory files that a script's commands read or search, each once, in order, as paths below the memory folder. Such
/// a path is a folder if the command names no file in it. `roots` are the absolute paths of the memory folder (the
/// link and the generation it points to); `workdir` is the script's folder, if known.
pub fn reads(
    commands: &[Command],
    workdir: Option<&str>,
    roots: &[impl AsRef<str>],
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for FileUse { command, used, path, .. } in shell::uses_of(commands, false) {
        // Entering a folder reads nothing.
        let program = commands[command].words.first().map(String::as_str);
        if matches!(program, Some("cd" | "pushd")) {
            continue;
        }
        let whole = paths::absolute(&path, workdir);
        let Some(below) = below_any(&whole, roots) else { continue };
        let is_read = !used.is_change() && UsageKind::of(below).is_some();
        if is_read && !found.iter().any(|known| known == below) {
            found.push(below.to_owned());
        }
    }
    found
}

/// The path relative to the first of `roots` that contains it.
pub(super) fn below_any<'a>(path: &'a str, roots: &[impl AsRef<str>]) -> Option<&'a str> {
    roots.iter().find_map(|root| below(path, root.as_ref()))
}

fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    path.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_recognized_by_kind() {
        let roots = ["/home/u/.local/share/longhaul/memory", "~/.local/share/longhaul/memory"];
        let kinds = |script: &str, workdir: Option<&str>| -> Vec<UsageKind> {
            let commands = shell::commands(script);
            reads(&commands, workdir, &roots)
                .iter()
                .filter_map(|path| UsageKind::of(path))
                .collect()
        };
        let root = roots[0];
        for (script, expected) in [
            (format!("cat {root}/MEMORY.md"), vec![UsageKind::MemoryMd]),
            (format!("rg -n retry {root}/MEMORY.md"), vec![UsageKind::MemoryMd]),
            (format!("sed -n 1,9p {root}/memory_summary.md"), vec![UsageKind::MemorySummary]),
            (format!("grep x {root}/raw_memories.md | head"), vec![UsageKind::RawMemories]),
            (format!("ls {root}/rollout_summaries/"), vec![UsageKind::RolloutSummaries]),
            (format!("cat {root}/skills/a/SKILL.md"), vec![UsageKind::Skills]),
            (format!("echo x > {root}/MEMORY.md"), vec![]),
            ("cat ~/.local/share/longhaul/memory/MEMORY.md".into(), vec![UsageKind::MemoryMd]),
            (
                format!("cd {root} && cat MEMORY.md skills/a/SKILL.md"),
                vec![UsageKind::MemoryMd, UsageKind::Skills],
            ),
            (format!("(cd {root}/skills && ls) ; cat {root}/../other/MEMORY.md"), vec![]),
            (format!("pushd {root} && cat raw_memories.md"), vec![UsageKind::RawMemories]),
            ("cat MEMORY.md".into(), vec![]),
        ] {
            assert_eq!(kinds(&script, Some("/w")), expected, "{script}");
        }
        assert_eq!(kinds("cat MEMORY.md", Some(root)), [UsageKind::MemoryMd]);
    }

    #[test]
    fn a_file_has_the_kind_of_its_folder() {
        for (path, kind) in [
            ("skills/a/SKILL.md", Some(UsageKind::Skills)),
            ("rollout_summaries/a.md", Some(UsageKind::RolloutSummaries)),
            ("skillset/a.md", None),
            ("notes.md", None),
        ] {
            assert_eq!(UsageKind::of(path), kind, "{path}");
        }
        let roots = ["/m", "~/m/"];
        assert_eq!(below_any("~/m/MEMORY.md", &roots), Some("MEMORY.md"));
        assert_eq!(below_any("/m2/MEMORY.md", &roots), None);
    }
}
