//! A view, prepared for look-ups of names and facts.

use std::borrow::Cow;

use crate::drive::on_drive;
use crate::entity::{Entity, EntityKind, flatten};

/// A view's text, prepared for look-ups.
#[derive(Debug)]
pub struct View {
    /// Lines with single spaces, since a predicate must be on the line of its subject.
    lines: Vec<String>,
    /// The whole text with single spaces, since requests and commands may be wrapped.
    flat: String,
}

impl View {
    /// Backslash escapes (commands printed as JSON strings) are resolved; Windows drives are compared in one form.
    pub fn new(text: &str) -> Self {
        let text = on_drive(text);
        let whole = with_folders(&text);
        let lines = whole.iter().map(|line| flatten(line)).filter(|line| !line.is_empty());
        let lines: Vec<String> = lines.collect();
        let mut flat = lines.join(" ");
        if flat.contains('\\') {
            let unescaped =
                flatten(&flat.replace("\\n", " ").replace("\\\"", "\"").replace("\\\\", "\\"));
            flat = format!("{flat} {unescaped}");
        }
        Self { lines, flat }
    }

    /// Whether the view names the entity, as a separate word.
    pub fn names(&self, entity: &Entity) -> bool {
        text_names(&self.flat, entity)
    }

    /// Whether the view contains the flattened text.
    pub fn says(&self, text: &str) -> bool {
        self.flat.contains(&flatten(text))
    }

    /// The lines, each with single spaces.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

/// The lines, with the folder of the file above where `…/` stands for it.
fn with_folders(text: &str) -> Vec<Cow<'_, str>> {
    let mut folder = "";
    let whole = text.lines().map(|line| match line.strip_prefix("…/") {
        Some(rest) => Cow::Owned(format!("{folder}{rest}")),
        None => {
            // Lines of the file stand below it, with a space.
            let path = line.split(" (").next().filter(|_| !line.starts_with(' '));
            if let Some(end) = path.and_then(|path| path.rfind('/')) {
                folder = &line[..=end];
            }
            Cow::Borrowed(line)
        }
    });
    whole.collect()
}

/// Whether `text` names `entity` in the sense of [`View::names`].
pub fn text_names(text: &str, entity: &Entity) -> bool {
    match entity.kind {
        EntityKind::Command => text.contains(&entity.text),
        kind => find_names(text, &entity.text, kind == EntityKind::Path).next().is_some(),
    }
}

/// Every position of `name` as a separate word. A path may follow a slash (the view
/// may hold the absolute form), and may be followed by one (the view names something below it).
pub fn find_names<'a>(
    text: &'a str,
    name: &'a str,
    is_path: bool,
) -> impl Iterator<Item = usize> + 'a {
    let places = text.match_indices(name).map(|(at, _)| at);
    places.filter(move |&at| {
        if name.is_empty() {
            return false;
        }
        let before = text[..at].chars().next_back();
        let mut after = text[at + name.len()..].chars();
        let next = after.next();
        let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if in_word(before) || in_word(next) {
            return false;
        }
        let joins_path = is_path
            && (before == Some('-')
                || next == Some('-')
                || (next == Some('.') && in_word(after.next())));
        !joins_path
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_below_another_of_its_folder_has_its_whole_path() {
        let view = View::new("src/lexer/a.rs (edited)\n a line/of it\n…/b.rs (created)\n");
        assert_eq!(view.lines()[2], "src/lexer/b.rs (created)");
    }
}
