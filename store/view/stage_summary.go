package view

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// stagedJobs counts the jobs in the stages of a workflow, without compensations.
type stagedJobs struct {
	counts    workflow.StatusCounts // jobs in stages
	running   int64                 // running sub-workflow jobs, which no runner holds
	summaries stage.StageSummaries
}

func (l *factReader) stagedJobs(workflowID int64) (j stagedJobs, err error) {
	var some bool
	if err := l.row(`SELECT EXISTS (SELECT 1 FROM stage WHERE workflow_id = ?)`, []any{workflowID}, &some); err != nil || !some {
		return j, err
	}
	stages, err := l.stages(`s.workflow_id = ? AND s.kind != 'compensation'`, workflowID)
	if err != nil {
		return j, fmt.Errorf("read the stages of workflow %d: %w", workflowID, err)
	}
	for i := range stages {
		for status, n := range stages[i].Counts {
			j.counts[status] += n
		}
	}
	j.summaries = stage.Summarize(stages)
	return j, l.row(CountRunningStages, []any{workflowID}, &j.running)
}
