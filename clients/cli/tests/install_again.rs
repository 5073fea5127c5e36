//! An install over what is there: other programs' settings, and earlier installs.

use crate::install::{Home, SETTINGS, done};

#[test]
fn another_mcp_server_of_our_name_is_not_touched() {
    let home = Home::new();
    let theirs =
        "{\"mcpServers\":{\"longhaul\":{\"command\":\"docker\",\"args\":[\"run\",\"x\"]}}}\n";
    home.put(".claude.json", theirs);
    for verb in ["install", "uninstall"] {
        let run = home.run(&[verb, "claude"]);
        assert_eq!(run.code == 0, verb == "uninstall", "{run:?}");
        assert!(run.stderr.contains("docker") || run.code == 0, "{run:?}");
        assert_eq!(home.text(".claude.json"), theirs);
        assert_eq!(home.text(".claude/settings.json"), SETTINGS, "nothing is half installed");
    }
}

#[test]
fn another_install_keeps_the_socket_or_moves_all_of_it() {
    for (agent, files) in [
        ("claude", [".claude/settings.json", ".claude.json"]),
        ("codex", [".codex/hooks.json", ".codex/config.toml"]),
    ] {
        let home = Home::new();
        done(&home.run(&["--socket", "/run/first", "install", agent]));
        let again = home.run(&["install", agent]);
        assert!(done(&again).starts_with("nothing to change"), "{again:?}");
        done(&home.run(&["--socket", "/run/second", "install", agent]));
        for file in files {
            let text = home.text(file);
            assert!(text.contains("/run/second") && !text.contains("/run/first"), "{text}");
        }
        done(&home.run(&["--socket", "below/third", "install", agent]));
        for file in files {
            let text = home.text(file);
            assert!(text.contains("/below/third"), "not relative: {text}");
        }
    }
}
