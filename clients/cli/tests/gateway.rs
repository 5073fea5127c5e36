//! Installing and uninstalling the Codex gateway, and doctor's check of it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use longhaul_client::gateway::{GatewayRoute, GatewaySettings};
use serde_json::{Value, json};

use crate::install::{CONFIG, Home, done, program_of, recorder};

const SETTINGS: &str = "state/gateway.json";
const UNITS: &str = ".config/systemd/user";

impl Home {
    /// Has systemd units, so that install starts no program.
    fn with_units() -> Self {
        let home = Self::new();
        home.put("bin/longhaul-gateway", "");
        home.put(&format!("{UNITS}/longhauld.socket"), "");
        recorder(&home.path("bin/systemctl"));
        home
    }

    fn settings(&self) -> GatewaySettings {
        serde_json::from_str(&self.text(SETTINGS)).unwrap()
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o777
    }

    /// State and detail of doctor's check.
    fn checked(&self) -> (String, String) {
        self.run(&["doctor", "--json"]).check("compaction")
    }
}

#[test]
fn gateway_is_installed_and_uninstalled() {
    let home = Home::with_units();
    let before =
        CONFIG.replace("\n[mcp", "openai_base_url = \"https://own.example/v1\" # mine\n\n[mcp");
    home.put(".codex/config.toml", &before);
    fs::set_permissions(home.path(".codex/config.toml"), fs::Permissions::from_mode(0o644))
        .unwrap();
    let shown = home.run(&["install", "codex", "--gateway", "--dry-run"]);
    assert!(done(&shown).contains("+openai_base_url = \"http://127.0.0.1:"), "{shown:?}");
    assert!(!home.path(SETTINGS).exists());

    done(&home.run(&["install", "codex", "--gateway", "--port", "20555"]));
    let settings = home.settings();
    let upstream = Some("https://own.example/v1".to_owned());
    assert_eq!(
        settings.routes.get("openai").unwrap(),
        &GatewayRoute { upstream, ..Default::default() }
    );
    let line = format!("openai_base_url = \"{}\" # mine\n", settings.base_url("openai"));
    assert!(settings.base_url("openai").starts_with("http://127.0.0.1:20555/"), "{line}");
    assert!(home.text(".codex/config.toml").contains(&line), "{}", home.text(".codex/config.toml"));
    assert_eq!((home.mode(".codex/config.toml"), home.mode(SETTINGS)), (0o600, 0o600));
    assert_eq!(home.mode("state"), 0o700);
    let unit = home.text(&format!("{UNITS}/longhaul-gateway.socket"));
    assert!(unit.contains("\nListenStream=127.0.0.1:20555\n"), "{unit}");
    assert!(home.text("bin/systemctl.log").contains("restart longhaul-gateway.socket"));

    let again = home.run(&["install", "codex", "--gateway"]);
    assert!(done(&again).starts_with("nothing to change"), "{again:?}");
    let id = "0199a213-0000-7000-8000-000000000001";
    let transcript = format!(".codex/sessions/2026/11/28/rollout-2026-11-28T01-00-00-{id}.jsonl");
    home.put(&transcript, r#"{"type":"compaction","encrypted_content":"longhaul-view-1.KLUv"}"#);
    let shown = home.run(&["uninstall", "codex", "--gateway", "--dry-run"]);
    let words = format!(
        "the provider rejects them. To continue one in a new thread:\n  longhaul continue {id}"
    );
    assert!(done(&shown).contains(&words), "{shown:?}");
    done(&home.run(&["uninstall", "codex", "--gateway"]));
    assert!(home.text(".codex/config.toml").starts_with(&before), "the provider and its comment");
    assert!(home.text(".codex/config.toml").contains("mcp_servers.longhaul"), "the rest stays");
    assert!(!home.path(SETTINGS).exists());
    assert!(!home.path(&format!("{UNITS}/longhaul-gateway.service")).exists());
    assert!(done(&home.run(&["uninstall", "codex", "--gateway"])).starts_with("nothing to change"));
}

#[test]
fn uninstalling_codex_also_removes_the_gateway() {
    let home = Home::with_units();
    let corp = "\n[model_providers.corp]\nname = \"Corp\"\nbase_url = \"https://llm.example/v1\"\nsupports_websockets = true\n";
    let before = format!("model_provider = \"corp\"\n{CONFIG}{corp}");
    home.put(".codex/config.toml", &before);
    done(&home.run(&["install", "codex", "--gateway"]));
    assert!(home.text(".codex/config.toml").contains("supports_websockets = false"));
    // An unfinished move to another port.
    program_of(&home.path("bin/systemctl"), "exit 1");
    assert_eq!(home.run(&["install", "codex", "--gateway", "--port", "20556"]).code, 78);
    assert!(!home.text(".codex/config.toml").contains(":20556/"));
    done(&home.run(&["uninstall", "codex"]));
    assert_eq!(home.text(".codex/config.toml"), before);
}

/// The settings are in the state folder, which people remove.
#[test]
fn provider_is_found_again_after_the_gateways_settings_were_lost() {
    let corp = "\n[model_providers.corp]\nname = \"Corp\"\nbase_url = \"https://llm.example/v1\"\n";
    let before = format!("model_provider = \"corp\"\n{CONFIG}{corp}");
    let backup = ".codex/config.toml.longhaul-backup";
    let lost = || {
        let home = Home::with_units();
        home.put(".codex/config.toml", &before);
        done(&home.run(&["install", "codex", "--gateway"]));
        fs::remove_file(home.path(SETTINGS)).unwrap();
        home
    };
    let home = lost();
    let (state, detail) = home.checked();
    assert!(state == "fail" && detail.contains("sends corp to a gateway"), "{detail}");
    let again = home.run(&["install", "codex", "--gateway"]);
    assert!(done(&again).contains("from a backup: https://llm.example/v1"), "{again:?}");
    let upstream = home.settings().routes.get("corp").unwrap().upstream.clone();
    assert_eq!(upstream.as_deref(), Some("https://llm.example/v1"));
    done(&home.run(&["uninstall", "codex"]));
    assert_eq!(home.text(".codex/config.toml"), before);

    let home = lost();
    done(&home.run(&["uninstall", "codex"]));
    assert_eq!(home.text(".codex/config.toml"), before);

    let home = lost();
    fs::remove_file(home.path(backup)).unwrap();
    let refused = home.run(&["install", "codex", "--gateway"]);
    assert!(
        refused.code == 78 && refused.stderr.contains("has the address of corp"),
        "{refused:?}"
    );
    let removed = home.run(&["uninstall", "codex", "--gateway"]);
    assert!(done(&removed).contains("has the address of corp"), "{removed:?}");
}

#[test]
fn failed_gateway_start_leaves_codex_unchanged() {
    let home = Home::with_units();
    program_of(&home.path("bin/systemctl"), "exit 1");
    let failed = home.run(&["install", "codex", "--gateway"]);
    assert!(failed.code == 78 && failed.stderr.contains("systemctl"), "{failed:?}");
    assert_eq!(home.text(".codex/config.toml"), CONFIG);
}

#[test]
fn used_port_and_other_agent_are_rejected() {
    let home = Home::with_units();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = home.run(&["install", "codex", "--gateway", "--port", &port]);
    assert!(
        refused.code == 78 && refused.stderr.contains("in use by another program"),
        "{refused:?}"
    );
    let refused = home.run(&["install", "claude", "--gateway"]);
    assert!(refused.code == 64 && refused.stderr.contains("only applies to codex"), "{refused:?}");
}

/// Answers each status request with the next body.
fn answering(bodies: &[Value]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let bodies: Vec<String> = bodies.iter().map(Value::to_string).collect();
    std::thread::spawn(move || {
        for (body, stream) in bodies.into_iter().zip(listener.incoming().flatten()) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            drop(lines.map_while(Result::ok).find(String::is_empty));
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            (&stream).write_all((head + &body).as_bytes()).unwrap();
        }
    });
    port
}

#[test]
fn doctor_reports_the_gateway_and_the_last_compaction() {
    let home = Home::with_units();
    home.put("bin/longhaul-mcp", "#!/bin/sh\n");
    done(&home.run(&["install", "codex"]));
    let (state, detail) = home.checked();
    assert!(state == "ok" && detail.contains("by Codex itself"), "{detail}");

    let status = |last: Value| json!({ "version": "0.1.0", "pid": 7, "passed": 41, "answered": 2, "left": 0, "last": last });
    let port = answering(&[
        status(json!({ "at_ms": 0, "ms": 45 })),
        status(json!({ "at_ms": 0, "ms": 9, "reason": "no daemon answers" })),
        json!({ "a": "web server" }),
    ]);
    done(&home.run(&["install", "codex", "--gateway"]));
    let (state, detail) = home.checked();
    assert!(state == "fail" && detail.contains("Codex cannot reach its provider"), "{detail}");

    let mut settings = home.settings();
    settings.port = port;
    home.put(SETTINGS, &serde_json::to_string(&settings).unwrap());
    let (state, detail) = home.checked();
    assert!(
        state == "warn" && detail.contains("does not use the gateway"),
        "the old port: {detail}"
    );
    done(&home.run(&["install", "codex", "--gateway"]));
    let wanted = [
        ("ok", "41 requests passed, 2 compactions answered, the last one in 45 ms"),
        ("warn", "was left to the provider: no daemon answers"),
        ("fail", "another program has 127.0.0.1:"),
    ];
    for (wanted, words) in wanted {
        let (state, detail) = home.checked();
        assert!(state == wanted && detail.contains(words), "{state} {detail}");
    }
}
