package store

import (
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// take takes a message that must exist, or must not.
func (r *rig) take(wanted bool) *Outgoing {
	r.tb.Helper()
	m, _, err := r.Alerts.TakeMessage(r.ctx, 10*time.Minute)
	r.must(err)
	if (m != nil) != wanted {
		r.tb.Fatalf("message %+v, wanted: %t", m, wanted)
	}
	return m
}

// The first alert is sent at once, the following ones in one message.
func TestMessagesAreGathered(t *testing.T) {
	r := newRig(t)
	r.setPolicy(workflow.RunPolicy{Notify: &workflow.NotifyPolicy{Mail: "ann"}})
	alert := workflow.Alert{Kind: workflow.AlertTimeout, Subject: "late"}
	r.raise(alert)
	first := r.take(true)
	if first.AlertCount != 1 || !strings.HasSuffix(first.Subject, ": late") || first.Target.Address != "ann" {
		t.Errorf("first message: %+v", first)
	}
	r.must(r.Alerts.MessageSent(r.ctx, first.Batch))
	for range 30 {
		r.raise(alert)
	}
	r.take(false)
	r.now = r.now.Add(10*time.Minute - time.Millisecond)
	r.take(false)
	r.now = r.now.Add(time.Millisecond)
	digest := r.take(true)
	if digest.AlertCount != 30 || len(digest.Alerts) != workflow.MessageAlerts || !strings.Contains(digest.Text, "And 10 more alerts") {
		t.Errorf("digest of %d alerts, %d of them written", digest.AlertCount, len(digest.Alerts))
	}
	r.take(false) // it is being sent
	r.must(r.Alerts.MessageSent(r.ctx, digest.Batch))
	r.now = r.now.Add(24 * time.Hour)
	r.take(false)
	r.sound(check.Witness{})
}

// A message is retried under the same id, with growing delays, and finally fails.
func TestMessagesAreRepeated(t *testing.T) {
	r := newRig(t)
	r.setPolicy(workflow.RunPolicy{Notify: &workflow.NotifyPolicy{Webhook: "https://example.org/x"}})
	r.raise(workflow.Alert{Kind: workflow.AlertTimeout, Subject: "late"})
	id := ""
	for try := range workflow.MessageTries {
		m := r.take(true)
		if id == "" {
			id = m.ID
		}
		if m.ID != id || m.Try != int64(try+1) {
			t.Errorf("try %d is %d of %s, the first one was of %s", try+1, m.Try, m.ID, id)
		}
		if try != 3 { // as if the daemon died
			r.must(r.Alerts.MessageFailed(r.ctx, m.Batch, "refused"))
		}
		r.take(false)
		r.sound(check.Witness{})
		r.now = r.now.Add(workflow.MessageDelay(int64(try + 1)))
	}
	r.take(false)
	if d := r.alerts()[0].Deliveries[0]; d.State != workflow.DeliveryFailed || d.Tries != workflow.MessageTries || d.Error != "refused" {
		t.Errorf("at last: %+v", d)
	}
}
