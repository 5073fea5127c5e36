//! A script on one line: what it runs, without the texts that it only writes.

/// The script without the bodies of its heredocs; `; ` separates its lines.
pub fn gist(script: &str) -> String {
    let mut gist = String::with_capacity(script.len().min(1_024));
    // The open quote, and the delimiters of the heredocs that begin on this line.
    let mut quote = None;
    let mut ends: Vec<String> = Vec::new();
    let mut lines = script.lines();
    while let Some(line) = lines.next() {
        join(&mut gist, line, quote.is_some());
        quote = quote_after(line, quote, &mut ends);
        for end in ends.drain(..) {
            for body in lines.by_ref() {
                if body.trim() == end {
                    break;
                }
            }
        }
    }
    gist
}

/// Appends a line: as a separate command, unless it continues the line before.
fn join(gist: &mut String, line: &str, is_quoted: bool) {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') && !is_quoted {
        return;
    }
    let goes_on = ["\\", "|", "&&", ";", "{", "(", " do", " then", " else", " in"];
    let before = gist.trim_end();
    let is_open = before.is_empty() || goes_on.iter().any(|end| before.ends_with(end));
    let length = before.trim_end_matches('\\').trim_end().len();
    gist.truncate(length);
    gist.push_str(match () {
        () if gist.is_empty() => "",
        () if is_quoted || is_open => " ",
        () => "; ",
    });
    gist.push_str(line);
}

/// The quote that is open at the end of `line`; adds the heredocs that begin in it to `ends`.
fn quote_after(line: &str, open: Option<char>, ends: &mut Vec<String>) -> Option<char> {
    let mut quote = open;
    let mut rest = line.chars();
    while let Some(letter) = rest.next() {
        match (quote, letter) {
            (Some('"') | None, '\\') => {
                rest.next();
            }
            (Some(open), _) => quote = (letter != open).then_some(open),
            (None, '\'' | '"') => quote = Some(letter),
            (None, '<') if rest.as_str().starts_with('<') => {
                let word = rest.as_str().trim_start_matches(['<', '-', ' ']);
                // `<<<` passes one word and begins no heredoc.
                if !rest.as_str().starts_with("<<") {
                    ends.push(delimiter(word));
                }
                rest.next();
            }
            (None, _) => {}
        }
    }
    quote
}

/// The word that ends a heredoc, without its quotes.
fn delimiter(word: &str) -> String {
    let word = word.trim_start_matches(['\'', '"', '\\']);
    let is_part = |c: char| c.is_alphanumeric() || "_-!.".contains(c);
    word.chars().take_while(|c| is_part(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::gist;

    #[test]
    fn a_script_is_summarized_on_one_line() {
        for (script, expected) in [
            (
                "cat >> a.go <<'EOF'\nfunc x() {\n}\nEOF\ngofmt -w a.go && go test ./...\ngit add -A",
                "cat >> a.go <<'EOF'; gofmt -w a.go && go test ./...; git add -A",
            ),
            ("git commit -m 'one\n\ntwo' &&\n  git push", "git commit -m 'one two' && git push"),
            ("cargo build \\\n  --release", "cargo build --release"),
            (
                "# first\nset -e\nfor f in *; do\n  cat \"$f\"\ndone",
                "set -e; for f in *; do cat \"$f\"; done",
            ),
            ("cat <<< \"it's\" && ls", "cat <<< \"it's\" && ls"),
            ("python - <<-\"PY\"\nimport os\nPY", "python - <<-\"PY\""),
        ] {
            assert_eq!(gist(script), expected, "{script}");
        }
    }
}
