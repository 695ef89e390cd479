package hub

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/store"
)

func TestHubWakesWhomACommitConcerns(t *testing.T) {
	hub := New()
	subs := map[string]*Subscription{
		"events": hub.Subscribe(EventsOf(1)), "work": hub.Subscribe(WorkOf(1)), "runner": hub.Subscribe(RunnerOf(1)),
		"both": hub.Subscribe(EventsOf(2), RunnerOf(1)), "nothing": hub.Subscribe(EventsOf(3)),
	}
	for _, c := range []struct {
		changes store.Changes
		want    map[string]bool
	}{
		{store.Changes{Events: map[int64]int64{1: 5}}, map[string]bool{"events": true}},
		{store.Changes{Ready: []int64{1}}, map[string]bool{"work": true}},
		{store.Changes{Ended: []int64{1}}, map[string]bool{"work": true}},
		{store.Changes{Runners: []int64{1}}, map[string]bool{"runner": true, "both": true}},
		{store.Changes{Events: map[int64]int64{2: 1}, Runners: []int64{1}}, map[string]bool{"runner": true, "both": true}},
	} {
		hub.Publish(c.changes)
		hub.Publish(c.changes) // nobody has received yet; must not block
		for name, sub := range subs {
			if got := woken(sub); got != c.want[name] {
				t.Errorf("%+v: %s woken %v, want %v", c.changes, name, got, c.want[name])
			}
			if woken(sub) {
				t.Errorf("%+v: %s was woken twice", c.changes, name)
			}
		}
	}
	for _, sub := range subs {
		sub.Close()
	}
	if len(hub.subs) != 0 {
		t.Errorf("%d topics are left after all have closed", len(hub.subs))
	}
}

func woken(sub *Subscription) bool {
	select {
	case <-sub.C:
		return true
	default:
		return false
	}
}
