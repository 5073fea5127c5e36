//! Versions of the agents: those that CI runs, the number of `latest`, and the routes that a version supports.

use std::fmt;
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Package and program of an agent, and the oldest version that supports each route.
pub(super) struct Agent {
    pub(super) package: &'static str,
    pub(super) program: &'static str,
    routes: &'static [(Route, Version)],
}

/// A way to connect to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Route {
    Hooks,
    Gateway,
    Archive,
    AppServer,
    Plugin,
    Rescue,
}

pub(super) const CODEX: Agent = Agent {
    package: "@openai/codex",
    program: "codex",
    routes: &[
        (Route::Hooks, Version(0, 169, 0)),
        (Route::Gateway, Version(0, 169, 0)),
        (Route::Archive, Version(0, 169, 0)),
        (Route::AppServer, Version(0, 169, 0)),
        (Route::Rescue, Version(0, 169, 0)),
    ],
};
pub(super) const CLAUDE: Agent = Agent {
    package: "@anthropic-ai/claude-code",
    program: "claude",
    routes: &[
        (Route::Hooks, Version(2, 1, 197)),
        (Route::Archive, Version(2, 1, 197)),
        // As in `longhaul install claude`.
        (Route::Plugin, Version(2, 1, 290)),
    ],
};

/// The versions of Codex that CI runs: the oldest that supports every route, and the newest tested.
pub(super) const CODEX_PINNED: [&str; 2] = ["0.169.0", "0.171.0"];
/// The versions of Claude Code: one that cannot load our plugin, and one that can.
pub(super) const CLAUDE_PINNED: [&str; 2] = ["2.1.197", "2.1.332"];
const LATEST: &str = "latest";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u32, u32, u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Version {
    /// The three numbers of `1.2.3` or `1.2.3-alpha.4`.
    fn parse(text: &str) -> Option<Self> {
        let number = text.split_once('-').map_or(text, |(number, _)| number);
        let mut parts = number.split('.').map(|part| part.parse().ok());
        let version = Self(parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(version)
    }
}

/// The routes to drive in a version.
pub(super) struct Routes {
    version: Version,
    agent: &'static Agent,
    /// Requested routes; empty for all.
    only: Vec<Route>,
}

impl Routes {
    pub(super) fn of(agent: &'static Agent, version: &str, only: &[Route]) -> anyhow::Result<Self> {
        let parsed = Version::parse(version);
        let version = parsed.with_context(|| {
            format!("\"{version}\" is not a version of {}: give 1.2.3 or {LATEST}", agent.program)
        })?;
        Ok(Self { version, agent, only: only.to_vec() })
    }

    pub(super) fn has(&self, route: Route) -> bool {
        let mut routes = self.agent.routes.iter();
        let is_requested = self.only.is_empty() || self.only.contains(&route);
        is_requested && routes.any(|(it, from)| *it == route && self.version >= *from)
    }

    /// A line about each route that the version does not support.
    pub(super) fn skipped(&self) -> Vec<String> {
        let program = self.agent.program;
        let missing = self.agent.routes.iter().filter(|(_, from)| self.version < *from);
        missing
            .map(|(route, from)| {
                format!("{program} {}: {route:?} needs {from} or newer", self.version)
            })
            .collect()
    }
}

/// The requested versions without duplicates, with npm's number for `latest`.
pub(super) fn resolve(agent: &Agent, requested: &[String]) -> anyhow::Result<Vec<String>> {
    let mut versions = Vec::new();
    for version in requested {
        let version = if version == LATEST { latest(agent)? } else { version.clone() };
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    Ok(versions)
}

fn latest(agent: &Agent) -> anyhow::Result<String> {
    let mut npm = Command::new("npm");
    npm.args(["view", "--fetch-retries=0", &format!("{}@{LATEST}", agent.package), "version"]);
    let output = npm.output().context("cannot run npm")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "cannot get the latest version of {} from npm: {error}; name a version instead",
        agent.package
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_and_pinned_versions_support_every_route() {
        let claude_pinned = CLAUDE_PINNED[1];
        for (agent, version) in [
            (&CODEX, CODEX_PINNED[0]),
            (&CODEX, CODEX_PINNED[1]),
            (&CODEX, "1.0.0-alpha.3"),
            (&CLAUDE, claude_pinned),
            (&CLAUDE, "2.1.290"),
            (&CLAUDE, "2.2.0"),
        ] {
            let routes = Routes::of(agent, version, &[]).unwrap();
            assert!(agent.routes.iter().all(|(route, _)| routes.has(*route)), "{version}");
            assert!(routes.skipped().is_empty(), "{version}: {:?}", routes.skipped());
        }
    }

    #[test]
    fn an_older_version_lists_skipped_routes() {
        let codex = Routes::of(&CODEX, "0.80.0", &[]).unwrap();
        assert!(!codex.has(Route::Gateway));
        assert_eq!(codex.skipped().len(), CODEX.routes.len());
        let claude = Routes::of(&CLAUDE, CLAUDE_PINNED[0], &[]).unwrap();
        assert_eq!(claude.skipped(), ["claude 2.1.197: Plugin needs 2.1.290 or newer"]);
        assert!(claude.has(Route::Hooks) && !claude.has(Route::Plugin));
    }

    #[test]
    fn invalid_versions_are_rejected() {
        for word in ["newest", "1.2", "1.2.3.4", ""] {
            let error = Routes::of(&CODEX, word, &[]).err().map(|error| error.to_string());
            assert!(error.is_some_and(|error| error.contains("not a version of codex")), "{word}");
        }
    }
}
