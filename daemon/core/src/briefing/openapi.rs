//! The operations that an OpenAPI description (YAML) declares, which no single line of it shows.

use super::lines::without_number;

const METHODS: [&str; 7] = ["get:", "post:", "put:", "patch:", "delete:", "head:", "options:"];

/// Maximum bytes of a response's description.
const MEANING_BYTES: usize = 60;

/// Formats each operation as a line: `POST /tasks: Submit a task (202 Accepted, 409 Queue full)`. Empty if
/// the text is no API description.
pub(super) fn operations(text: &str) -> Vec<String> {
    let mut operations: Vec<Operation<'_>> = Vec::new();
    let mut current = None;
    for line in text.lines().map(|line| without_number(line).trim()) {
        if let Some(declared) = route(line) {
            current = Some(declared);
        } else if let Some(route) = current.filter(|_| METHODS.contains(&line)) {
            operations.push(Operation { method: line, route, summary: "", responses: Vec::new() });
        } else if let Some(operation) = operations.last_mut() {
            operation.read(line);
        }
    }
    operations.iter().map(Operation::words).collect()
}

/// The route that a line declares: `/users/{id}:`.
pub(super) fn route(line: &str) -> Option<&str> {
    line.trim().strip_suffix(':').filter(|path| path.starts_with('/') && !path.contains(' '))
}

struct Operation<'a> {
    method: &'a str,
    route: &'a str,
    summary: &'a str,
    /// Status codes and their meanings.
    responses: Vec<(&'a str, &'a str)>,
}

impl<'a> Operation<'a> {
    fn read(&mut self, line: &'a str) {
        let code = line.trim_end_matches(':').trim_matches(['\'', '"']);
        if let Some(summary) = line.strip_prefix("summary:").filter(|_| self.summary.is_empty()) {
            self.summary = summary.trim();
        } else if line.ends_with(':') && code.len() == 3 && code.bytes().all(|b| b.is_ascii_digit())
        {
            self.responses.push((code, ""));
        } else if let Some(meaning) = line.strip_prefix("description:")
            && let Some((_, known)) =
                self.responses.last_mut().filter(|(_, known)| known.is_empty())
        {
            *known = crate::text::prefix(meaning.trim(), MEANING_BYTES);
        }
    }

    fn words(&self) -> String {
        let method = self.method.trim_end_matches(':').to_uppercase();
        let mut words = format!("{method} {}", self.route);
        if !self.summary.is_empty() {
            words.push_str(&format!(": {}", self.summary));
        }
        let responses = self.responses.iter().map(|(code, meaning)| format!("{code} {meaning}"));
        let responses: Vec<String> = responses.map(|words| words.trim_end().to_owned()).collect();
        if !responses.is_empty() {
            words.push_str(&format!(" ({})", responses.join(", ")));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_stand_with_their_responses() {
        let text = "openapi: 3.0.3\npaths:\n  /tasks/{id}:\n    get:\n      summary: Get a task\n      parameters:\n        - name: id\n      responses:\n        '200':\n          description: The task\n        '404':\n          description: Not found\n    delete:\n      responses:\n        '204':\n";
        assert_eq!(
            operations(text),
            [
                "GET /tasks/{id}: Get a task (200 The task, 404 Not found)",
                "DELETE /tasks/{id} (204)"
            ]
        );
        assert!(operations("on:\n  push:\n").is_empty());
    }
}
