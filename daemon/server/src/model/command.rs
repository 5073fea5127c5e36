//! One try through a program of the user's: the request on its standard input, the words of the
//! answer on its standard output.

use std::process::Stdio;

use longhaul_core::model::answer::ANSWER_BYTES_MAX;
use longhaul_core::model::{Answer, Fault, FaultKind, Usage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// Bytes of a program's complaints that are read.
const COMPLAINT_BYTES_MAX: u64 = 8 * 1_024;

/// Runs the program; it is killed when nobody waits for it any more.
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
    let (input, output, complaints) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut input) = input {
            // A program that answers without reading all of its input is not wrong.
            let _closed_early = input.write_all(body).await;
            let _closed_early = input.shutdown().await;
        }
    };
    let mut words = Vec::new();
    let read = async {
        match output {
            Some(output) => {
                output.take(ANSWER_BYTES_MAX as u64 + 1).read_to_end(&mut words).await.map(drop)
            }
            None => Ok(()),
        }
    };
    let mut said = Vec::new();
    let complain = async {
        match complaints {
            Some(pipe) => pipe.take(COMPLAINT_BYTES_MAX).read_to_end(&mut said).await.map(drop),
            None => Ok(()),
        }
    };
    let ((), read, _) = tokio::join!(write, read, complain);
    read.map_err(|error| Fault::new(FaultKind::StreamCut, &error.to_string()))?;
    if words.len() > ANSWER_BYTES_MAX {
        return Err(Fault::new(FaultKind::AnswerTooLarge, "the answer is over the bound"));
    }
    let status = child.wait().await;
    let status = status.map_err(|error| Fault::new(FaultKind::StreamCut, &error.to_string()))?;
    if !status.success() {
        let said = String::from_utf8_lossy(&said);
        let detail = format!("{program} ended with {status}: {}", said.trim());
        return Err(Fault::new(FaultKind::Refused, &detail));
    }
    let text = String::from_utf8(words)
        .map_err(|_| Fault::new(FaultKind::Unreadable, "the answer is not UTF-8"))?;
    Ok(Answer { text, items: Vec::new(), usage: Usage::default() })
}
