//! An install over what is there: other programs' settings, and earlier installs.

use crate::install::{Home, SETTINGS};

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
