// Package runnertest has a fake daemon for tests of runners. It grants jobs, keeps leases
// and fences, answers like the real one, and records violations of the protocol.
package runnertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Job is a job that the daemon grants: a Grant without its lease.
type Job struct {
	lease.Grant
	After []int64 // ids of jobs that must complete first
	// Repair is the recovery script of a failed attempt; the job is then ready
	// again, at most Retries times.
	Repair  string
	Retries int
}

// State is what the daemon knows of a job.
type State struct {
	Job      Job
	Status   workflow.JobStatus
	Attempts []lease.Report // as reported, in order
	Repaired []lease.Recovered
	Late     []lease.Report
	Fence    int64
	// NotStarted is how often its runner revoked its start.
	NotStarted int
	runner     int64
	held       lease.Held
	refused    int64 // time of a start that was revoked
	repair     *lease.Recovery
}

// ErrDown is the error of calls while the daemon is down.
var ErrDown = errors.New("connection refused")

var errNoRunner = &client.APIError{Status: 404, Message: "no such runner"}

// Daemon is the fake. Its fields may be set before the first call.
type Daemon struct {
	Welcome lease.RegisterResponse // answer to registrations; ids are filled in
	// NoMoreWork has the daemon answer that no open job will become ready.
	NoMoreWork bool
	// AllHeld has it answer that all of them wait for a decision.
	AllHeld bool
	// HeldFor is how long claims are held, from the first turn that wants work.
	HeldFor time.Duration
	// NoLongPoll has the daemon answer long polls at once.
	NoLongPoll bool
	// Patterns are the patterns that runners search for.
	Patterns *failure.Patterns
	// Unanswered is how many calls of FailedWorkflow get no answer; below 0 it answers that
	// nothing failed.
	Unanswered int
	// RepairSeconds limits recovery scripts.
	RepairSeconds float64

	mu         sync.Mutex
	heldSince  time.Time
	jobs       map[int64]*State
	order      []int64
	fence      int64
	runners    map[string]int64
	lastRunner int64 // ids are not reused
	turns      map[int64]*conversation
	registered []lease.RegisterRequest
	left       []lease.LeaveRequest
	paused     []workflow.LaunchPause
	violations []string
	orders     []lease.Order
	voided     []lease.LeaseRef
	started    []lease.Held
	toCancel   []lease.LeaseRef
	down       bool
	lose       int
	canceled   bool
	calls      int
	changed    chan struct{} // closed and replaced at every change
}

// conversation is the daemon's side of a runner's turns.
type conversation struct {
	newest  int64
	granted map[lease.LeaseRef]bool
}

// New returns a daemon with jobs. Jobs without an id are numbered from 1.
func New(jobs ...Job) *Daemon {
	d := &Daemon{
		Welcome: lease.RegisterResponse{
			RunID: 1, WorkflowName: "test", LeaseSeconds: 60, HeartbeatSeconds: 15,
			WaitForNewJobs: 0, WaitForHealthyMins: 1,
		},
		RepairSeconds: 30,
		jobs:          make(map[int64]*State),
		runners:       make(map[string]int64),
		turns:         make(map[int64]*conversation),
		changed:       make(chan struct{}),
	}
	d.Add(jobs...)
	return d
}

// Add adds jobs.
func (d *Daemon) Add(jobs ...Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range jobs {
		if j.JobID == 0 {
			j.JobID = int64(len(d.order) + 1)
		}
		if j.Name == "" {
			j.Name = fmt.Sprintf("job%d", j.JobID)
		}
		if j.Requirements == "" {
			j.Requirements = workflow.DefaultRequirements
		}
		j.CPUs, j.Nodes = max(1, j.CPUs), max(1, j.Nodes)
		d.jobs[j.JobID] = &State{Job: j, Status: workflow.Ready}
		d.order = append(d.order, j.JobID)
	}
	d.change()
}

// change wakes waiting turns. The caller holds mu.
func (d *Daemon) change() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// Register registers a runner.
func (d *Daemon) Register(_ context.Context, _ int64, req *lease.RegisterRequest) (*lease.RegisterResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return nil, ErrDown
	}
	id, ok := d.runners[req.Key]
	if !ok {
		d.lastRunner++
		id = d.lastRunner
		d.runners[req.Key] = id
		d.turns[id] = &conversation{granted: make(map[lease.LeaseRef]bool)}
		d.registered = append(d.registered, *req)
	}
	resp := d.Welcome
	resp.RunnerID = id
	return &resp, nil
}

// Leave gives back the leases of the runner.
func (d *Daemon) Leave(_ context.Context, runner int64, req *lease.LeaveRequest) (*lease.LeaveResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return nil, ErrDown
	}
	d.left = append(d.left, *req)
	resp := &lease.LeaveResponse{}
	for _, s := range d.jobs {
		if s.runner == runner && s.Status.IsLive() {
			d.free(s)
			resp.GivenBack++
		}
	}
	return resp, nil
}

// FailedWorkflow returns a run without failures.
func (d *Daemon) FailedWorkflow(_ context.Context, workflowID int64) (*stage.FailedWorkflow, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Unanswered > 0 {
		d.Unanswered--
		return nil, fmt.Errorf("no answer: %w", context.DeadlineExceeded)
	}
	if d.Unanswered < 0 {
		return nil, &client.APIError{Status: 404, Message: "no run was to be undone"}
	}
	return &stage.FailedWorkflow{WorkflowID: workflowID}, nil
}

// Turn answers a turn like the real daemon: at once if there is news or a newer turn has
// arrived, else after the time that the runner allows.
func (d *Daemon) Turn(ctx context.Context, runner int64, req *lease.TurnRequest) (*lease.TurnResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if d.down {
		return nil, ErrDown
	}
	c := d.turns[runner]
	if c == nil {
		return nil, errNoRunner
	}
	if req.Turn > c.newest {
		c.newest = req.Turn
		d.change()
	}
	resp := &lease.TurnResponse{Turn: req.Turn, RunID: req.RunID}
	d.process(runner, req, resp)
	if err := d.answer(ctx, runner, req, resp); err != nil {
		return nil, err
	}
	if d.lose > 0 {
		d.lose--
		return nil, ErrDown
	}
	return resp, nil
}

// process processes what the runner reports.
func (d *Daemon) process(runner int64, req *lease.TurnRequest, resp *lease.TurnResponse) {
	ended := make(map[lease.LeaseRef]bool)
	for i := range req.Reports {
		ended[req.Reports[i].LeaseRef] = true
	}
	for i := range req.Recovered {
		ended[req.Recovered[i].LeaseRef] = true
	}
	for _, ref := range req.GiveBack {
		ended[ref] = true
	}
	for _, h := range req.NotStarted {
		if s := d.jobs[h.JobID]; s != nil && s.Fence == h.Fence && s.Status == workflow.Running && s.held.StartedMS == h.StartedMS {
			s.Status, s.refused, s.NotStarted = workflow.Pending, h.StartedMS, s.NotStarted+1
		}
	}
	if req.Paused != nil {
		d.paused = append(d.paused, *req.Paused)
	}
	for _, h := range req.Held {
		s := d.jobs[h.JobID]
		switch {
		case ended[h.LeaseRef]:
			d.violation("turn %d of runner %d holds and ends attempt %d of job %d", req.Turn, runner, h.Attempt, h.JobID)
		case s == nil:
			d.violation("runner %d holds unknown job %d", runner, h.JobID)
		case s.Fence != h.Fence || !s.Status.IsLive():
			resp.Voided = append(resp.Voided, h.LeaseRef)
		default:
			s.held = h
			if h.StartedMS > 0 && h.StartedMS != s.refused && s.Status == workflow.Pending && s.repair == nil {
				s.Status = workflow.Running
			}
		}
	}
	d.started = append(d.started, req.Started...)
	for i := range req.Reports {
		resp.Results = append(resp.Results, d.report(&req.Reports[i]))
	}
	for i := range req.Recovered {
		resp.Results = append(resp.Results, d.recovered(&req.Recovered[i]))
	}
	for _, ref := range req.GiveBack {
		s := d.jobs[ref.JobID]
		if s != nil && s.Fence == ref.Fence && s.Status.IsLive() {
			d.free(s)
		}
	}
	resp.Voided = append(resp.Voided, d.voided...)
	d.voided = nil
}

// answer adds grants and the state of the workflow. It waits for news if the turn is a
// long poll.
func (d *Daemon) answer(ctx context.Context, runner int64, req *lease.TurnRequest, resp *lease.TurnResponse) error {
	c := d.turns[runner]
	deadline := time.NewTimer(time.Duration(req.WaitSeconds * float64(time.Second)))
	defer deadline.Stop()
	for {
		if c.newest == req.Turn {
			if resp.ClaimsHeld = d.held(); !d.NoMoreWork && !d.AllHeld && resp.ClaimsHeld == "" {
				d.grant(runner, req, resp)
			}
			resp.Orders, d.orders = d.orders, nil
			resp.Cancel, d.toCancel = d.toCancel, nil
			if d.Patterns != nil && req.PatternsHash != d.Patterns.Hash {
				resp.Patterns = d.Patterns
			}
		}
		resp.Canceled = d.canceled
		resp.OpenJobs, resp.ClaimableLater = d.open()
		if resp.Complete = resp.OpenJobs == 0; d.AllHeld {
			resp.HeldJobs = resp.OpenJobs
		}
		said := len(resp.Results)+len(resp.Grants)+len(resp.Voided)+len(resp.Cancel)+len(resp.Orders) > 0
		if said || resp.Complete || resp.Canceled || req.WaitSeconds == 0 || d.NoLongPoll || c.newest > req.Turn {
			return nil
		}
		changed := d.changed
		d.mu.Unlock()
		var err error
		waited := false
		select {
		case <-changed:
		case <-deadline.C:
			waited = true
		case <-ctx.Done():
			err = ctx.Err()
		}
		d.mu.Lock()
		if err != nil || d.down {
			return errors.Join(err, ErrDown)
		}
		if d.turns[runner] != c {
			return errNoRunner
		}
		if waited {
			return nil
		}
	}
}

// grant grants jobs that fit, and repeats grants that the runner does not hold.
func (d *Daemon) grant(runner int64, req *lease.TurnRequest, resp *lease.TurnResponse) {
	known := make(map[lease.LeaseRef]bool)
	for _, h := range req.Held {
		known[h.LeaseRef] = true
	}
	nodes := slices.Clone(req.Free.Nodes)
	for _, id := range d.order {
		s := d.jobs[id]
		ref := lease.LeaseRef{JobID: id, Attempt: int64(len(s.Attempts) + 1), Fence: s.Fence}
		if s.repair != nil {
			ref.Attempt--
		}
		if s.runner == runner && s.Status.IsLive() && !known[ref] {
			g := s.Job.Grant
			g.LeaseRef, g.Recovery = ref, s.repair
			resp.Grants = append(resp.Grants, g)
			continue
		}
		if s.Status != workflow.Ready || !d.isReady(s) || int64(len(resp.Grants)) >= req.Free.Slots {
			continue
		}
		g := s.Job.Grant
		if len(nodes) > 0 && !place(&g, nodes) {
			continue
		}
		d.fence++
		s.Fence, s.runner, s.Status, s.held = d.fence, runner, workflow.Pending, lease.Held{}
		ref.Fence = s.Fence
		g.LeaseRef, g.Recovery = ref, s.repair
		resp.Grants = append(resp.Grants, g)
	}
}

// place reserves room for a job on the first node that has it.
func place(g *lease.Grant, nodes []placement.FreeNode) bool {
	for i := range nodes {
		n := &nodes[i]
		if g.CPUs <= n.CPUs && g.MemoryBytes <= n.MemoryBytes && g.GPUs <= n.GPUs {
			n.CPUs -= g.CPUs
			n.MemoryBytes -= g.MemoryBytes
			n.GPUs -= g.GPUs
			return true
		}
	}
	return false
}

func (d *Daemon) isReady(s *State) bool {
	for _, id := range s.Job.After {
		if !d.jobs[id].Status.IsComplete() {
			return false
		}
	}
	return true
}

// report records the end of an attempt.
func (d *Daemon) report(r *lease.Report) lease.ReportResult {
	result := lease.ReportResult{LeaseRef: r.LeaseRef}
	s := d.jobs[r.JobID]
	if s == nil {
		d.violation("report of unknown job %d", r.JobID)
		result.Outcome = lease.Refused
		return result
	}
	for i := range s.Attempts {
		if s.Attempts[i].LeaseRef == r.LeaseRef {
			result.Outcome, result.Status, result.Recovery = lease.Duplicate, s.Status, s.repair
			return result
		}
	}
	if s.Fence != r.Fence || !s.Status.IsLive() {
		s.Late = append(s.Late, *r)
		result.Outcome, result.Status = lease.Late, s.Status
		return result
	}
	s.Attempts = append(s.Attempts, *r)
	d.decide(s, r, &result)
	d.change()
	return result
}

// decide is a simplified copy of what the engine does at the end of an attempt.
func (d *Daemon) decide(s *State, r *lease.Report, result *lease.ReportResult) {
	e := &r.Evidence
	cause := workflow.CauseOK
	code := int64(0)
	switch {
	case e.SpawnError != "":
		cause, code = workflow.CauseLaunch, 127
	case e.ExitCode != nil && *e.ExitCode == 0 && e.MissingOutputCount == 0 && (e.KilledBy == workflow.KilledByTimeout || e.KilledBy == workflow.KilledBySibling):
		// completed within its grace
	case e.KilledBy == workflow.KilledByDrain:
		cause, code = workflow.CauseWalltime, 152
	case e.KilledBy == workflow.KilledByCancel || e.KilledBy == workflow.KilledBySibling:
		cause, code = workflow.CauseCanceledUser, 143
	case e.KilledBy == workflow.KilledByTimeout:
		cause, code = workflow.CauseTimeout, 152
	case e.KilledBy == workflow.KilledByMemoryLimit:
		cause, code = workflow.CauseOOM, 137
	case e.Signal != 0:
		cause, code = workflow.CauseSignal, int64(128+e.Signal)
	case e.ExitCode != nil && *e.ExitCode != 0:
		cause, code = workflow.CauseExit, *e.ExitCode
	case e.MissingOutputCount > 0:
		cause, code = workflow.CauseOutputMissing, 1
	}
	result.Outcome, result.Cause, result.ReturnCode = lease.Accepted, cause, code
	switch {
	case cause == workflow.CauseOK:
		s.Status = workflow.Completed
	case cause == workflow.CauseWalltime:
		d.free(s)
	case cause == workflow.CauseCanceledUser:
		s.Status = workflow.Canceled
	case s.Job.Repair != "" && len(s.Attempts) <= s.Job.Retries:
		s.Status = workflow.Pending
		s.repair = &lease.Recovery{Script: s.Job.Repair, ReturnCode: code, Cause: cause, TimeoutSeconds: d.RepairSeconds}
		result.Recovery = s.repair
	case len(s.Attempts) <= s.Job.Retries:
		d.free(s)
	default:
		s.Status = workflow.Failed
	}
	result.Status = s.Status
}

func (d *Daemon) recovered(r *lease.Recovered) lease.ReportResult {
	result := lease.ReportResult{LeaseRef: r.LeaseRef, Outcome: lease.Accepted}
	s := d.jobs[r.JobID]
	if s == nil || s.repair == nil || s.Fence != r.Fence {
		d.violation("recovery of job %d reported, which has none", r.JobID)
		result.Outcome = lease.Refused
		return result
	}
	s.Repaired = append(s.Repaired, *r)
	s.repair = nil
	d.free(s)
	result.Status = s.Status
	return result
}

// free makes a leased job ready again.
func (d *Daemon) free(s *State) {
	s.Status, s.runner, s.held = workflow.Ready, 0, lease.Held{}
	d.change()
}

// held returns why claims are held.
func (d *Daemon) held() string {
	if d.heldSince.IsZero() {
		d.heldSince = time.Now()
	}
	if time.Since(d.heldSince) < d.HeldFor {
		return "claims are held"
	}
	return ""
}

func (d *Daemon) open() (open int64, later bool) {
	for _, s := range d.jobs {
		if !s.Status.IsComplete() {
			open++
		}
	}
	return open, open > 0 && !d.NoMoreWork && !d.AllHeld
}

func (d *Daemon) violation(format string, args ...any) {
	d.violations = append(d.violations, fmt.Sprintf(format, args...))
}

// SetDown has all calls fail, or work again.
func (d *Daemon) SetDown(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
	d.change()
}

// LoseAnswers has the daemon process the next n turns and lose its answers.
func (d *Daemon) LoseAnswers(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lose = n
}

// Order gives an order to the next runner that sends a turn.
func (d *Daemon) Order(o lease.Order) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.orders = append(d.orders, o)
	d.change()
}

// Cancel has a runner end a job and report it.
func (d *Daemon) Cancel(job int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.toCancel = append(d.toCancel, d.jobs[job].held.LeaseRef)
	d.change()
}

// Void fails a job and revokes its lease.
func (d *Daemon) Void(job int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.jobs[job]
	d.voided = append(d.voided, s.held.LeaseRef)
	s.Status = workflow.Failed
	s.Fence = 0
	d.change()
}

// ExpectRecovery has a job wait for the recovery script of its grant, as if its first
// attempt had failed on a runner that is dead.
func (d *Daemon) ExpectRecovery(job int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.jobs[job]
	s.repair, s.Job.Recovery = s.Job.Recovery, nil
	s.Attempts = append(s.Attempts, lease.Report{LeaseRef: lease.LeaseRef{JobID: job, Attempt: 1}})
	d.change()
}

// ForgetRunners has the daemon forget all runners. Their jobs are ready again.
func (d *Daemon) ForgetRunners() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turns = make(map[int64]*conversation)
	d.runners = make(map[string]int64)
	for _, s := range d.jobs {
		if s.Status.IsLive() {
			d.free(s)
		}
	}
	d.change()
}

// Job returns a copy of the state of a job.
func (d *Daemon) Job(id int64) State {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := *d.jobs[id]
	s.Attempts = slices.Clone(s.Attempts)
	return s
}

// Held returns the lease of a job as its runner reports it.
func (d *Daemon) Held(id int64) lease.Held {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.jobs[id].held
}

// Started returns the reported starts of earlier runners.
func (d *Daemon) Started() []lease.Held {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.started)
}

// Registered returns the registrations.
func (d *Daemon) Registered() []lease.RegisterRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.registered)
}

// Left returns the deregistrations.
func (d *Daemon) Left() []lease.LeaveRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.left)
}

// Violations returns the violations of the protocol.
func (d *Daemon) Violations() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.violations)
}

// Calls returns the number of turns.
func (d *Daemon) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// Paused returns the reported pauses of starts.
func (d *Daemon) Paused() []workflow.LaunchPause {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.paused)
}
