//! `context/*`.

use std::collections::BTreeMap;

use longhaul_core::context::normalize::{self, Options};
use longhaul_core::rollout::codex;
use longhaul_core::tokens;
use longhaul_protocol::context::{
    Change, Estimate, EstimateParams, EstimateResult, Normalize, NormalizeParams, NormalizeResult,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::Failure;
use super::{Table, TableError};
use crate::link::CallContext;
use crate::service::Services;

pub(super) fn register(table: &mut Table) -> Result<(), TableError> {
    table.on_blocking::<Estimate>(estimate)?;
    table.on_blocking::<Normalize>(normalize)
}

fn normalize(
    _: &Services,
    _: &CallContext,
    params: NormalizeParams,
) -> Result<NormalizeResult, Failure> {
    let count = params.items.len() as u64;
    if let Some(index) = params.remove.iter().find(|index| **index >= count) {
        return Err(Failure::invalid("remove", &format!("indexes below {count}, not {index}")));
    }
    let takes_images = params
        .input_modalities
        .is_none_or(|modalities| modalities.iter().any(|modality| modality == "image"));
    let options = Options {
        without_images: !takes_images,
        repair_image: params.repair_image,
        remove: params.remove.iter().filter_map(|index| usize::try_from(*index).ok()).collect(),
    };
    let texts: Vec<&str> = params.items.iter().map(|item| item.get()).collect();
    let made = normalize::normalize(&texts, &options);
    let items = made.items.into_iter().map(|item| RawValue::from_string(item.into_owned()));
    let change = |change: normalize::Change| Change {
        kind: change.kind.name().to_owned(),
        index: change.index as u64,
        call_id: change.call_id,
    };
    Ok(NormalizeResult {
        items: items.collect::<Result<_, _>>().map_err(Failure::internal)?,
        changes: made.changes.into_iter().map(change).collect(),
    })
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
