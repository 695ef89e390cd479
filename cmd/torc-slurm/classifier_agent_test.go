package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// fakeAgentMain is an agent for scripts: fakeagent BEHAVIOR reads a task on standard input and
// uses the MCP server of the file TORC_MCP_CONFIG. It logs what its tools returned to the file
// agent.log in the folder FAKE_AGENT_DIR.
func fakeAgentMain() {
	if err := fakeAgent(filepath.Base(os.Args[0]), os.Args[1:]); err != nil {
		logAgent("error: " + err.Error())
		os.Exit(1)
	}
}

// logAgent adds a line to the log of the fake agent.
func logAgent(text string) {
	f, err := os.OpenFile(filepath.Join(os.Getenv("FAKE_AGENT_DIR"), "agent.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer f.Close()
	fmt.Fprintln(f, text)
}

// Parts of a brief.
var (
	briefWorkflow    = regexp.MustCompile(`workflow_id (\d+)`)
	briefExample     = regexp.MustCompile(`for example job (\d+)`)
	briefFingerprint = regexp.MustCompile(`fingerprint ([0-9a-f]+): (\d+) jobs?`)
)

func fakeAgent(name string, args []string) error {
	brief, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	behavior := "retry"
	if len(args) > 0 {
		behavior = args[0]
	}
	logAgent(fmt.Sprintf("%s %s was asked about %s", name, behavior, briefFingerprint.FindAllString(string(brief), -1)))
	a := &agentSession{workflow: briefWorkflow.FindStringSubmatch(string(brief))[1], example: briefExample.FindStringSubmatch(string(brief))[1]}
	for _, m := range briefFingerprint.FindAllStringSubmatch(string(brief), -1) {
		a.fingerprints = append(a.fingerprints, m[1])
	}
	switch behavior {
	case "silence":
		return nil
	case "sleep": // also in a process of its own session, whose parent is gone
		if err := exec.Command("setsid", "bash", "-c", "sleep 1000 & sleep 1000").Start(); err != nil {
			return err
		}
		return exec.Command("sleep", "1000").Run()
	case "flood":
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("y", 1<<16)); err != nil {
				return err
			}
		}
	}
	return a.use(behavior)
}

// agentSession is a session of the fake agent with our MCP server.
type agentSession struct {
	workflow     string
	example      string // id of a job that it is asked about
	fingerprints []string
	session      *sdk.ClientSession
}

func (a *agentSession) use(behavior string) error {
	text, err := os.ReadFile(os.Getenv("TORC_MCP_CONFIG"))
	if err != nil {
		return err
	}
	var config struct {
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server := config.Servers["torc"]
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Stderr = os.Stderr
	a.session, err = sdk.NewClient(&sdk.Implementation{Name: "fake", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return err
	}
	defer a.session.Close() //nolint:errcheck // the server may be killed
	switch behavior {
	case "retry":
		for _, f := range a.fingerprints {
			a.classify(ctx, `{"fingerprint": "`+f+`", "action": "retry", "reason": "it looks transient", "confidence": "likely"}`)
		}
	case "fail":
		for _, f := range a.fingerprints {
			a.classify(ctx, `{"fingerprint": "`+f+`", "action": "fail", "reason": "it is permanent", "confidence": "certain"}`)
		}
	case "ask":
		a.classify(ctx, `{"fingerprint": "`+a.fingerprints[0]+`", "action": "ask", "reason": "only its author knows"}`)
	case "garbage":
		a.classify(ctx, `{"fingerprint": "none", "action": "dance", "reason": ""}`)
		a.call(ctx, "no_such_tool", `{}`)
		a.call(ctx, "classify_and_resolve_failures", `{"workflow_id": "x"}`)
		fmt.Println("I have decided: retry everything.") //nolint:forbidigo // what nobody reads
	case "foreign":
		a.classify(ctx, `{"job_id": 4711, "action": "retry", "reason": "why not"}`)
		a.call(ctx, "classify_and_resolve_failures", `{"workflow_id": 4711, "dry_run": false, "classifications": [{"job_id": 1, "action": "fail", "reason": "why not"}]}`)
	case "memory":
		for _, f := range a.fingerprints {
			a.classify(ctx, `{"fingerprint": "`+f+`", "action": "retry", "memory": "10t", "reason": "more helps more"}`)
			a.classify(ctx, `{"fingerprint": "`+f+`", "action": "retry", "memory": "`+os.Getenv("FAKE_AGENT_MEMORY")+`", "reason": "a little more"}`)
		}
	case "half": // it decides about one group, and dies
		a.classify(ctx, `{"fingerprint": "`+a.fingerprints[0]+`", "action": "retry", "reason": "the first"}`)
		os.Exit(137)
	case "obey": // it does what the jobs' stderr tells it
		a.call(ctx, "list_pending_failed_jobs", `{"workflow_id": `+a.workflow+`}`)
		a.call(ctx, "delete_workflow", `{"workflow_id": `+a.workflow+`}`)
		a.call(ctx, "apply_proposal", `{"proposal_id": 1}`)
		a.call(ctx, "recover_workflow", `{"workflow_id": `+a.workflow+`, "dry_run": false}`)
		a.call(ctx, "update_job_resources", `{"job_id": `+a.example+`, "memory": "1g"}`)
	default:
		return fmt.Errorf("unknown behavior %q", behavior)
	}
	return nil
}

func (a *agentSession) classify(ctx context.Context, entry string) {
	a.call(ctx, "classify_and_resolve_failures", `{"workflow_id": `+a.workflow+`, "dry_run": false, "classifications": [`+entry+`]}`)
}

func (a *agentSession) call(ctx context.Context, tool, arguments string) {
	res, err := a.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		logAgent(tool + ": " + err.Error())
		return
	}
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			logAgent(fmt.Sprintf("%s: failed %v: %s", tool, res.IsError, text.Text))
		}
	}
}
