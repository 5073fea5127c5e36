//! Dependencies of the binaries: checks licenses, sources and advisories, and writes the bill of materials.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::suite::StepResult;
use crate::{place, process};

#[derive(clap::Args)]
pub(crate) struct SbomArgs {
    /// Output file
    #[arg(long, value_name = "FILE", default_value = "target/longhaul.cdx.json")]
    output: PathBuf,
}

/// Runs `cargo deny`. The advisory database needs a network; without one, advisories are reported as not checked.
pub(crate) fn check() -> anyhow::Result<StepResult> {
    if !process::is_present(place::cargo()?.args(["deny", "--version"])) {
        return Ok(StepResult::Skipped("cargo install --locked cargo-deny"));
    }
    process::check(place::cargo()?.args(["deny", "check", "licenses", "bans", "sources"]))?;
    let advisories = place::cargo()?.args(["deny", "check", "advisories"]).output()?;
    if advisories.status.success() {
        return Ok(StepResult::Passed);
    }
    let words = String::from_utf8_lossy(&advisories.stderr);
    println!("{words}");
    ensure!(
        words.contains("failed to fetch advisory database"),
        "advisories affect our dependencies"
    );
    Ok(StepResult::Skipped(
        "advisories NOT checked, their database cannot be fetched; licenses, bans and sources hold",
    ))
}

/// Writes the bill of materials as CycloneDX 1.6.
pub(crate) fn write_sbom(options: &SbomArgs) -> anyhow::Result<()> {
    let bill = bill()?;
    let path = place::workspace()?.join(&options.output);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&path, serde_json::to_string_pretty(&bill)? + "\n")?;
    let components = bill.pointer("/components").and_then(Value::as_array).map_or(0, Vec::len);
    println!("{}: {components} components", path.display());
    Ok(())
}

/// All packages of the lock file in a Linux build, with their dependencies.
fn bill() -> anyhow::Result<Value> {
    let mut command = place::cargo()?;
    command.args(["metadata", "--locked", "--format-version", "1"]);
    command.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
    let output = command.output().context("cargo metadata did not run")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = list(&metadata, "/packages");
    let references: BTreeMap<&str, String> =
        packages.iter().map(|package| (text(package, "id"), reference(package))).collect();
    let named = |id: &str| references.get(id).cloned();
    let nodes = list(&metadata, "/resolve/nodes");
    let dependencies = nodes.iter().filter_map(|node| {
        let on = list(node, "/dependencies").iter().filter_map(Value::as_str);
        let on: Vec<String> = on.filter_map(named).collect();
        Some(json!({ "ref": named(text(node, "id"))?, "dependsOn": on }))
    });
    let used: Vec<&str> = nodes.iter().map(|node| text(node, "id")).collect();
    let components = packages.iter().filter(|package| used.contains(&text(package, "id")));
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "longhaul",
                "name": "longhaul",
                "version": env!("CARGO_PKG_VERSION"),
            },
        },
        "components": components.map(component).collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}

fn component(package: &Value) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(package),
        "name": text(package, "name"),
        "version": text(package, "version"),
        "purl": reference(package),
    });
    let license = text(package, "license");
    if !license.is_empty() {
        // Some packages use `MIT/Apache-2.0`, which is not an SPDX expression.
        let expression = license.replace('/', " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    component
}

/// The package URL (purl).
fn reference(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(package, "name"), text(package, "version"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
