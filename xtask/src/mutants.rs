//! `cargo xtask mutants`: makes small changes to the core, one at a time, and checks whether a test notices.

use std::process::Command;

use anyhow::ensure;

use crate::{place, process};

/// `.cargo/mutants.toml` has the exclusions and how tests run.
#[derive(clap::Args)]
pub(crate) struct MutantsArgs {
    /// Files to change, relative to the workspace [default: all of the core]
    paths: Vec<String>,
    /// Only one part, as K/N with K from 0
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
    /// Only list the changes
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(options: &MutantsArgs) -> anyhow::Result<()> {
    ensure!(
        process::is_present(Command::new("cargo-mutants").args(["mutants", "--version"])),
        "mutation testing needs cargo-mutants: cargo install --locked cargo-mutants"
    );
    let mut cargo = place::cargo()?;
    cargo.args(["mutants", "--package", "longhaul-core"]);
    for path in &options.paths {
        cargo.args(["--file", path]);
    }
    if let Some(shard) = &options.shard {
        cargo.args(["--shard", shard]);
    }
    if options.list {
        cargo.arg("--list");
    } else {
        cargo.arg("--output").arg(place::target()?);
    }
    process::check(&mut cargo)
}
