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
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Want is a wanted allocation, and the reason for it.
type Want struct {
	WorkflowID        int64
	RunID             *int64 // the only run for which it is wanted; nil: the current one
	SchedulerConfigID *int64
	Request           compute.AllocationRequest
	Why               string
}

// Submitter requests allocations from Slurm. It is safe for concurrent use.
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
	running  sync.WaitGroup // one per intent in flight
}

var errClosed = workflow.Errorf(workflow.CodeUnavailable, "the daemon is shutting down and requests no more allocations")

// intentBytes is the length of an intent id: twice as many hex digits.
const intentBytes = 8

// Submit requests an allocation from Slurm. The intent is stored before sbatch
// runs, so that nothing is requested twice or forgotten, even after a crash. An
// error of class slurm.Ambiguous means that the allocation may exist; the loop finds
// it, or abandons the intent.
//
// Once it has begun, the end of ctx (the client has disconnected, the daemon shuts
// down) has no effect: sbatch may finish within its own time limit, and its answer
// is stored. If it were killed, its job would have to be looked up by name.
func (s *Submitter) Submit(ctx context.Context, want Want) (compute.Allocation, error) {
	w, err := s.store.Workflows.Get(ctx, want.WorkflowID)
	if err != nil {
		return compute.Allocation{}, err
	}
	if want.RunID != nil {
		w.RunID = *want.RunID
	}
	id := make([]byte, intentBytes)
	if _, err := io.ReadFull(s.random, id); err != nil {
		return compute.Allocation{}, fmt.Errorf("create an intent for workflow %d: %w", w.ID, err)
	}
	intent := hex.EncodeToString(id)
	if !s.begin(intent) {
		return compute.Allocation{}, errClosed
	}
	defer s.done(intent)
	ctx = context.WithoutCancel(ctx)
	a, script, err := s.intend(ctx, &w, intent, want)
	if err != nil {
		return a, err
	}
	return s.sbatch(ctx, a, script)
}

// Close waits for running calls of sbatch. Submit fails from now on.
func (s *Submitter) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
}

// intend stores the intent and writes its script.
func (s *Submitter) intend(ctx context.Context, w *workflow.Workflow, intent string, want Want) (a compute.Allocation, script []byte, err error) {
	path, hash, err := s.secrets.create(intent)
	if err != nil {
		return a, nil, err
	}
	a, err = s.store.Allocations.Intend(ctx, store.AllocationIntent{
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
	// Slurm does not start a job whose output it cannot write, and does not report it.
	if err := os.MkdirAll(s.script.outputDir(&a), 0o777); err != nil {
		return a, nil, s.refused(ctx, &a, slurm.Temporary, err)
	}
	return a, script, nil
}

// sbatch passes a script to Slurm and stores the result.
func (s *Submitter) sbatch(ctx context.Context, a compute.Allocation, script []byte) (compute.Allocation, error) {
	job, err := s.slurm.Submit(ctx, slurm.Submission{Script: script})
	switch class := slurm.ClassOf(err); {
	case err == nil:
		s.log.Info("asked Slurm for an allocation", "allocation_id", a.ID, "workflow_id", a.WorkflowID, "slurm_job_id", job.ID.Number, "reason", a.Why)
		return s.store.Allocations.Adopt(ctx, store.FoundJob{IntentID: a.IntentID, Cluster: job.Cluster, SlurmJobID: job.ID.Number})
	case class == slurm.Temporary, class == slurm.Limit, class == slurm.Permanent, class == slurm.Withheld:
		return a, s.refused(ctx, &a, class, err)
	}
	s.log.Warn("sbatch gave no clear answer, looking up its job", "allocation_id", a.ID, "workflow_id", a.WorkflowID, "error", err)
	defer s.wake()
	if e := s.store.Allocations.RecordUnclear(ctx, a.ID, err.Error()); e != nil {
		return a, e
	}
	return a, fmt.Errorf("submit allocation %d: %w", a.ID, err)
}

// refused ends an intent that Slurm has rejected, and returns the error.
func (s *Submitter) refused(ctx context.Context, a *compute.Allocation, class slurm.Class, cause error) error {
	s.log.Warn("an allocation was refused", "allocation_id", a.ID, "workflow_id", a.WorkflowID, "class", class, "error", cause)
	s.forget(a.IntentID)
	end := compute.AllocationEnd{Cause: compute.AllocationRefused, Confidence: workflow.Certain, Text: cause.Error(), Refusal: string(class)}
	if err := s.store.Allocations.End(ctx, a.ID, end); err != nil {
		return err
	}
	a.State, a.Cause, a.Refusal = compute.AllocationEnded, end.Cause, end.Refusal
	return fmt.Errorf("submit allocation %d: %w", a.ID, cause)
}

// forget removes the secret of an intent that is over.
func (s *Submitter) forget(intent string) {
	if err := s.secrets.remove(intent); err != nil {
		s.log.Warn("cannot remove a secret", "error", err)
	}
}

// begin records that sbatch is about to run for an intent. It returns false after Close.
func (s *Submitter) begin(intent string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.inFlight[intent] = true
		s.running.Add(1)
	}
	return !s.closed
}

// done records that sbatch has ended for an intent.
func (s *Submitter) done(intent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inFlight, intent)
	s.running.Done()
}

// isInFlight reports whether sbatch is running for an intent.
func (s *Submitter) isInFlight(intent string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inFlight[intent]
}
