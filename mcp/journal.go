package mcp

import (
	"cmp"
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) addJournalTools() {
	add(s, tool{name: "check_offline_journals", title: "Undelivered reports",
		description: "Look for reports of runners that the daemon has not received, because it was away until their end. Nothing is delivered; the answer has the command that does it."}, checkOfflineJournals)
}

type journalsIn struct {
	workflowIn
	RunID   int64  `json:"run_id,omitempty" jsonschema:"only of this run"`
	BaseDir string `json:"base_dir,omitempty" jsonschema:"folder with the output directory, if it is not the configured one"`
}

type journalRow struct {
	RunnerID    int64 `json:"runner_id"`
	RunID       int64 `json:"run_id"`
	Completions int   `json:"pending_completions" jsonschema:"ends of attempts that were not delivered"`
	Starts      int   `json:"pending_starts"`
}

type journalsOut struct {
	WorkflowID  int64        `json:"workflow_id"`
	Journals    []journalRow `json:"journals"`
	Completions int          `json:"pending_completions"`
	Commands    []string     `json:"reconcile_commands,omitempty" jsonschema:"what a person can run to deliver them; the next runner there does it as well"`
}

func checkOfflineJournals(ctx context.Context, c *call, in journalsIn) (out journalsOut, err error) {
	if _, err := c.Workflows.Get(ctx, in.WorkflowID); err != nil {
		return out, err
	}
	version, err := c.Version(ctx)
	if err != nil {
		return out, err
	}
	dirs := c.server.OutputRoots(in.BaseDir)
	out = journalsOut{WorkflowID: in.WorkflowID, Journals: []journalRow{}}
	runs := map[int64]bool{}
	for _, dir := range dirs {
		left, err := runner.ReadSpooled(dir, version.Database, func(h *spool.Header) bool {
			return h.WorkflowID == in.WorkflowID && h.RunID == cmp.Or(in.RunID, h.RunID)
		})
		if err != nil {
			return out, workflow.Errorf(workflow.CodeForbidden, "%v", err)
		}
		for i := range left {
			j := &left[i]
			if len(j.Reports)+len(j.Started) == 0 {
				continue
			}
			out.Journals = append(out.Journals, journalRow{j.RunnerID, j.RunID, len(j.Reports), len(j.Started)})
			out.Completions += len(j.Reports)
			if !runs[j.RunID] {
				runs[j.RunID] = true
				out.Commands = append(out.Commands, fmt.Sprintf("torc-slurm workflows reconcile %d %d --base-dir %s", in.WorkflowID, j.RunID, dir))
			}
		}
	}
	return out, nil
}
