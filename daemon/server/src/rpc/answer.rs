//! What an agent gets: answers and errors without secrets.

use longhaul_core::redact::redact_value;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

pub(super) fn redacted(mut answer: Value) -> serde_json::Result<Box<RawValue>> {
    redact_value(&mut answer);
    to_raw_value(&answer)
}
