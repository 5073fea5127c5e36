//! Names in backticks: text quoted verbatim.

/// The text between backticks on a line, without blank pieces.
pub(super) fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).map(str::trim).filter(|span| !span.is_empty())
}

#[cfg(test)]
mod tests {
    use super::spans;

    #[test]
    fn spans_are_found_between_backticks() {
        let found: Vec<_> = spans("run `just check` in ``, then `a.rs`").collect();
        assert_eq!(found, ["just check", "a.rs"]);
        assert_eq!(spans("nothing").count(), 0);
    }
}
