//! `cargo xtask test`: runs all CI steps and prints a summary with times.
//!
//! A failed step does not stop the others, so that one run shows everything to fix.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use crate::stopwatch::Stopwatch;
use crate::{agents, editors, place, process, supply};

/// Maximum exposure of the service by `systemd-analyze security`, out of 100; it prints a tenth of that.
const EXPOSURE_MAX: u32 = 25;

/// Duration of the soak step.
const SOAK: Duration = Duration::from_secs(20);

#[derive(clap::Args)]
pub(crate) struct SuiteArgs {
    /// Only these steps; an unknown name lists them
    steps: Vec<String>,
    /// Step faults: number of faults to try
    #[arg(long, default_value_t = 200)]
    runs: u64,
    /// Step simulation: minutes in which to try one seed after another
    #[arg(long, default_value_t = 3.0)]
    minutes: f64,
    /// Step simulation: number of seeds to try, however long that takes
    #[arg(long, conflicts_with = "minutes")]
    seeds: Option<u64>,
    /// Step faults: the seed that chooses them; step simulation: the first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Step faults: repeat this one, as printed (KIND:CALL:SEED), or all of a kind (KIND:all)
    #[arg(long)]
    fault: Option<String>,
    /// Step faults: use a release build of the daemon, which takes minutes to build and makes long runs faster
    #[arg(long)]
    release: bool,
}

struct Step {
    name: &'static str,
    what: &'static str,
    run: fn(&SuiteArgs) -> anyhow::Result<StepResult>,
}

/// Result without failures.
pub(crate) enum StepResult {
    Passed,
    /// With what was skipped, or why.
    Skipped(&'static str),
}

const STEPS: &[Step] = &[
    Step { name: "fmt", what: "source is formatted", run: |_| fmt() },
    Step { name: "edges", what: "no crate reaches what it must not know", run: |_| edges() },
    Step { name: "clippy", what: "no lint fires, tests included", run: |_| clippy() },
    Step { name: "doc", what: "documentation builds without a warning", run: |_| doc() },
    Step {
        name: "tests",
        what: "unit, integration, schema, example and tidy tests",
        run: |_| tests(),
    },
    Step { name: "faults", what: "what was promised outlives faults of the disk", run: faults },
    Step {
        name: "simulation",
        what: "the daemon decides right, whatever comes next and whenever it dies",
        run: simulation,
    },
    Step {
        name: "soak",
        what: "agents write, clients ask, and every answer is right",
        run: |_| soak(),
    },
    Step { name: "doctests", what: "examples in the documentation run", run: |_| doctests() },
    Step {
        name: "units",
        what: "systemd accepts the unit files and their sandbox",
        run: |_| units(),
    },
    Step {
        name: "deny",
        what: "dependencies: licenses, sources, advisories",
        run: |_| supply::check(),
    },
    Step {
        name: "agents",
        what: "Codex and Claude Code get what we say",
        run: |_| agents::check(),
    },
    Step {
        name: "editors",
        what: "the clients in TypeScript and Lua work",
        run: |_| editors::check(),
    },
    Step {
        name: "vscode",
        what: "the extension works in a real editor",
        run: |_| editors::check_vscode(),
    },
];

/// Dependencies that a crate must not have at any depth; see ARCHITECTURE.md.
const FORBIDDEN_EDGES: &[(&str, &[&str])] = &[
    ("longhaul-printable", &["serde", "tokio", "longhaul-core", "longhaul-protocol"]),
    ("longhaul-core", &["tokio", "sqlx", "longhaul-protocol", "tracing", "rustix", "rand"]),
    ("longhaul-protocol", &["tokio", "sqlx", "longhaul-core", "jsonrpsee"]),
    ("longhaul-store", &["jsonrpsee", "longhaul-protocol", "notify"]),
    ("longhaul-client", &["sqlx", "longhaul-core", "longhaul-store", "notify"]),
    ("longhaul-cli", &["sqlx", "longhaul-core", "longhaul-store", "notify", "hyper"]),
    ("longhaul-mcp", &["sqlx", "longhaul-core", "longhaul-store", "notify", "hyper"]),
    ("longhaul-gateway", &["sqlx", "longhaul-core", "longhaul-store", "notify"]),
    ("longhaul-confine", &["tokio", "serde"]),
    (
        "longhaul-curator",
        &["sqlx", "longhaul-core", "longhaul-store", "notify", "hyper", "reqwest"],
    ),
    ("longhaul-eval", &["tokio", "sqlx", "longhaul-core"]),
];

pub(crate) fn run(options: &SuiteArgs) -> anyhow::Result<()> {
    let known = |wanted: &String| STEPS.iter().any(|step| step.name == wanted);
    if let Some(unknown) = options.steps.iter().find(|wanted| !known(wanted)) {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        bail!("there is no step {unknown}; the steps are: {}", names.join(", "));
    }
    let is_wanted =
        |step: &&Step| options.steps.is_empty() || options.steps.iter().any(|w| w == step.name);
    let whole = Stopwatch::start();
    let mut rows = Vec::new();
    for step in STEPS.iter().filter(is_wanted) {
        println!("\n==> {}: {}", step.name, step.what);
        let watch = Stopwatch::start();
        let result = (step.run)(options);
        if let Err(error) = &result {
            println!("    {error:#}");
        }
        rows.push((step, result, watch.elapsed()));
    }
    summarize(&rows, whole.elapsed())
}

fn summarize(
    rows: &[(&Step, anyhow::Result<StepResult>, Duration)],
    whole: Duration,
) -> anyhow::Result<()> {
    println!("\n==> summary");
    for (step, result, time) in rows {
        let verdict = match result {
            Ok(StepResult::Passed) => "ok".to_owned(),
            Ok(StepResult::Skipped(why)) => format!("skipped: {why}"),
            Err(error) => format!("FAILED: {error:#}"),
        };
        println!("    {:9} {:>7.1} s  {verdict}", step.name, time.as_secs_f64());
    }
    let failed: Vec<_> =
        rows.iter().filter(|(_, result, _)| result.is_err()).map(|(step, ..)| step.name).collect();
    println!("    {:9} {:>7.1} s", "all", whole.as_secs_f64());
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn cargo(arguments: &[&str]) -> anyhow::Result<StepResult> {
    process::check(place::cargo()?.args(arguments))?;
    Ok(StepResult::Passed)
}

fn fmt() -> anyhow::Result<StepResult> {
    cargo(&["fmt", "--all", "--check"])
}

fn clippy() -> anyhow::Result<StepResult> {
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--keep-going",
        "--",
        "-D",
        "warnings",
    ])
}

fn doc() -> anyhow::Result<StepResult> {
    let mut doc = place::cargo()?;
    doc.args(["doc", "--workspace", "--no-deps", "--locked", "--keep-going"])
        .env("RUSTDOCFLAGS", "-D warnings");
    process::check(&mut doc)?;
    Ok(StepResult::Passed)
}

/// Faults and simulation have steps of their own, so that one run of each is enough here.
fn tests() -> anyhow::Result<StepResult> {
    let has_nextest = process::is_present(place::cargo()?.args(["nextest", "--version"]));
    let mut tests = place::cargo()?;
    if has_nextest {
        tests.args(["nextest", "run"]);
    } else {
        println!("    cargo-nextest is not installed; using cargo test, one crate after another");
        tests.args(["test", "--all-targets"]);
    }
    tests.args(["--workspace", "--locked", "--no-fail-fast"]);
    tests.env("LONGHAUL_FAULT_RUNS", "1").env("LONGHAUL_SIMULATION_SEEDS", "1");
    process::check(&mut tests)?;
    Ok(StepResult::Passed)
}

/// Without nextest, which kills tests after minutes: 10,000 faults take hours.
fn faults(options: &SuiteArgs) -> anyhow::Result<StepResult> {
    let mut tests = Command::new(place::test_program("longhaul-daemon", "main")?);
    tests.args(["faults::", "--nocapture"]);
    tests.env("LONGHAUL_FAULT_RUNS", options.runs.to_string());
    tests.env("LONGHAUL_FAULT_SEED", options.seed.to_string());
    if let Some(fault) = &options.fault {
        tests.env("LONGHAUL_FAULT", fault);
    }
    if options.release {
        tests.env("LONGHAUL_FAULT_DAEMON", place::build_release()?.longhauld);
    }
    process::check(&mut tests)?;
    Ok(StepResult::Passed)
}

/// Without nextest, too: the time is given.
fn simulation(options: &SuiteArgs) -> anyhow::Result<StepResult> {
    let mut tests = Command::new(place::test_program("longhaul-daemon", "longhaul_daemon")?);
    tests.args(["app::simulation::", "--nocapture"]);
    match options.seeds {
        Some(seeds) => tests.env("LONGHAUL_SIMULATION_SEEDS", seeds.to_string()),
        None => {
            let time = Duration::try_from_secs_f64(options.minutes * 60.0).context("--minutes")?;
            tests.env("LONGHAUL_SIMULATION_SECONDS", time.as_secs().to_string())
        }
    };
    tests.env("LONGHAUL_SIMULATION_SEED", options.seed.to_string());
    process::check(&mut tests)?;
    Ok(StepResult::Passed)
}

/// Too short to detect growth, which needs `cargo xtask soak`.
fn soak() -> anyhow::Result<StepResult> {
    crate::soak::soak(&place::build_debug()?.join("longhauld"), SOAK, 1)?;
    Ok(StepResult::Passed)
}

fn doctests() -> anyhow::Result<StepResult> {
    cargo(&["test", "--doc", "--workspace", "--locked", "--quiet"])
}

fn edges() -> anyhow::Result<StepResult> {
    let mut found = Vec::new();
    for (package, forbidden) in FORBIDDEN_EDGES {
        let reached = dependencies(package)?;
        let meets = |name: &&&str| reached.iter().any(|dependency| dependency == **name);
        found.extend(forbidden.iter().filter(meets).map(|name| format!("{package} -> {name}")));
    }
    ensure!(found.is_empty(), "forbidden edges: {}", found.join(", "));
    Ok(StepResult::Passed)
}

/// All packages that a package is built from, including itself, without dev-dependencies.
fn dependencies(package: &str) -> anyhow::Result<Vec<String>> {
    let output = place::cargo()?
        .args(["tree", "--locked", "-e", "normal", "--prefix", "none", "--format", "{p}", "-p"])
        .arg(package)
        .output()
        .context("cargo tree did not run")?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "cargo tree -p {package}: {error}");
    let tree = String::from_utf8_lossy(&output.stdout);
    Ok(tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
}

fn units() -> anyhow::Result<StepResult> {
    let analyze = "systemd-analyze";
    if !process::is_present(Command::new(analyze).arg("--version")) {
        return Ok(StepResult::Skipped("systemd-analyze is not installed"));
    }
    let folder = place::workspace()?.join("systemd");
    let Ok(listing) = std::fs::read_dir(&folder) else {
        return Ok(StepResult::Skipped("there is no systemd folder"));
    };
    let mut units: Vec<_> = listing
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "service" || end == "socket"))
        .collect();
    units.sort();
    ensure!(!units.is_empty(), "no unit files in systemd/");
    verify_units(&units)
}

/// Verifies copies of the units that name an existing program.
fn verify_units(units: &[std::path::PathBuf]) -> anyhow::Result<StepResult> {
    let folder = tempfile::tempdir()?;
    let mut copies = Vec::new();
    for unit in units {
        let text = std::fs::read_to_string(unit)?;
        let lines = text.lines().map(|line| match line.strip_prefix("ExecStart=") {
            Some(_) => "ExecStart=/bin/true",
            None => line,
        });
        let copy = folder.path().join(unit.file_name().context("a unit without a name")?);
        std::fs::write(&copy, lines.collect::<Vec<_>>().join("\n") + "\n")?;
        copies.push(copy);
    }
    let mut verify = Command::new("systemd-analyze");
    // It requires a runtime folder, even without a user manager.
    verify.args(["--user", "verify"]).args(&copies).env("XDG_RUNTIME_DIR", folder.path());
    process::check(&mut verify)?;
    for service in copies.iter().filter(|path| path.extension().is_some_and(|end| end == "service"))
    {
        check_exposure(service, folder.path())?;
    }
    Ok(StepResult::Passed)
}

/// Checks and prints a service's exposure by systemd-analyze, with and without a network.
fn check_exposure(service: &std::path::Path, runtime: &std::path::Path) -> anyhow::Result<()> {
    let unit = std::fs::read_to_string(service)?;
    let local = "RestrictAddressFamilies=AF_UNIX\n";
    let network = "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n";
    let is_gateway = service.file_stem().is_some_and(|name| name == "longhaul-gateway");
    ensure!(
        unit.contains(if is_gateway { network } else { local }),
        "the shipped units must allow the network only to the gateway"
    );
    for families in [local, network] {
        std::fs::write(service, unit.replace(local, families))?;
        let mut security = Command::new("systemd-analyze");
        security.args(["security", "--user", "--offline=true", "--no-pager"]);
        security.arg(format!("--threshold={EXPOSURE_MAX}")).arg(service);
        let output = security.env("XDG_RUNTIME_DIR", runtime).output()?;
        let words = String::from_utf8_lossy(&output.stdout);
        let verdict = words.lines().rfind(|line| line.contains("exposure")).unwrap_or_default();
        println!("    {} {verdict}", families.trim_end());
        ensure!(output.status.success(), "exposure over {EXPOSURE_MAX} of 100: {verdict}");
    }
    Ok(())
}
