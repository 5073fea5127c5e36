//! The project's instructions (AGENTS.md): the files they come from, and how to join them.
//!
//! Follows Codex, including separator and limits, so that the result is what an agent reads at its next start.

/// Default limit, in bytes, for a project's files together.
pub const BYTES_DEFAULT: u64 = 32 * 1_024;

/// Separates the global instructions from the project's.
const SEPARATOR: &str = "\n\n--- project-doc ---\n\n";

/// File names in order of preference.
const NAMES: [&str; 2] = ["AGENTS.override.md", "AGENTS.md"];

/// The agent's settings for project instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionRules {
    /// Default limit, in bytes, for a project's files together.
    pub bytes_max: u64,
    /// Additional file names, after the default ones.
    pub fallback_names: Vec<String>,
    /// Files that mark a project root; if empty, only the working folder is read.
    pub root_markers: Vec<String>,
}

impl Default for InstructionRules {
    fn default() -> Self {
        Self {
            bytes_max: BYTES_DEFAULT,
            fallback_names: Vec::new(),
            root_markers: vec![".git".to_owned()],
        }
    }
}

impl InstructionRules {
    /// Names of the global file; the first non-blank one is used.
    pub fn global_names() -> impl Iterator<Item = &'static str> {
        NAMES.into_iter()
    }

    /// Names of a folder's file; the first existing one is used.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        NAMES.into_iter().chain(self.fallback_names.iter().map(String::as_str))
    }
}

/// Joins a project's files from the root down, up to the byte limit.
#[derive(Debug)]
pub struct InstructionText {
    /// Bytes left for the next file; 0 if no more may be read.
    pub left: u64,
    texts: Vec<String>,
}

impl InstructionText {
    pub fn new(rules: &InstructionRules) -> Self {
        Self { left: rules.bytes_max, texts: Vec::new() }
    }

    /// Adds the beginning of a file. A split character becomes U+FFFD.
    pub fn push(&mut self, bytes: &[u8]) {
        let kept = usize::try_from(self.left).map_or(bytes, |left| &bytes[..left.min(bytes.len())]);
        let text = String::from_utf8_lossy(kept);
        if text.trim().is_empty() {
            return;
        }
        self.left = self.left.saturating_sub(kept.len() as u64);
        self.texts.push(text.into_owned());
    }

    /// The joined text after the global instructions; `None` if both are empty.
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
        let mut joined =
            InstructionText::new(&InstructionRules { bytes_max, ..InstructionRules::default() });
        files.iter().for_each(|file| joined.push(file.as_bytes()));
        joined.finish(global)
    }

    #[test]
    fn files_are_joined_from_the_root_down_within_one_limit() {
        assert_eq!(joined(100, "", &["root", " \n", "leaf\n"]).as_deref(), Some("root\n\nleaf"));
        assert_eq!(joined(6, "", &["root", "leaf", "more"]).as_deref(), Some("root\n\nle"));
        assert_eq!(joined(5, "", &["aé é"]).as_deref(), Some("aé \u{fffd}"));
        assert_eq!(joined(0, "", &["root"]), None, "0 disables");
    }

    #[test]
    fn what_a_file_takes_is_not_left_for_the_next() {
        let mut joined =
            InstructionText::new(&InstructionRules { bytes_max: 6, ..InstructionRules::default() });
        for (file, left) in [("root", 2), (" \n", 2), ("leaf", 0), ("more", 0)] {
            joined.push(file.as_bytes());
            assert_eq!(joined.left, left, "{file:?}");
        }
    }

    #[test]
    fn global_instructions_come_before_the_projects() {
        let whole = joined(100, " be brief\n", &["root"]);
        assert_eq!(whole.as_deref(), Some("be brief\n\n--- project-doc ---\n\nroot"));
        assert_eq!(joined(0, "be brief", &["root"]).as_deref(), Some("be brief"));
        assert_eq!(joined(100, " ", &[]), None);
    }

    #[test]
    fn an_override_is_preferred_and_fallbacks_come_last() {
        let rules = InstructionRules {
            fallback_names: vec!["NOTES.md".to_owned()],
            ..InstructionRules::default()
        };
        let names: Vec<_> = rules.names().collect();
        assert_eq!(names, ["AGENTS.override.md", "AGENTS.md", "NOTES.md"]);
    }
}
