//! Who a thread is: what its meta line says, and what it is called.

use super::Fold;
use crate::rollout::Meta;
use crate::{limits, redact, text};

impl Fold {
    /// The first meta line names the thread. Later ones repeat it, or were copied from the thread it
    /// was forked from.
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
        self.head.git_branch = short(&meta.git_branch);
        if self.head.cwd.is_some() {
            self.checkpoint.cwd.clone_from(&self.head.cwd);
        }
    }
}

/// A working folder worth keeping.
pub(super) fn folder(path: Option<&str>) -> Option<String> {
    let path = path.filter(|path| path.len() <= limits::PATH_BYTES)?;
    Some(redact::redact(path).text.into_owned())
}

/// A request as the name of its thread.
pub(super) fn title(request: &str) -> String {
    text::cut(&text::one_line(request), limits::EXCERPT_BYTES).into_owned()
}
