// A router, three advisors, a team of five with Eino, as somebody who uses it would write them:
//
//	eino_peer router|three|five ROUNDS
//
// OPENAI_BASE_URL says where the mock server is. The same prompts and the same number of model calls as
// bench/scripts/patterns.lua; answers are streamed, as they are there. To build it, with a folder of the PATH as DIR:
//
//	cp -r bench/peers/eino /tmp/eino_peer && cd /tmp/eino_peer && go mod tidy && go build -o DIR/eino_peer .
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

const request = "Is it worth while to go through all the steps again? Say why, and what it would cost."

var prompt = strings.Repeat("You are a careful worker who wastes no words. ", 10)

var routeTool = &schema.ToolInfo{
	Name: "route_to",
	Desc: "Chooses who answers.",
	ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"agent":  {Type: schema.String, Required: true},
		"reason": {Type: schema.String, Required: true},
	}),
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func chatModel(ctx context.Context, name string) *openai.ChatModel {
	return must(openai.NewChatModel(ctx, &openai.ChatModelConfig{
		APIKey: os.Getenv("OPENAI_API_KEY"), BaseURL: os.Getenv("OPENAI_BASE_URL"), Model: name,
	}))
}

func agent(ctx context.Context, name string) *adk.Runner {
	one := must(adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: name, Description: "answers", Instruction: prompt, Model: chatModel(ctx, "tools-0"),
	}))
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: one, EnableStreaming: true})
}

func agents(ctx context.Context, n int) []*adk.Runner {
	list := make([]*adk.Runner, n)
	for i := range list {
		list[i] = agent(ctx, fmt.Sprintf("a%d", i+1))
	}
	return list
}

func whole(stream *schema.StreamReader[*schema.Message]) (*schema.Message, error) {
	defer stream.Close()
	var parts []*schema.Message
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return schema.ConcatMessages(parts)
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
}

func ask(ctx context.Context, one *adk.Runner, text string) string {
	answer := ""
	for events := one.Query(ctx, text); ; {
		event, more := events.Next()
		if !more {
			return answer
		}
		if event.Err != nil {
			log.Fatal(event.Err)
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		if stream := event.Output.MessageOutput.MessageStream; stream != nil {
			answer = must(whole(stream)).Content
		}
	}
}

// All of them side by side.
func askAll(ctx context.Context, all []*adk.Runner, text string) []string {
	answers := make([]string, len(all))
	var group sync.WaitGroup
	for i, one := range all {
		group.Add(1)
		go func() {
			defer group.Done()
			answers[i] = ask(ctx, one, text)
		}()
	}
	group.Wait()
	return answers
}

func router(ctx context.Context) func() {
	chief := must(chatModel(ctx, "route-2").WithTools([]*schema.ToolInfo{routeTool}))
	targets := map[string]*adk.Runner{}
	for i, one := range agents(ctx, 3) {
		targets[fmt.Sprintf("a%d", i+1)] = one
	}
	return func() {
		stream := must(chief.Stream(ctx, []*schema.Message{schema.SystemMessage(prompt), schema.UserMessage(request)},
			model.WithToolChoice(schema.ToolChoiceForced)))
		reply := must(whole(stream))
		var choice struct{ Agent string }
		if len(reply.ToolCalls) == 0 {
			log.Fatal("the router chose nobody")
		}
		if err := json.Unmarshal([]byte(reply.ToolCalls[0].Function.Arguments), &choice); err != nil {
			log.Fatal(err)
		}
		ask(ctx, targets[choice.Agent], request)
	}
}

func three(ctx context.Context) func() {
	chief, advisors := agent(ctx, "chief"), agents(ctx, 3)
	return func() {
		advice := askAll(ctx, advisors, request)
		ask(ctx, chief, strings.Join(append([]string{request}, advice...), "\n\n"))
	}
}

func five(ctx context.Context) func() {
	chief, members := agent(ctx, "chief"), agents(ctx, 5)
	return func() {
		said := []string{request}
		for range 2 {
			said = append(said, askAll(ctx, members, strings.Join(said, "\n\n"))...)
		}
		ask(ctx, chief, strings.Join(said, "\n\n"))
	}
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/cloudwego/eino" {
				return module.Version
			}
		}
	}
	return "?"
}

func main() {
	kinds := map[string]func(context.Context) func(){"router": router, "three": three, "five": five}
	if len(os.Args) == 2 && os.Args[1] == "version" {
		fmt.Println(version())
		return
	}
	if len(os.Args) != 3 || kinds[os.Args[1]] == nil {
		log.Fatal("usage: eino_peer router|three|five ROUNDS, or eino_peer version")
	}
	run := kinds[os.Args[1]](context.Background())
	for range must(strconv.Atoi(os.Args[2])) {
		run()
	}
}
