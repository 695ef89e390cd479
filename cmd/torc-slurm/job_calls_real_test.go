package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// callers are steps on both nodes of an allocation that call the API, at the same
// time.
const callers = `name: callers
execution_config: {mode: slurm}
resource_requirements: [{name: node, num_cpus: 1, memory: 200m, runtime: PT1S}]
jobs:
  - {name: left, command: bash call.sh left right, resource_requirements: node}
  - {name: right, command: bash call.sh right left, resource_requirements: node}
slurm_schedulers: [{name: s, account: research, partition: debug, mem: 300M, nodes: 2, walltime: "00:01:00", extra: "--cpus-per-task=1"}]
`

const callScript = `set -eu
echo "$TORC_API_URL" > $1.url
./torc-slurm -f json jobs list "$TORC_WORKFLOW_ID" > $1.out
if command -v curl; then curl -sS --fail-with-body "$TORC_API_URL/jobs/$TORC_JOB_ID" > $1.curl; fi
! env | grep -E 'TORC_(TOKEN|PASSWORD|COOKIE|TLS)'
echo "$SLURMD_NODENAME" > $1.node
for i in {1..300}; do if [[ -s $2.node ]]; then exit 0; fi; sleep 0.1; done
`

// TestJobsOnSlurmCallTheAPI has steps on the runner's node and on another one call
// the API. What listens there takes no room from them and ends with the allocation.
func TestJobsOnSlurmCallTheAPI(t *testing.T) {
	c := newCluster(t)
	for name, text := range map[string]string{"callers.yaml": callers, "call.sh": callScript} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var made struct {
		ID int64 `json:"workflow_id"`
	}
	if err := json.Unmarshal([]byte(c.run("-f", "json", "create", "--skip-checks", "callers.yaml")), &made); err != nil {
		t.Fatal(err)
	}
	id := strconv.FormatInt(made.ID, 10)
	c.run("slurm", "schedule", id, "-n", "1", "-o", filepath.Join(c.dir, "callers"))
	c.expect(t, "callers", id, []string{"left: 0 ok", "right: 0 ok"})
	said := func(name string) string {
		text, err := os.ReadFile(filepath.Join(c.dir, name))
		if err != nil {
			t.Error(err)
		}
		return strings.TrimSpace(string(text))
	}
	if left, right := said("left.node"), said("right.node"); left == right {
		t.Errorf("both ran on %s", left)
	}
	if left, right := said("left.url"), said("right.url"); left == right || !strings.HasPrefix(left, "http://127.0.0.1:") || !strings.HasPrefix(right, "http://127.0.0.1:") {
		t.Errorf("called %q and %q", left, right) // the nodes of the test share a machine
	}
	for _, name := range []string{"left", "right"} {
		if got := said(name + ".out"); !strings.Contains(got, `"name": "`+name+`"`) {
			t.Errorf("%s was told %s", name, got)
		}
	}
}
