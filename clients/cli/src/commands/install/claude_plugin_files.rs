//! The plugin of Claude Code, built in: a program that was installed alone has it, and always its own version's.

macro_rules! files {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../../claude-plugin/", $path)))),*]
    };
}

/// The file that names the program: the text here is the marketplace's.
pub(super) const PROGRAM: &str = "hooks/program.ts";

/// Each file of `clients/claude-plugin` that Claude Code reads or shows: its path there, its text.
pub(super) const FILES: &[(&str, &str)] = files! {
    ".claude-plugin/plugin.json"
    "LICENSE"
    "README.md"
    "hooks/answer.ts"
    "hooks/excerpt.ts"
    "hooks/hooks.json"
    "hooks/longhaul.ts"
    "hooks/program.ts"
    "hooks/tail.ts"
};
