//! `cargo xtask mutants`: changes the core in small ways, one at a time, and asks whether any of its tests notices.

use std::process::Command;

use anyhow::ensure;

use crate::{place, process};

/// What to change. `.cargo/mutants.toml` says what is left alone, and how tests are run.
#[derive(clap::Args)]
pub(crate) struct MutantsArgs {
    /// Files to change, from the workspace's folder [default: all of the core]
    paths: Vec<String>,
    /// Only one part of them, as K/N with K from 0
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
