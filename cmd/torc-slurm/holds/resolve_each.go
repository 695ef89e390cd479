package holds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// verdictRow is the outcome of an entry of a file for a job, or of a wrong entry.
type verdictRow struct {
	place string
	hold.HoldOutcome
}

// resolveHoldsEach applies the valid entries of a file, and shows the outcome of all
// entries.
func resolveHoldsEach(ctx context.Context, a *cli.Factory, c *cli.Connection, workflowID int64, h *holdFlags) error {
	outcomes := make([]hold.VerdictOutcome, len(h.verdicts))
	request := api.HoldVerdicts{DryRun: h.resolution.DryRun, Force: h.resolution.Force}
	var sent []int // the places of those entries in the file
	for i := range h.verdicts {
		v := &h.verdicts[i]
		if v.Err != nil {
			outcomes[i] = wrongVerdict(i, v.Err)
			continue
		}
		v.Author = cmp.Or(v.Author, h.resolution.Author, a.User())
		request.Verdicts = append(request.Verdicts, v.HoldVerdict)
		sent = append(sent, i)
	}
	if len(sent) > 0 {
		answer, err := c.Holds.ResolveEach(ctx, workflowID, &request)
		if err != nil {
			return err
		}
		for _, o := range answer {
			i := sent[o.Entry]
			o.Entry = i
			outcomes[i] = o
		}
	}
	if err := showVerdicts(a, outcomes, h); err != nil {
		return err
	}
	if slices.ContainsFunc(outcomes, func(o hold.VerdictOutcome) bool { return !o.Resolved }) {
		return cli.Silent(cli.ExitFailed)
	}
	retried := slices.ContainsFunc(h.verdicts, func(v spec.HoldVerdict) bool { return v.Action == workflow.ActionRetry })
	if retried && !h.resolution.DryRun && a.Format == cli.FormatTable {
		return apidata.HintAtRunner(ctx, a, c, workflowID)
	}
	return nil
}

// wrongVerdict returns the outcome of an invalid entry.
func wrongVerdict(i int, err error) hold.VerdictOutcome {
	o := hold.VerdictOutcome{Entry: i, Jobs: []hold.HoldOutcome{}}
	var places spec.Errors
	var known *workflow.Error
	switch {
	case errors.As(err, &places):
		o.Error = strings.ReplaceAll(places.Error(), "\n", "; ")
	case errors.As(err, &known):
		o.Error, o.Hint = known.Message, known.Hint
	}
	return o
}

// showVerdicts writes a line for each job, and for each entry without a job.
func showVerdicts(a *cli.Factory, outcomes []hold.VerdictOutcome, h *holdFlags) error {
	noteDryRun(a, h)
	if a.Format == cli.FormatJSON {
		return cli.ShowList(a, cli.List[hold.VerdictOutcome]{}, outcomes)
	}
	var rows []verdictRow
	for i, o := range outcomes {
		place := h.verdicts[i].Place
		if o.Error != "" || len(o.Jobs) == 0 {
			rows = append(rows, verdictRow{place, hold.HoldOutcome{Error: o.Error, Hint: o.Hint}})
		}
		for _, j := range o.Jobs {
			rows = append(rows, verdictRow{place, j})
		}
	}
	return cli.ShowList(a, cli.List[verdictRow]{Things: "verdicts on jobs", Columns: []cli.Column[verdictRow]{
		{Title: "Entry", Cell: func(r verdictRow) string { return r.place }},
		{Title: "ID", Cell: func(r verdictRow) string {
			if r.JobID == 0 {
				return ""
			}
			return fmt.Sprint(r.JobID)
		}},
		{Title: "Name", Cell: func(r verdictRow) string { return r.JobName }},
		{Title: "Status", Cell: func(r verdictRow) string { return cli.OrEmpty(r.Status) }},
		{Title: "Outcome", Cell: func(r verdictRow) string { return outcomeOf(r.HoldOutcome) }},
	}}, rows)
}

// noteDryRun notes that the outcomes are those of a dry run.
func noteDryRun(a *cli.Factory, h *holdFlags) {
	if h.resolution.DryRun {
		a.Note("Nothing was changed. Without --dry-run the outcome is:")
	}
}

// loadVerdicts reads the file with the entries, if there is one.
func loadVerdicts(a *cli.Factory, h *holdFlags) (err error) {
	if h.file != "" {
		h.verdicts, err = spec.LoadHoldVerdicts(h.file, specfile.Options(a, specfile.Flags{}))
	}
	return err
}
