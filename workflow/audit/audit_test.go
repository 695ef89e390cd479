package audit

import (
	"context"
	"fmt"
	"testing"
)

type inner struct{ MemoryGB int }

func TestDifferences(t *testing.T) {
	type thing struct {
		inner
		Name, URL string
		NumCPUs   *int64
		Labels    []string
		ID        int
	}
	one, two := int64(1), int64(2)
	a := thing{inner: inner{1}, Name: "a", NumCPUs: &one, Labels: []string{"x"}}
	b := thing{inner: inner{2}, Name: "a", URL: "u", NumCPUs: &two, Labels: []string{"x"}}
	if got := fmt.Sprint(Differences(a, b)); got != "[memory_gb url num_cp_us]" && got != "[memory_gb url num_cpus]" {
		t.Error(got)
	}
	if got := Differences(a, a); got != nil {
		t.Error(got)
	}
	for name, want := range map[string]string{"ResourceRequirementsID": "resource_requirements_id", "URL": "url", "QOS": "qos", "UsePendingFailed": "use_pending_failed"} {
		if got := snake(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestDetails(t *testing.T) {
	got := Details(map[string]any{"user": "ann", "door": "cli", "reason": "why not", "job_name": "a", "ids": []any{1.0, 2.5, "x"}, "none": nil, "more": map[string]any{"b": true}})
	if got != "ids 1 2.5 x, job name a, more b true, reason why not" {
		t.Error(got)
	}
	many := make([]any, 12)
	for i := range many {
		many[i] = float64(i)
	}
	if got := Details(map[string]any{"n": many}); got != "n 0 1 2 3 4 5 6 7 8 9 and 2 more" {
		t.Error(got)
	}
}

func TestDoor(t *testing.T) {
	if DoorOf(context.Background()) != Rule || UserOf(context.Background()) != "" {
		t.Error("nobody has asked")
	}
	ctx := WithUser(WithDoor(context.Background(), MCP), "ann")
	if DoorOf(ctx) != MCP || UserOf(ctx) != "ann" {
		t.Error("not kept")
	}
	for name, want := range map[string]Door{"cli": CLI, "mcp": MCP, "agent": Agent, "": API, "rule": API, "job": API, "x": API} {
		if got := Named(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
