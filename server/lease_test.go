package server

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestTheLeaseIsASetting: the lease can be configured, and runners are told.
func TestTheLeaseIsASetting(t *testing.T) {
	a := newAPI(t, func(s *Server) { s.Lease = 8 * time.Second })
	a.must("POST", "/workflows", `{"name":"w","user":"me"}`)
	a.must("POST", "/jobs", `{"workflow_id":1,"name":"a","command":"true"}`)
	a.must("POST", "/workflows/1/initialize_jobs", "")
	a.send("POST", "/workflows/1/runners", `{"key":"k","hostname":"h","start_time":"2026-11-21T12:00:00Z","num_cpus":1,"memory_bytes":1073741824,"num_nodes":1,"compute_node_type":"local","pid":1,"boot_id":"b","num_gpus":0,"output_dir":"/out"}`).
		want(http.StatusOK, `"lease_seconds":8,"heartbeat_seconds":2`)
	_, err := Start(t.Context(), DaemonOptions{Database: filepath.Join(t.TempDir(), "x.db"), EndpointPath: filepath.Join(t.TempDir(), "e.json"), Lease: time.Second})
	if workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("a lease of a second: %v", err)
	}
}

// TestWhoHasJustRegisteredIsNotSilent: the scheduler may see a runner in the database
// before its lease is known, and must not request an allocation in its place.
func TestWhoHasJustRegisteredIsNotSilent(t *testing.T) {
	l, now := newLeases(time.Minute), time.Now()
	if got := l.activeSilence(7, now); got != 0 {
		t.Errorf("silent for %v before its lease is known", got)
	}
	l.Renew(7, 0, now)
	if got := l.activeSilence(7, now.Add(time.Second)); got != time.Second {
		t.Errorf("silent for %v a second after its registration", got)
	}
	if got := l.silence(8, now); got < time.Hour {
		t.Errorf("a runner that has left is silent for %v", got)
	}
}
