package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// read reads a resource.
func (r *rig) read(uri string) string {
	r.t.Helper()
	res, err := r.agent.ReadResource(r.t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		r.t.Fatalf("%s: %v", uri, err)
	}
	return res.Contents[0].Text
}

func TestResources(t *testing.T) {
	r, id, _ := heldRig(t, Read)
	n := 0
	for res, err := range r.agent.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if text := r.read(res.URI); int64(len(text)) != res.Size || text == "" {
			t.Errorf("%s has %d bytes, want %d", res.URI, len(text), res.Size)
		}
	}
	if n < 30 {
		t.Errorf("%d resources", n)
	}
	for uri, want := range map[string]string{
		fmt.Sprintf("torc://workflows/%d", id):                  `"pending_failed":5`,
		fmt.Sprintf("torc://workflows/%d/why", id):              `"state"`,
		fmt.Sprintf("torc://jobs/%d/log", r.job(id, "broken")):  "SyntaxError",
		fmt.Sprintf("torc://jobs/%d/log", r.job(id, "train_2")): "<untrusted ",
		"torc://docs/failures-and-retries":                      "#",
	} {
		if text := r.read(uri); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q: %s", uri, want, text)
		}
	}
	for _, uri := range []string{"torc://workflows/999", "torc://workflows/x", "torc://workflows/-1", "torc://jobs/999/log", "torc://jobs/1", "torc://docs/none", "file:///etc/passwd", "torc://jobs/../../x/log"} {
		if _, err := r.agent.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s was read", uri)
		}
	}
}

func TestPrompts(t *testing.T) {
	r := newRig(t, Read)
	tools := strings.Join(toolNames(t, r.agent), " ")
	n := 0
	for p, err := range r.agent.Prompts(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		got, err := r.agent.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: p.Name, Arguments: map[string]string{"workflow_id": "12", "task": "count words"}})
		if err != nil {
			t.Fatal(err)
		}
		text := got.Messages[0].Content.(*sdk.TextContent).Text
		if strings.ContainsAny(text, "{}") || !strings.Contains(text, "12") && !strings.Contains(text, "count words") {
			t.Errorf("%s: %s", p.Name, text)
		}
		// The tools that a prompt names exist.
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
			if verb, _, ok := strings.Cut(word, "_"); ok && strings.Contains(" get list analyze check classify regroup create recover update ", " "+verb+" ") &&
				!strings.Contains(tools, word) && word != "create_workflow" {
				t.Errorf("%s names %s, which is no tool", p.Name, word)
			}
		}
		if _, err := r.agent.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: p.Name}); err == nil {
			t.Errorf("%s without arguments is accepted", p.Name)
		}
	}
	if n != 4 {
		t.Errorf("%d prompts", n)
	}
}

// TestSubscription: an agent is told when something happens in a workflow.
func TestSubscription(t *testing.T) {
	r := newRig(t, Read)
	told := make(chan string, 100)
	r.options = &sdk.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, req *sdk.ResourceUpdatedNotificationRequest) { told <- req.Params.URI }}
	r.agent = r.connect(Read)
	id := r.create(held)
	uri := fmt.Sprintf("torc://workflows/%d", id)
	if err := r.agent.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	r.run(id)
	select {
	case got := <-told:
		if got != uri && got != "" {
			t.Errorf("told about %s", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing was told")
	}
	if err := r.agent.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: uri}); err != nil {
		t.Error(err)
	}
	if err := r.agent.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "torc://workflows/999"}); err == nil {
		t.Log("this protocol reports unknown resources later")
	}
}
