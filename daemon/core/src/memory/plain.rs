//! Text as memory compares it.

/// Lower case, without punctuation.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || "'/_.-@".contains(c) {
            plain.push(c);
        } else if !plain.ends_with(' ') {
            plain.push(' ');
        }
    }
    plain.trim_matches(|c: char| " .-'".contains(c)).to_owned()
}

/// Lower case, on one line.
pub(super) fn normalized(text: &str) -> String {
    crate::text::one_line(text).to_lowercase()
}
