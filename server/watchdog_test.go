package server

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store"
)

func TestWhoIsDead(t *testing.T) {
	w := &watchdog{host: "here", bootID: "now"}
	const nobody = 1 << 30 // no process has this id
	for _, tc := range []struct {
		name   string
		runner store.LiveRunner
		silent time.Duration
		dead   bool
	}{
		{"gone from this host", store.LiveRunner{Hostname: "here", BootID: "now", PID: nobody}, time.Second, true},
		{"of an earlier boot", store.LiveRunner{Hostname: "here", BootID: "before", PID: 1}, time.Second, true},
		{"a process that is there", store.LiveRunner{Hostname: "here", BootID: "now", PID: 1}, time.Hour, false},
		{"elsewhere, for a while", store.LiveRunner{Hostname: "there", PID: 1}, time.Minute, false},
		{"elsewhere, for long", store.LiveRunner{Hostname: "there", PID: 1}, time.Hour, true},
		{"in an allocation, for long", store.LiveRunner{Hostname: "there", PID: 1, AllocationID: 1}, time.Hour, false},
		{"in an allocation, gone from this host", store.LiveRunner{Hostname: "here", BootID: "now", PID: nobody, AllocationID: 1}, time.Hour, false},
	} {
		if why, dead := w.isDead(tc.runner, tc.silent, heartbeatTimeout); dead != tc.dead {
			t.Errorf("%s: dead is %t (%s), want %t", tc.name, dead, why, tc.dead)
		}
	}
}
