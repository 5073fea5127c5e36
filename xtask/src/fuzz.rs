//! `cargo xtask fuzz`: runs libFuzzer on the properties in `fuzz/properties`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::{place, process};

/// Maximum input in bytes: longer inputs find nothing more and are slower.
const INPUT_BYTES_MAX: u32 = 8 * 1_024;

/// Timeout of one input in seconds.
const INPUT_SECONDS_MAX: u32 = 20;

#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// Only this target [default: all]
    target: Option<String>,
    /// Seconds per target
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Run one input once, such as a finding in fuzz/artifacts
    #[arg(long, value_name = "FILE", requires = "target")]
    input: Option<std::path::PathBuf>,
    /// Afterwards, add inputs that reached new code to fuzz/corpus
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

/// The targets, from the names of their files.
fn targets() -> anyhow::Result<Vec<String>> {
    let files = std::fs::read_dir(folder()?.join("fuzz_targets"))?;
    let names = files.map(|file| {
        let path = file?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        name.map(str::to_owned).context("a target's name is not UTF-8")
    });
    let mut names = names.collect::<anyhow::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// New inputs go to the build folder; the corpus in the repository is only read.
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

/// Without a sanitizer, since there is no unsafe code: inputs run twice as fast.
fn cargo_fuzz(what: &str, target: &str, output: &Path) -> anyhow::Result<Command> {
    let mut cargo = Command::new("rustup");
    cargo.args(["run", "nightly", "cargo", "fuzz", what, "--sanitizer", "none"]);
    cargo.arg("--fuzz-dir").arg(folder()?).arg("--target-dir").arg(output).arg(target);
    cargo.current_dir(folder()?);
    Ok(cargo)
}
