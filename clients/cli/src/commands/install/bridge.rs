//! Our MCP server among those of an agent.

/// The server's name in the agent and in the names of its tools.
pub(super) const SERVER: &str = "longhaul";
pub(super) const PROGRAM: &str = "longhaul-mcp";

/// Whether a server with our name is ours.
pub(super) fn is_ours(command: &str) -> bool {
    command.ends_with(PROGRAM)
}

/// Why we install none: the user has another server with our name. `is_remote` is one without a program.
pub(super) fn check(command: Option<&str>, is_remote: bool) -> Result<(), String> {
    match command {
        Some(command) if !is_ours(command) => {
            Err(format!("another MCP server, {command}, is called {SERVER}: rename it"))
        }
        None if is_remote => Err(format!("another MCP server is called {SERVER}: rename it")),
        _ => Ok(()),
    }
}
