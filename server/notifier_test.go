package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// alertingWorkflow creates a workflow that sends notifications, and raises a test alert.
func alertingWorkflow(t *testing.T, a *testAPI, notify workflow.NotifyPolicy) int64 {
	t.Helper()
	w, err := a.Store.Workflows.Create(t.Context(), workflow.Workflow{Name: "w", User: "u", Policy: &workflow.RunPolicy{Notify: &notify}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Store.Alerts.Test(t.Context(), w.ID, "ann"); err != nil {
		t.Fatal(err)
	}
	return w.ID
}

func (a *testAPI) notifier(o NotifyOptions) *notifier {
	n := newNotifier(a.Store, o, nil, a.Log, time.Now)
	n.http.RetryMax = 0
	return n
}

func delivery(t *testing.T, a *testAPI, workflowID int64) workflow.Delivery {
	t.Helper()
	alerts, _, err := a.Store.Alerts.List(t.Context(), workflowID, store.Page{Limit: 10})
	if err != nil || len(alerts) != 1 || len(alerts[0].Deliveries) != 1 {
		t.Fatalf("alerts %+v, %v", alerts, err)
	}
	return alerts[0].Deliveries[0]
}

func TestWebhook(t *testing.T) {
	a := newAPI(t)
	answer := http.StatusServiceUnavailable
	var keys []string
	var got workflow.Message
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		_ = json.NewDecoder(r.Body).Decode(&got)
		http.Error(w, "not now", answer)
	}))
	defer hook.Close()
	secret := strings.Replace(hook.URL, "http://", "http://user:secret@", 1) + "/token"
	id := alertingWorkflow(t, a, workflow.NotifyPolicy{Webhook: secret})
	n := a.notifier(NotifyOptions{})
	n.sendDue(t.Context())
	d := delivery(t, a, id)
	if d.State != workflow.DeliveryPending || d.Tries != 1 || !strings.Contains(d.Error, "503") || strings.Contains(d.Error+d.Address, "secret") {
		t.Errorf("after a rejection: %+v", d)
	}
	m, _, err := a.Store.Alerts.TakeMessage(t.Context(), 0)
	if err != nil || m != nil {
		t.Errorf("it is due at once: %+v, %v", m, err)
	}
	answer = http.StatusOK
	if err := n.post(t.Context(), &store.Outgoing{Target: workflow.Target{Channel: workflow.NotifyWebhook, Address: secret}, Message: workflow.Message{ID: keys[0]}}); err != nil {
		t.Error(err)
	}
	if len(keys) != 2 || keys[0] != keys[1] || keys[0] == "" || got.ID != keys[0] {
		t.Errorf("keys %q, body %+v", keys, got)
	}
}

// A chat gets a text in its own form, in which a user's text is neither markup nor a mention.
func TestWebhookForms(t *testing.T) {
	a := newAPI(t)
	var got, kind, title string
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, kind, title = string(body), r.Header.Get("Content-Type"), r.Header.Get("Title")
	}))
	defer hook.Close()
	m := workflow.Message{ID: "1", Subject: "größer <!channel>", Text: "a & b\n"}
	for form, want := range map[string][3]string{
		"slack+": {`{"text":"*größer \u0026lt;!channel\u0026gt;*\na \u0026amp; b\n"}`, "application/json", ""},
		"ntfy+":  {"a & b\n", "text/plain; charset=utf-8", "=?utf-8?b?Z3LDtsOfZXIgPCFjaGFubmVsPg==?="},
	} {
		target := workflow.Target{Channel: workflow.NotifyWebhook, Address: form + hook.URL + "/token"}
		if err := a.notifier(NotifyOptions{}).post(t.Context(), &store.Outgoing{Target: target, Message: m}); err != nil {
			t.Errorf("%s: %v", form, err)
		}
		if diff := cmp.Diff(want, [3]string{got, kind, title}); diff != "" {
			t.Errorf("%s:\n%s", form, diff)
		}
		if shown := target.Redacted(); shown != form+hook.URL+"/…" {
			t.Errorf("%s is shown as %s", form, shown)
		}
	}
}

// Errors of a connection do not contain the secrets of a URL.
func TestWebhookThatIsNotThere(t *testing.T) {
	a := newAPI(t)
	hook := httptest.NewServer(http.NotFoundHandler())
	gone := strings.Replace(hook.URL, "http://", "http://user:secret@", 1) + "/token"
	hook.Close()
	id := alertingWorkflow(t, a, workflow.NotifyPolicy{Webhook: gone})
	a.notifier(NotifyOptions{}).sendDue(t.Context())
	if d := delivery(t, a, id); d.Error == "" || strings.Contains(d.Error, "secret") || strings.Contains(d.Error, "token") {
		t.Errorf("%+v", d)
	}
}

func TestMail(t *testing.T) {
	a := newAPI(t)
	dir := t.TempDir()
	script, out := filepath.Join(dir, "mail"), filepath.Join(dir, "out")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >"+out+"\ncat >>"+out+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	id := alertingWorkflow(t, a, workflow.NotifyPolicy{Mail: "ann@example.org, bob"})
	a.notifier(NotifyOptions{MailCommand: []string{script, "-s", "{subject}", "{address}"}}).sendDue(t.Context())
	if d := delivery(t, a, id); d.State != workflow.DeliverySent {
		t.Fatalf("%+v", d)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if lines[0] != "-s" || !strings.Contains(lines[1], "this is a test") || lines[2] != "ann@example.org" || lines[3] != "bob" ||
		!strings.Contains(string(text), "ann tests whether") {
		t.Errorf("mail:\n%s", text)
	}
}

// The process that sends mail is in our session, because what waits for the children of
// jobs in this process ignores those, and in a group of its own.
func TestMailIsNoChildOfAJob(t *testing.T) {
	a := newAPI(t)
	out := filepath.Join(t.TempDir(), "out")
	alertingWorkflow(t, a, workflow.NotifyPolicy{Mail: "ann"})
	a.notifier(NotifyOptions{MailCommand: []string{"sh", "-c", "read -r pid name state parent group session rest </proc/$$/stat; echo $pid $group $session >" + out}}).sendDue(t.Context())
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	session, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	if f := strings.Fields(string(text)); len(f) != 3 || f[0] != f[1] || f[2] != strconv.Itoa(session) {
		t.Errorf("process, group and session are %q, our session is %d", text, session)
	}
}

func TestMailCommandThatFails(t *testing.T) {
	a := newAPI(t)
	id := alertingWorkflow(t, a, workflow.NotifyPolicy{Mail: "ann"})
	a.notifier(NotifyOptions{MailCommand: []string{"sh", "-c", "echo no such user >&2; exit 3"}}).sendDue(t.Context())
	if d := delivery(t, a, id); d.State != workflow.DeliveryPending || !strings.Contains(d.Error, "no such user") {
		t.Errorf("%+v", d)
	}
}

// A daemon that ends sends what is due, and leaves what cannot be delivered.
func TestNotifierEnds(t *testing.T) {
	a := newAPI(t)
	id := alertingWorkflow(t, a, workflow.NotifyPolicy{Mail: "ann"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.notifier(NotifyOptions{MailCommand: []string{"true"}}).Run(ctx)
	if d := delivery(t, a, id); d.State != workflow.DeliverySent {
		t.Errorf("%+v", d)
	}
}
