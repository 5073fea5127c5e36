//! `context/*`.

use std::collections::BTreeMap;

use longhaul_core::rollout::codex;
use longhaul_core::tokens;
use longhaul_protocol::context::{Estimate, EstimateParams, EstimateResult};
use serde_json::Value;

use super::error::Failure;
use super::{Table, TableError};
use crate::link::CallContext;
use crate::service::Services;

pub(super) fn register(table: &mut Table) -> Result<(), TableError> {
    table.on_blocking::<Estimate>(estimate)
}

fn estimate(
    _: &Services,
    _: &CallContext,
    params: EstimateParams,
) -> Result<EstimateResult, Failure> {
    match (params.items, params.text) {
        (None, Some(text)) => Ok(EstimateResult {
            tokens: tokens::of_text(&text),
            bytes: text.len() as u64,
            by_kind: None,
        }),
        (Some(items), None) => {
            let mut by_kind = BTreeMap::new();
            let mut bytes = 0;
            for item in &items {
                let text = item.to_string();
                bytes += text.len() as u64;
                let kind = item.get("type").and_then(Value::as_str).unwrap_or("other").to_owned();
                *by_kind.entry(kind).or_insert(0) += codex::estimate(&text);
            }
            Ok(EstimateResult { tokens: by_kind.values().sum(), bytes, by_kind: Some(by_kind) })
        }
        _ => Err(Failure::invalid("text", "give either items or text")),
    }
}
