//! Secrets in a transcript appear in nothing that is derived from it.

use longhaul_core::checkpoint::view::ViewCaps;
use serde_json::json;

use crate::session::{call, fold, line, message, meta, shell, view};

#[test]
fn planted_secrets_are_nowhere() {
    // Assembled here, so that no scanner reports this file.
    let token = format!("gh{}_{}", "p", "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2");
    let key = format!("AK{}{}", "IA", "Q3EGTXVRWKLM5ZPD");
    let mut lines = vec![meta(), message("user", &format!("use {token} and {key}"))];
    lines.push(message("assistant", &format!("I use {token}, {key}")));
    lines.extend(shell(
        "c1",
        &format!("curl -H 'Authorization: Bearer {token}' x"),
        1,
        &format!("error: {token} {key}"),
    ));
    lines.extend(shell("c2", "cat .env", 0, &format!("API_KEY={key}\nmy_token: {token}")));
    lines.extend(shell("c3", &format!("cat keys/{token}.txt > {key}.log"), 0, "x"));
    let plan = json!({"plan": [{"step": format!("try {token}"), "status": "pending"}]});
    lines.extend(call("c4", "update_plan", &plan, "ok"));
    let patch = format!(
        "*** Begin Patch\n*** Add File: a/{token}.rs\n+let my_key = \"{key}\";\n*** End Patch"
    );
    lines.extend(call("c5", "apply_patch", &json!({"input": patch}), "Done"));
    lines.extend(call("c6", "lookup", &json!({"q": token, "r": [key]}), &format!("found {token}")));
    lines.extend(call("c7", "view_image", &json!({"path": format!("a/{token}.png")}), "failed"));
    lines.push(line("compacted", &json!({"message": format!("we used {token} and {key}")})));
    lines.push(line(
        "event_msg",
        &json!({"type": "exec_command_end", "call_id": "n1", "exit_code": 1,
        "command": ["bash", "-lc", format!("deploy --token {token}")]}),
    ));
    let folded = fold(&lines);
    let saved = String::from_utf8_lossy(&folded.save().unwrap()).into_owned();
    let text = view(&folded, &ViewCaps::default(), 100_000);
    for secret in [&token, &key] {
        assert!(!saved.contains(secret.as_str()), "{saved}");
        assert!(!text.contains(secret.as_str()), "{text}");
    }
}
