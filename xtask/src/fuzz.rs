//! `cargo xtask fuzz`: runs libFuzzer on the properties in `fuzz/properties`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::{place, process};

/// Maximum input in bytes: longer ones find nothing more and are slower.
const INPUT_BYTES_MAX: u32 = 8 * 1_024;

/// Timeout of one input in seconds.
const INPUT_SECONDS_MAX: u32 = 20;

/// What to fuzz, and for how long.
#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// Only this target [default: all in turn]
    target: Option<String>,
    /// How long each target is fuzzed
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// An input to try once, as a finding's message names it
    #[arg(long, value_name = "FILE", requires = "target")]
    input: Option<std::path::PathBuf>,
    /// Afterwards, take over into `fuzz/corpus` what reached new code
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(options: &FuzzArgs) -> anyhow::Result<()> {
    check_tools()?;
    let targets = targets()?;
    let wanted: Vec<&String> = match &options.target {
        None => targets.iter().collect(),
        Some(target) => {
            ensure!(
                targets.contains(target),
                "no target {target}; there are {}",
                targets.join(", ")
            );
            vec![target]
        }
    };
    let mut failed = Vec::new();
    for target in wanted {
        println!("\n==> fuzz {target}");
        if fuzz(target, options).is_err() {
            failed.push(target.as_str());
        }
    }
    ensure!(failed.is_empty(), "findings in {}; see fuzz/artifacts", failed.join(", "));
    Ok(())
}

fn check_tools() -> anyhow::Result<()> {
    if !process::is_present(Command::new("rustup").args(["run", "nightly", "rustc", "--version"])) {
        bail!("fuzzing needs a nightly compiler: rustup toolchain install nightly");
    }
    if !process::is_present(Command::new("cargo-fuzz").arg("--version")) {
        bail!("fuzzing needs cargo-fuzz: cargo install cargo-fuzz");
    }
    Ok(())
}

fn folder() -> anyhow::Result<std::path::PathBuf> {
    Ok(place::workspace()?.join("fuzz"))
}

/// The targets, by the files that declare them.
fn targets() -> anyhow::Result<Vec<String>> {
    let files = std::fs::read_dir(folder()?.join("fuzz_targets"))?;
    let names = files.map(|file| {
        let path = file?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        name.map(str::to_owned).context("a target's name is no text")
    });
    let mut names = names.collect::<anyhow::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// Found inputs go to the build folder; the corpus in the repository is only read.
fn fuzz(target: &str, options: &FuzzArgs) -> anyhow::Result<()> {
    let output = place::target()?.join("fuzz");
    let (found, corpus) =
        (output.join("corpus").join(target), folder()?.join("corpus").join(target));
    std::fs::create_dir_all(&found)?;
    let mut run = cargo_fuzz("run", target, &output)?;
    match &options.input {
        Some(input) => run.arg(std::path::absolute(input)?),
        None => run.args([&found, &corpus]).arg("--").args([
            format!("-max_total_time={}", options.seconds),
            format!("-max_len={INPUT_BYTES_MAX}"),
            format!("-timeout={INPUT_SECONDS_MAX}"),
            "-print_final_stats=1".to_owned(),
        ]),
    };
    process::check(&mut run)?;
    if options.keep && options.input.is_none() {
        let mut merge = cargo_fuzz("run", target, &output)?;
        merge.args([&corpus, &found]).args(["--", "-merge=1", "-max_len=2048"]);
        process::check(&mut merge)?;
    }
    Ok(())
}

/// Without a sanitizer: we have no unsafe code, and inputs run twice as fast.
fn cargo_fuzz(what: &str, target: &str, output: &Path) -> anyhow::Result<Command> {
    let mut cargo = Command::new("rustup");
    cargo.args(["run", "nightly", "cargo", "fuzz", what, "--sanitizer", "none"]);
    cargo.arg("--fuzz-dir").arg(folder()?).arg("--target-dir").arg(output).arg(target);
    cargo.current_dir(folder()?);
    Ok(cargo)
}
