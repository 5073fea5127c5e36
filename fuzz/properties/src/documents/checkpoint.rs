//! Updates of a checkpoint, and the file that it is exported as.

use std::collections::BTreeMap;

use longhaul_core::checkpoint::document::document;
use longhaul_core::checkpoint::file_standing::Disk;
use longhaul_core::checkpoint::semantic::{
    AcceptedUpdate, ReferenceIndex, Semantics, Update, validate,
};
use longhaul_core::checkpoint::view::{ViewCaps, ViewInputs, render};
use longhaul_core::tokens;
use longhaul_protocol::checkpoint::CheckpointV1;

use crate::views::session;

/// A host that knows whatever is named.
struct Anything;

impl ReferenceIndex for Anything {
    fn user_message(&self, _: &str) -> bool {
        true
    }

    fn file(&self, _: &str) -> bool {
        true
    }

    fn is_same_file(&self, path: &str, other: &str) -> bool {
        path == other
    }

    fn tool_output(&self, _: &str) -> bool {
        true
    }

    fn decision(&self, _: &str) -> bool {
        true
    }
}

/// Updates, one a line: accepted ones appear in a view within its budget and in the exported file.
pub(super) fn updates(text: &str) {
    let mut accepted = Vec::new();
    for (seq, line) in (0..).zip(text.lines()) {
        let Ok(update) = serde_json::from_str::<Update>(line) else { continue };
        match validate(update, &Anything) {
            Err(rejection) => assert!(!rejection.reason.is_empty()),
            Ok(update) => {
                let again = validate(update.clone(), &Anything);
                assert_eq!(
                    again.as_ref(),
                    Ok(&update),
                    "an accepted update is accepted again unchanged"
                );
                let saved = serde_json::to_string(&update).unwrap();
                assert_eq!(serde_json::from_str::<Update>(&saved).unwrap(), update);
                accepted.push(AcceptedUpdate { seq, update });
            }
        }
    }
    let (semantics, disk, fold) = (Semantics::of(&accepted), Disk::new(), session());
    let state = fold.checkpoint();
    let inputs =
        ViewInputs { thread_id: Some("t"), state, semantics: &semantics, disk: &disk, focus: "" };
    for budget in [150, 1_000, 4_000] {
        assert!(tokens::of_text(&render(&inputs, &ViewCaps::default(), budget)) <= budget);
    }
    let document = serde_json::to_value(document(&inputs)).unwrap();
    let exported = CheckpointV1::read(document).expect("a document can be exported");
    assert_eq!(exported.facts.len(), semantics.facts.len());
    assert_eq!(exported.decisions.len(), semantics.decisions.len());
}

/// A document that claims to be a checkpoint.
pub(super) fn exported(text: &str) {
    let Ok(value) = serde_json::from_str(text) else { return };
    let Ok(read) = CheckpointV1::read(value) else { return };
    let written = serde_json::to_value(&read).unwrap();
    let members: BTreeMap<String, serde_json::Value> = serde_json::from_value(written).unwrap();
    assert_eq!(members.len(), 8, "the file has the members of its schema: {:?}", members.keys());
}
