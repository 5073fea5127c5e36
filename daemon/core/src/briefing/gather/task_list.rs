//! The current task list of a file: its counts, and the next items.

use std::collections::HashMap;

use super::super::kinds::EvidenceKind;
use super::super::spot::{Shape, Spot};
use super::super::tasks::{self, TaskItem};
use super::Builder;
use crate::text;

/// Bytes by which an item of a task list is recognized.
const ITEM_BYTES: usize = 120;

/// A view of at least this many tokens always lists the next tasks.
const TASKS_TOKENS: u64 = 1_500;
const TASKS_NEXT: u16 = 3;

/// What is known of a list beside its items.
#[derive(Clone, Copy)]
struct TaskListState {
    is_only_read: bool,
    /// The view has room for the next items, and they are as the file has them.
    has_room: bool,
    /// Number of open items.
    open: usize,
}

impl Builder<'_> {
    /// Whether the running turn reads more documents of one other folder than of the file's own: the file is an example.
    fn is_beside_the_work(&self, path: &str) -> bool {
        let folder = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let mut of_folder: HashMap<String, usize> = HashMap::new();
        for file in self.read_now() {
            *of_folder.entry(folder(file)).or_default() += 1;
        }
        let own = of_folder.remove(&folder(path)).unwrap_or(0);
        of_folder.into_values().any(|others| others > own + 1)
    }

    pub(super) fn tasks(&mut self) {
        let Some((path, tasks)) = self.briefing.tasks.current() else { return };
        let done = tasks.iter().filter(|task| task.is_done).count();
        let is_only_read = !self.briefing.tasks.is_edited(path);
        // The boxes of a document that the thread writes are for its readers.
        if done == 0 && !is_only_read && !tasks::is_list(path) {
            return;
        }
        let open = tasks.len() - done;
        let is_outdated = self.briefing.tasks.is_outdated(path);
        let changed = if is_outdated { "; a command changed the file since" } else { "" };
        let of = |is_done| {
            let items: Vec<_> = tasks.iter().copied().filter(|it| it.is_done == is_done).collect();
            match tasks::ranges(&items).as_str() {
                "" => String::new(),
                ranges => format!(" ({ranges})"),
            }
        };
        let (ticked, left) = (of(true), of(false));
        let is_of_turn = tasks.iter().any(|task| task.seq > self.briefing.active().0);
        let changed_files = self.briefing.effects.since(0);
        let mut named = changed_files.iter().filter(|path| path.contains('/'));
        let is_done_here = named.any(|path| tasks.iter().any(|task| task.text.contains(path)));
        let is_of_other_work =
            is_only_read && (!is_of_turn && !is_done_here || self.is_beside_the_work(path));
        let changed = match changed {
            "" if is_only_read => "; only read here, not changed",
            changed => changed,
        };
        let at_least = if self.briefing.tasks.is_full() { "at least " } else { "" };
        let counts = format!(
            "{path}: of the items seen {at_least}{done} ticked{ticked}, {open} open{left}{changed}"
        );
        let has_room = self.max_tokens >= TASKS_TOKENS;
        self.push(EvidenceKind::TaskItem, (0, 0), (0, 110), counts).is_fixed =
            open > 0 && has_room && !is_of_other_work;
        self.candidates.retain(|quote| {
            let (_, words) = quote.text.split_once("] ").unwrap_or_default();
            // Both are cut, at different lengths.
            let is_item =
                |task: &&TaskItem| words.starts_with(text::prefix(&task.text, ITEM_BYTES));
            let is_of_file = matches!(quote.kind, EvidenceKind::Added | EvidenceKind::Document);
            !is_of_file || quote.group != path || !tasks.iter().any(is_item)
        });
        if is_of_other_work {
            return;
        }
        let own = TaskListState { is_only_read, has_room: has_room && !is_outdated, open };
        self.task_items(&tasks, own);
    }

    fn task_items(&mut self, tasks: &[&TaskItem], of: TaskListState) {
        let changed = self.briefing.effects.changed_in(self.briefing.turn());
        let mut ahead = 0;
        for (at, task) in (1..).zip(tasks) {
            let mark = if task.is_done { "x" } else { " " };
            ahead += u16::from(!task.is_done);
            // The next item matters most; later items can be read in the file.
            let strength = match task.is_done {
                // In a completed list the count suffices.
                true if of.open == 0 || of.is_only_read => 5,
                true => 40,
                false => {
                    240_u16.saturating_sub(20 * ahead).max(if of.is_only_read { 5 } else { 45 })
                }
            };
            let is_named = |path: &&str| path.contains('/') && task.text.contains(*path);
            // Earlier turns may have changed the file for other tasks.
            let changed = match !task.is_done && changed.iter().any(is_named) {
                true => " (file changed in this turn)",
                false => "",
            };
            let text = format!("[{mark}] {}{changed}", task.text);
            let quote = self.push(EvidenceKind::TaskItem, (1, u64::from(at)), (0, strength), text);
            let goes_on = usize::try_from(at).is_ok_and(|at| at < tasks.len());
            quote.spot = Spot { at, shape: Shape::Item, opens: at == 1, goes_on };
            quote.is_fixed = !task.is_done && ahead <= TASKS_NEXT && of.has_room;
        }
    }
}
