//! The project's instructions (AGENTS.md): which files they are made of, and how these are joined.
//!
//! # Source
//! The rules of Codex (`facts/codex-compaction.md` §8.8), so that what is told anew is what an agent would
//! read at its next start. What cannot be told from its words is Codex's, too: the separator and the limits.

/// Bytes of a project's files together, unless the user said otherwise.
pub const BYTES_DEFAULT: u64 = 32 * 1_024;

/// Stands between what holds everywhere and what holds in the project.
const SEPARATOR: &str = "\n\n--- project-doc ---\n\n";

/// Names of the file, the first that is there counts.
const NAMES: [&str; 2] = ["AGENTS.override.md", "AGENTS.md"];

/// What the user told their agent about the project's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Bytes of a project's files together; 0 reads none.
    pub bytes_max: u64,
    /// Further names, after the usual ones.
    pub fallback_names: Vec<String>,
    /// What marks the root of a project; none reads the working folder alone.
    pub root_markers: Vec<String>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            bytes_max: BYTES_DEFAULT,
            fallback_names: Vec::new(),
            root_markers: vec![".git".to_owned()],
        }
    }
}

impl Rules {
    /// Names of the file that holds everywhere, the first that is not blank counts.
    pub fn global_names() -> impl Iterator<Item = &'static str> {
        NAMES.into_iter()
    }

    /// Names of the file of a folder, the first that is there counts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        NAMES.into_iter().chain(self.fallback_names.iter().map(String::as_str))
    }
}

/// The files of a project from its root down, as one text; what is over the bound is cut off.
#[derive(Debug)]
pub struct Joined {
    left: u64,
    texts: Vec<String>,
}

impl Joined {
    /// Nothing yet.
    pub fn new(rules: &Rules) -> Self {
        Self { left: rules.bytes_max, texts: Vec::new() }
    }

    /// Bytes that the next file may have; 0 when no more is to be read.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Adds a file's beginning. A character cut in two becomes a replacement character.
    pub fn push(&mut self, bytes: &[u8]) {
        let kept = usize::try_from(self.left).map_or(bytes, |left| &bytes[..left.min(bytes.len())]);
        let text = String::from_utf8_lossy(kept);
        if text.trim().is_empty() {
            return;
        }
        self.left = self.left.saturating_sub(kept.len() as u64);
        self.texts.push(text.into_owned());
    }

    /// The whole, after what holds everywhere; `None` when there is neither.
    pub fn finish(self, global: &str) -> Option<String> {
        let project = self.texts.join("\n\n");
        let parts = [global.trim(), project.trim_end()].into_iter().filter(|part| !part.is_empty());
        let text = parts.collect::<Vec<_>>().join(SEPARATOR);
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(bytes_max: u64, global: &str, files: &[&str]) -> Option<String> {
        let mut joined = Joined::new(&Rules { bytes_max, ..Rules::default() });
        files.iter().for_each(|file| joined.push(file.as_bytes()));
        joined.finish(global)
    }

    #[test]
    fn files_are_joined_from_the_root_down_under_one_bound() {
        assert_eq!(joined(100, "", &["root", " \n", "leaf\n"]).as_deref(), Some("root\n\nleaf"));
        assert_eq!(joined(6, "", &["root", "leaf", "more"]).as_deref(), Some("root\n\nle"));
        assert_eq!(joined(5, "", &["aé é"]).as_deref(), Some("aé \u{fffd}"));
        assert_eq!(joined(0, "", &["root"]), None, "0 disables");
    }

    #[test]
    fn what_holds_everywhere_stands_before_the_project_s() {
        let whole = joined(100, " be brief\n", &["root"]);
        assert_eq!(whole.as_deref(), Some("be brief\n\n--- project-doc ---\n\nroot"));
        assert_eq!(joined(0, "be brief", &["root"]).as_deref(), Some("be brief"));
        assert_eq!(joined(100, " ", &[]), None);
    }

    #[test]
    fn an_override_is_preferred_and_fallbacks_come_last() {
        let rules = Rules { fallback_names: vec!["NOTES.md".to_owned()], ..Rules::default() };
        let names: Vec<_> = rules.names().collect();
        assert_eq!(names, ["AGENTS.override.md", "AGENTS.md", "NOTES.md"]);
    }
}
