//! The identity of a thread: its meta line and its title.

use super::Fold;
use crate::rollout::Meta;
use crate::{limits, redact, text};

impl Fold {
    /// The first meta line identifies the thread. Later ones repeat it, or were copied from the thread it was
    /// forked from.
    pub(super) fn meta(&mut self, meta: &Meta) {
        if self.head.thread_id.is_some() {
            return;
        }
        if let Some(ms) = meta.created_at_ms {
            self.head.created_at_ms = ms;
            self.head.updated_at_ms = self.head.updated_at_ms.max(ms);
        }
        let short = |name: &Option<String>| {
            name.as_deref().map(|name| text::cut(name, limits::NAME_BYTES).into_owned())
        };
        self.head.thread_id = short(&meta.id);
        self.head.cwd = folder(meta.cwd.as_deref());
        self.head.kind = meta.kind;
        self.head.title = meta.title.as_deref().map(|words| title(&redact::redact(words).text));
        self.head.originator = short(&meta.originator);
        self.head.cli_version = short(&meta.cli_version);
        self.head.parent_thread_id = short(&meta.parent_thread_id);
        self.head.forked_from = short(&meta.forked_from);
        self.head.is_ephemeral = meta.is_ephemeral;
        self.head.history_base.clone_from(&meta.history_base);
        self.head.git_branch = meta.git_branch.as_deref().map(branch);
        self.checkpoint.git_branch.clone_from(&self.head.git_branch);
        if self.head.cwd.is_some() {
            self.checkpoint.cwd.clone_from(&self.head.cwd);
        }
    }

    /// Records the branch that is checked out now; the head keeps the one at the start.
    pub(super) fn on_branch(&mut self, name: &str) {
        if self.checkpoint.git_branch.as_deref() != Some(name) {
            self.checkpoint.git_branch = Some(branch(name));
        }
    }
}

/// The name of a branch to keep.
fn branch(name: &str) -> String {
    redact::redact(text::prefix(name, limits::NAME_BYTES)).text.into_owned()
}

/// The working folder, unless its path is too long to keep.
pub(super) fn folder(path: Option<&str>) -> Option<String> {
    let path = path.filter(|path| path.len() <= limits::PATH_BYTES)?;
    Some(redact::redact(path).text.into_owned())
}

/// The title of a thread from a request: what the person wrote, without the frame around it.
pub(super) fn title(request: &str) -> String {
    let words = without_prompt(without_images(in_template(request.trim())));
    let words = if words.is_empty() { request } else { words };
    text::cut(&text::one_line(words), limits::EXCERPT_BYTES).into_owned()
}

/// The text typed after a command that expands to a long prompt, which quotes it in a fence at the start.
fn in_template(request: &str) -> &str {
    let fenced = request.strip_prefix("## User Input").map(str::trim_start);
    let fenced = fenced.and_then(|rest| rest.strip_prefix("```text")?.split_once("```"));
    fenced.map_or(request, |(typed, _)| typed.trim())
}

/// The words after leading images.
fn without_images(mut request: &str) -> &str {
    while request.starts_with("<image") {
        let Some((_, rest)) = request.split_once("</image>") else { break };
        request = rest.trim_start();
    }
    request
}

/// The command after a shell prompt, for text pasted from a terminal.
fn without_prompt(request: &str) -> &str {
    let skip = |text: &'_ str| text.split_once(' ').map_or("", |(_, rest)| rest.trim_start()).len();
    let behind = |length: usize| &request[request.len() - length..];
    let first = request.split_whitespace().next().unwrap_or_default();
    let is_of_host = first.contains('@') && first.contains(':') && first.ends_with(['$', '#']);
    match first {
        "$" | "❯" => behind(skip(request)),
        _ if is_of_host => behind(skip(request)),
        // An arrow and the folder, then optionally branch and state.
        "➜" => {
            let mut rest = behind(skip(behind(skip(request))));
            for mark in ["git:(", "✗"] {
                if rest.starts_with(mark) {
                    rest = behind(skip(rest));
                }
            }
            rest
        }
        _ => request,
    }
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn a_title_is_what_the_person_wrote() {
        for (request, expected) in [
            ("Fix the parser.\nNow.", "Fix the parser. Now."),
            ("## User Input\n\n```text\nmake a spec\n```\n\nYou **MUST** consider", "make a spec"),
            ("## User Input\n\n```text\n\n```\n\nOutline", "## User Input ```text ``` Outline"),
            ("<image name=[Image #1] path=\"p.png\">\n</image>\nDescribe it", "Describe it"),
            ("<image name=x>\n</image>", "<image name=x> </image>"),
            (
                "➜  agentv git:(main) ✗ git push origin main\nerror: no",
                "git push origin main error: no",
            ),
            ("➜  agentv make", "make"),
            ("ada@host:~/w$ cargo test\nfailed", "cargo test failed"),
            ("$ npm test", "npm test"),
            ("$skill-installer", "$skill-installer"),
            ("➜", "➜"),
            ("mail ada@host: hello", "mail ada@host: hello"),
            ("ada@host: hello", "ada@host: hello"),
            ("ada@example.com wrote to us", "ada@example.com wrote to us"),
            ("ada@host$ or root@host#", "ada@host$ or root@host#"),
            ("US$ or EUR", "US$ or EUR"),
            ("note:$ is a prompt", "note:$ is a prompt"),
        ] {
            assert_eq!(title(request), expected, "{request}");
        }
    }
}
