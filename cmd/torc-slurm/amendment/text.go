package amendment

import (
	"fmt"
	"io"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/amend"
)

// How many jobs of a reason are shown.
const (
	shortPlan = 3
	longPlan  = 50
)

// reasonTexts say why jobs run.
var reasonTexts = map[amend.Reason]string{
	amend.New:         "new",
	amend.Returned:    "back in the specification",
	amend.Command:     "command changed",
	amend.Environment: "environment changed",
	amend.Inputs:      "inputs changed",
	amend.Outputs:     "outputs changed or missing",
	amend.Failed:      "did not succeed",
	amend.Behind:      "behind a job that runs",
	amend.Waiting:     "has not run yet",
}

// writePlan writes a plan, with at most so many jobs for each reason.
func writePlan(w io.Writer, plan *api.Amendment, most int) {
	fmt.Fprintf(w, "Workflow %d: %s, %d unchanged", plan.WorkflowID, countRuns(plan.Runs), plan.Unchanged)
	if n := len(plan.Removed); n > 0 {
		fmt.Fprintf(w, ", %d no longer in the specification", n)
	}
	fmt.Fprintln(w)
	for _, count := range plan.Counts {
		fmt.Fprintf(w, "  %s: %d\n", reasonTexts[count.Reason], count.Jobs)
		writeJobs(w, plan, most, func(j *api.AmendedJob) (string, bool) { return j.Difference, j.Reason == count.Reason })
	}
	if n := settingChanges(plan); n > 0 {
		fmt.Fprintf(w, "  settings changed, without running again for that: %d\n", n)
		writeJobs(w, plan, most, func(j *api.AmendedJob) (string, bool) { return joinSettings(j.Settings), len(j.Settings) > 0 })
	}
	if n := len(plan.Removed); n > 0 {
		fmt.Fprintf(w, "  disabled: %s\n", cli.Printable(cli.FirstNames(plan.Removed)))
	}
	if plan.Obstacle != "" {
		fmt.Fprintf(w, "Not now: %s\n", cli.Printable(plan.Obstacle))
	}
}

func countRuns(n int64) string {
	if n == 0 {
		return "nothing has to run"
	}
	return workflow.CountOf(n, "job runs", "jobs run")
}

func settingChanges(plan *api.Amendment) (n int) {
	for i := range plan.Jobs {
		if len(plan.Jobs[i].Settings) > 0 {
			n++
		}
	}
	return n
}

func joinSettings(settings []string) string {
	text := ""
	for i, s := range settings {
		if i > 0 {
			text += "; "
		}
		text += s
	}
	return text
}

// writeJobs writes the first jobs for which text returns something to say.
func writeJobs(w io.Writer, plan *api.Amendment, most int, text func(*api.AmendedJob) (string, bool)) {
	shown, more := 0, 0
	for i := range plan.Jobs {
		j := &plan.Jobs[i]
		say, is := text(j)
		if !is {
			continue
		}
		if shown == most {
			more++
			continue
		}
		shown++
		if say != "" {
			say = ": " + say
		}
		fmt.Fprintf(w, "    %s\n", cli.Printable(j.Name+say))
	}
	if more > 0 {
		fmt.Fprintf(w, "    and %d more\n", more)
	}
}
