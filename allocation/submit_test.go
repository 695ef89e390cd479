package allocation

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// slowSbatch is a Slurm whose sbatch runs until it is told to continue; like any program
// it is killed with its context.
type slowSbatch struct {
	Slurm
	goOn chan struct{}
}

func (s slowSbatch) Submit(ctx context.Context, sub slurm.Submission) (slurm.Submitted, error) {
	select {
	case <-s.goOn:
		return s.Slurm.Submit(ctx, sub)
	case <-ctx.Done():
		return slurm.Submitted{}, &slurm.Error{Program: slurm.Sbatch, Class: slurm.Ambiguous, Err: ctx.Err()}
	}
}

// TestSbatchFinishes: the caller disconnects and the daemon shuts down while sbatch is
// running.
func TestSbatchFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		submitter := w.loop.Submitter()
		goOn := make(chan struct{})
		submitter.slurm = slowSbatch{w.client, goOn}

		client, leave := context.WithCancel(t.Context())
		answered, closed := make(chan error, 1), make(chan struct{})
		go func() {
			_, err := submitter.Submit(client, w.want())
			answered <- err
		}()
		synctest.Wait()
		if a := w.only(); a.State != compute.AllocationIntent {
			t.Errorf("while sbatch runs it is %s", a.State)
		}
		leave()
		go func() {
			submitter.Close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case err := <-answered:
			t.Fatalf("sbatch did not finish: %v", err)
		case <-closed:
			t.Fatal("the daemon does not wait for sbatch")
		default:
		}
		close(goOn)
		<-closed
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if a := w.only(); a.State != compute.AllocationPending || a.SlurmJobID == 0 {
			t.Errorf("the answer of sbatch is not stored: %+v", a)
		}
		if _, err := submitter.Submit(t.Context(), w.want()); workflow.CodeOf(err) != workflow.CodeUnavailable {
			t.Errorf("a daemon that shuts down makes requests: %v", err)
		}
		if n := w.calls(slurm.Sbatch); n != 1 {
			t.Errorf("%d sbatch", n)
		}
	})
}
