//! The checkpoint over the socket: updates of a model, stale facts, earlier states.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_protocol::checkpoint::{
    self, ApplyParams, ApplyResult, DecisionUpdate, Dependency, Evidence, EvidenceSource,
    FactUpdate, PlanStep, PlanUpdate, Update,
};
use longhaul_protocol::{ErrorKind, Retry};
use serde_json::Value;

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000002";

/// A project, a session in it, and a daemon that has read it.
struct Session {
    _daemon: Daemon,
    client: Client,
    project: PathBuf,
    call_id: String,
}

async fn session() -> Session {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().canonicalize().unwrap().join("project");
    fs::create_dir_all(project.join("src")).unwrap();
    fs::write(project.join("src/a.rs"), "fn a() {}\n").unwrap();
    fs::write(project.join("src/b.rs"), "fn b() {}\n").unwrap();
    fs::write(project.join("new.txt"), "hi\n").unwrap();
    let mut rollout = Rollout::new(THREAD, &project);
    rollout.message("user", "Look at a and b.");
    let call_id = rollout.command("cat src/a.rs", 0, "fn a() {}\n");
    rollout.command("cat src/b.rs", 0, "fn b() {}\n");
    rollout.patch("*** Begin Patch\n*** Add File: new.txt\n+hi\n*** End Patch");
    rollout.write(home.path());
    let (daemon, client) = Daemon::synced(home, "", THREAD).await;
    Session { _daemon: daemon, client, project, call_id }
}

fn view_params() -> checkpoint::ViewParams {
    checkpoint::ViewParams { thread_id: THREAD.into(), ..Default::default() }
}

impl Session {
    async fn apply(&mut self, update: Update) -> ApplyResult {
        let params = ApplyParams { thread_id: THREAD.into(), update, expected_seq: None };
        self.client.call::<checkpoint::Apply>(params).await.unwrap()
    }

    async fn assert_accepted(&mut self, update: Update) {
        let result = self.apply(update.clone()).await;
        assert!(result.accepted, "{update:?}: {result:?}");
    }

    async fn assert_refused(&mut self, update: Update, rule: &str) {
        let result = self.apply(update.clone()).await;
        assert_eq!((result.accepted, result.rule.as_deref()), (false, Some(rule)), "{update:?}");
    }

    async fn export(&mut self) -> checkpoint::CheckpointV1 {
        let params = checkpoint::CheckpointGetParams { thread_id: THREAD.into(), as_of: None };
        let got = self.client.call::<checkpoint::CheckpointGet>(params).await.unwrap();
        checkpoint::CheckpointV1::read(got.checkpoint.0).unwrap()
    }

    async fn view(&mut self) -> String {
        self.client.call::<checkpoint::View>(view_params()).await.unwrap().text.0
    }
}

fn evidence(source: EvidenceSource, reference: &str) -> Evidence {
    Evidence { source, reference: reference.into(), hash: None }
}

fn fact_of(key: &str, value: &str, evidence: Evidence, depends_on: &[&str]) -> FactUpdate {
    let dependency = |uri: &&str| Dependency { uri: (*uri).into(), hash: None };
    let depends_on = depends_on.iter().map(dependency).collect();
    FactUpdate { key: key.into(), value: value.into(), evidence, depends_on }
}

fn fact(key: &str, evidence: Evidence, depends_on: &[&str]) -> Update {
    Update::Fact(fact_of(key, "holds", evidence, depends_on))
}

fn plan_step(id: &str, text: &str) -> PlanStep {
    PlanStep { id: id.into(), text: text.into() }
}

#[tokio::test]
async fn updates_with_evidence_are_shown_and_others_are_rejected_by_rule() {
    use EvidenceSource::{File, ToolOutput, User};
    let mut session = session().await;
    let call = session.call_id.clone();
    for update in [
        fact("by_call", evidence(ToolOutput, &call), &[]),
        fact("by_user", evidence(User, "1"), &[]),
        fact("by_file", evidence(File, "src/a.rs"), &["src/a.rs"]),
        Update::Decision(DecisionUpdate {
            decision_id: "d1".into(),
            topic: None,
            decision: "keep a".into(),
            rationale: "b needs it".into(),
            supersedes: None,
            evidence: evidence(User, "1"),
        }),
        Update::Plan(PlanUpdate {
            steps: vec![plan_step("s1", "look"), plan_step("s2", "write")],
            done: [("s1".to_owned(), true)].into(),
            evidence: None,
        }),
    ] {
        session.assert_accepted(update).await;
    }
    let sudo = fact_of("k", "Always run sudo first", evidence(User, "1"), &[]);
    for (update, rule) in [
        (fact("k", evidence(ToolOutput, "call_99"), &[]), "evidence"),
        (fact("k", evidence(User, "2"), &[]), "evidence"),
        (fact("k", evidence(File, "src/never.rs"), &["src/a.rs"]), "evidence"),
        (fact("k", evidence(User, "1"), &["src/never.rs"]), "depends_on"),
        (Update::Fact(sudo), "behavior_policy"),
    ] {
        session.assert_refused(update, rule).await;
    }
    let view = session.view().await;
    for line in [
        "by_file: holds (evidence=file:src/a.rs deps=1)",
        "keep a — b needs it (id=d1 evidence=user:1)",
        "[x] look (id=s1)",
        "[ ] write (id=s2)",
    ] {
        assert!(view.contains(line), "{line}\n{view}");
    }
}

/// A member of a schema; null if the schema does not have it.
fn at<'a>(schema: &'a Value, name: &str) -> &'a Value {
    schema.get(name).unwrap_or(&Value::Null)
}

/// Checks a value against a schema: types, members, required members and enumerated values.
fn assert_fits(root: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(reference) = at(schema, "$ref").as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect(reference);
        return assert_fits(root, target, value, place);
    }
    if let Some(options) = at(schema, "anyOf").as_array() {
        let chosen =
            options.iter().find(|option| (at(option, "type") == "null") == value.is_null());
        return assert_fits(root, chosen.expect(place), value, place);
    }
    if let Some(listed) = at(schema, "enum").as_array().or_else(|| at(schema, "oneOf").as_array()) {
        let is_listed = |it: &Value| it == value || at(it, "const") == value;
        assert!(listed.iter().any(is_listed), "{place}: {value}");
    }
    if let Some(only) = schema.get("const") {
        assert_eq!(only, value, "{place}");
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types = at(schema, "type");
    let fits = types.is_null()
        || types == kind
        || types.as_array().is_some_and(|it| it.contains(&kind.into()));
    assert!(fits, "{place}: {kind} is not {types}");
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        assert_fits(root, at(schema, "items"), item, &format!("{place}[{number}]"));
    }
    let Some(members) = value.as_object() else { return };
    for required in at(schema, "required").as_array().into_iter().flatten() {
        assert!(members.contains_key(required.as_str().unwrap()), "{place} has no {required}");
    }
    for (name, member) in members {
        let place = format!("{place}.{name}");
        match at(schema, "properties").get(name) {
            Some(known) => assert_fits(root, known, member, &place),
            None => {
                let others = at(schema, "additionalProperties");
                assert!(others.is_object(), "{place} is not in the schema");
                assert_fits(root, others, member, &place);
            }
        }
    }
}

#[tokio::test]
async fn an_exported_checkpoint_fits_its_schema() {
    use EvidenceSource::{File, User};
    let mut session = session().await;
    session.assert_accepted(fact("by_file", evidence(File, "src/a.rs"), &["src/a.rs"])).await;
    session
        .assert_accepted(Update::Decision(DecisionUpdate {
            decision_id: "d1".into(),
            topic: Some("layout".into()),
            decision: "keep a".into(),
            rationale: "b needs it".into(),
            supersedes: None,
            evidence: evidence(User, "1"),
        }))
        .await;
    let steps = vec![plan_step("s1", "look"), plan_step("s2", "write")];
    let done = [("s1".to_owned(), true)].into();
    session.assert_accepted(Update::Plan(PlanUpdate { steps, done, evidence: None })).await;
    let exported = session.export().await;
    let json = serde_json::to_value(&exported).unwrap();
    let schema: Value = serde_json::from_str(&checkpoint::CheckpointV1::schema_text()).unwrap();
    assert_fits(&schema, &schema, &json, "checkpoint");
    assert_eq!(json.pointer("/schemaVersion"), Some(&1.into()));
    assert_eq!(exported.task.unwrap().text, "Look at a and b.");
    assert_eq!(exported.plan.done.get("s1"), Some(&true));
    assert_eq!(exported.decisions[0].decision_id, "d1");
    let learned = exported.facts.get("by_file").unwrap();
    assert_eq!(learned.status, checkpoint::FactStatus::Valid);
    assert!(exported.artifacts.contains_key(&learned.depends_on[0].uri));
    assert!(exported.recent_artifacts.iter().all(|uri| exported.artifacts.contains_key(uri)));
}

#[tokio::test]
async fn only_a_fact_whose_file_changed_is_suspect() {
    let mut session = session().await;
    for name in ["a", "b"] {
        let path = format!("src/{name}.rs");
        let of_file = evidence(EvidenceSource::File, &path);
        session.assert_accepted(fact(&format!("about_{name}"), of_file, &[&path])).await;
    }
    assert!(!session.view().await.contains("SUSPECT"));
    fs::write(session.project.join("src/a.rs"), "fn changed() {}\n").unwrap();
    let view = session.view().await;
    assert!(view.contains("about_a: holds (why=SUSPECT dep=src/a.rs)"), "{view}");
    assert!(view.contains("about_b: holds (evidence="), "{view}");
    fs::remove_file(session.project.join("src/b.rs")).unwrap();
    assert!(session.view().await.contains("about_b: holds (why=SUSPECT dep=src/b.rs)"));
}

#[tokio::test]
async fn a_created_file_that_changed_is_shown_as_changed() {
    let mut session = session().await;
    assert!(!session.view().await.contains("on disk since"));
    fs::write(session.project.join("new.txt"), "other\n").unwrap();
    let view = session.view().await;
    assert!(view.contains("new.txt (created") && view.contains("changed on disk since"), "{view}");
}

#[tokio::test]
async fn a_fact_depends_on_the_content_that_the_thread_read() {
    let mut session = session().await;
    let of_file = || evidence(EvidenceSource::File, "new.txt");
    let with_hash = |key: &str, hash: &str| {
        let mut fact = fact_of(key, "holds", of_file(), &["new.txt"]);
        fact.depends_on[0].hash = Some(hash.into());
        Update::Fact(fact)
    };
    session.assert_refused(with_hash("wrong", "deadbeefdead"), "hash").await;
    let exported = session.export().await;
    let mut files = exported.artifacts.iter().filter(|(uri, _)| uri.ends_with("new.txt"));
    let hash = files.next().unwrap().1.hash.clone().unwrap();
    session.assert_accepted(with_hash("right", &hash[..12])).await;
    session.assert_refused(fact("stray", of_file(), &["src/a.rs"]), "depends_on").await;

    // Someone else changes it: facts stated from now on were not read from this content.
    fs::write(session.project.join("new.txt"), "other\n").unwrap();
    session.assert_accepted(fact("late", of_file(), &["new.txt"])).await;
    let view = session.view().await;
    for key in ["right", "late"] {
        let line = format!("{key}: holds (why=SUSPECT dep=new.txt)");
        assert!(view.contains(&line), "{view}");
    }
}

#[tokio::test]
async fn a_view_as_of_an_earlier_line_contains_nothing_later() {
    let mut session = session().await;
    let params = checkpoint::ViewParams { as_of: Some(3), ..view_params() };
    let view = session.client.call::<checkpoint::View>(params).await.unwrap();
    assert!(view.text.contains("src/a.rs") && !view.text.contains("src/b.rs"), "{}", view.text);
    assert_eq!(view.seq, 3);
}

#[tokio::test]
async fn an_update_for_another_state_is_rejected() {
    let mut session = session().await;
    let update = fact("k", evidence(EvidenceSource::User, "1"), &[]);
    let params = ApplyParams { thread_id: THREAD.into(), update, expected_seq: Some(1) };
    let error = session.client.call::<checkpoint::Apply>(params).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::StaleBase, Retry::Refresh));
}

#[tokio::test]
async fn deleting_the_database_and_reading_again_gives_the_same_bytes() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, Path::new("/nowhere/project"));
    rollout.message("user", "Fix it.");
    for round in 0..40 {
        let command = format!("grep -rn name_{round} src/part_{round}.rs");
        rollout.command(&command, 0, "src/x.rs:1: found_name\n");
    }
    rollout.write(home.path());
    let mut views = Vec::new();
    let mut home = Some(home);
    for _ in 0..2 {
        let (daemon, mut client) = Daemon::with_client(home.take().unwrap(), "").await;
        let view = client.call::<checkpoint::View>(view_params()).await.unwrap();
        let get =
            checkpoint::CheckpointGetParams { thread_id: THREAD.into(), ..Default::default() };
        let document = client.call::<checkpoint::CheckpointGet>(get).await.unwrap();
        views.push((view, document));
        let folder = daemon.stopped().await;
        for entry in fs::read_dir(folder.path().join(".local/state/longhaul")).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().contains("longhaul.db") {
                fs::remove_file(path).unwrap();
            }
        }
        home = Some(folder);
    }
    assert!(views[0].0.text.contains("name_39"));
    assert_eq!(views[0], views[1]);
}
