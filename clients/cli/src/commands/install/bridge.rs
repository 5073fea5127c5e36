//! Our MCP server among those of an agent.

use std::path::Path;

/// The server's name in the agent and in the names of its tools.
pub(super) const SERVER: &str = "longhaul";
pub(super) const PROGRAM: &str = "longhaul-mcp";

/// Whether a server with our name is ours.
pub(super) fn is_ours(command: &str) -> bool {
    command.ends_with(PROGRAM)
}

/// The server's arguments with this socket.
pub(super) fn with_socket(mut arguments: Vec<String>, socket: &Path) -> Vec<String> {
    let socket = socket.to_string_lossy().into_owned();
    match arguments.iter().position(|word| word == "--socket") {
        Some(at) if at + 1 < arguments.len() => arguments[at + 1] = socket,
        Some(_) => arguments.push(socket),
        None => drop(arguments.splice(0..0, ["--socket".to_owned(), socket])),
    }
    arguments
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_takes_the_place_of_another_and_other_arguments_stay() {
        for (before, after) in [
            ("", "--socket /s"),
            ("--socket /old", "--socket /s"),
            ("--socket", "--socket /s"),
            ("--more --socket /old x", "--more --socket /s x"),
            ("--more", "--socket /s --more"),
        ] {
            let words = before.split_whitespace().map(str::to_owned).collect();
            assert_eq!(with_socket(words, Path::new("/s")).join(" "), after);
        }
    }
}
