//! Finds `apply_patch` envelopes in any text and lists what they do to which file.

/// The effect of a patch section on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str)]
pub enum PatchAction {
    #[strum(serialize = "created")]
    Create,
    #[strum(serialize = "edited")]
    Edit,
    #[strum(serialize = "deleted")]
    Delete,
}

/// One section of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchOp {
    /// The path as the agent wrote it.
    pub path: String,
    pub action: PatchAction,
}

/// The sections of every `*** Begin Patch` envelope in `text`, in order. A move deletes the old path and creates the
/// new one.
pub fn sections(text: &str) -> Vec<PatchOp> {
    let mut ops: Vec<PatchOp> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.contains("*** Begin Patch") {
            inside = true;
        } else if line.starts_with("*** End Patch") {
            inside = false;
        } else if inside {
            header(line, &mut ops);
        }
    }
    ops
}

fn header(line: &str, ops: &mut Vec<PatchOp>) {
    const HEADERS: [(&str, PatchAction); 3] = [
        ("*** Add File: ", PatchAction::Create),
        ("*** Update File: ", PatchAction::Edit),
        ("*** Delete File: ", PatchAction::Delete),
    ];
    for (start, action) in HEADERS {
        if let Some(path) = line.strip_prefix(start) {
            ops.push(PatchOp { path: path.trim().to_owned(), action });
        }
    }
    if let Some(path) = line.strip_prefix("*** Move to: ") {
        if let Some(old) = ops.last_mut() {
            old.action = PatchAction::Delete;
        }
        ops.push(PatchOp { path: path.trim().to_owned(), action: PatchAction::Create });
    }
}
