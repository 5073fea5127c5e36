use super::*;

fn load(
    args: &Args,
    env: &[(&'static str, &str)],
    file: Option<&str>,
) -> Result<Config, ConfigError> {
    let home = tempfile::tempdir().unwrap();
    let base = Base::under(home.path());
    if let Some(text) = file {
        std::fs::create_dir_all(base.config_file().parent().unwrap()).unwrap();
        std::fs::write(base.config_file(), text).unwrap();
    }
    let env = env.iter().map(|(name, value)| (*name, OsString::from(value))).collect();
    let (current_dir, program) = ("/cur/dir".into(), "/nowhere".into());
    Config::load(args, &Surroundings { base, current_dir, program, env })
}

#[test]
fn flags_win_over_environment_over_file_over_defaults() {
    let file =
        "state_dir = \"/file/state\"\nsocket = \"rel.sock\"\n[sources.codex]\nhome = \"~/c\"\n";
    let env = [("LONGHAUL_STATE_DIR", "/env/state"), ("CODEX_HOME", ""), ("LONGHAUL_LOG", "warn")];
    let args = Args { state_dir: Some("flag/state".into()), ..Args::default() };

    let config = load(&args, &env, Some(file)).unwrap();
    assert_eq!(config.state_dir.value, Path::new("/cur/dir/flag/state"));
    assert_eq!(config.state_dir.origin, Origin::Flag("--state-dir"));
    assert!(config.socket.ends_with(".config/longhaul/rel.sock"), "{}", config.socket.display());
    assert!(config.home(Source::Codex).ends_with("c"), "an empty variable is unset");
    assert_eq!(config.sources[0].home.origin, Origin::File);
    assert_eq!(
        (config.log.as_str(), &config.log.origin),
        ("warn", &Origin::Environment("LONGHAUL_LOG"))
    );

    let config = load(&Args::default(), &env, Some(file)).unwrap();
    assert_eq!(config.state_dir.value, Path::new("/env/state"));
    let config = load(&Args::default(), &[], None).unwrap();
    assert_eq!(config.state_dir.origin, Origin::Default);
    assert_eq!(config.socket.value, config.state_dir.join("run/v1.sock"));
    assert_eq!(config.file, None);
}

#[test]
fn a_config_file_named_by_a_flag_must_exist() {
    let args = Args { config: Some("/nowhere/config.toml".into()), ..Args::default() };
    assert!(matches!(load(&args, &[], None), Err(ConfigError::Unreadable { .. })));
}

#[test]
fn the_error_for_an_invalid_file_names_it() {
    let error = load(&Args::default(), &[], Some("\n[serve]\n")).unwrap_err().to_string();
    assert!(error.contains("config.toml, line 2: unknown field `serve`"), "{error}");
    assert!(error.ends_with("(did you mean `server`?)") || error.contains("server."), "{error}");
}

#[test]
fn every_agent_has_the_same_settings() {
    use clap::Parser as _;
    for &source in Source::ALL {
        let (name, spec) = (source.name(), source.spec());
        let file = format!("[sources.{name}]\nhome = \"/file\"\nenabled = false\n");
        let Some(home) = spec.home else {
            let error = load(&Args::default(), &[], Some(&file)).unwrap_err();
            assert!(error.to_string().contains(&format!("sources.{name}")), "{error}");
            continue;
        };
        let loaded = |args: &[&str], env: &[(&'static str, &str)]| {
            let args = Args::parse_from(["longhauld"].iter().chain(args));
            let config = load(&args, env, Some(&file)).unwrap();
            let of = config.sources.into_iter().find(|settings| settings.source == source);
            let of = of.unwrap();
            (of.home.value.display().to_string(), of.home.origin, *of.table.enabled)
        };
        assert_eq!(loaded(&[], &[]), ("/file".to_owned(), Origin::File, false));
        let env = [(home.variable, "/env")];
        let from = Origin::Environment(home.variable);
        assert_eq!(loaded(&[], &env), ("/env".to_owned(), from, false));
        let flag = format!("--{name}-home");
        let (value, origin, _) = loaded(&[&flag, "/flag"], &env);
        assert_eq!((value.as_str(), origin.to_string()), ("/flag", format!("flag {flag}")));
    }
}

#[test]
fn numbers_must_be_within_their_bounds() {
    let error = load(&Args::default(), &[], Some("[server]\nconnections_max = 0\n")).unwrap_err();
    let message = error.to_string();
    let (file, reason) = message.split_once(", ").unwrap();
    assert!(file.ends_with("config.toml"), "{message}");
    assert_eq!(reason, "server.connections_max = 0 is out of bounds: 1 to 65536");
}

#[test]
fn every_key_of_the_file_is_listed_with_its_origin() {
    let config = load(&Args::default(), &[], Some("[server]\ndrain_ms = 7\n")).unwrap();
    let entries = config.entries();
    let listed: Vec<_> = entries.iter().map(|(key, ..)| key.as_str()).collect();
    let is_alone = |key: &String| {
        ["providers.", "jobs.", "model.", "shadow_policy."]
            .iter()
            .any(|table| key.starts_with(table))
    };
    let tables = [
        "sources",
        "ingest",
        "compaction",
        "context",
        "archive",
        "message_history",
        "memory",
        "server",
        "budget",
        "policy",
        "jobs",
        "repository",
    ];
    let tables_of_policy =
        ["policy.early", "policy.ready", "policy.asap", "policy.emergency", "policy.phrases"];
    let mut missing: Vec<String> = file::keys()
        .filter(|key| !is_alone(key))
        .filter(|key| !tables.contains(&key.as_str()) && !tables_of_policy.contains(&key.as_str()))
        .map(|key| key.replace("NAME", "codex").replace("TIER", "ready"))
        .collect();
    missing.retain(|key| !listed.contains(&key.as_str()));
    assert!(missing.is_empty(), "{missing:?} are not listed");
    for source in Source::ALL.iter().filter(|source| source.spec().home.is_some()) {
        for key in ["home", "enabled"] {
            let key = format!("sources.{}.{key}", source.name());
            assert!(listed.contains(&key.as_str()), "{key} is not listed");
        }
    }
    assert!(entries.contains(&("server.drain_ms".to_owned(), "7".to_owned(), Origin::File)));
}

#[test]
fn the_example_file_has_every_key_with_its_default() {
    let example = include_str!("../../config.example.toml");
    let set = |line: &str| match line.strip_prefix('#') {
        Some(key) if !key.starts_with(' ') => key.to_owned(),
        _ => line.to_owned(),
    };
    let text = example.lines().map(set).collect::<Vec<_>>().join("\n");
    let (defaults, example) = (
        load(&Args::default(), &[], None).unwrap(),
        load(&Args::default(), &[], Some(&text)).unwrap(),
    );
    for key in file::keys() {
        let last = key.rsplit('.').next().unwrap();
        assert!(text.contains(last), "{key}");
    }
    // The two homes are different temporary folders.
    let below_home = |value: &str| {
        value.rsplit_once("/.tmp").map_or(value.to_owned(), |(_, rest)| rest[6..].to_owned())
    };
    for ((key, default, _), (_, value, origin)) in
        defaults.entries().into_iter().zip(example.entries())
    {
        let is_sample = ["model", "providers", "shadow_policy"];
        let is_own = ["policy.phrases", "policy.compaction_"];
        if is_own.iter().any(|own| key.starts_with(own)) || is_sample.contains(&key.as_str()) {
            continue;
        }
        if key.starts_with("policy.") {
            assert_eq!(value, default, "{key}");
        } else {
            assert_eq!((below_home(&value), origin), (below_home(&default), Origin::File), "{key}");
        }
    }
}
