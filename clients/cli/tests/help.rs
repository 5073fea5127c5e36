use longhaul_client::scripted::text_at;

use crate::{program, run};

fn output(args: &[&str]) -> crate::Done {
    run(program(&std::env::temp_dir()).args(args))
}

#[test]
fn help_has_examples_and_exit_codes() {
    let done = output(&["--help"]);
    assert_eq!(done.code, 0);
    for part in ["Examples:", "longhaul compact", "Exit codes:", "THREAD is an id"] {
        assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
    }
    for command in ["up", "compact", "expand", "doctor", "eval"] {
        assert!(output(&[command, "--help"]).stdout.contains(&format!("longhaul {command}")));
    }
}

#[test]
fn usage_errors_are_64_with_a_suggestion() {
    for args in [
        &["compcat"][..],
        &["expand"],
        &["thread", "list", "-n", "0"],
        &["compact", "--strategy", "magic"],
        &["compact", "--max-tokens", "0"],
        &[],
    ] {
        let done = output(args);
        assert_eq!(done.code, 64, "{args:?}: {done:?}");
        assert_eq!(done.stdout, "");
    }
    assert!(output(&["compcat"]).stderr.contains("'compact'"));
    let none = output(&["compact", "--max-tokens", "0"]).stderr;
    assert!(
        none.contains("invalid value '0' for '--max-tokens <N>': must be 1 or more\n"),
        "{none}"
    );
}

/// Also without a daemon: a wrong file may be why it does not start.
#[test]
fn example_configuration_has_every_table() {
    let done = output(&["config", "example"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    for part in ["[archive]", "[memory]", "[policy]", "Every key with its default"] {
        assert!(done.stdout.contains(part), "{part}");
    }
    assert!(output(&["config", "example", "--json"]).json().get("toml").is_some());
}

#[test]
fn completions_and_manual_pages_are_generated() {
    assert!(output(&["completions", "bash"]).stdout.contains("_longhaul"));
    assert!(output(&["man"]).stdout.starts_with(".ie"));
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("man1");
    assert_eq!(output(&["man", dir.to_str().unwrap()]).code, 0);
    let written = output(&["man", dir.to_str().unwrap(), "--json"]).json();
    assert_eq!(text_at(&written, "folder"), dir.to_str().unwrap());
    assert!(std::fs::read_to_string(dir.join("longhaul-compact.1")).unwrap().contains("EXTRA"));
}

#[test]
fn eval_explains_its_measures_and_rejects_bad_input() {
    let help = output(&["eval", "--help"]).stdout;
    for part in ["FRR", "BFR", "oracle", "No model is asked"] {
        assert!(help.contains(part), "{part}: {help}");
    }
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    assert_eq!(output(&["eval", empty]).code, 1, "no session there");
    assert_eq!(output(&["eval", "/nowhere/at/all"]).code, 64);
    assert_eq!(output(&["eval", "--budgets", "0", empty]).code, 64);
}
