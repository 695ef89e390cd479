package store

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// setPolicy sets the policy of a rig's workflow.
func (r *rig) setPolicy(p workflow.RunPolicy) {
	r.tb.Helper()
	text, err := json.Marshal(p)
	r.must(err)
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE workflow SET policy = ? WHERE id = ?`, string(text), r.workflow)
	})
}

// raise raises an alert about the workflow of a rig.
func (r *rig) raise(a workflow.Alert) {
	r.tb.Helper()
	r.do(func(tx *core.Tx) error {
		run, err := core.LoadRun(tx, r.workflow)
		if err != nil {
			return err
		}
		return core.RaiseAlert(tx, run, a)
	})
}

// alerts returns all alerts of the workflow of a rig.
func (r *rig) alerts() []workflow.RaisedAlert {
	r.tb.Helper()
	all, _, err := r.Alerts.List(r.ctx, r.workflow, sqlite.Page{Limit: 100})
	r.must(err)
	return all
}

func TestAlertIsRecordedCountedAndSent(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.setPolicy(workflow.RunPolicy{Notify: &workflow.NotifyPolicy{Mail: "ann", Webhook: "https://u:secret@h/p"}})
	r.raise(workflow.Alert{Kind: workflow.AlertTimeout, JobID: r.ids[0], JobName: "job0", Subject: "late\nagain", Text: "text"})
	want := []workflow.RaisedAlert{{
		ID: 1, AtMS: r.now.UnixMilli(),
		Alert: workflow.Alert{Kind: workflow.AlertTimeout, WorkflowID: r.workflow, RunID: 1, JobID: r.ids[0], JobName: "job0", Subject: "late again", Text: "text"},
		Deliveries: []workflow.Delivery{
			{Channel: workflow.NotifyMail, Address: "ann", State: workflow.DeliveryPending, AtMS: r.now.UnixMilli()},
			{Channel: workflow.NotifyWebhook, Address: "https://h/…", State: workflow.DeliveryPending, AtMS: r.now.UnixMilli()},
		},
	}}
	if diff := cmp.Diff(want, r.alerts()); diff != "" {
		t.Errorf("alerts (-want +got):\n%s", diff)
	}
	counts, err := r.Alerts.Counts(r.ctx)
	r.must(err)
	if diff := cmp.Diff(map[workflow.AlertKind]int64{workflow.AlertTimeout: 1}, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	events, _, err := r.Events.List(r.ctx, EventFilter{WorkflowID: r.workflow}, sqlite.Page{Limit: 10})
	r.must(err)
	if len(events) != 1 || events[0].Type != workflow.EventAlert {
		t.Errorf("events are %v", events)
	}
	if last := r.changes[len(r.changes)-1]; !last.Notifications {
		t.Error("nobody was told that there are messages to send")
	}
}

// Explanations contain the latest alerts, those of a job only its own.
func TestAlertsAreExplained(t *testing.T) {
	r := newRig(t, independent(2)...)
	for i, job := range []int64{0, r.ids[0], 0, 0} {
		r.raise(workflow.Alert{Kind: workflow.AlertDeadline, JobID: job, Subject: string(rune('a' + i))})
	}
	subjects := func(a explain.RecentAlerts) (s string) {
		for _, x := range a.Latest {
			s += x.Subject
		}
		return s
	}
	w, err := r.Workflows.Facts(r.ctx, r.workflow)
	r.must(err)
	if w.Alerts.Count != 4 || subjects(w.Alerts) != "dcb" {
		t.Errorf("of the workflow: %+v", w.Alerts)
	}
	for i, want := range []string{"b", ""} {
		f, err := r.Jobs.Facts(r.ctx, r.ids[i])
		r.must(err)
		if subjects(f.Alerts) != want {
			t.Errorf("of job %d: %+v", i, f.Alerts)
		}
	}
}

func TestAlertsOfTheEndOnRequest(t *testing.T) {
	for _, tc := range []struct {
		name   string
		notify *workflow.NotifyPolicy
		want   []workflow.AlertKind
	}{
		{"nobody asked", &workflow.NotifyPolicy{Mail: "ann"}, nil},
		{"somebody asked", &workflow.NotifyPolicy{On: []workflow.AlertKind{workflow.AlertRunFailed}, Mail: "ann"}, []workflow.AlertKind{workflow.AlertRunFailed}},
		{"but there is no address", &workflow.NotifyPolicy{On: []workflow.AlertKind{workflow.AlertRunFailed}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			r.setPolicy(workflow.RunPolicy{Notify: tc.notify})
			h := r.hand("n1", 1)
			h.turn()
			h.turn(exited(h.held[0].LeaseRef, 1))
			var kinds []workflow.AlertKind
			for _, a := range r.alerts() {
				kinds = append(kinds, a.Kind)
			}
			if diff := cmp.Diff(tc.want, kinds, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("alerts (-want +got):\n%s", diff)
			}
			r.sound(check.Witness{})
		})
	}
}

// The first failure of a run and its end are told once, to those who want it.
func TestFirstFailureAndEnd(t *testing.T) {
	kinds := func(r *rig) (all []workflow.AlertKind) {
		for _, a := range r.alerts() {
			all = append(all, a.Kind)
		}
		slices.Sort(all)
		return all
	}
	wanted := &workflow.NotifyPolicy{On: []workflow.AlertKind{workflow.AlertFirstFailure, workflow.AlertRunCompleted, workflow.AlertRunFailed}, Mail: "ann"}
	for name, tc := range map[string]struct {
		notify *workflow.NotifyPolicy
		codes  []int64
		want   []workflow.AlertKind
	}{
		"two failures":       {wanted, []int64{3, 0, 3}, []workflow.AlertKind{workflow.AlertFirstFailure, workflow.AlertRunFailed}},
		"success":            {wanted, []int64{0, 0, 0}, []workflow.AlertKind{workflow.AlertRunCompleted}},
		"nobody wants it":    {&workflow.NotifyPolicy{Mail: "ann"}, []int64{3, 0, 0}, nil},
		"nobody can be told": {&workflow.NotifyPolicy{On: wanted.On}, []int64{3, 0, 0}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, independent(3)...)
			r.setPolicy(workflow.RunPolicy{Notify: tc.notify})
			h := r.hand("n1", 8)
			h.turn()
			var reports []lease.Report
			for i, code := range tc.codes {
				reports = append(reports, exited(h.held[i].LeaseRef, code))
			}
			h.turn(reports...)
			if diff := cmp.Diff(tc.want, kinds(r)); diff != "" {
				t.Error(diff)
			}
			r.sound(check.Witness{})
		})
	}
}
