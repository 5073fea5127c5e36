use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use longhaul_client::scripted::{field, text_at};
use serde_json::Value;

use crate::{Done, program, run};

/// A home folder with a user's settings.
pub(crate) struct Home {
    folder: tempfile::TempDir,
}

pub(crate) const CONFIG: &str =
    "# mine\nmodel = \"gpt-5.5\" # the good one\n\n[mcp_servers.memo]\ncommand = \"memo\"\n";
const HOOKS: &str = r#"{
  "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "beep" }] }] }
}
"#;
pub(crate) const SETTINGS: &str = r#"{
  "theme": "dark",
  // not JSON, and yet there
  "permissions": {"allow": ["Bash(ls:*)"], "deny": []}
}
"#;

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap() };
        home.put(".codex/config.toml", CONFIG);
        home.put(".codex/hooks.json", HOOKS);
        home.put(".claude/settings.json", SETTINGS);
        home.put("bin/longhaul-mcp", "");
        home.put("bin/longhauld", "");
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = program(self.folder.path());
        command.env("HOME", self.folder.path()).env("PATH", self.path("bin")).args(args);
        command
    }

    /// Without a terminal; installs and uninstalls with the person's yes.
    pub(crate) fn run(&self, args: &[&str]) -> Done {
        let asks = args.iter().any(|arg| ["install", "uninstall"].contains(arg));
        let yes = asks.then_some("--yes");
        run(self.command(args).args(yes).stdin(std::process::Stdio::null()))
    }
}

/// A script without `--yes`, and one that only wanted to see the JSON, change nothing.
#[test]
fn nothing_is_installed_without_a_yes() {
    let home = Home::new();
    let silent = |args: &[&str]| run(home.command(args).stdin(std::process::Stdio::null()));
    for args in [&["install", "codex"][..], &["install", "codex", "--json"]] {
        let refused = silent(args);
        assert_eq!((refused.code, refused.stdout.as_str()), (64, ""), "{refused:?}");
        assert!(refused.stderr.contains("--dry-run"), "{refused:?}");
        assert_eq!(home.text(".codex/hooks.json"), HOOKS);
    }
    done(&home.run(&["install", "codex"]));
    let installed = home.text(".codex/hooks.json");
    assert_eq!(silent(&["uninstall", "codex"]).code, 64);
    assert_eq!(home.text(".codex/hooks.json"), installed);
}

pub(crate) fn done(done: &Done) -> &str {
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    &done.stdout
}

/// Of editors on other systems.
#[test]
fn line_ends_and_a_byte_order_mark_of_a_configuration_are_kept() {
    let config = "\u{feff}".to_owned() + &CONFIG.replace('\n', "\r\n");
    let home = Home::new();
    home.put(".codex/config.toml", &config);
    assert_eq!(home.run(&["install", "codex"]).code, 0);
    let installed = home.text(".codex/config.toml");
    assert!(installed.starts_with(config.as_str()), "{installed:?}");
    assert_eq!(installed.matches('\n').count(), installed.matches("\r\n").count());
    assert_eq!(home.run(&["uninstall", "codex"]).code, 0);
    assert_eq!(home.text(".codex/config.toml"), config);
}

#[test]
fn codex_gets_hooks_and_server_and_keeps_its_settings() {
    let home = Home::new();
    let shown = home.run(&["install", "codex", "--dry-run"]);
    assert!(done(&shown).contains("+[mcp_servers.longhaul]"), "{shown:?}");
    assert!(shown.stdout.contains("not changed (dry run)"), "{shown:?}");
    assert_eq!(
        (home.text(".codex/config.toml"), home.text(".codex/hooks.json")),
        (CONFIG.into(), HOOKS.into())
    );

    let installed = home.run(&["install", "codex"]);
    assert!(done(&installed).contains("approve"), "{installed:?}");
    assert!(home.text(".codex/config.toml").starts_with(CONFIG));
    let hooks = home.json(".codex/hooks.json");
    // The user's hooks stay first: Codex identifies trusted hooks by their position.
    assert_eq!(text_at(&hooks, "hooks.Stop.0.hooks.0.command"), "beep");
    for event in ["SessionStart", "UserPromptSubmit", "PreCompact", "PostCompact", "Stop"] {
        let groups = field(&hooks, &format!("hooks.{event}")).as_array().unwrap();
        let command = text_at(groups.last().unwrap(), "hooks.0.command");
        assert!(command.ends_with(&format!("longhaul hook {event} --agent codex")), "{command}");
    }
    assert_eq!(home.text(".codex/config.toml.longhaul-backup"), CONFIG);

    let again = home.run(&["install", "codex"]);
    assert!(done(&again).starts_with("nothing to change"), "{again:?}");
    done(&home.run(&["uninstall", "codex"]));
    assert_eq!(home.text(".codex/config.toml"), CONFIG);
    assert!(!home.text(".codex/hooks.json").contains("longhaul"));
    assert!(home.text(".codex/hooks.json").contains("beep"));
    assert!(done(&home.run(&["uninstall", "codex"])).starts_with("nothing to change"));
}

#[test]
fn user_commands_around_our_hook_stay() {
    let home = Home::new();
    let own = r#"{ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "pre && longhaul hook Stop && post" }] }] } }"#;
    home.put(".codex/hooks.json", own);
    let stop = || {
        let hooks = home.json(".codex/hooks.json");
        let groups = field(&hooks, "hooks.Stop").as_array().unwrap().iter();
        groups.map(|group| text_at(group, "hooks.0.command").to_owned()).collect()
    };
    done(&home.run(&["install", "codex"]));
    let installed: Vec<String> = stop();
    assert_eq!(installed.len(), 1, "{installed:?}");
    assert!(installed[0].starts_with("pre && ") && installed[0].ends_with("codex && post"));
    done(&home.run(&["uninstall", "codex"]));
    assert_eq!(stop(), ["pre && post"]);
    assert_eq!(home.text(".codex/hooks.json.longhaul-backup"), own, "the first backup stays");
}

#[test]
fn file_with_only_our_entries_is_removed() {
    let home = Home::new();
    fs::remove_file(home.path(".codex/hooks.json")).unwrap();
    done(&home.run(&["install", "codex"]));
    done(&home.run(&["uninstall", "codex"]));
    assert!(!home.path(".codex/hooks.json").exists());
    done(&home.run(&["install", "claude"]));
    assert!(home.path(".claude.json").exists());
    done(&home.run(&["uninstall", "claude"]));
    assert!(!home.path(".claude.json").exists());
}

#[test]
fn claude_code_gets_hooks_and_server_and_keeps_its_settings() {
    let home = Home::new();
    home.put(".claude.json", "{\n  \"numStartups\": 7,\n  \"projects\": {}\n}\n");
    let installed = home.run(&["--socket", "/run/my socket", "install", "claude"]);
    done(&installed);
    let settings = home.text(".claude/settings.json");
    assert!(settings.contains("// not JSON, and yet there"), "{settings}");
    assert!(
        settings.contains("--socket '/run/my socket' hook PreCompact --agent claude"),
        "{settings}"
    );
    let state = home.json(".claude.json");
    assert_eq!(field(&state, "numStartups"), 7);
    assert_eq!(text_at(&state, "mcpServers.longhaul.args.1"), "/run/my socket");
    done(&home.run(&["uninstall", "claude"]));
    assert_eq!(home.text(".claude/settings.json"), SETTINGS);
    assert!(!home.text(".claude.json").contains("longhaul"));
}

#[test]
fn moved_program_replaces_the_old_entry() {
    let home = Home::new();
    home.put(
        ".codex/hooks.json",
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/old/longhaul hook Stop"}]}]}}"#,
    );
    done(&home.run(&["install", "codex"]));
    let hooks = home.text(".codex/hooks.json");
    assert!(!hooks.contains("/old/"), "{hooks}");
    assert_eq!(hooks.matches("hook Stop").count(), 1, "{hooks}");
}

#[test]
fn invalid_files_are_named_and_unchanged() {
    let home = Home::new();
    for (name, broken) in [
        (".codex/hooks.json", "{\"hooks\": "),
        (".codex/hooks.json", "{\"hooks\": []}"),
        (".codex/config.toml", "model = \n"),
    ] {
        home.put(".codex/hooks.json", HOOKS);
        home.put(".codex/config.toml", CONFIG);
        home.put(name, broken);
        let refused = home.run(&["install", "codex"]);
        assert_eq!(refused.code, 78, "{refused:?}");
        assert!(refused.stderr.contains(name) && refused.stderr.contains("hint: "), "{refused:?}");
        assert_eq!(home.text(name), broken);
    }
    // With --from, since a program in its repository finds the plugin by itself.
    let elsewhere = home.path("bin");
    let from = ["--from", elsewhere.to_str().unwrap()];
    for (target, from, missing) in [
        ("vscode", &[][..], "`code`"),
        ("nvim", &from[..], "plugin"),
        ("systemd", &[][..], "systemctl"),
    ] {
        let refused = home.run(&[&["install", target], from].concat());
        assert_eq!(refused.code, 78, "{refused:?}");
        assert!(
            refused.stderr.contains(missing) && refused.stderr.contains("hint: "),
            "{refused:?}"
        );
    }
    fs::remove_dir_all(home.path(".codex")).unwrap();
    assert_eq!(home.run(&["install", "codex"]).code, 78);
}

#[test]
fn neovim_plugin_is_installed_updated_and_removed() {
    let home = Home::new();
    let package =
        |file: &str| home.path(".local/share/nvim/site/pack/longhaul/start/longhaul").join(file);
    home.put("nvim/plugin/longhaul.lua", "one");
    home.put("nvim/lua/longhaul/init.lua", "two");
    let from = home.path("nvim");
    let install = ["install", "nvim", "--from", from.to_str().unwrap()];
    done(&home.run(&install));
    assert_eq!(fs::read_to_string(package("lua/longhaul/init.lua")).unwrap(), "two");
    fs::remove_file(home.path("nvim/lua/longhaul/init.lua")).unwrap();
    home.put("nvim/lua/longhaul/view.lua", "three");
    done(&home.run(&install));
    assert!(
        !package("lua/longhaul/init.lua").exists() && package("lua/longhaul/view.lua").exists()
    );
    // The plugin is built in.
    done(&home.run(&["install", "nvim"]));
    assert!(package("doc/longhaul.txt").exists() && !package("lua/longhaul/view.lua").exists());
    done(&home.run(&install));
    // Neovim indexes the help; uninstalling also removes the index.
    recorder(&home.path("bin/nvim"));
    home.put("nvim/doc/longhaul.txt", "*longhaul*");
    done(&home.run(&install));
    assert!(home.text("bin/nvim.log").contains("longhaul/doc -c qall"));
    fs::write(package("doc/tags"), "longhaul").unwrap();
    assert!(done(&home.run(&install)).starts_with("nothing to change"));
    done(&home.run(&["uninstall", "nvim"]));
    // No file or empty folder of ours is left.
    assert!(!home.path(".local/share/nvim/site/pack/longhaul").exists());
    // A link to the user's folder is not followed.
    fs::create_dir_all(package("").parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&from, package("").components().as_path()).unwrap();
    let refused = home.run(&["uninstall", "nvim"]);
    assert!(refused.code == 78 && refused.stderr.contains("is a link"), "{refused:?}");
    assert!(from.join("plugin/longhaul.lua").exists());
}

/// Writes a program that logs its arguments.
pub(crate) fn recorder(path: &Path) {
    let log = path.with_extension("log");
    program_of(path, &format!("echo \"$@\" >> '{}'", log.display()));
}

pub(crate) fn program_of(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn systemd_and_editors_are_run_by_their_commands() {
    let home = Home::new();
    // Without a user manager the next run finishes the installation.
    program_of(&home.path("bin/systemctl"), "exit 1");
    let begun = home.run(&["install", "systemd"]);
    assert!(begun.code == 78 && begun.stderr.contains("run the same command again"), "{begun:?}");
    recorder(&home.path("bin/systemctl"));
    done(&home.run(&["install", "systemd"]));
    home.put(".config/systemd/user/sockets.target.wants/longhauld.socket", "");
    let service = home.text(".config/systemd/user/longhauld.service");
    // The daemon beside the tested program, if any.
    assert!(service.contains("longhauld --state-dir %h/.local/state/longhaul"), "{service}");
    assert!(!home.run(&["install", "systemd"]).stdout.contains("run:"));
    done(&home.run(&["uninstall", "systemd"]));
    assert!(!home.path(".config/systemd/user/longhauld.socket").exists());
    let called = home.text("bin/systemctl.log");
    assert_eq!(called.matches("enable --now longhauld.socket").count(), 1, "{called}");
    assert!(called.contains("disable --now longhauld.socket longhauld.service"), "{called}");

    recorder(&home.path("bin/code"));
    home.put("ext/longhaul-0.1.0.vsix", "");
    home.put("ext/some-example.vsix", "");
    let from = home.path("ext");
    done(&home.run(&["install", "vscode", "--from", from.to_str().unwrap()]));
    assert!(home.text("bin/code.log").contains("longhaul-0.1.0.vsix --force"));
    // An editor without the extension would report an error.
    assert!(done(&home.run(&["uninstall", "vscode"])).starts_with("nothing to change"));
    let log = home.path("bin/code.log");
    let has_it = format!("echo longhaul.longhaul; echo \"$@\" >> '{}'", log.display());
    program_of(&home.path("bin/code"), &has_it);
    done(&home.run(&["uninstall", "vscode"]));
    assert!(home.text("bin/code.log").contains("--uninstall-extension longhaul.longhaul"));
}

#[test]
fn units_are_removed_without_a_user_manager() {
    let home = Home::new();
    recorder(&home.path("bin/systemctl"));
    done(&home.run(&["install", "systemd"]));
    program_of(&home.path("bin/systemctl"), "echo no bus >&2; exit 1");
    let gone = home.run(&["uninstall", "systemd"]);
    assert!(
        done(&gone).contains("note: `systemctl --user disable") && gone.stdout.contains("no bus")
    );
    assert!(!home.path(".config/systemd/user/longhauld.service").exists());
    assert!(done(&home.run(&["uninstall", "systemd"])).starts_with("nothing to change"));
}

#[test]
fn doctor_checks_hooks_and_tools() {
    let home = Home::new();
    program_of(&home.path("bin/longhaul-mcp"), "");
    let check = |name: &str, of: &str| {
        let page = run(home.command(&["doctor", "--json"]).env("LONGHAUL_SOCKET", "/nowhere"));
        let checks = page.checks(name);
        let found = checks.iter().find(|check| text_at(check, "detail").starts_with(of));
        let check = found.unwrap_or_else(|| panic!("{name} of {of}: {page:?}"));
        format!("{} {}", text_at(check, "state"), text_at(check, "detail"))
    };
    assert_eq!(check("agent", "codex"), "ok codex is used without our hooks and tools");
    done(&home.run(&["install", "codex"]));
    done(&home.run(&["install", "claude"]));
    assert!(check("hooks", "codex").contains("5 not trusted yet"));
    assert_eq!(check("hooks", "claude"), "ok claude: 5 hooks");
    assert!(check("tools", "codex").starts_with("ok codex: "));

    let hooks = home.text(".codex/hooks.json");
    home.put(".codex/hooks.json", &hooks.replace("longhaul hook Stop", "gone/longhaul hook Stop"));
    assert!(check("hooks", "codex").contains("which is not a program"));
    home.put(".codex/hooks.json", HOOKS);
    assert!(check("hooks", "codex").contains("missing for SessionStart, UserPromptSubmit"));

    let settings = home.text(".claude/settings.json");
    home.put(".claude/settings.json", &settings.replacen('{', "{ \"disableAllHooks\": true,", 1));
    assert!(check("hooks", "claude").contains("switched off by disableAllHooks"));
    let state = home.text(".claude.json");
    home.put(".claude.json", &state.replace("/longhaul-mcp", "/gone/longhaul-mcp"));
    assert!(check("tools", "claude").starts_with("fail claude: "));
}

/// Writes a `claude` that prints its version.
fn put_claude(home: &Home, version: &str) {
    program_of(&home.path("bin/claude"), &format!("echo '{version} (Claude Code)'"));
}

/// Doctor's check of compactions.
fn route(home: &Home) -> (String, String) {
    let page = run(home.command(&["doctor", "--json"]).env("LONGHAUL_SOCKET", "/nowhere"));
    page.check("compaction")
}

#[test]
fn claude_code_gets_the_plugin_from_its_minimum_version() {
    let home = Home::new();
    let program = ".claude/skills/longhaul/hooks/program.ts";
    put_claude(&home, "2.1.197");
    let installed = home.run(&["install", "claude"]);
    assert!(done(&installed).contains("this is 2.1.197"), "{installed:?}");
    assert!(!home.path(program).exists());
    assert!(route(&home).1.contains("this is 2.1.197"), "{:?}", route(&home));

    put_claude(&home, "2.1.330");
    assert_eq!(route(&home).0, "warn", "it could be installed: {:?}", route(&home));
    let installed = home.run(&["--socket", "/run/my socket", "install", "claude"]);
    assert!(done(&installed).contains("Compactions: by the plugin"), "{installed:?}");
    let text = home.text(program);
    assert!(text.contains("/longhaul\",\"--socket\",\"/run/my socket\"]"), "{text}");
    assert_eq!(
        route(&home),
        ("ok".into(), "claude: by the plugin (longhaul@skills-dir), without a model".into())
    );
    let again = home.run(&["--socket", "/run/my socket", "install", "claude"]);
    assert!(done(&again).starts_with("nothing to change"), "{again:?}");

    let excerpts = home.run(&["--socket", "/run/my socket", "install", "claude", "--excerpts"]);
    assert!(done(&excerpts).contains("excerpts: boolean = true"), "{excerpts:?}");
    assert_eq!(route(&home).0, "ok", "it is still this version's plugin");
    assert_eq!(home.run(&["install", "codex", "--excerpts"]).code, 64);
    let again = home.run(&["install", "claude"]);
    assert!(done(&again).starts_with("nothing to change"), "socket and excerpts stay: {again:?}");
    let without = home.run(&["install", "claude", "--no-excerpts"]);
    assert!(done(&without).contains("excerpts: boolean = false"), "{without:?}");

    // Files that Claude Code added to it are removed, too.
    home.put(".claude/skills/longhaul/.claude-plugin/types/claude-code/index.d.ts", "theirs");
    done(&home.run(&["uninstall", "claude"]));
    assert!(!home.path(".claude/skills/longhaul").exists());
    assert_eq!(home.text(".claude/settings.json"), SETTINGS);
}

#[test]
fn doctor_reports_the_last_compaction_of_claude_code() {
    let home = Home::new();
    put_claude(&home, "2.1.330");
    done(&home.run(&["install", "claude"]));
    let store = ".claude/plugins/store/longhaul_skills-dir-1.json";
    home.put(store, r#"{ "compactions": { "at_ms": 1, "outcome": "answered", "ms": 41 } }"#);
    assert!(route(&home).1.contains("the last one answered in 41 ms"), "{:?}", route(&home));
    home.put(
        store,
        r#"{ "compactions": { "at_ms": 1, "ms": 9, "reason": "longhauld is not running" } }"#,
    );
    let (state, detail) = route(&home);
    assert_eq!(state, "warn");
    assert!(detail.ends_with("was left to Claude Code: longhauld is not running"), "{detail}");
    home.put(".claude/skills/longhaul/hooks/tail.ts", "of another version");
    assert!(route(&home).1.contains("version differs"), "{:?}", route(&home));
    home.put(".claude/settings.json", r#"{ "enabledPlugins": { "longhaul@skills-dir": false } }"#);
    assert!(route(&home).1.contains("switched off"), "{:?}", route(&home));
}
