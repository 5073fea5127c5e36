//! The files of the Claude Code plugin, built in so that the installed version always matches this program.

macro_rules! files {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../../claude-plugin/", $path)))),*]
    };
}

/// The file that names the program to run; the built-in text is the marketplace's.
pub(super) const PROGRAM: &str = "hooks/program.ts";

/// Path and text of each file of `clients/claude-plugin` that Claude Code reads or shows.
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
