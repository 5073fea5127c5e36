//! `[model]`, `[providers.NAME]` and `[budget]`: which models to ask, and for how much.
//!
//! Without `[model]` no model is asked. The tables contain no keys: only the name of an environment variable, or a
//! program that prints the key.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use longhaul_core::model::WireApi;
use longhaul_core::model::budget::Budget;
use serde::Deserialize;

use super::tables::BudgetSettings;
use super::task_model::TaskModel;
use super::{ConfigError, Setting};
use crate::model::{
    IDLE_TIMEOUT, KeySource, Kind, ModelChoice, ModelSettings, Provider, Remote, RemoteSetting,
    Task,
};
use crate::model::{output_of, window_of};

/// `[model]`: the model for summaries and memory.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Name of a `[providers.NAME]`.
    pub provider: String,
    /// Its name at the provider.
    pub name: String,
    /// Tokens of its context window.
    pub context_window: Option<u64>,
    /// Its reasoning effort, by the provider's name for it.
    pub effort: Option<String>,
    /// Maximum tokens of an answer.
    pub max_output_tokens: Option<u64>,
    /// For summaries.
    pub summary: Option<TaskModel>,
    /// For the judgments of a policy.
    pub judge: Option<TaskModel>,
    /// For reading a thread for memory.
    pub extract: Option<TaskModel>,
    /// For editing the files of memory.
    pub consolidate: Option<TaskModel>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderTable {
    /// The provider's API.
    pub kind: KindName,
    /// The URL to which `responses`, `chat/completions` or `messages` is appended.
    pub base_url: Option<String>,
    /// Environment variable of the daemon that holds the key.
    pub key_env: Option<String>,
    /// Program that prints the key.
    pub key_command: Option<Vec<String>>,
    /// Program that answers, for `kind = "command"`.
    pub command: Option<Vec<String>>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Milliseconds without data after which a request to the provider fails.
    pub idle_timeout_ms: Option<u64>,
    /// Whether the provider compacts histories itself; the default is yes for OpenAI and Azure.
    pub remote_compaction: Option<Remote>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KindName {
    Responses,
    /// Chat Completions: Ollama, LM Studio, vLLM, llama.cpp, and OpenAI too.
    Chat,
    Messages,
    Command,
}

impl BudgetSettings {
    pub fn bounds(&self) -> Budget {
        let bound = |setting: &Setting<u64>| (setting.value > 0).then_some(setting.value);
        Budget {
            requests_per_day: bound(&self.requests_per_day),
            tokens_per_day: bound(&self.tokens_per_day),
            requests_per_job: bound(&self.requests_per_job),
            tokens_per_job: bound(&self.tokens_per_job),
        }
    }
}

/// Combines the tables.
///
/// # Errors
/// [`ConfigError::Invalid`]: an unknown provider or an invalid value.
pub fn settings(
    model: Option<Model>,
    tables: BTreeMap<String, ProviderTable>,
) -> Result<ModelSettings, ConfigError> {
    let mut providers = BTreeMap::new();
    for (name, table) in tables {
        let provider = provider(&name, table)?;
        providers.insert(name, provider);
    }
    let Some(model) = model else {
        return Ok(ModelSettings { providers, ..ModelSettings::default() });
    };
    let check = |table: &str, model: &Model| match providers.contains_key(&model.provider) {
        true => Ok(()),
        false => Err(no_provider(table, &model.provider, &providers)),
    };
    check("model", &model)?;
    let mut own = BTreeMap::new();
    for (task, model) in by_task(&model) {
        let table = format!("model.{}", task.into_str());
        check(&table, &model)?;
        own.insert(task, choice(&table, model)?);
    }
    let default = Some(choice("model", model)?);
    Ok(ModelSettings { providers, default, by_task: own })
}

fn no_provider(table: &str, named: &str, known: &BTreeMap<String, Provider>) -> ConfigError {
    let known = known.keys().cloned().collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() { "none" } else { &known };
    let reason = format!("unknown provider `{named}`; known providers: {known}");
    ConfigError::Invalid { key: format!("{table}.provider"), reason }
}

fn choice(table: &str, model: Model) -> Result<ModelChoice, ConfigError> {
    let context_window = model.context_window.unwrap_or_else(|| window_of(&model.name));
    let max_output_tokens = model.max_output_tokens.unwrap_or_else(|| output_of(context_window));
    if max_output_tokens > context_window / 2 {
        let reason = format!(
            "{max_output_tokens} tokens of answer are more than half of the window of \
             {context_window}"
        );
        return Err(ConfigError::Invalid { key: format!("{table}.max_output_tokens"), reason });
    }
    Ok(ModelChoice {
        provider: model.provider,
        model: model.name,
        context_window,
        effort: model.effort,
        max_output_tokens,
    })
}

fn provider(name: &str, table: ProviderTable) -> Result<Provider, ConfigError> {
    let invalid = |key: &str, reason: &str| ConfigError::Invalid {
        key: format!("providers.{name}.{key}"),
        reason: reason.to_owned(),
    };
    let kind = match (table.kind, table.command) {
        (KindName::Command, Some(argv)) if !argv.is_empty() => Kind::Command(argv),
        (KindName::Command, _) => return Err(invalid("command", "name the program to run")),
        (_, Some(_)) => return Err(invalid("command", "only for kind = \"command\"")),
        (KindName::Responses, None) => Kind::Http(WireApi::Responses),
        (KindName::Chat, None) => Kind::Http(WireApi::Chat),
        (KindName::Messages, None) => Kind::Http(WireApi::Messages),
    };
    let key = match (table.key_env, table.key_command) {
        (Some(_), Some(_)) => {
            return Err(invalid("key_env", "give either key_env or key_command"));
        }
        (Some(variable), None) => KeySource::Environment(variable),
        (None, Some(argv)) => KeySource::Command(argv),
        (None, None) => KeySource::None,
    };
    let base_url = table.base_url.unwrap_or_default();
    if matches!(kind, Kind::Http(_)) {
        let has_key = key != KeySource::None || !table.headers.is_empty();
        check_url(&base_url, has_key).map_err(|why| invalid("base_url", why))?;
    }
    let remote = match (table.remote_compaction, &kind) {
        (Some(remote), Kind::Http(WireApi::Responses)) | (Some(remote @ Remote::No), _) => {
            RemoteSetting::Configured(remote)
        }
        (Some(_), _) => {
            return Err(invalid("remote_compaction", "only for kind = \"responses\""));
        }
        (None, Kind::Http(WireApi::Responses)) if is_openai(name, &base_url) => {
            RemoteSetting::Assumed(Remote::Unary)
        }
        (None, _) => RemoteSetting::Assumed(Remote::No),
    };
    let idle_timeout = |ms: u64| Duration::from_millis(ms.clamp(100, 3_600_000));
    Ok(Provider {
        kind,
        base_url,
        key,
        headers: table.headers.into_iter().collect(),
        idle_timeout: table.idle_timeout_ms.map_or(IDLE_TIMEOUT, idle_timeout),
        remote,
    })
}

/// Whether a provider is OpenAI or Azure, which compact histories themselves: by its name, as Codex decides it, or by
/// its address.
fn is_openai(name: &str, url: &str) -> bool {
    let host = url.split("://").nth(1).and_then(|rest| rest.split(['/', ':']).next());
    let host = host.unwrap_or_default().to_ascii_lowercase();
    ["openai", "azure"].iter().any(|known| name.eq_ignore_ascii_case(known))
        || host == "api.openai.com"
        || host.ends_with(".openai.azure.com")
}

/// Checks that a key is sent only over an encrypted connection or to this machine.
fn check_url(url: &str, has_key: bool) -> Result<(), &'static str> {
    if url.starts_with("https://") {
        return Ok(());
    }
    let Some(rest) = url.strip_prefix("http://") else {
        return Err("must begin with https:// or http://");
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if has_key && !is_loopback(authority) {
        return Err("a key must not go over plain http:// to another machine");
    }
    Ok(())
}

/// Whether the host of an authority is this machine, by its full name or its address.
fn is_loopback(authority: &str) -> bool {
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, port))) if port.is_empty() || port.starts_with(':') => host,
        Some(_) => return false,
        None => host.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The models of the tasks with a table.
fn by_task(model: &Model) -> BTreeMap<Task, Model> {
    let Model { summary, judge, extract, consolidate, .. } = model;
    let tables = [
        (Task::Summary, summary),
        (Task::Judge, judge),
        (Task::Extract, extract),
        (Task::Consolidate, consolidate),
    ];
    tables.into_iter().filter_map(|(task, own)| Some((task, over(own.as_ref()?, model)))).collect()
}

/// The model of a task: its table over `[model]`. The window of one model does not apply to another, nor the efforts of
/// one provider to another.
fn over(own: &TaskModel, model: &Model) -> Model {
    let is_same_provider = own.provider.as_ref().is_none_or(|own| *own == model.provider);
    let is_same = is_same_provider && own.name.as_ref().is_none_or(|own| *own == model.name);
    let effort = model.effort.clone().filter(|_| is_same_provider);
    Model {
        provider: own.provider.clone().unwrap_or_else(|| model.provider.clone()),
        name: own.name.clone().unwrap_or_else(|| model.name.clone()),
        context_window: own.context_window.or(model.context_window.filter(|_| is_same)),
        effort: own.effort.clone().or(effort),
        max_output_tokens: own.max_output_tokens.or(model.max_output_tokens.filter(|_| is_same)),
        ..Model::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::File;
    use super::*;

    fn read(text: &str) -> Result<ModelSettings, String> {
        let file = File::parse(text).map_err(|error| error.to_string())?;
        settings(file.model, file.providers).map_err(|error| error.to_string())
    }

    #[test]
    fn plain_http_with_a_key_is_allowed_to_this_machine_only() {
        let with_key = |url: &str| check_url(url, true).is_ok();
        for url in [
            "https://api.example/v1",
            "http://localhost/v1",
            "http://LOCALHOST:8080",
            "http://127.0.0.1:8080/v1",
            "http://127.8.9.1",
            "http://[::1]:8080/v1",
        ] {
            assert!(with_key(url), "{url}");
        }
        for url in [
            "http://localhost.evil.example/v1",
            "http://127.evil.example/v1",
            "http://127.0.0.1.evil.example",
            "http://localhost@evil.example/v1",
            "http://localhost:80@evil.example/v1",
            "http://evil.example?localhost",
            "http://evil.example\\@localhost/",
            "http://[::1].evil.example/x",
            "http://[::2]/v1",
            "http://10.0.0.1/v1",
            "ftp://localhost/",
        ] {
            assert!(!with_key(url), "{url}");
        }
        assert!(check_url("http://10.0.0.1/v1", false).is_ok(), "there is no key to leak");
    }

    #[test]
    fn without_tables_there_is_no_model() {
        let settings = read("").unwrap();
        assert!(settings.default.is_none() && settings.providers.is_empty());
    }

    #[test]
    fn a_model_gets_its_providers_defaults() {
        let settings = read(
            "[model]\nprovider = \"local\"\nname = \"qwen\"\n\
             [providers.local]\nkind = \"chat\"\nbase_url = \"http://127.0.0.1:8080/v1\"\n\
             [providers.open]\nkind = \"responses\"\nbase_url = \"https://api.openai.com/v1\"\n\
             key_env = \"OPENAI_API_KEY\"\nremote_compaction = \"streamed\"\n",
        )
        .unwrap();
        let choice = settings.default.unwrap();
        assert_eq!((choice.model.as_str(), choice.context_window), ("qwen", 32_000));
        assert_eq!(choice.max_output_tokens, 8_000);
        assert_eq!(settings.providers["open"].remote, RemoteSetting::Configured(Remote::Streamed));
        assert_eq!(settings.providers["local"].remote, RemoteSetting::Assumed(Remote::No));
    }

    #[test]
    fn the_window_of_a_known_model_is_the_default() {
        let window = |name: &str| {
            let text = format!(
                "[model]\nprovider = \"p\"\nname = \"{name}\"\n[providers.p]\n\
                 kind = \"responses\"\nbase_url = \"http://127.0.0.1:8080/v1\"\n"
            );
            read(&text).unwrap().default.unwrap().context_window
        };
        assert_eq!((window("gpt-5.5"), window("openai/gpt-4.1")), (272_000, 1_047_576));
        assert_eq!(window("qwen3:8b"), 32_000);
    }

    #[test]
    fn openai_and_azure_compact_histories_unless_the_person_says_no() {
        for (name, url, more, expected) in [
            ("p", "https://api.openai.com/v1", "", RemoteSetting::Assumed(Remote::Unary)),
            (
                "p",
                "https://me.openai.azure.com/openai/v1",
                "",
                RemoteSetting::Assumed(Remote::Unary),
            ),
            ("openai", "https://proxy.example/v1", "", RemoteSetting::Assumed(Remote::Unary)),
            ("p", "https://api.openai.com.evil.example/v1", "", RemoteSetting::Assumed(Remote::No)),
            (
                "p",
                "https://api.openai.com/v1",
                "remote_compaction = \"no\"",
                RemoteSetting::Configured(Remote::No),
            ),
        ] {
            let text =
                format!("[providers.{name}]\nkind = \"responses\"\nbase_url = \"{url}\"\n{more}");
            assert_eq!(read(&text).unwrap().providers[name].remote, expected, "{url} {more}");
        }
    }

    #[test]
    fn an_answer_takes_at_most_half_of_a_small_window() {
        let small = |more: &str| {
            read(&format!(
                "[model]\nprovider = \"p\"\nname = \"m\"\ncontext_window = 4096\n{more}\n\
                 [providers.p]\nkind = \"chat\"\nbase_url = \"http://127.0.0.1:8080/v1\"\n"
            ))
        };
        assert_eq!(small("").unwrap().default.unwrap().max_output_tokens, 1_024);
        let refused = small("max_output_tokens = 4000").unwrap_err();
        assert!(refused.starts_with("model.max_output_tokens: 4000 tokens of answer"), "{refused}");
    }

    #[test]
    fn a_bound_of_zero_is_none() {
        let text = "[budget]\nrequests_per_day = 0\ntokens_per_job = 7\n";
        let bounds = File::parse(text).unwrap().budget.bounds();
        assert_eq!((bounds.requests_per_day, bounds.tokens_per_job), (None, Some(7)));
        assert_eq!(bounds.tokens_per_day, Some(10_000_000));
    }

    #[test]
    fn an_invalid_value_is_rejected_by_its_key() {
        let provider = |body: &str| format!("[providers.p]\n{body}");
        for (text, expected) in [
            (
                "[model]\nprovider = \"x\"\nname = \"m\"".to_owned(),
                "model.provider: unknown provider `x`",
            ),
            (
                provider("kind = \"chat\"\nbase_url = \"ftp://x\""),
                "providers.p.base_url: must begin",
            ),
            (
                provider("kind = \"chat\"\nbase_url = \"http://example.org\"\nkey_env = \"K\""),
                "providers.p.base_url: a key must not",
            ),
            (provider("kind = \"command\""), "providers.p.command: name the program"),
            (
                provider(
                    "kind = \"chat\"\nbase_url = \"http://localhost\"\nremote_compaction = \"unary\"",
                ),
                "providers.p.remote_compaction: only",
            ),
            (provider("kind = \"chat\"\nkey = \"sk-123\""), "line 3: unknown field `key`"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
