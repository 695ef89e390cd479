package faults

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow/classifier"
)

// agent is an AI agent: it speaks the Model Context Protocol with the server that its settings
// name, and has each group of held jobs retried.
const agent = `#!/bin/bash
brief=$(cat)
url=$(sed 's/.*"--url","\([^"]*\)".*/\1/' "$TORC_MCP_CONFIG")
key=$(sed 's/.*"--call","\([^"]*\)".*/\1/' "$TORC_MCP_CONFIG")
id=$(grep -o 'workflow_id [0-9]*' <<<"$brief" | head -n 1 | cut -d ' ' -f 2)
coproc MCP { exec 'PROGRAM' --url "$url" mcp --call "$key"; }
send() { printf '%s\n' "$1" >&"${MCP[1]}"; }
answer() { while read -r line <&"${MCP[0]}"; do case $line in *'"id":'"$1"*) printf '%s\n' "$line" >>'DIR/agent.log'; return ;; esac; done; }
send '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fake","version":"1"}}}'
answer 1
send '{"jsonrpc":"2.0","method":"notifications/initialized"}'
n=1
for f in $(grep -o 'fingerprint [0-9a-f]*:' <<<"$brief" | tr -d : | cut -d ' ' -f 2); do
	n=$((n + 1))
	send '{"jsonrpc":"2.0","id":'"$n"',"method":"tools/call","params":{"name":"classify_and_resolve_failures","arguments":{"workflow_id":'"$id"',"dry_run":false,"classifications":[{"fingerprint":"'"$f"'","action":"retry","reason":"the communication of GPUs failed","confidence":"likely"}]}}}'
	answer "$n"
done
`

// TestClassifier: jobs fail in ways that no policy of the example knows. They are held, the daemon
// asks an agent about them while nobody watches, and they are retried in an allocation.
func TestClassifier(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutDaemon(t, slurmtest.UseReal(t))
	example, err := os.ReadFile("../../examples/classify.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, policies, _ := strings.Cut(string(example), "\nretry_policies:")
	policies, _, found := strings.Cut(policies, "\njobs:")
	if !found {
		t.Fatal("the example has no policies before its jobs")
	}
	w.write("agent.sh", strings.NewReplacer("DIR", w.dir, "PROGRAM", w.program).Replace(agent), 0o755)
	// The daemon is shared with other users, so that a workflow cannot name the program itself.
	w.write(".config/torc/config.toml", "[agents.nccl]\ncommand = ['"+w.path("agent.sh")+"']\n", 0o600)
	w.startDaemon()
	id := w.submit(shape("debug", "", 10*time.Minute) + `
use_pending_failed: true
classifier: {agent: nccl, apply: true, delay: 5s}
retry_policies:` + policies + `
resource_requirements: [{name: small, num_cpus: 1, memory: 100m, runtime: PT2M}]
jobs:
  - {name: 'train{i}', parameters: {i: '1:6'}, resource_requirements: small, scheduler: s,
     command: './job.sh 1; ((TORC_ATTEMPT_ID > 1)) || { echo "rank {i}: NCCL WARN unhandled system error" >&2; exit 1; }'}
  - {name: download, resource_requirements: small, scheduler: s, command: './job.sh 1; ((TORC_ATTEMPT_ID > 1)) || { echo "Connection refused" >&2; exit 1; }'}
  - {name: typo, resource_requirements: small, scheduler: s, command: './job.sh 1; echo "SyntaxError: invalid syntax" >&2; exit 1'}
  - {name: report, resource_requirements: small, scheduler: s, command: ./job.sh 1, depends_on_regexes: ['^train']}
actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S}]
`)
	w.settle(id, map[string]string{"typo": "failed"})
	state, err := w.client.Holds.Classifier(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	jobs := 0
	for i := range state.Calls {
		jobs += state.Calls[i].Jobs()
		if len(state.Calls[i].Asked) != 1 || state.Calls[i].Outcome != classifier.Applied {
			t.Errorf("call %+v", state.Calls[i])
		}
	}
	if jobs != 6 {
		t.Errorf("agents were asked about %d jobs, want 6: %+v", jobs, state.Calls)
	}
	for name, want := range map[string]string{"train1": "1 exit, 1 ok", "train6": "1 exit, 1 ok", "download": "1 exit, 1 ok", "typo": "1 exit"} {
		if got := w.causes(id, name); got != want {
			t.Errorf("attempts of %s: %q, want %q", name, got, want)
		}
	}
	w.expectWhy(id, "train1", "classified as ready by agent nccl, applied by the classifier", "its proposal was applied")
}
