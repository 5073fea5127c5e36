//! `context/*`.

use std::collections::BTreeMap;
use std::sync::Arc;

use longhaul_core::context::budget::Form;
use longhaul_core::context::diff::{self, OptIn};
use longhaul_core::context::normalize::{self, Options, ValidItem};
use longhaul_core::context::tokenizer::Tokenizer;
use longhaul_core::context::truncate::Policy;
use longhaul_core::context::{budget, estimate};
use longhaul_core::item::breakdown::Breakdown;
use longhaul_protocol::context::{
    self as wire, Change, Diff, DiffParams, DiffResult, Estimate, EstimateParams, EstimateResult,
    Normalize, NormalizeParams, NormalizeResult, Truncate, TruncateMode, TruncateParams,
    TruncatePolicy, TruncateResult, Usage, UsageParams, UsageResult,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::Failure;
use super::{Table, TableError};
use crate::service::ContextServices;
use crate::service::context::{Contexts, UsageQuery};
use crate::service::settings_diff::{SettingsDiffs, SettingsPair};

mod usage;

pub(super) fn register(table: &mut Table, services: &ContextServices) -> Result<(), TableError> {
    // These depend on their params alone.
    let nothing = Arc::new(());
    let mut pure = table.of(&nothing);
    pure.on_blocking::<Estimate>(estimate)?;
    pure.on_blocking::<Normalize>(normalize)?;
    pure.on_blocking::<Truncate>(cut)?;
    table.of(&services.settings_diffs).on_async::<Diff, _>(compare)?;
    table.of(&services.contexts).on_async::<Usage, _>(usage)
}

fn normalize((): &(), params: NormalizeParams) -> Result<NormalizeResult, Failure> {
    let count = params.items.len() as u64;
    if let Some(index) = params.remove.iter().find(|index| **index >= count) {
        return Err(Failure::invalid("remove", &format!("indexes below {count}, not {index}")));
    }
    let takes_images = params
        .input_modalities
        .is_none_or(|modalities| modalities.iter().any(|modality| modality == "image"));
    let options = Options {
        without_images: !takes_images,
        repair_image: params.repair_image,
        remove: params.remove.iter().filter_map(|index| usize::try_from(*index).ok()).collect(),
        ..Options::default()
    };
    let texts: Vec<&str> = params.items.iter().map(|item| item.get()).collect();
    let made = normalize::normalize(&texts, &options);
    let items = made.items.into_iter().map(|item| match item {
        ValidItem::Given { index, .. } => Ok(params.items[index].clone()),
        ValidItem::Made(text) => RawValue::from_string(text),
    });
    let change = |change: normalize::Change| Change {
        kind: change.kind.into_str().to_owned(),
        index: change.index as u64,
        call_id: change.call_id,
    };
    Ok(NormalizeResult {
        items: items.collect::<Result<_, _>>().map_err(Failure::internal)?,
        changes: made.changes.into_iter().map(change).collect(),
    })
}

fn estimate((): &(), params: EstimateParams) -> Result<EstimateResult, Failure> {
    let tokenizer = params.tokenizer.as_deref().map(tokenizer_of).transpose()?;
    match (params.items, params.text) {
        (None, Some(text)) => Ok(EstimateResult {
            tokens: estimate::of_text(&text, tokenizer),
            bytes: text.len() as u64,
            by_kind: None,
            tokenizer: params.tokenizer,
        }),
        (Some(items), None) => {
            let (mut sum, mut bytes) = (Breakdown::default(), 0);
            for item in &items {
                let text = estimate::compact(item.get());
                bytes += text.len() as u64;
                sum.add(&match tokenizer {
                    Some(tokenizer) => estimate::count_item(&text, tokenizer),
                    None => estimate::of_items([text.as_ref()]),
                });
            }
            let (tokens, by_kind) = (sum.total(), Some(by_kind(&sum)));
            Ok(EstimateResult { tokens, bytes, by_kind, tokenizer: params.tokenizer })
        }
        _ => Err(Failure::invalid("text", "give either items or text")),
    }
}

fn by_kind(breakdown: &Breakdown) -> BTreeMap<String, u64> {
    breakdown.entries().map(|(kind, tokens)| (kind.into_str().to_owned(), tokens)).collect()
}

fn tokenizer_of(name: &str) -> Result<Tokenizer, Failure> {
    let expected = || format!("one of {}", Tokenizer::NAMES.join(", "));
    Tokenizer::of_name(name).ok_or_else(|| Failure::invalid("tokenizer", &expected()))
}

fn cut((): &(), params: TruncateParams) -> Result<TruncateResult, Failure> {
    let policy = policy_of(&params.policy)?;
    let form = if params.formatted == Some(true) { Form::Formatted } else { Form::Plain };
    match (params.text, params.items) {
        (Some(text), None) => {
            let cut = form.cut(&text, policy);
            let unit = cut.unit.into_str().to_owned();
            Ok(TruncateResult {
                text: Some(cut.text.into()),
                items: None,
                removed: cut.removed,
                unit,
            })
        }
        (None, Some(mut items)) => {
            let removed = items.iter_mut().map(|item| budget::record(item, policy, form)).sum();
            let unit = policy.unit().into_str().to_owned();
            Ok(TruncateResult { text: None, items: Some(items.into()), removed, unit })
        }
        _ => Err(Failure::invalid("text", "give either text or items")),
    }
}

fn policy_of(policy: &TruncatePolicy) -> Result<Policy, Failure> {
    match (policy.mode, policy.limit, policy.name.as_deref()) {
        (Some(mode), Some(limit), None) => Ok(match mode {
            TruncateMode::Tokens => Policy::Tokens(limit),
            TruncateMode::Bytes => Policy::Bytes(limit),
            TruncateMode::Lines => Policy::Lines(limit),
        }),
        (None, None, Some(name)) => {
            let expected = || format!("one of {}", budget::NAMES.join(", "));
            budget::policy_by_name(name).ok_or_else(|| Failure::invalid("policy.name", &expected()))
        }
        _ => Err(Failure::invalid("policy", "give mode and limit, or name")),
    }
}

async fn compare(diffs: Arc<SettingsDiffs>, params: DiffParams) -> Result<DiffResult, Failure> {
    let include = params.include.unwrap_or_default();
    let opt_in = OptIn {
        agents_md: include.contains(&wire::OptionalSetting::AgentsMd),
        memory: include.contains(&wire::OptionalSetting::Memory),
    };
    let current = settings(params.current);
    let SettingsPair { reference, current } = match (params.reference, params.thread_id) {
        (Some(_), Some(_)) => {
            return Err(Failure::invalid("thread_id", "give either reference or thread_id"));
        }
        (reference, None) => SettingsPair { reference: reference.map(settings), current },
        (None, Some(thread_id)) => diffs.compared(&thread_id, current, opt_in).await?,
    };
    let injection = diff::diff(reference.as_ref(), &current, opt_in);
    let texts: Vec<String> = injection.items.iter().map(Value::to_string).collect();
    Ok(DiffResult {
        tokens: estimate::of_items(texts.iter().map(String::as_str)).total(),
        changed: injection
            .dimensions
            .iter()
            .map(|dimension| dimension.into_str().to_owned())
            .collect(),
        full: injection.is_full,
        items: injection.items.into(),
    })
}

async fn usage(contexts: Arc<Contexts>, params: UsageParams) -> Result<UsageResult, Failure> {
    if params.thread_id.is_none() && params.items.is_none() {
        return Err(Failure::invalid("thread_id", "give thread_id, items or both"));
    }
    if params.thread_id.is_none() && params.as_of.is_some() {
        return Err(Failure::invalid("as_of", "needs thread_id"));
    }
    let query = UsageQuery {
        thread_id: params.thread_id,
        as_of: params.as_of,
        items: params.items,
        model: params.model,
        context_window: params.context_window,
        auto_compact_limit: params.auto_compact_limit,
        resume: params.resume == Some(true),
    };
    Ok(usage::result(contexts.usage(query).await?))
}

fn settings(settings: wire::Settings) -> longhaul_core::context::reference::Settings {
    use longhaul_core::context::reference as core;
    let place = |place: wire::WorkingFolder| core::WorkingFolder {
        id: place.id,
        cwd: place.cwd,
        shell: place.shell,
    };
    core::Settings {
        environment: settings.environment.map(|environment| core::Environment {
            places: environment.folders.into_iter().map(place).collect(),
            current_date: environment.current_date,
            timezone: environment.timezone,
            network: environment
                .network
                .map(|network| core::Network { allowed: network.allowed, denied: network.denied }),
        }),
        permissions: settings.permissions.map(|permissions| core::Permissions {
            profile: permissions.profile,
            approval_policy: permissions.approval_policy,
            instructions: permissions.instructions,
        }),
        collaboration_mode: settings.collaboration_mode.map(|mode| core::CollaborationMode {
            mode: mode.mode,
            model: mode.model,
            effort: mode.effort,
            instructions: mode.instructions,
        }),
        personality: settings.personality.map(|personality| core::Personality {
            name: personality.name,
            instructions: personality.instructions,
        }),
        model: settings
            .model
            .map(|model| core::Model { name: model.name, instructions: model.instructions }),
        agents_md: settings.agents_md,
        memory: settings.memory,
    }
}
