//! A script on one line: what it runs, without the texts that it only writes.

use super::scan::{Joint, Scanner, ShellToken};

/// The script without its comments and the bodies of its heredocs; `; ` separates its lines.
pub fn gist(script: &str) -> String {
    let mut gist = String::with_capacity(script.len().min(1_024));
    let mut line = String::new();
    // The line continues quoted text.
    let mut is_quoted = false;
    let mut scanner = Scanner::new(script);
    while let Some((token, text)) = scanner.next() {
        match token {
            ShellToken::Heredoc | ShellToken::Delimiter if scanner.quotes() == 0 => {}
            // A `#` in the last line may belong to a text that is no script.
            ShellToken::Comment
                if scanner.quotes() == 0
                    && (line.trim().is_empty() || scanner.rest().starts_with('\n')) => {}
            ShellToken::Joint(Joint::Line) if scanner.quotes() == 0 => {
                join(&mut gist, &line, is_quoted);
                line.clear();
                is_quoted = false;
            }
            _ => {
                let mut lines = text.split('\n');
                line.extend(lines.next());
                for next in lines {
                    join(&mut gist, &line, is_quoted);
                    line.clear();
                    line.push_str(next);
                    is_quoted = token != ShellToken::Escape;
                }
            }
        }
    }
    join(&mut gist, &line, is_quoted);
    gist
}

/// Appends a line: as a separate command, unless it continues the line before.
fn join(gist: &mut String, line: &str, is_quoted: bool) {
    let line = line.trim();
    if line.is_empty() {
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
            ("make # don't ask\nls", "make; ls"),
            ("Agent fix issue #7; then push", "Agent fix issue #7; then push"),
            (
                "git commit -m \"$(cat <<'EOF'\nit's \"new\"\n# more\nEOF\n)\"\nls",
                "git commit -m \"$(cat <<'EOF' it's \"new\" # more EOF )\"; ls",
            ),
            ("cat <<< \"it's\" && ls", "cat <<< \"it's\" && ls"),
            ("python - <<-\"PY\"\nimport os\nPY", "python - <<-\"PY\""),
        ] {
            assert_eq!(gist(script), expected, "{script}");
        }
    }
}
