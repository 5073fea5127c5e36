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
