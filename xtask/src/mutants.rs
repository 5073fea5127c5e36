//! `cargo xtask mutants`: makes small changes to the core, one at a time, and checks whether a test notices.

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::{place, process};

/// The changes that no test notices, as `FILE: CHANGE` with the number of such changes in front. Without places, which move
/// with every edit: a change that is new to its file stands out by its words or its number.
const SURVIVORS: &str = "daemon/core/survivors.txt";

/// Exit code of cargo-mutants if no test noticed some changes.
const MISSED: i32 = 2;

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
        return process::check(&mut cargo);
    }
    let output = place::target()?;
    cargo.arg("--output").arg(&output);
    let status = cargo.status().context("cannot run cargo-mutants")?;
    match status.code() {
        Some(0) => return Ok(()),
        Some(MISSED) => {}
        _ => bail!("{} ended with {status}", process::line(&cargo)),
    }
    let missed = fs::read_to_string(output.join("mutants.out/missed.txt"))?;
    let known = fs::read_to_string(place::workspace()?.join(SURVIVORS))?;
    let new = unlisted(&missed, &known);
    ensure!(
        new.is_empty(),
        "no test notices these changes. Write one, or add them to {SURVIVORS}:\n{}",
        new.join("\n")
    );
    println!("all changes that no test noticed are in {SURVIVORS}");
    Ok(())
}

/// The lines of `missed` that `known` does not have, or not as often.
fn unlisted<'a>(missed: &'a str, known: &str) -> Vec<&'a str> {
    let counted = known.lines().filter_map(|line| line.trim_start().split_once(' '));
    let mut left: HashMap<&str, u64> =
        counted.filter_map(|(count, change)| Some((change, count.parse().ok()?))).collect();
    let is_new = |line: &&str| match left.get_mut(without_place(line).as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    missed.lines().filter(is_new).collect()
}

/// `FILE:LINE:COLUMN: CHANGE` without line and column.
fn without_place(line: &str) -> String {
    let (place, change) = line.split_once(": ").unwrap_or((line, ""));
    let file = place.split(':').next().unwrap_or(place);
    format!("{file}: {change}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survivor_is_known_by_file_and_change_and_only_as_often_as_listed() {
        let known = "2 core/a.rs: replace < with <= in f\n1 core/b.rs: replace g -> u64 with 0\n";
        let at = |line: u64| format!("core/a.rs:{line}:9: replace < with <= in f");
        let two = [at(7), at(9)].join("\n");
        assert!(unlisted(&two, known).is_empty(), "lines move");
        let three = [at(7), at(8), at(9)].join("\n");
        assert_eq!(unlisted(&three, known), [at(9)]);
        let other = "core/b.rs:1:1: replace g -> u64 with 1";
        assert_eq!(unlisted(other, known), [other]);
        assert_eq!(unlisted(other, ""), [other]);
    }
}
