package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// torcTools are the tools of torc's server with their required parameters: prompts that
// people have stored go on working.
var torcTools = map[string][]string{
	"create_workflow": {"action", "spec_json", "workflow_type"}, "get_execution_plan": {"spec_or_id"}, "plan_allocations": {"account", "spec_json"},
	"get_workflow_status": {"workflow_id"}, "get_workflow_summary": {"workflow_id"}, "get_job_details": {"job_id"},
	"list_jobs_by_status": {"status", "workflow_id"}, "list_failed_jobs": {"workflow_id"}, "list_results": {"workflow_id"},
	"get_job_logs": {"job_id", "log_type", "run_id", "workflow_id"}, "analyze_workflow_logs": {"workflow_id"}, "check_offline_journals": {"workflow_id"},
	"check_resource_utilization": {"workflow_id"}, "analyze_resource_usage": {"workflow_id"}, "regroup_job_resources": {"dry_run", "groups", "workflow_id"},
	"update_job_resources": {"job_id"}, "recover_workflow": {"dry_run", "workflow_id"}, "get_slurm_sacct": {"workflow_id"},
	"list_pending_failed_jobs": {"workflow_id"}, "classify_and_resolve_failures": {"classifications", "dry_run", "workflow_id"},
	"list_examples": nil, "get_example": {"name"}, "get_docs": {"topic"},
}

func TestToolsOfTorc(t *testing.T) {
	r := newRig(t, Propose)
	found := map[string][]string{}
	for tool, err := range r.agent.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Required []string `json:"required"`
		}
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		slices.Sort(schema.Required)
		found[tool.Name] = schema.Required
	}
	for name, required := range torcTools {
		got, ok := found[name]
		if name == "get_docs" { // here the topic may be left out
			required = nil
		}
		if !ok || !slices.Equal(got, required) {
			t.Errorf("%s (%v) requires %v, want %v", name, ok, got, required)
		}
	}
}

// TestManyCalls: a thousand calls at once are all answered, some at a time.
func TestManyCalls(t *testing.T) {
	r, id, _ := heldRig(t, Propose)
	var wg sync.WaitGroup
	failed := make(chan string, 1000)
	for i := range 1000 {
		wg.Go(func() {
			name, args := "get_workflow_status", object{"workflow_id": id}
			if i%10 == 0 {
				name, args = "list_pending_failed_jobs", object{"workflow_id": id}
			}
			res, err := r.agent.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
			if err != nil || res.IsError {
				failed <- fmt.Sprint(err, res)
			}
		})
	}
	wg.Wait()
	close(failed)
	for f := range failed {
		t.Fatal(f)
	}
}

// TestAgentGone: an agent that goes away in the middle of a call takes the call with it, and
// the server goes on with others.
func TestAgentGone(t *testing.T) {
	r := newRig(t, Propose)
	entered, over := make(chan struct{}), make(chan error, 1)
	s := New(Options{Mode: Propose, Connect: func(ctx context.Context) (*client.Client, error) {
		close(entered)
		<-ctx.Done()
		over <- ctx.Err()
		return nil, ctx.Err()
	}})
	s.grace = 0
	in, agent := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context(), &sdk.IOTransport{Reader: in, Writer: discard{}}) }()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_workflows","arguments":{}}}`,
	} {
		if _, err := io.WriteString(agent, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-entered
	agent.Close()
	if err := <-over; err == nil {
		t.Error("the call went on")
	}
	<-ended
	r.must("list_workflows", nil)
}

// TestCanceledCall: a canceled call ends, and those after it work.
func TestCanceledCall(t *testing.T) {
	r := newRig(t, Propose)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.agent.CallTool(ctx, &sdk.CallToolParams{Name: "list_workflows"}); err == nil {
		t.Error("a canceled call succeeded")
	}
	r.must("list_workflows", nil)
}

// TestGarbage: what is no message ends the session, without a panic and without output.
func TestGarbage(t *testing.T) {
	for _, text := range []string{"garbage\n", "[]\n", "{}\n", `{"jsonrpc":"2.0","id":1,"method":"nope"}` + "\n", strings.Repeat("x", 17<<20), "\x00\xff\n"} {
		s := New(Options{Mode: Propose})
		in, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- s.Run(t.Context(), &sdk.IOTransport{Reader: in, Writer: discard{}})
		}()
		_, _ = io.WriteString(out, text)
		out.Close()
		<-ended
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// TestPanic: a bug in a tool is a tool error.
func TestPanic(t *testing.T) {
	r := newRig(t, Propose)
	r.refused("plan_allocations", object{"spec_json": held, "account": "x"}, workflow.CodeInternal, "bug in torc-slurm") // this rig cannot plan
	r.must("list_workflows", nil)
}

func TestUsageAndPlan(t *testing.T) {
	r, id, _ := heldRig(t, Read)
	r.must("analyze_resource_usage", object{"workflow_id": id}).has(`"name":"small"`, `"median"`, `"job_count":5`, "train_1")
	r.must("analyze_resource_usage", object{"workflow_id": id, "completed_only": true}).has(`"groups":[]`)
	r.must("get_slurm_sacct", object{"workflow_id": id}).has(`"total_slurm_jobs":0`, `"records":[]`)
	r.refused("get_slurm_sacct", object{"workflow_id": 999}, workflow.CodeNotFound, "999")
	s := New(Options{Mode: Read, Spec: spec.Options{Dir: r.dir}, Connect: func(context.Context) (*client.Client, error) { return r.daemon, nil },
		Plan: func(_ context.Context, _ *client.Client, loaded *spec.Result, q PlanRequest) (*api.AllocationPlan, error) {
			return &api.AllocationPlan{AllocationPlan: compute.AllocationPlan{Account: q.Account, Warnings: []string{loaded.Definition.Name}}}, nil
		}})
	text, err := s.carryOut(t.Context(), "plan", func(ctx context.Context, c *call) (any, error) {
		return planAllocations(ctx, c, planAllocationsIn{SpecJSON: held, Account: "proj"})
	})
	if err != nil || !strings.Contains(string(text), `"account":"proj"`) || !strings.Contains(string(text), `["held"]`) {
		t.Errorf("%s, %v", text, err)
	}
}
