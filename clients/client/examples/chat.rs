//! A chat program that never overflows its model's window, however long the chat and however large what its tool
//! reads. Copy it, and put your model and your tools into the last two functions.
//!
//! ```console
//! $ longhaul up
//! $ OPENAI_API_KEY=… cargo run --example chat -- [MODEL [TOKENS OF ITS WINDOW]]
//! ```
//!
//! Type a line and read the answer. Started again in the same folder, the chat continues.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it talks to a person")]

use std::error::Error;

use longhaul_client::{ConnectOptions, Conversation, ConversationOptions};
use serde_json::{Value, json};

type Failure = Box<dyn Error>;

const INSTRUCTIONS: &str =
    "You are a helpful assistant. Read files with the tool read_file before you speak of them.";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let model = words.next().unwrap_or_else(|| "gpt-5".to_owned());
    let window = words.next().map_or(Ok(272_000), |tokens| tokens.parse())?;
    let cwd = std::env::current_dir()?.display().to_string();
    let program = ConnectOptions::new("chat-example", "1.0.0");
    let key = format!("chat in {cwd}");
    let mut chat =
        Conversation::new(ConversationOptions::new(program, &key, &cwd, (&model, window)));
    for line in std::io::stdin().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        chat.add(vec![json!({ "type": "message", "role": "user", "content": line })]).await?;
        match answer(&mut chat, &model).await {
            Ok(answer) => println!("{answer}"),
            Err(error) => eprintln!("the model did not answer: {error}"),
        }
        chat.end_turn().await?;
    }
    chat.close()
        .await
        .inspect_err(|error| eprintln!("(the end of this chat was not saved: {error})"))?;
    Ok(())
}

/// Asks the model until it has nothing more to look at; its last words.
async fn answer(chat: &mut Conversation, model: &str) -> Result<String, Failure> {
    loop {
        let prompt = chat.prompt().await?;
        if let Some(made) = &prompt.compaction {
            eprintln!("(compacted {} tokens to {})", made.tokens.before, made.tokens.after);
        }
        if let Some(trouble) = chat.trouble() {
            let hint = trouble.hint().unwrap_or_default();
            eprintln!("(continuing without longhaul: {trouble}; {hint})");
        }
        let mut answer = ask(model, &prompt.items).await?;
        let calls: Vec<Value> =
            answer.iter().filter(|item| item["type"] == "function_call").cloned().collect();
        let words = answer.iter().filter_map(|item| item["content"][0]["text"].as_str()).collect();
        for call in &calls {
            let output = run(call["arguments"].as_str().unwrap_or_default());
            let call_id = &call["call_id"];
            answer.push(
                json!({ "type": "function_call_output", "call_id": call_id, "output": output }),
            );
        }
        // Add calls and outputs together, so that a crash in between leaves no call without its output.
        chat.add(answer).await?;
        if calls.is_empty() {
            return Ok(words);
        }
    }
}

/// The one request to the model: everything it is to know is in `input`.
async fn ask(model: &str, input: &[Value]) -> Result<Vec<Value>, Failure> {
    let variable =
        |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.into());
    let tools = json!([{
        "type": "function",
        "name": "read_file",
        "description": "Reads a text file of the working folder.",
        "parameters": { "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] },
    }]);
    let body = json!({ "model": model, "instructions": INSTRUCTIONS, "tools": tools, "input": input, "store": false });
    // A process has one provider of TLS; it does not matter if one is already installed.
    rustls::crypto::ring::default_provider().install_default().ok();
    let url = variable("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/responses";
    let request = reqwest::Client::new().post(url).bearer_auth(variable("OPENAI_API_KEY", ""));
    let request = request.header("content-type", "application/json").body(body.to_string());
    let mut answer: Value = serde_json::from_slice(&request.send().await?.bytes().await?)?;
    match answer["output"].take() {
        Value::Array(items) => Ok(items),
        _ => Err(format!("{}: {}", answer["error"]["code"], answer["error"]["message"]).into()),
    }
}

/// The one tool. What it fails with is for the model to read, too.
fn run(arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let path = arguments["path"].as_str().unwrap_or_default();
    std::fs::read_to_string(path).unwrap_or_else(|error| error.to_string())
}
