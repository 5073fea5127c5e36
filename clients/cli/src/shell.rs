//! Quotes arguments of shell commands.

use std::path::Path;

/// A path as a word of a shell command.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:".contains(c);
    match !path.is_empty() && path.chars().all(is_plain) {
        true => path.into_owned(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_special_paths_are_quoted() {
        assert_eq!(quoted(Path::new("/usr/bin/longhaul")), "/usr/bin/longhaul");
        assert_eq!(quoted(Path::new("")), "''");
        assert_eq!(quoted(Path::new("/my $x/it's")), "'/my $x/it'\\''s'");
    }
}
