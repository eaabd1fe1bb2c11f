//! The rows that hocket is measured by, written by hand with async-openai, as somebody would who wants no framework:
//!
//!     async_openai_peer turns|chunks|router|three|five ROUNDS
//!
//! OPENAI_BASE_URL says where the mock server is. The same prompts and the same number of model calls as bench/scripts;
//! answers are streamed, as they are there. To build it, with a folder of the PATH as DIR:
//!
//!     cargo install --path bench/peers/async-openai --root DIR --target-dir /tmp/async_openai_peer

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCallChunk, ChatCompletionNamedToolChoice, ChatCompletionRequestAssistantMessage,
    ChatCompletionRequestMessage, ChatCompletionRequestSystemMessage, ChatCompletionRequestToolMessage, ChatCompletionRequestUserMessage,
    ChatCompletionTool, ChatCompletionToolChoiceOption, ChatCompletionTools, CreateChatCompletionRequest, FunctionName, FunctionObject,
};
use futures::{StreamExt, future::try_join_all};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
type Models = Client<OpenAIConfig>;

const REQUEST: &str = "Is it worth while to go through all the steps again? Say why, and what it would cost.";

fn system(text: String) -> ChatCompletionRequestMessage {
    ChatCompletionRequestSystemMessage { content: text.into(), ..Default::default() }.into()
}

fn user(text: &str) -> ChatCompletionRequestMessage {
    ChatCompletionRequestUserMessage { content: text.into(), ..Default::default() }.into()
}

fn prompt() -> ChatCompletionRequestMessage {
    system("You are a careful worker who wastes no words. ".repeat(10))
}

fn function(name: &str, description: &str, parameters: Value) -> ChatCompletionTools {
    ChatCompletionTools::Function(ChatCompletionTool {
        function: FunctionObject {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            parameters: Some(parameters),
            strict: None,
        },
    })
}

/// A reply of a stream, put together.
#[derive(Default)]
struct Reply {
    text: String,
    calls: Vec<ChatCompletionMessageToolCall>,
}

impl Reply {
    fn take(&mut self, chunk: ChatCompletionMessageToolCallChunk) {
        let at = chunk.index as usize;
        while self.calls.len() <= at {
            self.calls.push(Default::default());
        }
        let call = &mut self.calls[at];
        call.id.push_str(&chunk.id.unwrap_or_default());
        let function = chunk.function.unwrap_or_default();
        call.function.name.push_str(&function.name.unwrap_or_default());
        call.function.arguments.push_str(&function.arguments.unwrap_or_default());
    }
}

async fn ask(models: &Models, request: CreateChatCompletionRequest) -> Result<Reply> {
    let mut reply = Reply::default();
    let mut stream = models.chat().create_stream(request).await?;
    while let Some(chunk) = stream.next().await {
        for choice in chunk?.choices {
            reply.text.push_str(&choice.delta.content.unwrap_or_default());
            choice.delta.tool_calls.into_iter().flatten().for_each(|call| reply.take(call));
        }
    }
    Ok(reply)
}

fn request(model: &str, messages: Vec<ChatCompletionRequestMessage>) -> CreateChatCompletionRequest {
    CreateChatCompletionRequest { model: model.to_owned(), messages, ..Default::default() }
}

async fn answer(models: &Models, text: &str) -> Result<String> {
    Ok(ask(models, request("tools-0", vec![prompt(), user(text)])).await?.text)
}

/// All of them side by side.
async fn answers(models: &Models, n: usize, text: &str) -> Result<Vec<String>> {
    try_join_all((0..n).map(|_| answer(models, text))).await
}

fn together(first: &[String], more: &[String]) -> String {
    [first, more].concat().join("\n\n")
}

/// An agent that calls a tool in each turn until it answers.
async fn turns(models: &Models) -> Result<()> {
    let worker = "You are a careful worker who goes step by step and wastes no words. ".repeat(10);
    let step = function(
        "step",
        "Take one step of the work and say what came out.",
        json!({"type": "object", "required": ["n"], "properties": {
            "n": {"type": "integer", "minimum": 0, "description": "The number of the step"},
            "note": {"type": "string", "description": "One line on what it is for"}}}),
    );
    let mut messages = vec![system(worker), user("Go through all the steps.")];
    loop {
        let mut turn = request("tools-20", messages.clone());
        turn.tools = Some(vec![step.clone()]);
        let reply = ask(models, turn).await?;
        if reply.calls.is_empty() {
            return Ok(());
        }
        let calls = reply.calls.iter().cloned().map(Into::into).collect();
        messages.push(ChatCompletionRequestAssistantMessage { tool_calls: Some(calls), ..Default::default() }.into());
        for call in reply.calls {
            let arguments: Value = serde_json::from_str(&call.function.arguments)?;
            let n = arguments["n"].as_u64().ok_or("the arguments have no n")?;
            let content = format!("step {n} is done").into();
            messages.push(ChatCompletionRequestToolMessage { content, tool_call_id: call.id }.into());
        }
    }
}

async fn chunks(models: &Models) -> Result<()> {
    ask(models, request("chunks-10000", vec![prompt(), user(REQUEST)])).await?;
    Ok(())
}

async fn router(models: &Models) -> Result<()> {
    let names = ["a1", "a2", "a3"];
    let mut first = request("route-2", vec![prompt(), user(REQUEST)]);
    first.tools = Some(vec![function(
        "route_to",
        "Chooses who answers.",
        json!({"type": "object", "required": ["agent", "reason"],
               "properties": {"agent": {"type": "string", "enum": names}, "reason": {"type": "string"}}}),
    )]);
    first.tool_choice = Some(ChatCompletionToolChoiceOption::Function(ChatCompletionNamedToolChoice {
        function: FunctionName { name: "route_to".to_owned() },
    }));
    let reply = ask(models, first).await?;
    let call = reply.calls.first().ok_or("the router chose nobody")?;
    let arguments: Value = serde_json::from_str(&call.function.arguments)?;
    names.iter().find(|name| arguments["agent"] == **name).ok_or("the router chose a stranger")?;
    answer(models, REQUEST).await?;
    Ok(())
}

async fn three(models: &Models) -> Result<()> {
    let advice = answers(models, 3, REQUEST).await?;
    answer(models, &together(&[REQUEST.to_owned()], &advice)).await?;
    Ok(())
}

async fn five(models: &Models) -> Result<()> {
    let mut said = vec![REQUEST.to_owned()];
    for _ in 0..2 {
        let more = answers(models, 5, &together(&said, &[])).await?;
        said.extend(more);
    }
    answer(models, &together(&said, &[])).await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (what, rounds) = match words[..] {
        ["version"] => return Ok(println!("0.43.0")),
        [what, rounds] => (what, rounds.parse::<usize>()?),
        _ => return Err("usage: async_openai_peer turns|chunks|router|three|five ROUNDS".into()),
    };
    let models = Client::with_config(OpenAIConfig::new().with_api_base(std::env::var("OPENAI_BASE_URL")?).with_api_key("none"));
    for _ in 0..rounds {
        match what {
            "turns" => turns(&models).await?,
            "chunks" => chunks(&models).await?,
            "router" => router(&models).await?,
            "three" => three(&models).await?,
            "five" => five(&models).await?,
            _ => return Err("nothing of that name is measured".into()),
        }
    }
    Ok(())
}
