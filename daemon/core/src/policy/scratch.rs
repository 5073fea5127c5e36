//! Path of an agent's scratch file: below the project, one per thread, the same for every caller.

use crate::digest::Digest128;
use crate::text;

/// Maximum bytes of an agent's name in a file name.
const NAME_BYTES: usize = 40;

/// The scratch file of an agent, relative to its project. Without a name, one is derived from the thread's
/// id, here only, so that no thread has two.
pub fn path(agent: Option<&str>, thread_id: &str) -> String {
    let named = agent.map(|name| text::slug(name, NAME_BYTES)).filter(|name| !name.is_empty());
    let name = named.unwrap_or_else(|| {
        let digest = Digest128::of(thread_id.as_bytes()).to_string();
        digest.chars().take(8).collect()
    });
    format!(".scratch/agent-{name}.scratch.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a path stays below the project: relative, no `..`, no `.`.
    fn is_confined(path: &str) -> bool {
        !path.is_empty()
            && !path.starts_with(['/', '~', '\\'])
            && !path.contains(['\0', '\n'])
            && path.split(['/', '\\']).all(|part| !part.is_empty() && part != "." && part != "..")
    }

    #[test]
    fn defect_7_7_a_thread_has_one_file_and_it_is_in_its_project() {
        assert_eq!(path(Some("Review Bot!"), "t"), ".scratch/agent-review-bot.scratch.md");
        let (long, late) = ("x".repeat(60), "-".repeat(60) + "end");
        for (name, slug) in [
            ("  Review -- Bot  ", "review-bot"),
            ("«Größe»", "gr-e"),
            (long.as_str(), &long[..NAME_BYTES]),
            (late.as_str(), "end"),
        ] {
            assert_eq!(path(Some(name), "t"), format!(".scratch/agent-{slug}.scratch.md"));
        }
        assert_eq!(path(None, "t1"), path(Some("../.."), "t1"));
        assert_ne!(path(None, "t1"), path(None, "t2"));
        assert!(is_confined(&path(Some("../../etc/passwd"), "t")));
        for bad in ["/etc/x", "../x", "a/../b", "./a", "~/x", "a//b", "", "a\\..\\b"] {
            assert!(!is_confined(bad), "{bad}");
        }
    }
}
