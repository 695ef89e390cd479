package store

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

var modelFaults = flag.Int("model-faults", 1, "how many faults the model checker has on each path, besides a cancel")

// modelStart is the time at which the model starts, in ms.
const modelStart = 1_795_255_200_000

// modelCase is what a job of the model may do, and the policy of its workflow.
type modelCase struct {
	policies  string               // rules, JSON
	ends      []string             // of processes, see processEnds
	cancels   int                  // besides
	retries   int                  // that people may request
	rules     map[string]modelRule // the same rules in the terms of the checker
	mayRetry  int64                // counted retries in total, global_max_retries
	afterFail int64                // ms that a retry waits at least after a script that failed with 9
}

// modelRule says how long a retry waits at least, how many there are, and whether they
// count: the checker does not ask the code that it checks.
type modelRule struct {
	delayMS, limit int64
	counted        bool
}

const lostRule = `{"id": "lost", "when": {"cause": ["lost"]}, "action": "retry", "limit": 1, "backoff": {"kind": "fixed", "initial": "5s"}}`

// modelCases have budgets small enough to be used up.
var modelCases = map[string]modelCase{
	"retries": {
		policies: `[{"id": "busy", "when": {"exit_code": {"in": [75]}}, "action": "retry", "limit": 1, "backoff": {"kind": "fixed", "initial": "10s"}}, ` + lostRule + `]`,
		ends:     []string{"0", "1", "busy"}, mayRetry: 2,
		rules: map[string]modelRule{"p/busy": {10_000, 1, true}, "p/lost": {5_000, 1, true}},
	},
	"the sum of retries": {
		policies: `[{"id": "busy", "when": {"exit_code": {"in": [75]}}, "action": "retry", "limit": 2}, ` + lostRule + `]`,
		ends:     []string{"0", "busy"}, mayRetry: 1,
		rules: map[string]modelRule{"p/busy": {0, 2, true}, "p/lost": {5_000, 1, true}},
	},
	"free retries": {
		policies: `[{"id": "drained", "when": {"cause": ["walltime"]}, "action": "retry", "max_free": 1}, ` + lostRule + `]`,
		ends:     []string{"0", "drained"}, cancels: 1, mayRetry: 2,
		rules: map[string]modelRule{"p/drained": {0, 1, false}, "p/lost": {5_000, 1, true}},
	},
	"recovery scripts": {
		policies: `[{"id": "broken", "when": {"exit_code": {"in": [3]}}, "action": "retry", "limit": 2, "recovery_script": "./fix", "on_recovery_error": "fail"},
			{"id": "script", "when": {"component": "recovery", "exit_code": {"in": [9]}}, "action": "retry", "max_free": 1, "backoff": {"kind": "fixed", "initial": "20s"}}]`,
		ends: []string{"0", "broken"}, mayRetry: 2, afterFail: 20_000,
		rules: map[string]modelRule{"p/broken": {0, 2, true}, "default/infra": {0, 3, true}},
	},
	"holds": {
		policies: `[{"id": "odd", "when": {"exit_code": {"in": [4]}}, "action": "hold"}, ` + lostRule + `]`,
		ends:     []string{"0", "odd"}, cancels: 1, retries: 1, mayRetry: 2,
		rules: map[string]modelRule{"p/lost": {5_000, 1, true}},
	},
}

// model searches the states that one job can reach between two runners and the daemon.
// The daemon is the store itself: all of it happens within one transaction, and a step
// back is a savepoint that is rolled back.
type model struct {
	modelCase
	rig      *rig
	tx       *core.Tx
	before   *modelState // of the current step
	workflow int64
	job      int64
	nowMS    int64
	lives    int

	seen  map[stateKey]int32 // number of the state
	nodes []modelNode
	path  []string
	edges int
}

type stateKey [16]byte

// modelNode is a state for the search for the end.
type modelNode struct {
	from []int32 // states from which a step that is not a fault leads here
	end  bool
	path []string // how it was first reached
}

// errBack undoes a step.
var errBack = errors.New("step back")

// TestModel visits every state that a job can reach: with several attempts, runners that
// die, fall silent and return, lost answers, duplicate turns, retries, delays, recovery
// scripts, holds and a cancel. In all of them the guarantees hold, and from each the end
// can be reached without another fault.
func TestModel(t *testing.T) {
	for name, c := range modelCases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			r.usePolicies(fmt.Sprintf(`{"global_max_retries": %d, "retry_policies": [{"name": "p", "rules": %s}]}`, c.mayRetry, c.policies))
			m := &model{modelCase: c, rig: r, workflow: r.workflow, job: r.ids[0], nowMS: modelStart, seen: map[stateKey]int32{}}
			r.do(m.search)
			m.reachable(t)
			t.Logf("%d states, %d steps", len(m.nodes), m.edges)
		})
	}
}

// search visits all states, in a transaction that leaves nothing behind but two runners.
func (m *model) search(tx *core.Tx) error {
	m.tx, tx.NowMS = tx, m.nowMS
	w := world{faults: *modelFaults, retries: m.retries, cancels: m.cancels}
	for i := range w.machines {
		if err := m.begin(&w.machines[i], i); err != nil {
			return err
		}
	}
	s, err := m.state()
	if err == nil {
		_, err = m.visit(&w, s)
	}
	return err
}

// visit visits a state and, if it is new, all that can follow. It returns the number of
// the state.
func (m *model) visit(w *world, s *modelState) (int32, error) {
	sum := sha256.Sum256([]byte(m.key(w, s)))
	key := stateKey(sum[:16])
	if n, known := m.seen[key]; known {
		return n, nil
	}
	n := int32(len(m.nodes))
	m.seen[key] = n
	m.nodes = append(m.nodes, modelNode{end: s.ended && w.idle(), path: slices.Clone(m.path)})
	for _, next := range m.steps(w, s) {
		to, err := m.try(next, w, s)
		if err != nil {
			return n, err
		}
		if !next.kind.isFault() {
			m.nodes[to].from = append(m.nodes[to].from, n)
		}
	}
	return n, nil
}

// try takes a step, visits the resulting state, and goes back.
func (m *model) try(next step, before *world, s *modelState) (to int32, err error) {
	m.edges++
	w, lives, nowMS := before.clone(), m.lives, m.nowMS
	m.path = append(m.path, next.name)
	defer func() { m.path = m.path[:len(m.path)-1] }()
	if next.kind.isLocal() {
		if err := next.do(m, &w); err != nil {
			return 0, m.told(err)
		}
		return m.visit(&w, s)
	}
	back := m.tx.Savepoint(func() error {
		m.before = s
		if err := next.do(m, &w); err != nil {
			return m.told(err)
		}
		m.tx.NowMS = m.nowMS
		if err := m.tx.Flush(); err != nil {
			return m.told(err)
		}
		after, err := m.state()
		if err == nil {
			err = m.check(&w, s, after)
		}
		if err != nil {
			return m.told(err)
		}
		if to, err = m.visit(&w, after); err != nil {
			return err
		}
		return errBack
	})
	m.lives, m.nowMS, m.tx.NowMS = lives, nowMS, nowMS
	if errors.Is(back, errBack) {
		return to, nil
	}
	return to, back
}

// told adds the path to an error.
func (m *model) told(err error) error {
	text := ""
	for _, step := range m.path {
		text += "\n\t" + step
	}
	return fmt.Errorf("%w, after:%s", err, text)
}

// idle reports whether no runner has anything to do or to report.
func (w *world) idle() bool {
	for i := range w.machines {
		if n := &w.machines[i]; len(n.held)+len(n.said.Reports)+len(n.said.Recovered)+len(n.ghosts) > 0 || n.open != nil {
			return false
		}
	}
	return true
}

// classify ends the hold.
func (m *model) classify(to workflow.JobStatus) error {
	_, err := classifyJob(m.tx, m.job, hold.Classification{Status: to, Reason: "the model says so"}, false)
	return err
}

// reachable checks, backwards from the ends, that one of them can be reached from every
// state without a fault.
func (m *model) reachable(t *testing.T) {
	t.Helper()
	reached := make([]bool, len(m.nodes))
	var next []int32
	for i := range m.nodes {
		if m.nodes[i].end {
			reached[i] = true
			next = append(next, int32(i))
		}
	}
	if len(next) == 0 {
		t.Fatal("no state is the end")
	}
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		for _, from := range m.nodes[n].from {
			if !reached[from] {
				reached[from] = true
				next = append(next, from)
			}
		}
	}
	shortest := -1
	for i := range m.nodes {
		if !reached[i] && (shortest < 0 || len(m.nodes[i].path) < len(m.nodes[shortest].path)) {
			shortest = i
		}
	}
	if shortest >= 0 {
		m.path = m.nodes[shortest].path
		t.Error(m.told(errors.New("the end cannot be reached any more")))
	}
}
