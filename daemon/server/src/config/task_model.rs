//! `[model.TASK]`: another model, or another effort, for one task.

use serde::Deserialize;

/// `[model.TASK]`: absent keys are those of `[model]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskModel {
    /// Name of a `[providers.NAME]`.
    pub provider: Option<String>,
    /// Its name at the provider.
    pub name: Option<String>,
    /// Tokens of its context window.
    pub context_window: Option<u64>,
    /// Its reasoning effort, by the provider's name for it.
    pub effort: Option<String>,
    /// Maximum tokens of an answer.
    pub max_output_tokens: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::super::file::File;
    use super::super::model::settings;
    use crate::model::Task;

    #[test]
    fn absent_keys_of_a_task_are_those_of_the_model() {
        let text = "[model]\nprovider = \"p\"\nname = \"large\"\ncontext_window = 100000\neffort = \"high\"\n\
                    [model.judge]\neffort = \"low\"\n[model.extract]\nname = \"mini\"\n\
                    [model.consolidate]\nprovider = \"q\"\nname = \"local\"\ncontext_window = 16000\n\
                    [providers.p]\nkind = \"chat\"\nbase_url = \"https://p.example\"\n\
                    [providers.q]\nkind = \"chat\"\nbase_url = \"http://127.0.0.1:1\"\n";
        let read = |text: &str| {
            let file = File::parse(text).unwrap();
            settings(file.model, file.providers).map_err(|error| error.to_string())
        };
        let known = read(text).unwrap();
        let of = |task| {
            let choice = known.of(task).unwrap();
            (choice.provider, choice.model, choice.context_window, choice.effort)
        };
        let expected = |provider: &str, model: &str, window, effort: Option<&str>| {
            (provider.to_owned(), model.to_owned(), window, effort.map(str::to_owned))
        };
        assert_eq!(of(Task::Summary), expected("p", "large", 100_000, Some("high")));
        assert_eq!(of(Task::Judge), expected("p", "large", 100_000, Some("low")));
        let mini = of(Task::Extract);
        assert_eq!((mini.1.as_str(), mini.3.as_deref()), ("mini", Some("high")));
        assert_ne!(mini.2, 100_000, "the window of another model");
        assert_eq!(of(Task::Consolidate), expected("q", "local", 16_000, None));
        assert_eq!(
            known.choice_words(),
            "p/large effort high; judge p/large effort low; extract p/mini effort high; \
             consolidate q/local"
        );
        let wrong = text.replace("provider = \"q\"", "provider = \"r\"");
        let refused = read(&wrong).unwrap_err();
        assert!(
            refused.starts_with("model.consolidate.provider: unknown provider `r`"),
            "{refused}"
        );
    }
}
