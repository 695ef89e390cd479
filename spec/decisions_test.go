package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// TestDecisions reads the files in testdata/decisions: policies as somebody would
// write them, and what is decided about one failure after the other. What is
// expected was worked out by hand. The parts of a file:
//
//	-- queue NAME --, -- job NAME --, -- workflow NAME --: a policy, in its order
//	-- default NAME --: a stored policy that the settings name
//	-- settings --: of the server
//	-- handler --: the rules of the job's failure handler, JSON
//	-- hold --: use_pending_failed
//	-- failures --: [N x] CAUSE [code=…] [message=…] [category=…] [by_drain] [by_us] [may_still_run]
//		=> ACTION POLICY[RULE] [counted|free] [delay=…] [avoid=…]
//		"job" begins another job, "settings …" changes them
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("testdata/decisions/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			decide(t, string(text))
		})
	}
}

// TestDecisionsOfTheManual does so with the examples of its page.
func TestDecisionsOfTheManual(t *testing.T) {
	text, err := os.ReadFile("../docs/retry-semantics.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(text), "```decisions")[1:]
	if len(examples) < 5 {
		t.Errorf("%d examples", len(examples))
	}
	for _, example := range examples {
		body, _, _ := strings.Cut(example, "```")
		decide(t, body)
	}
}

func decide(t *testing.T, text string) {
	t.Helper()
	c := &decisions{t: t, names: map[string]string{}}
	for _, part := range strings.Split(text, "\n-- ")[1:] {
		head, body, _ := strings.Cut(part, " --")
		c.part(head, strings.TrimPrefix(body, "\n"))
	}
}

// decisions is one file under way.
type decisions struct {
	t        *testing.T
	p        retry.Policies
	site     []workflow.RetryPolicy
	stored   map[string]*workflow.RetryPolicy
	settings workflow.RetrySettings
	names    map[string]string // POLICY[RULE] by the key of the rule
	h        workflow.History
}

func (c *decisions) part(head, body string) {
	kind, name, _ := strings.Cut(head, " ")
	switch kind {
	case "queue":
		c.site = append(c.site, *c.policy(name, body))
	case "job":
		c.p.Job = append(c.p.Job, *c.policy(name, body))
	case "workflow":
		c.p.Workflow = append(c.p.Workflow, *c.policy(name, body))
	case "default":
		c.stored = map[string]*workflow.RetryPolicy{name: c.policy(name, body)}
	case "settings":
		c.set(body)
	case "handler":
		h := workflow.FailureHandler{Name: "handler", Rules: body}
		d, err := h.Definition()
		if err != nil {
			c.t.Fatal(err)
		}
		c.p.Handler = d
	case "hold":
		c.p.UsePendingFailed = true
	case "failures":
		c.h = workflow.History{AttemptID: 1}
		for i, line := range strings.Split(strings.TrimSpace(body), "\n") {
			c.line(i+1, line)
		}
	default:
		c.t.Fatalf("no part %q", head)
	}
}

func (c *decisions) policy(name, body string) *workflow.RetryPolicy {
	f, err := ParsePolicy(name, []byte(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range f.Policy.Rules {
		c.names[f.Policy.Key(&f.Policy.Rules[i])] = fmt.Sprintf("%s[%d]", f.Policy.Name, i)
	}
	return f.Policy
}

func (c *decisions) set(text string) {
	s, err := LoadRetrySettings("settings.yaml", Options{ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	if err != nil {
		c.t.Fatal(err)
	}
	c.settings = *s
}

// line decides about a failure and compares with what is expected.
func (c *decisions) line(n int, line string) {
	c.t.Helper()
	switch line = strings.TrimSpace(line); {
	case line == "" || line[0] == '#':
		return
	case line == "job":
		c.h = workflow.History{AttemptID: 1}
		return
	case strings.HasPrefix(line, "settings "):
		c.set(strings.TrimPrefix(line, "settings "))
		return
	}
	given, want, _ := strings.Cut(line, " => ")
	times := 1
	if count, rest, ok := strings.Cut(given, " x "); ok {
		if _, err := fmt.Sscan(count, &times); err != nil {
			c.t.Fatalf("line %d: %v", n, err)
		}
		given = rest
	}
	f := c.failure(strings.TrimSpace(given))
	for k := range times {
		p := c.p
		retry.ApplySettings(&c.settings, &p, c.site, c.stored[c.settings.DefaultPolicy])
		d := retry.Decide(retry.Facts{Policies: p, History: c.h, Failure: f}).Decision
		if got := c.said(d); got != strings.TrimSpace(want) {
			c.t.Errorf("line %d (%d of %d), %s:\n\t got %s\n\twant %s\n\t%s", n, k+1, times, given, got, want, d.Reason)
		}
		c.h = c.h.After(d)
	}
}

func (c *decisions) failure(text string) workflow.Failure {
	words := strings.Fields(text)
	f := workflow.Failure{Cause: workflow.Cause{Kind: workflow.CauseKind(words[0]), Status: workflow.Failed, ReturnCode: 1}}
	switch f.Cause.Kind {
	case workflow.CausePreempted, workflow.CauseNodeFail:
		f.Cause.ReturnCode = workflow.ReturnCodeUnknown
	case workflow.CauseLost:
		f.Cause.ReturnCode = workflow.ReturnCodeLost
	case workflow.CauseOOM:
		f.Cause.ReturnCode = workflow.DefaultOOMReturnCode
	}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "code":
			code, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				c.t.Fatal(err)
			}
			f.Cause.ReturnCode = code
		case "message":
			f.Evidence.TerminationMessage = value
		case "category":
			f.Evidence.Category = value
		case "by_drain":
			f.Cause.ByDrain = true
		case "by_us":
			f.Cause.ByUs = true
		case "may_still_run":
			f.Cause.MayStillRun = true
		default:
			c.t.Fatalf("no %q of a failure", key)
		}
	}
	return f
}

// said is a decision in the words of the files.
func (c *decisions) said(d workflow.Decision) string {
	text := string(d.Action)
	if name, ok := c.names[d.Rule]; ok {
		text += " " + name
	} else if d.Rule != "" {
		text += " " + d.Rule
	}
	if !d.Retries() {
		return text
	}
	if text += " free"; d.Counted {
		text = strings.TrimSuffix(text, "free") + "counted"
	}
	if d.RecoveryScript != "" {
		text += " script=" + d.RecoveryScript
	}
	if d.Delay > 0 {
		text += " delay=" + d.Delay.Round(time.Millisecond).String()
	}
	if d.Settle > 0 {
		text += " settle=" + d.Settle.String()
	}
	if d.Avoid != nil {
		text += " avoid=" + string(d.Avoid.Mode)
	}
	return text
}
