//! One try through the user's program: the request on its standard input, the text of the answer on its standard output.

use std::process::Stdio;

use longhaul_core::model::answer::ANSWER_BYTES_MAX;
use longhaul_core::model::{Answer, Fault, FaultKind, Usage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// Maximum bytes of standard error to keep.
const ERROR_BYTES_MAX: u64 = 8 * 1_024;

/// Runs the program; dropping the future kills it.
pub(super) async fn attempt(argv: &[String], body: &[u8]) -> Result<Answer, Fault> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(Fault::new(FaultKind::NotFound, "command is empty"));
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| Fault::new(FaultKind::NotFound, &format!("{program}: {error}")))?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(input), Some(output), Some(errors)) = pipes else {
        return Err(Fault::new(FaultKind::StreamCut, "the program has no pipes"));
    };
    // Each of these closes its pipe when it ends.
    let write = async {
        let mut pipe = input;
        // A program may answer without reading all of its input.
        let _closed_early = pipe.write_all(body).await;
        let _closed_early = pipe.shutdown().await;
    };
    let mut words = Vec::new();
    let read = async { output.take(ANSWER_BYTES_MAX as u64 + 1).read_to_end(&mut words).await };
    let mut stderr = Vec::new();
    let read_errors = async {
        let mut pipe = errors;
        (&mut pipe).take(ERROR_BYTES_MAX).read_to_end(&mut stderr).await?;
        // A closed pipe would kill a program that writes more.
        tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await
    };
    let ((), read, _) = tokio::join!(write, read, read_errors);
    read.map_err(|error| Fault::new(FaultKind::StreamCut, &error.to_string()))?;
    if words.len() > ANSWER_BYTES_MAX {
        return Err(Fault::new(FaultKind::AnswerTooLarge, "the answer is too long"));
    }
    let status = child.wait().await;
    let status = status.map_err(|error| Fault::new(FaultKind::StreamCut, &error.to_string()))?;
    if !status.success() {
        let stderr = String::from_utf8_lossy(&stderr);
        let detail = format!("{program} ended with {status}: {}", stderr.trim());
        return Err(Fault::new(FaultKind::Refused, &detail));
    }
    let text = String::from_utf8(words)
        .map_err(|_| Fault::new(FaultKind::Unreadable, "the answer is not UTF-8"))?;
    Ok(Answer { text, items: Vec::new(), usage: Usage::default() })
}
