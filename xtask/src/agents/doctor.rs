//! Reads `longhaul doctor --json`.

use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

use super::compare::Row;

/// The details of the checks named `check`; `longhaul` is the program with its socket and environment.
pub(super) fn details(longhaul: &mut Command, check: &str) -> anyhow::Result<Vec<String>> {
    let output = longhaul.args(["doctor", "--json"]).output()?;
    let page: Value = serde_json::from_slice(&output.stdout).context("doctor printed no JSON")?;
    let checks = page["checks"].as_array().map_or(&[][..], Vec::as_slice);
    let named = checks.iter().filter(|row| row["name"] == check);
    Ok(named.filter_map(|row| row["detail"].as_str().map(str::to_owned)).collect())
}

/// Whether the check of the compaction route says `text`.
pub(super) fn compaction_row(
    step: &'static str,
    longhaul: &mut Command,
    text: &str,
) -> anyhow::Result<Row> {
    let details = details(longhaul, "compaction")?;
    let detail = details.into_iter().next().unwrap_or_else(|| "no such check".to_owned());
    Ok(Row::new(step, detail.contains(text), detail))
}
