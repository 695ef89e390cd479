package allocation

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	sbatchtemplates "github.com/torc-slurm/torc-slurm/sbatch-templates"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Script is what all batch scripts of this daemon have in common.
type Script struct {
	OutputDir  string        // absolute; where Slurm and the runners write
	SignalLead time.Duration // how long before the end Slurm signals the runner
	Requeue    bool          // Slurm may restart an allocation by itself
	Env        map[string]string
	// Runner is the command that an allocation runs.
	Runner func(a compute.Allocation, secretFile string) []string
}

// outputDir returns where an allocation and its runners write.
func (s *Script) outputDir(a *compute.Allocation) string {
	return cmp.Or(a.Request.OutputDir, s.OutputDir)
}

// render writes the batch script of an allocation.
func (s *Script) render(w *workflow.Workflow, a compute.Allocation, secretFile string) ([]byte, error) {
	defaults, err := sbatchtemplates.ParseDefaults(w.SlurmDefaults)
	if err != nil {
		return nil, err
	}
	q := &a.Request
	dir := s.outputDir(&a)
	if w.SubmissionDirectory != nil && filepath.IsAbs(*w.SubmissionDirectory) {
		dir = *w.SubmissionDirectory
	}
	r := sbatchtemplates.Request{
		JobName: a.JobName, Account: q.Account, Partition: q.Partition, QOS: q.QOS, Nodes: int(q.Nodes), NTasksPerNode: int(q.NtasksPerNode),
		CPUsPerTask: int(q.CPUsPerNode), Mem: q.Mem, GRES: q.Gres, Tmp: q.Tmp, Walltime: time.Duration(q.WalltimeS) * time.Second,
		Exclude: q.Exclude, SignalLead: s.SignalLead, Requeue: s.Requeue, Comment: fmt.Sprintf("workflow %d", w.ID),
		Defaults: defaults, Extra: q.Extra, Dir: dir, Env: s.Env, Runner: s.Runner(a, secretFile),
		OneRunnerPerNode: q.OneRunnerPerNode, SrunMPI: q.SrunMPI,
	}
	if q.After != 0 {
		r.After = strconv.FormatInt(q.After, 10)
	}
	r.Output, r.Error = sbatchtemplates.OutputFiles(s.outputDir(&a), w.ID)
	return sbatchtemplates.Render(r)
}
