//! A router, three advisors, a team of five with rig, as somebody who uses it would write them:
//!
//!     rig_peer router|three|five ROUNDS
//!
//! OPENAI_BASE_URL says where the mock server is. The same prompts and the same number of model calls as
//! bench/scripts/patterns.lua; answers are streamed, as they are there. To build it, with a folder of the PATH as DIR:
//!
//!     cargo install --path bench/peers/rig --root DIR --target-dir /tmp/rig_peer

use futures::{StreamExt, future::join_all};
use rig::agent::MultiTurnStreamItem;
use rig::completion::{CompletionRequest, ToolDefinition};
use rig::providers::openai::{OpenAI, wire::OpenAIConfig};
use rig::{Agent, AgentBuilder};
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const REQUEST: &str = "Is it worth while to go through all the steps again? Say why, and what it would cost.";

fn prompt() -> String {
    "You are a careful worker who wastes no words. ".repeat(10)
}

fn agent(models: &OpenAI, name: &str) -> Agent {
    AgentBuilder::new(models.chat("tools-0")).name(name).preamble(prompt()).build()
}

fn agents(models: &OpenAI, n: usize) -> Vec<Agent> {
    (1..=n).map(|i| agent(models, &format!("a{i}"))).collect()
}

async fn ask(one: &Agent, text: &str) -> Result<String> {
    let mut events = one.prompt(text).stream();
    let mut answer = None;
    while let Some(event) = events.next().await {
        if let MultiTurnStreamItem::FinalResponse(response) = event? {
            answer = Some(response.output());
        }
    }
    answer.ok_or("a stream without an end".into())
}

/// All of them side by side.
async fn ask_all(all: &[Agent], text: &str) -> Result<Vec<String>> {
    join_all(all.iter().map(|one| ask(one, text))).await.into_iter().collect()
}

fn together(first: &[String], more: &[String]) -> String {
    [first, more].concat().join("\n\n")
}

async fn router(models: &OpenAI, rounds: usize) -> Result<()> {
    let (chief, targets) = (models.chat("route-2"), agents(models, 3));
    let tool = ToolDefinition::new(
        "route_to".try_into()?,
        "Chooses who answers.",
        json!({"type": "object", "required": ["agent", "reason"],
               "properties": {"agent": {"type": "string"}, "reason": {"type": "string"}}}),
    );
    for _ in 0..rounds {
        let request = CompletionRequest::new(REQUEST).preamble(prompt()).tool(tool.clone());
        let reply = chief.stream(request)?.finish().await?;
        let call = reply.tool_calls().next().ok_or("the router chose nobody")?;
        let name = call.function.arguments.get("agent").and_then(|name| name.as_str());
        let chosen = targets.iter().find(|one| one.name() == name).ok_or("the router chose a stranger")?;
        ask(chosen, REQUEST).await?;
    }
    Ok(())
}

async fn three(models: &OpenAI, rounds: usize) -> Result<()> {
    let (chief, advisors) = (agent(models, "chief"), agents(models, 3));
    for _ in 0..rounds {
        let advice = ask_all(&advisors, REQUEST).await?;
        ask(&chief, &together(&[REQUEST.to_owned()], &advice)).await?;
    }
    Ok(())
}

async fn five(models: &OpenAI, rounds: usize) -> Result<()> {
    let (chief, members) = (agent(models, "chief"), agents(models, 5));
    for _ in 0..rounds {
        let mut said = vec![REQUEST.to_owned()];
        for _ in 0..2 {
            let more = ask_all(&members, &together(&said, &[])).await?;
            said.extend(more);
        }
        ask(&chief, &together(&said, &[])).await?;
    }
    Ok(())
}

fn server() -> Result<OpenAI> {
    Ok(OpenAIConfig::new("none").with_base_url(std::env::var("OPENAI_BASE_URL")?).client())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["version"] => Ok(println!("0.44.0")),
        ["router", n] => router(&server()?, n.parse()?).await,
        ["three", n] => three(&server()?, n.parse()?).await,
        ["five", n] => five(&server()?, n.parse()?).await,
        _ => Err("usage: rig_peer router|three|five ROUNDS, or rig_peer version".into()),
    }
}
