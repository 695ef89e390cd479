package faults

import (
	"context"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

func text(id int64) string { return strconv.FormatInt(id, 10) }

// admin runs scontrol as the administrator.
func (w *world) admin(args ...string) {
	w.t.Helper()
	out, err := w.real.Root().Run(context.WithoutCancel(w.t.Context()), slurm.Command{Program: slurm.Scontrol, Args: args})
	if err != nil || out.ExitCode != 0 {
		w.t.Fatalf("scontrol %s: %s, %v", strings.Join(args, " "), out.Stderr, err)
	}
}

// slurmState returns the state of a Slurm job, empty if it is unknown.
func (w *world) slurmState(job int64) slurm.State {
	queue, err := w.root.Queue(context.WithoutCancel(w.t.Context()), slurm.QueueQuery{IDs: []slurm.JobID{{Number: job}}})
	if err != nil || len(queue.Jobs) == 0 {
		return ""
	}
	return queue.Jobs[0].State
}

// expectCause checks how an allocation ended.
func (w *world) expectCause(allocation int64, cause, text string) {
	w.t.Helper()
	if a := w.allocation(allocation); a.Cause != cause || !strings.Contains(a.CauseText, text) {
		w.t.Errorf("allocation %d ended by %s: %q, want %s: %q", a.ID, a.Cause, a.CauseText, cause, text)
	}
}

// expectOneAttempt checks that nothing had to be repeated.
func (w *world) expectOneAttempt(id int64) {
	w.t.Helper()
	for _, j := range w.allJobs(id) {
		attempts, err := w.client.Jobs.Attempts(w.t.Context(), *j.ID)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(attempts) != 1 {
			w.t.Errorf("job %s had %d attempts\n%s", j.Name, len(attempts), w.why(*j.ID))
		}
	}
}
