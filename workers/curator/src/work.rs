//! Claims jobs, and works on each until its files are accepted or the daemon ends it.

use std::time::Duration;

use longhaul_client::{Client, ClientError};
use longhaul_protocol::job::{
    Ask, AskParams, AskResult, AskStep, Claim, ClaimParams, ClaimedJob, Complete, CompleteParams,
    Fail, FailKind, FailParams, Heartbeat, TokenParams, WorkFile, WorkInput, WorkResult,
};
use longhaul_protocol::{ErrorKind, Method};

use crate::conversation::Conversation;
use crate::files::Files;

/// Bytes of one tool's answer that the model sees.
const ANSWER_BYTES_MAX: usize = 32 * 1_024;

/// Runs all due jobs, one at a time, as `worker`; returns their number.
///
/// # Errors
/// The connection to the daemon breaks, or it rejects the claim.
pub async fn work_off(client: &Client, worker: &str) -> Result<u64, ClientError> {
    let mut done = 0;
    loop {
        let wanted = ClaimParams { kind: "curate".to_owned(), worker: worker.to_owned() };
        let Some(claim) = client.call::<Claim>(wanted).await?.claim else { return Ok(done) };
        work(client, claim).await?;
        done += 1;
    }
}

/// One claimed job.
struct Job<'a> {
    client: &'a Client,
    name: String,
    token: String,
}

/// Works on a claim and settles it, unless the daemon has already ended it.
async fn work(client: &Client, claim: ClaimedJob) -> Result<(), ClientError> {
    let ClaimedJob { job, token, input, heartbeat_ms, .. } = claim;
    let job = Job { client, name: job.job, token };
    let Some(WorkInput::Curate { request, files, messages_bytes_max }) = input else {
        return job.fail("this worker edits files of memory, and was given something else").await;
    };
    let files = files.into_iter().map(|file| (file.path, file.text.into_bytes()));
    let conversation = Conversation::new(request.into_bytes(), messages_bytes_max);
    let worked = tokio::select! {
        error = job.renewed(Duration::from_millis(heartbeat_ms)) => Err(error),
        worked = job.edit(conversation, Files(files.collect())) => worked,
    };
    match worked {
        Err(ClientError::Refused(error)) => job.fail(&error.message).await,
        worked => worked,
    }
}

impl Job<'_> {
    async fn call<M: Method>(&self, params: M::Params) -> Result<M::Result, ClientError> {
        self.client.call::<M>(params).await
    }

    /// Renews the claim until renewal fails.
    async fn renewed(&self, every: Duration) -> ClientError {
        loop {
            tokio::time::sleep(every).await;
            let params = TokenParams { job: self.name.clone(), token: self.token.clone() };
            if let Err(error) = self.call::<Heartbeat>(params).await {
                return error;
            }
        }
    }

    /// Lets the model edit the files until it is done and the daemon accepts them.
    async fn edit(
        &self,
        mut conversation: Conversation,
        mut files: Files,
    ) -> Result<(), ClientError> {
        loop {
            let AskResult { text, step } = self.ask(&mut conversation).await?;
            let answer_bytes = text.into_bytes();
            let (calls, done) = match step {
                AskStep::Calls { calls, done } => (calls, done),
                AskStep::Unreadable { reason } => {
                    conversation.push(
                        answer_bytes,
                        format!("That was no step: {reason}. Answer as asked."),
                    );
                    continue;
                }
            };
            let mut answer = String::new();
            for call in &calls {
                let (state, text) = match files.run(call) {
                    Ok(text) => ("ok", text),
                    Err(reason) => ("refused", reason),
                };
                let name = format!("{:?} {}", call.tool, call.path.bytes()).to_lowercase();
                let shown = &text[..text.floor_char_boundary(ANSWER_BYTES_MAX)];
                answer.push_str(&format!("[{name}: {state}]\n{shown}\n"));
            }
            if !done {
                conversation.push(answer_bytes, answer);
                continue;
            }
            let Some(reason) = self.deliver(&files).await? else { return Ok(()) };
            let rejection = "The daemon rejected your files. Fix them or undo the change";
            conversation.push(answer_bytes, format!("{answer}\n{rejection}: {reason}"));
        }
    }

    async fn ask(&self, conversation: &mut Conversation) -> Result<AskResult, ClientError> {
        let messages = conversation.messages();
        let (job, token) = (self.name.clone(), self.token.clone());
        self.call::<Ask>(AskParams { job, token, messages }).await
    }

    /// Delivers the files; returns why they must be corrected.
    async fn deliver(&self, files: &Files) -> Result<Option<String>, ClientError> {
        let file = |(path, text): (&String, &String)| WorkFile {
            path: path.clone(),
            text: text.clone().into(),
        };
        let result = Some(WorkResult::Curate { files: files.0.iter().map(file).collect() });
        let (job, token) = (self.name.clone(), self.token.clone());
        match self.call::<Complete>(CompleteParams { job, token, result }).await {
            Ok(_) => Ok(None),
            Err(ClientError::Refused(error)) if error.kind() == ErrorKind::InvalidParams => {
                Ok(Some(error.message))
            }
            Err(error) => Err(error),
        }
    }

    /// Reports the job as failed; ignores a claim that is already lost.
    async fn fail(&self, why: &str) -> Result<(), ClientError> {
        let params = FailParams {
            job: self.name.clone(),
            token: self.token.clone(),
            kind: FailKind::Transient,
            detail: why.to_owned(),
            retry_after_ms: None,
        };
        match self.call::<Fail>(params).await {
            Ok(_) => Ok(()),
            Err(ClientError::Refused(error)) if error.kind() == ErrorKind::LeaseLost => Ok(()),
            Err(error) => Err(error),
        }
    }
}
