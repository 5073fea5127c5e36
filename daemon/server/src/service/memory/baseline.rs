//! The git baseline: the published folder is a git repository with one commit of the published files.
//!
//! `git diff` in the memory folder shows what a person or a program changed since the publication. Each generation
//! is a new repository without history, so no old commit contains forgotten text. It is created in the staging
//! folder. Without git, or if git fails, memory is published without a baseline.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// Timeout of one git command; the files are few and small.
const WITHIN: Duration = Duration::from_secs(10);

/// Commits everything in `folder` as of `at_ms`, Unix milliseconds.
pub(super) async fn commit(folder: &Path, at_ms: i64) {
    let steps: [&[&str]; 3] = [
        &["init", "--quiet", "--template=", "--shared=0600", "--initial-branch=published"],
        &["add", "--all"],
        &["commit", "--quiet", "--no-verify", "--message=published"],
    ];
    for step in steps {
        if let Err(error) = git(folder, step, at_ms).await {
            tracing::debug!(step = step[0], error, "memory has no git baseline");
            // Half a repository would mislead.
            drop(tokio::fs::remove_dir_all(folder.join(".git")).await);
            return;
        }
    }
}

/// Runs git without any configuration: no hooks, signing, filters or prompts.
async fn git(folder: &Path, arguments: &[&str], at_ms: i64) -> Result<(), String> {
    let date = format!("@{} +0000", at_ms.div_euclid(1_000));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut command = Command::new("git");
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder))
        .env("GIT_TERMINAL_PROMPT", "0");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "longhaul")
            .env(format!("GIT_{who}_EMAIL"), "longhaul@localhost")
            .env(format!("GIT_{who}_DATE"), &date);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = tokio::time::timeout(WITHIN, command.output()).await;
    let output = output.map_err(|_| "timed out".to_owned())?;
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_published_files_are_one_commit_and_git_shows_later_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("MEMORY.md");
        std::fs::write(&file, "# Memory\n").unwrap();
        commit(folder.path(), 1_763_700_000_000).await;
        let output = |arguments: &[&str]| {
            let mut git = std::process::Command::new("git");
            git.args(arguments).current_dir(folder.path());
            String::from_utf8(git.output().unwrap().stdout).unwrap()
        };
        assert_eq!(output(&["rev-list", "--count", "--all"]).trim(), "1");
        assert_eq!(output(&["status", "--porcelain"]), "");
        std::fs::write(&file, "# Memory\n- mine\n").unwrap();
        assert_eq!(output(&["status", "--porcelain"]), " M MEMORY.md\n");
    }

    #[tokio::test]
    async fn without_git_there_is_no_baseline_and_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        commit(&folder.path().join("gone"), 0).await;
        assert!(!folder.path().join("gone").exists());
    }
}
