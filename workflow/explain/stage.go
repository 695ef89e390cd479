package explain

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// stageState describes the state of a job that waits for its stage, or that stands for
// a sub-workflow. It returns "" for other jobs.
func (f JobFacts) stageState() string {
	switch {
	case f.Child != nil && f.Job.Status == workflow.Running:
		return "running, " + f.Child.Progress()
	case f.Stage == nil || f.Job.Status != workflow.Blocked || f.Stage.State != stage.NotStarted:
		return ""
	case len(f.Stage.WaitsFor) > 0:
		return "blocked, the end job " + f.Stage.Waits()
	case f.Stage.Kind == workflow.StageEnd && f.Stage.ParentID == nil:
		return "blocked, the end job runs when all others are complete"
	case f.Stage.Kind == workflow.StageEnd:
		return "blocked, the end job of a sub-workflow runs when its other jobs are complete"
	}
	return fmt.Sprintf("blocked, it is in the sub-workflow of job %q, which has not started", f.Stage.Name)
}

// stageLines returns which stage a job is in and which sub-workflow it stands for.
func (f JobFacts) stageLines() []string {
	var lines []string
	if c := f.Child; c != nil {
		line := fmt.Sprintf("it stands for the sub-workflow %s, which is %s", c.Policy.Source, c.State)
		lines = append(lines, line, c.Progress())
		if c.Verdict != nil {
			line := "its verdict: " + c.Verdict.Text()
			if n := c.Verdict.DeletedJobs; n > 0 {
				line += fmt.Sprintf("; %s since", workflow.CountOf(n, "of its jobs was deleted", "of its jobs were deleted"))
			}
			lines = append(lines, line)
		}
	}
	if s := f.Stage; s != nil {
		lines = append(lines, fmt.Sprintf("it is in the stage %q (%s), which is %s: %s", s.Name, s.Kind, s.State, s.Progress()))
	}
	if f.Class.Login {
		lines = append(lines, "it runs on the daemon's host "+f.Login.Host)
	}
	return lines
}
