package allocation

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	sbatchtemplates "github.com/torc-slurm/torc-slurm/sbatch-templates"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Want is an allocation that somebody wants, and why.
type Want struct {
	WorkflowID        int64
	RunID             *int64 // in which it is wanted, and in no other; nil: in whatever is the current one
	SchedulerConfigID *int64
	Request           workflow.AllocationRequest
	Why               string
}

// Submitter asks Slurm for allocations. It is safe for concurrent use.
type Submitter struct {
	store   *store.Store
	slurm   Slurm
	script  Script
	secrets *secrets
	random  io.Reader
	log     *slog.Logger
	wake    func()

	mu       sync.Mutex
	inFlight map[string]bool // intents for which sbatch is running
	closed   bool
	running  sync.WaitGroup // one for each in flight
}

var errClosed = workflow.Errorf(workflow.CodeUnavailable, "the daemon is leaving, and asks for no more allocations")

// intentBytes is the length of an intent id: twice as many hex digits.
const intentBytes = 8

// Submit asks Slurm for an allocation. The intent is stored before sbatch is
// run, so that whatever happens nothing is asked for twice or forgotten. An
// error of class slurm.Ambiguous means that the allocation may be there; it is
// found again, or given up, by the loop.
//
// Once it has begun, the end of ctx (its client has gone, the daemon leaves)
// changes nothing: sbatch is let finish within its own time limit, and what it
// says is stored. Killed, it would leave a job that has to be looked for.
func (s *Submitter) Submit(ctx context.Context, want Want) (workflow.Allocation, error) {
	w, err := s.store.Workflow(ctx, want.WorkflowID)
	if err != nil {
		return workflow.Allocation{}, err
	}
	if want.RunID != nil {
		w.RunID = *want.RunID
	}
	id := make([]byte, intentBytes)
	if _, err := io.ReadFull(s.random, id); err != nil {
		return workflow.Allocation{}, fmt.Errorf("intend an allocation for workflow %d: %w", w.ID, err)
	}
	intent := hex.EncodeToString(id)
	if !s.takeOff(intent) {
		return workflow.Allocation{}, errClosed
	}
	defer s.land(intent)
	ctx = context.WithoutCancel(ctx)
	a, script, err := s.intend(ctx, &w, intent, want)
	if err != nil {
		return a, err
	}
	return s.sbatch(ctx, a, script)
}

// Close waits for the answers that are due, and has Submit refuse from now on.
func (s *Submitter) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
}

// intend stores the intent and writes its script.
func (s *Submitter) intend(ctx context.Context, w *workflow.Workflow, intent string, want Want) (a workflow.Allocation, script []byte, err error) {
	path, hash, err := s.secrets.create(intent)
	if err != nil {
		return a, nil, err
	}
	a, err = s.store.IntendAllocation(ctx, store.AllocationIntent{
		WorkflowID: w.ID, RunID: w.RunID, IntentID: intent, JobName: sbatchtemplates.JobName(w.Name, w.ID, w.RunID, intent),
		SchedulerConfigID: want.SchedulerConfigID, Request: want.Request, Why: want.Why, SecretHash: hash,
	})
	if err != nil {
		s.forget(intent)
		return a, nil, err
	}
	if script, err = s.script.render(w, a, path); err != nil {
		return a, nil, s.refused(ctx, &a, slurm.Permanent, err)
	}
	// Slurm does not start a job whose output it cannot write, and does not say so.
	if err := os.MkdirAll(s.script.outputDir(&a), 0o777); err != nil {
		return a, nil, s.refused(ctx, &a, slurm.Temporary, err)
	}
	return a, script, nil
}

// sbatch hands a script to Slurm and stores what came of it.
func (s *Submitter) sbatch(ctx context.Context, a workflow.Allocation, script []byte) (workflow.Allocation, error) {
	job, err := s.slurm.Submit(ctx, slurm.Submission{Script: script})
	switch class := slurm.ClassOf(err); {
	case err == nil:
		s.log.Info("asked Slurm for an allocation", "allocation_id", a.ID, "workflow_id", a.WorkflowID, "slurm_job_id", job.ID.Number, "reason", a.Why)
		return s.store.AdoptAllocation(ctx, store.FoundJob{IntentID: a.IntentID, Cluster: job.Cluster, SlurmJobID: job.ID.Number})
	case class == slurm.Temporary, class == slurm.Limit, class == slurm.Permanent, class == slurm.Withheld:
		return a, s.refused(ctx, &a, class, err)
	}
	s.log.Warn("sbatch gave no clear answer, looking for its job", "allocation_id", a.ID, "workflow_id", a.WorkflowID, "error", err)
	defer s.wake()
	if e := s.store.DoubtAllocation(ctx, a.ID, err.Error()); e != nil {
		return a, e
	}
	return a, fmt.Errorf("submit allocation %d: %w", a.ID, err)
}

// refused ends an intent that Slurm does not want.
func (s *Submitter) refused(ctx context.Context, a *workflow.Allocation, class slurm.Class, cause error) error {
	s.log.Warn("an allocation was refused", "allocation_id", a.ID, "workflow_id", a.WorkflowID, "class", class, "error", cause)
	s.forget(a.IntentID)
	end := workflow.AllocationEnd{Cause: workflow.AllocationRefused, Confidence: workflow.Certain, Text: cause.Error(), Refusal: string(class)}
	if err := s.store.EndAllocation(ctx, a.ID, end); err != nil {
		return err
	}
	a.State, a.Cause, a.Refusal = workflow.AllocationEnded, end.Cause, end.Refusal
	return fmt.Errorf("submit allocation %d: %w", a.ID, cause)
}

// forget removes the secret of an intent that is over.
func (s *Submitter) forget(intent string) {
	if err := s.secrets.remove(intent); err != nil {
		s.log.Warn("a secret is left behind", "error", err)
	}
}

// takeOff notes that sbatch is about to run for an intent; false if it must not
// any more.
func (s *Submitter) takeOff(intent string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.inFlight[intent] = true
		s.running.Add(1)
	}
	return !s.closed
}

func (s *Submitter) land(intent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inFlight, intent)
	s.running.Done()
}

// isFlying reports whether sbatch is running for an intent.
func (s *Submitter) isFlying(intent string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inFlight[intent]
}
