//! The files of our plugins, built in so that the installed versions always match this program.

macro_rules! files {
    ($folder:literal: $($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../../", $folder, "/", $path)))),*]
    };
}

/// The file of Claude Code's plugin that names the program to run; the built-in text is the marketplace's.
pub(super) const PROGRAM: &str = "hooks/program.ts";

/// Path and text of each file of `clients/claude-plugin` that Claude Code reads or shows.
pub(super) const CLAUDE_FILES: &[(&str, &str)] = files! { "claude-plugin":
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

/// Path and text of each file of `clients/nvim` that Neovim reads.
pub(super) const NVIM_FILES: &[(&str, &str)] = files! { "nvim":
    "doc/longhaul.txt"
    "lua/longhaul/client.lua"
    "lua/longhaul/commands.lua"
    "lua/longhaul/connection.lua"
    "lua/longhaul/failure.lua"
    "lua/longhaul/float.lua"
    "lua/longhaul/format.lua"
    "lua/longhaul/health.lua"
    "lua/longhaul/item.lua"
    "lua/longhaul/printable.lua"
    "lua/longhaul/socket.lua"
    "lua/longhaul/statusline.lua"
    "lua/longhaul/thread.lua"
    "lua/longhaul/undo.lua"
    "lua/longhaul/usage.lua"
    "lua/longhaul.lua"
    "plugin/longhaul.lua"
};
