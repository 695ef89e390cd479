package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/internal/peer"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestTheDaemonGetsAllocations: a specification without schedulers and actions
// is submitted; its job fails once and is tried again when all allocations have
// left.
func TestTheDaemonGetsAllocations(t *testing.T) {
	c := newCluster(t)
	file, used := filepath.Join(c.dir, "retried.yaml"), filepath.Join(c.dir, "allocations")
	text := `
name: retried
resource_requirements: [{name: small, num_cpus: 1, memory: 60m, runtime: PT1M}]
jobs: [{name: once, command: 'echo $SLURM_JOB_ID >> ` + used + `; [ $(wc -l < ` + used + `) = 2 ]', resource_requirements: small}]
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var made struct {
		ID int64 `json:"workflow_id"`
	}
	if err := json.Unmarshal([]byte(c.run("-f", "json", "create", "--skip-checks", file)), &made); err != nil {
		t.Fatal(err)
	}
	e, err := readEndpoint(server.EndpointPath(filepath.Join(c.dir, "home")))
	if err != nil {
		t.Fatal(err)
	}
	unknown := func(net.Conn) (uint32, error) { return 0, peer.ErrUnknown } // the daemon is another user's
	daemon, err := client.New(client.Options{URL: e.NodeURL, Token: e.Token, CAFingerprint: e.Fingerprint, PeerUID: unknown})
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Workflows.Initialize(t.Context(), made.ID, false); err != nil {
		t.Fatal(err)
	}
	plan, err := daemon.Workflows.Submit(t.Context(), made.ID, &api.SubmitRequest{OutputDir: filepath.Join(c.dir, "out")})
	if err != nil || len(plan.Requested) != 1 || !plan.AutoSchedule || len(plan.Rejected) > 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	var job api.Job
	until := func(status string, attempt int64) {
		t.Helper()
		slurmtest.Eventually(t, 2*time.Minute, "the job is "+status, func() bool {
			for j, err := range daemon.Jobs.List(t.Context(), client.JobFilter{WorkflowID: made.ID}) {
				if err != nil {
					t.Fatal(err)
				}
				job = j
			}
			return job.Status.String() == status && *job.AttemptID == attempt
		})
	}
	until("failed", 1)
	slurmtest.Eventually(t, 2*time.Minute, "its allocation has ended", func() bool {
		a, err := daemon.Allocations.Get(t.Context(), plan.Requested[0].ID)
		return err == nil && a.State == "ended"
	})
	if _, err := daemon.Jobs.Retry(t.Context(), *job.ID, plan.Requested[0].RunID, 5); err != nil {
		t.Fatal(err)
	}
	until("completed", 2)
	lines, err := os.ReadFile(used)
	ran := strings.Fields(string(lines))
	if err != nil || len(ran) != 2 || ran[0] == ran[1] {
		t.Errorf("it ran in the allocations %q, %v", ran, err)
	}
	for a, err := range daemon.Allocations.List(t.Context(), client.AllocationFilter{WorkflowID: made.ID}) {
		if err != nil || !slices.Contains(ran, strconv.FormatInt(a.SlurmJobID, 10)) {
			t.Errorf("allocation %d did no work: %s (%v)", a.ID, a.Why, err)
		}
	}
}
