package store

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/fleet"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// machine is a place where one runner runs after the other, with their memory, which a
// crash erases.
type machine struct {
	runner int64             // of the current runner; 0 while there is none
	turns  int64             // sent by this runner
	held   []work            // at most one, as it has one slot
	said   lease.TurnRequest // reports that no answer has confirmed
	open   *modelTurn        // its answer was lost: it is sent again
	stray  *modelTurn        // a copy of a turn that is still in transit
	spool  []lease.Report
	ghosts []int64 // runners that are gone without the daemon knowing it
}

// work is a lease as the runner sees it.
type work struct {
	ref     lease.LeaseRef
	started bool
	script  bool // its recovery script must run
}

// world is everything outside of the database.
type world struct {
	machines   [2]machine
	faults     int     // that may still happen
	retries    int     // that people may still ask for
	cancels    int     // that may still happen
	begun      []int64 // fences under which a process was started
	earliestMS int64   // when the next attempt may start, according to the policy
}

func (w *world) clone() world {
	c := *w
	c.begun = slices.Clone(w.begun)
	for i := range c.machines {
		m := &c.machines[i]
		m.held, m.spool, m.ghosts = slices.Clone(m.held), slices.Clone(m.spool), slices.Clone(m.ghosts)
		m.said.Reports, m.said.Recovered = slices.Clone(m.said.Reports), slices.Clone(m.said.Recovered)
	}
	return c
}

// step is something that may happen next.
type step struct {
	name string
	kind stepKind
	do   func(m *model, w *world) error
}

type stepKind int

// The kinds of steps.
const (
	usual stepKind = iota
	local          // on a machine, without the daemon
	mishap
	localMishap
)

func (k stepKind) isFault() bool { return k == mishap || k == localMishap }
func (k stepKind) isLocal() bool { return k == local || k == localMishap }

// processEnds are the ways in which a process may end.
var processEnds = map[string]workflow.Evidence{
	"0": {ExitCode: new(int64(0))}, "1": {ExitCode: new(int64(1))}, "busy": {ExitCode: new(int64(75))}, "broken": {ExitCode: new(int64(3))},
	"odd": {ExitCode: new(int64(4))}, "drained": {KilledBy: workflow.KilledByDrain, Signal: 15},
}

// steps lists what may happen in a state.
func (m *model) steps(w *world, s *modelState) []step {
	var all []step
	add := func(kind stepKind, name string, do func(m *model, w *world) error) {
		if !kind.isFault() || w.faults > 0 {
			all = append(all, step{name, kind, do})
		}
	}
	for i := range w.machines {
		m.machineSteps(w, s, i, add)
	}
	if s.status == workflow.Ready && s.notBeforeMS > m.nowMS {
		add(usual, "time passes", func(m *model, _ *world) error { m.nowMS = s.notBeforeMS; return nil })
	}
	if s.status == workflow.PendingFailed {
		add(usual, "it is classified as failed", func(m *model, _ *world) error { return m.classify(workflow.Failed) })
		if w.retries > 0 && !s.canceled {
			add(usual, "it is classified as ready", func(m *model, w *world) error { w.retries--; return m.classify(workflow.Ready) })
		}
	}
	if w.cancels > 0 && !s.canceled {
		all = append(all, step{"cancel", mishap, func(m *model, w *world) error {
			w.cancels--
			r, err := core.LoadRun(m.tx, m.workflow)
			if err != nil {
				return err
			}
			return engine.CancelRun(m.tx, r)
		}})
	}
	return all
}

// machineSteps lists what may happen to and by a machine's runner.
func (m *model) machineSteps(w *world, s *modelState, i int, add func(kind stepKind, name string, do func(m *model, w *world) error)) {
	on := func(name string) string { return fmt.Sprintf("%d: %s", i, name) }
	n := &w.machines[i]
	if len(n.ghosts) > 0 {
		add(usual, on("a dead runner's lease expires"), func(m *model, w *world) error {
			n := &w.machines[i]
			id := n.ghosts[0]
			n.ghosts = n.ghosts[1:]
			return fleet.ExpireLeases(m.tx, id, "silent")
		})
	}
	if n.stray != nil {
		add(usual, on("the copy arrives"), func(m *model, w *world) error {
			n := &w.machines[i]
			t := n.stray
			n.stray = nil
			answer, err := m.say(t)
			if err != nil {
				return err
			}
			return m.granted(w, t, answer) // nobody receives the answer
		})
	}
	if n.runner == 0 {
		if len(n.ghosts) < 2 {
			add(usual, on("a runner begins"), func(m *model, w *world) error { return m.begin(&w.machines[i], i) })
		}
		return
	}
	add(usual, on("turn"), func(m *model, w *world) error { return m.turn(w, i, true, false) })
	if n.open == nil && s.active[n.runner] {
		add(mishap, on("turn whose answer is lost"), func(m *model, w *world) error { w.faults--; return m.turn(w, i, false, false) })
		add(mishap, on("turn of which a copy stays under way"), func(m *model, w *world) error { w.faults--; return m.turn(w, i, true, true) })
	}
	add(localMishap, on("dies"), func(_ *model, w *world) error {
		w.faults--
		n := &w.machines[i]
		*n = machine{spool: append(n.spool, n.said.Reports...), ghosts: append(n.ghosts, n.runner), stray: n.stray}
		return nil
	})
	if s.active[n.runner] {
		add(mishap, on("is silent for too long"), func(m *model, w *world) error {
			w.faults--
			return fleet.ExpireLeases(m.tx, w.machines[i].runner, "silent")
		})
	}
	for k := range n.held {
		if l := &n.held[k]; !l.started {
			add(local, on("starts"), func(_ *model, w *world) error {
				l := &w.machines[i].held[k]
				l.started = true
				if !l.script {
					w.begun = append(w.begun, l.ref.Fence)
				}
				return nil
			})
			continue
		}
		m.endSteps(n, i, k, add)
	}
}

// endSteps lists how a process of a machine may end.
func (m *model) endSteps(n *machine, i, k int, add func(kind stepKind, name string, do func(m *model, w *world) error)) {
	if n.held[k].script {
		for _, code := range []int64{0, 9, 1} {
			add(local, fmt.Sprintf("%d: the script exits with %d", i, code), func(_ *model, w *world) error {
				n := &w.machines[i]
				n.said.Recovered = append(n.said.Recovered, lease.Recovered{LeaseRef: n.held[k].ref, ReturnCode: code})
				n.held = slices.Delete(n.held, k, k+1)
				return nil
			})
		}
		return
	}
	for _, end := range m.ends {
		add(local, fmt.Sprintf("%d: the process ends: %s", i, end), func(_ *model, w *world) error {
			n := &w.machines[i]
			n.said.Reports = append(n.said.Reports, n.held[k].report(processEnds[end]))
			n.held = slices.Delete(n.held, k, k+1)
			return nil
		})
	}
}

// report returns a report about a process. Its times distinguish processes.
func (l *work) report(e workflow.Evidence) lease.Report {
	at := modelStart + l.ref.Fence
	return lease.Report{LeaseRef: l.ref, StartedMS: at, EndedMS: at + 1, Evidence: e}
}

// begin registers a runner, which finds the spool of its predecessors.
func (m *model) begin(n *machine, i int) (err error) {
	m.lives++
	n.runner, err = fleet.RegisterRunner(m.tx, &Registration{WorkflowID: m.workflow, RegisterRequest: lease.RegisterRequest{
		Key: fmt.Sprintf("life %d", m.lives), Hostname: fmt.Sprintf("n%d", i), StartTime: "2026-11-21T10:00:00+00:00",
		NumCPUs: 1, MemoryBytes: 1 << 36, NumNodes: 1, NodeType: compute.SchedulerLocal, MaxParallelJobs: 1,
	}}, nil)
	n.said.Reports, n.spool = n.spool, nil
	return err
}

// modelTurn is a turn and the runner that sends it.
type modelTurn struct {
	runner int64
	lease.TurnRequest
}

// say has a turn reach the daemon.
func (m *model) say(t *modelTurn) (*lease.TurnResponse, error) {
	m.rig.shared.Fairness = core.Fairness{}
	c, err := fleet.ProcessTurn(m.tx, t.runner, &t.TurnRequest)
	if err != nil {
		return nil, err
	}
	return &c.Answer, nil
}

// turn has a runner send what it has to report, or repeat what was not answered.
func (m *model) turn(w *world, i int, answered, copied bool) error {
	n := &w.machines[i]
	t := n.open
	if t == nil {
		n.turns++
		t = &modelTurn{n.runner, lease.TurnRequest{Turn: n.turns, RunID: 1, Reports: slices.Clone(n.said.Reports), Recovered: slices.Clone(n.said.Recovered)}}
		for _, l := range n.held {
			h := lease.Held{LeaseRef: l.ref}
			if l.started {
				h.StartedMS = modelStart + l.ref.Fence
			}
			t.Held = append(t.Held, h)
		}
		t.Free.Slots = int64(1 - len(n.held))
	}
	answer, err := m.say(t)
	if err != nil {
		return err
	}
	if err := m.granted(w, t, answer); err != nil {
		return err
	}
	if copied {
		n.stray = t
	}
	if !answered {
		n.open = t
		return nil
	}
	n.open = nil
	n.hear(t, answer)
	return nil
}

// hear processes an answer.
func (n *machine) hear(t *modelTurn, a *lease.TurnResponse) {
	n.said.Reports = n.said.Reports[len(t.Reports):]
	n.said.Recovered = n.said.Recovered[len(t.Recovered):]
	for _, res := range a.Results {
		if res.Recovery != nil {
			n.held = append(n.held, work{ref: res.LeaseRef, script: true})
		}
	}
	n.held = slices.DeleteFunc(n.held, func(l work) bool { return slices.Contains(a.Voided, l.ref) })
	for _, g := range a.Grants {
		if !slices.ContainsFunc(n.held, func(l work) bool { return l.ref == g.LeaseRef }) {
			n.held = append(n.held, work{ref: g.LeaseRef, script: g.Recovery != nil})
		}
	}
	if a.Canceled { // it ends what it has, and reports it
		for _, l := range n.held {
			if l.started && !l.script {
				n.said.Reports = append(n.said.Reports, l.report(workflow.Evidence{KilledBy: workflow.KilledByCancel, Signal: 15}))
			}
		}
		n.held = nil
	}
	if a.Has(lease.OrderStop) { // it leaves; unsent reports are in its spool
		*n = machine{spool: append(n.spool, n.said.Reports...), ghosts: n.ghosts, stray: n.stray}
	}
}
