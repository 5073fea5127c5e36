//! The result of `policy/templates` and `compaction/templates`: the texts of a group and their files.

use longhaul_core::template::TemplateGroup;
use longhaul_protocol::policy::{TemplateInfo, TemplatesParams, TemplatesResult};

use super::error::Failure;
use crate::service::ServiceError;
use crate::service::texts::{TextStatus, TextStore};

pub(super) fn templates(
    texts: &TextStore,
    group: TemplateGroup,
    TemplatesParams { seed }: TemplatesParams,
) -> Result<TemplatesResult, Failure> {
    let seeded = match seed.unwrap_or(false) {
        true => texts.seed(group).map_err(|(path, error)| ServiceError::file(&path, error))?,
        false => Vec::new(),
    };
    let template = |status: TextStatus| TemplateInfo {
        name: status.kind.into_str().to_owned(),
        path: status.path.display().to_string(),
        source: match (status.is_of_file, status.kind.stand_in()) {
            (true, _) => "file",
            (false, Some(kind)) => kind.into_str(),
            (false, None) => "built_in",
        }
        .to_owned(),
        is_seeded: seeded.contains(&status.kind),
        problem: status.problem,
        placeholders: status.kind.places().iter().map(|place| (*place).to_owned()).collect(),
    };
    Ok(TemplatesResult {
        folder: texts.folder(group).display().to_string(),
        templates: texts.statuses(group).into_iter().map(template).collect(),
    })
}
