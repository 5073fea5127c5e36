//! The whole contract as one JSON Schema document, for clients in other languages.
//!
//! `protocol/schema/longhaul-v1.schema.json` is this value; a test fails when it is stale.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::error::ERROR_KINDS;
use crate::event::NotificationParams;
use crate::limit::Limits;
use crate::method::{
    CAPABILITIES, EVENT_NOTIFICATION, METHODS, Method, MethodVisitor, find, visit_methods,
};
use crate::text::SCHEMA_MARK;
use crate::{PROTOCOL_MAJOR, RevisionRange, WireError};

/// The document: every type under `$defs`, and which of them a method takes and answers under `methods`.
#[must_use]
pub fn schema() -> Value {
    let mut collector = Collector {
        generator: SchemaSettings::draft2020_12().into_generator(),
        methods: Map::with_capacity(METHODS.len()),
    };
    visit_methods(&mut collector);
    let Collector { mut generator, methods } = collector;
    let event = generator.subschema_for::<NotificationParams>();
    let error = generator.subschema_for::<WireError>();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("longhaul protocol v{PROTOCOL_MAJOR}"),
        "protocol": { "major": PROTOCOL_MAJOR, "revisions": RevisionRange::OURS },
        "capabilities": CAPABILITIES,
        "limits": Limits::OURS,
        "methods": methods,
        "notifications": { EVENT_NOTIFICATION: { "params": event } },
        "error": error,
        "error_kinds": error_kinds(),
        "$defs": generator.take_definitions(true),
    })
}

/// The document as it is committed: indented, with a newline at its end.
#[must_use]
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// The fields of results that their type marks ([`SCHEMA_MARK`]) as `mark`, as `method: path`, sorted.
#[must_use]
pub fn marked_fields(mark: &str) -> Vec<String> {
    let schema = schema();
    let mut found = Vec::new();
    for info in METHODS {
        let result = &schema["methods"][info.name]["result"];
        let mut path = vec![format!("{}: ", info.name)];
        find_marked((&schema, mark), result, &mut path, &mut found);
    }
    found.sort();
    found
}

/// Follows references down from `node`; `path` is how it was come to.
fn find_marked(
    (schema, mark): (&Value, &str),
    node: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<String>,
) {
    // Deeper than any result: a type that holds itself ends here.
    const DEPTH_MAX: usize = 12;
    if path.len() > DEPTH_MAX {
        return;
    }
    if node.get(SCHEMA_MARK) == Some(&json!(mark)) {
        found.push(path.concat());
        return;
    }
    if let Some(pointer) = node.get("$ref").and_then(Value::as_str) {
        let target = schema.pointer(pointer.trim_start_matches('#')).unwrap_or(&Value::Null);
        find_marked((schema, mark), target, path, found);
    }
    for (name, field) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let is_first = path.len() == 1;
        path.push(if is_first { name.clone() } else { format!(".{name}") });
        find_marked((schema, mark), field, path, found);
        path.pop();
    }
    if let Some(items) = node.get("items") {
        path.push("[]".to_owned());
        find_marked((schema, mark), items, path, found);
        path.pop();
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        let choices = node.get(choice).and_then(Value::as_array).into_iter().flatten();
        choices.for_each(|choice| find_marked((schema, mark), choice, path, found));
    }
}

fn error_kinds() -> Vec<Value> {
    let row = |kind: &crate::ErrorKind| {
        json!({
            "code": kind.code(),
            "kind": kind,
            "retry": kind.retry(),
            "when": kind.when(),
        })
    };
    ERROR_KINDS.iter().map(row).collect()
}

struct Collector {
    generator: SchemaGenerator,
    methods: Map<String, Value>,
}

impl MethodVisitor for Collector {
    fn visit<M: Method>(&mut self) {
        let info = find(M::NAME);
        let entry = json!({
            "params": self.generator.subschema_for::<M::Params>(),
            "result": self.generator.subschema_for::<M::Result>(),
            "since": info.map(|info| info.since),
            "capability": info.map(|info| info.capability),
            "agents": info.map(|info| info.agents.words()),
        });
        self.methods.insert(M::NAME.to_owned(), entry);
    }
}
