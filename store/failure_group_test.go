package store

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
)

// Jobs that failed alike are one group, with the attempts of all of them; those of a
// database of an earlier version are grouped by their cause.
func TestFailureGroups(t *testing.T) {
	r := newRig(t, independent(5)...)
	h := r.hand("n1", 5)
	h.turn()
	held := h.held
	h.turn(h.failsSaying(held[0].LeaseRef, "CFL violated at step 7"), h.failsSaying(held[1].LeaseRef, "CFL violated at step 12"),
		h.failsSaying(held[2].LeaseRef, "no mesh"), exited(held[3].LeaseRef, 0), h.failsSaying(held[4].LeaseRef, "CFL violated at step 99"))
	groups, total, jobs, err := r.Workflows.FailureGroups(r.ctx, r.workflow, 1)
	if err != nil || len(groups) != 1 || total != 2 || jobs != 4 {
		t.Fatalf("%+v, %d, %d, %v", groups, total, jobs, err)
	}
	if line := groups[0].Line(); !strings.HasPrefix(line, "3 jobs, exit ") || !strings.HasSuffix(line, ": CFL violated at step N (j0 … j4)") || groups[0].Advice == "" {
		t.Errorf("%q, %q", line, groups[0].Advice)
	}
	f, err := r.Workflows.Facts(r.ctx, r.workflow)
	r.must(err)
	found := false
	for _, s := range explain.Workflow(f).Sections {
		found = found || s.Title == "failures" && len(s.Lines) == 2 && strings.HasPrefix(s.Lines[0], "3 jobs, exit ")
	}
	if !found {
		t.Errorf("%+v", explain.Workflow(f).Sections)
	}
	r.do(func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE attempt SET fingerprint = NULL`)
		return err
	})
	if groups, total, _, err = r.Workflows.FailureGroups(r.ctx, r.workflow, 10); err != nil || total != 1 || groups[0].Count != 4 || groups[0].Fingerprint != "" {
		t.Errorf("%+v, %v", groups, err)
	}
	if _, _, _, err := r.Workflows.FailureGroups(r.ctx, 99, 10); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("%v", err)
	}
	r.sound(check.Witness{})
}
