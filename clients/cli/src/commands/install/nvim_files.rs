//! The files of the Neovim plugin, built in so that the installed version always matches this program.

macro_rules! files {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../../nvim/", $path)))),*]
    };
}

/// Path and text of each file of `clients/nvim` that Neovim reads.
pub(super) const FILES: &[(&str, &str)] = files! {
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
