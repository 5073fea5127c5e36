use proptest::prelude::*;

use super::super::reference::{
    CollaborationMode, Model, Network, Permissions, Personality, WorkingFolder,
};
use super::*;

fn settings() -> Settings {
    Settings {
        environment: Some(Environment {
            places: vec![WorkingFolder {
                id: None,
                cwd: "/w/a".into(),
                shell: Some("bash".into()),
            }],
            current_date: Some("2026-11-21".into()),
            timezone: Some("Europe/Paris".into()),
            network: None,
        }),
        permissions: Some(Permissions {
            profile: "workspace-write".into(),
            approval_policy: "on-request".into(),
            instructions: "Ask before you leave the folder.".into(),
        }),
        collaboration_mode: Some(CollaborationMode {
            mode: "plan".into(),
            instructions: "Plan first.".into(),
            ..CollaborationMode::default()
        }),
        personality: Some(Personality { name: "terse".into(), instructions: "Be brief.".into() }),
        model: Some(Model { name: "m1".into(), instructions: "You are m1.".into() }),
        agents_md: Some("Run the tests.".into()),
        memory: Some("The user likes tabs.".into()),
    }
}

/// The dimensions and the text that are sent after `change`.
fn changes(opt_in: OptIn, change: impl FnOnce(&mut Settings)) -> (Vec<&'static str>, String) {
    let old = settings();
    let mut new = old.clone();
    change(&mut new);
    let injection = diff(Some(&old), &new, opt_in);
    let names = injection.dimensions.iter().map(|dimension| dimension.into_str()).collect();
    (names, serde_json::to_string(&injection.items).unwrap())
}

fn environment(settings: &mut Settings) -> &mut Environment {
    settings.environment.as_mut().unwrap()
}

#[test]
fn without_a_reference_everything_is_sent_in_order() {
    let injection = diff(None, &settings(), OptIn::default());
    assert!(injection.is_full);
    let names: Vec<_> = injection.dimensions.iter().map(|dimension| dimension.into_str()).collect();
    let expected =
        ["permissions", "memory", "collaboration_mode", "personality", "agents_md", "environment"];
    assert_eq!(names, expected);
    let roles: Vec<_> = injection.items.iter().map(|item| item["role"].clone()).collect();
    assert_eq!(roles, ["developer", "user"]);
    let words = serde_json::to_string(&injection.items).unwrap();
    assert!(words.contains("Approval policy: on-request"), "{words}");
    assert!(words.contains("Ask before you leave the folder."), "{words}");
    assert_eq!(diff(None, &Settings::default(), OptIn::default()).items, [Value::Null; 0]);
}

#[test]
fn a_new_model_gets_its_instructions_but_no_personality() {
    let (names, words) = changes(OptIn::default(), |new| {
        new.model = Some(Model { name: "m2".into(), instructions: "You are m2.".into() });
        new.personality = None;
    });
    assert_eq!(names, ["model"]);
    assert!(words.contains("<model_switch>") && words.contains("You are m2."));
    let (names, _) = changes(OptIn::default(), |new| {
        new.model = Some(Model { name: "m2".into(), instructions: String::new() });
    });
    assert_eq!(names, [""; 0]);
}

#[test]
fn permissions_are_sent_when_profile_or_approval_changes_but_not_with_the_folder() {
    let (names, words) = changes(OptIn::default(), |new| {
        new.permissions.as_mut().unwrap().approval_policy = "never".into();
    });
    assert_eq!(names, ["permissions"]);
    assert!(words.contains("Approval policy: never"));
    let (names, _) = changes(OptIn::default(), |new| {
        new.permissions.as_mut().unwrap().instructions = "Other words.".into();
    });
    assert_eq!(names, [""; 0]);
}

#[test]
fn the_end_of_a_collaboration_mode_is_sent() {
    let effort = |new: &mut Settings| {
        new.collaboration_mode.as_mut().unwrap().effort = Some("high".into());
    };
    assert_eq!(changes(OptIn::default(), effort).0, ["collaboration_mode"]);
    for ended in [None, Some(CollaborationMode::default())] {
        let (names, words) = changes(OptIn::default(), |new| new.collaboration_mode = ended);
        assert_eq!(names, ["collaboration_mode"]);
        assert!(words.contains("Disregard") && !words.contains("Plan first."));
    }
}

#[test]
fn a_personality_is_sent_when_it_changes_and_when_it_ends() {
    let (names, words) = changes(OptIn::default(), |new| {
        new.personality.as_mut().unwrap().instructions = "Be warm.".into();
    });
    assert_eq!(names, ["personality"]);
    assert!(words.contains("Be warm."));
    assert_eq!(changes(OptIn::default(), |new| new.personality = None).0, ["personality"]);
}

#[test]
fn only_changes_of_the_environment_are_sent() {
    let (names, words) = changes(OptIn::default(), |new| {
        environment(new).current_date = Some("2026-11-22".into());
    });
    assert_eq!(names, ["environment"]);
    assert!(words.contains("2026-11-22") && words.contains("Europe/Paris"));
    assert!(!words.contains("<cwd>"), "folders are not repeated: {words}");
    let (_, words) =
        changes(OptIn::default(), |new| environment(new).places[0].cwd = "/w/b".into());
    assert!(words.contains("<cwd>/w/b</cwd>") && words.contains("<shell>bash</shell>"));
    let (names, words) = changes(OptIn::default(), |new| {
        environment(new).network =
            Some(Network { allowed: vec!["example.com".into()], denied: vec![] });
    });
    assert_eq!(names, ["environment"]);
    assert!(words.contains("<allowed>example.com</allowed>"));
    let (names, _) =
        changes(OptIn::default(), |new| environment(new).places[0].shell = Some("zsh".into()));
    assert_eq!(names, [""; 0], "a shell alone is not reported");
}

#[test]
fn several_folders_are_compared_as_a_set_and_not_sent_every_turn() {
    let place =
        |id: &str, cwd: &str| WorkingFolder { id: Some(id.into()), cwd: cwd.into(), shell: None };
    let mut old = settings();
    environment(&mut old).places = vec![place("a", "/w/a"), place("b", "/w/b")];
    let mut new = old.clone();
    assert_eq!(diff(Some(&old), &new, OptIn::default()).items.len(), 0);
    environment(&mut new).places.reverse();
    assert_eq!(diff(Some(&old), &new, OptIn::default()).items.len(), 0);
    environment(&mut new).places.push(place("c", "/w/<c>"));
    let words = diff(Some(&old), &new, OptIn::default()).items[0].to_string();
    assert!(words.contains("/w/&lt;c>"), "{words}");
}

#[test]
fn project_instructions_and_memory_are_refreshed_on_request() {
    let change = |new: &mut Settings| {
        new.agents_md = Some("Run the linter.".into());
        new.memory = None;
    };
    assert_eq!(changes(OptIn::default(), change).0, [""; 0]);
    let (names, words) = changes(OptIn { agents_md: true, memory: true }, change);
    assert_eq!(names, ["memory", "agents_md"]);
    assert!(words.contains("# AGENTS.md instructions for /w/a") && words.contains("Disregard"));
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let word = || proptest::option::of("[a-z<&]{0,6}");
    let places = proptest::collection::vec("[a-z/]{1,6}", 0..3);
    (word(), word(), word(), word(), word(), word(), places).prop_map(
        |(date, profile, mode, manner, name, project, places)| Settings {
            environment: date.map(|date| Environment {
                places: places
                    .into_iter()
                    .map(|cwd| WorkingFolder { id: None, cwd, shell: None })
                    .collect(),
                current_date: Some(date),
                ..Environment::default()
            }),
            permissions: profile.map(|profile| Permissions { profile, ..Permissions::default() }),
            collaboration_mode: mode.map(|instructions| CollaborationMode {
                instructions,
                ..CollaborationMode::default()
            }),
            personality: manner
                .map(|instructions| Personality { instructions, ..Personality::default() }),
            model: name.map(|name| Model { instructions: name.clone(), name }),
            memory: project.clone(),
            agents_md: project,
        },
    )
}

proptest! {
    #[test]
    fn nothing_is_sent_twice(a in any_settings()) {
        let opt_in = OptIn { agents_md: true, memory: true };
        let injection = diff(Some(&a), &a, opt_in);
        prop_assert_eq!(injection.items.len(), 0);
        prop_assert!(!injection.is_full);
    }

    #[test]
    fn without_a_reference_all_settings_are_sent(a in any_settings(), b in any_settings()) {
        prop_assert_eq!(diff(None, &a, OptIn::default()), full(&a));
        let changed = diff(Some(&a), &b, OptIn::default());
        prop_assert_eq!(changed.items.is_empty(), changed.dimensions.is_empty());
        prop_assert!(changed.items.len() <= 2);
    }
}
