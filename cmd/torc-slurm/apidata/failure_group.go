package apidata

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// FailureLines returns a line for each group of jobs that failed alike, with the command that
// shows the output of one, and what to do; nil if no job has failed. Prefix is the program
// with the flags for the same server.
func FailureLines(list *api.FailureGroupList, prefix string) []string {
	if len(list.Groups) == 0 {
		return nil
	}
	lines := []string{"Failures:"}
	left, advice := list.Jobs, ""
	for i := range list.Groups {
		g := &list.Groups[i]
		left -= g.Count
		lines = append(lines, fmt.Sprintf("  %s; `%s logs show %d`", g.Line(), prefix, g.FirstID))
		if g.Advice != advice {
			lines = append(lines, "    "+g.Advice)
		}
		advice = g.Advice
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("  and %s in %s", workflow.CountOf(left, "other job", "other jobs"), workflow.CountOf(list.Total-int64(len(list.Groups)), "other group", "other groups")))
	}
	return lines
}
