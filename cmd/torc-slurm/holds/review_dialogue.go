package holds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

func newReviewCommand(a *cli.Factory) *cobra.Command {
	return cli.OnWorkflow(a, &cobra.Command{
		Use:   "review [WORKFLOW]",
		Short: "Decide about held jobs group by group, one key at a time",
		Long: `Go through the groups of held jobs of a workflow, or of all, the largest first. Each
group is shown with the last lines of its stderr and what became of such failures before.
One key decides about all its jobs:

  r   another attempt
  m   another attempt with more memory, runtime or CPUs
  f   they have failed; jobs that depend on them are canceled
  s   skip the group
  l   the end of the stderr of the example
  q   end

What a decision would do is shown before it is carried out. Groups that others have decided
meanwhile are passed over. Keys can also be piped in.`,
		Example: `  torc-slurm holds review
  torc-slurm holds review 12`,
		Annotations: cli.ServerExits(),
		RunE: a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
			id, err := cli.SomeWorkflow(args)
			if err != nil {
				return err
			}
			if a.Format != cli.FormatTable {
				return cli.UsageErrorf("holds review is a dialogue; with --format use `holds list` and `holds resolve -f FILE`")
			}
			groups, err := c.Holds.List(ctx, id)
			if err != nil {
				return err
			}
			if len(groups) == 0 {
				a.Note("No jobs are held.")
				return nil
			}
			d := &reviewDialogue{app: a, c: c, keys: cli.NewKeyboard(a), review: newReview(groups)}
			err = d.run(ctx)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			a.Note("%s", d.summary())
			return err
		}),
	})
}

// reviewDialogue carries out the steps of a review.
type reviewDialogue struct {
	*review
	app  *cli.Factory
	c    *cli.Connection
	keys *cli.Keyboard
}

func (d *reviewDialogue) run(ctx context.Context) (err error) {
	for step := d.start(); step != stepEnd; {
		if step, err = d.carryOut(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// carryOut does what a step asks for, and returns the next one.
func (d *reviewDialogue) carryOut(ctx context.Context, step reviewStep) (reviewStep, error) {
	g := &d.groups[d.at]
	switch step {
	case stepChoose:
		d.show(g)
		return d.key("[r]etry, retry with [m]ore, [f]ail, [s]kip, [l]og, [q]uit ")
	case stepKey:
		return d.key("")
	case stepLog:
		if err := d.log(ctx, g); err != nil {
			return "", err
		}
		return d.key("[r]etry, retry with [m]ore, [f]ail, [s]kip, [q]uit ")
	case stepResources:
		line, err := d.keys.Line("with, such as 16g, or memory=16g runtime=2h cpus=4: ")
		if err != nil {
			return "", err
		}
		if err := d.setResources(line); err != nil {
			d.app.Note("%v", err)
			return d.start(), nil
		}
		return stepReason, nil
	case stepReason:
		line, err := d.keys.Line("why [" + usualReason + "]: ")
		if err != nil {
			return "", err
		}
		d.setReason(line)
		return d.foreseen(ctx, g)
	case stepApply:
		o, err := d.resolve(ctx, g, false)
		if err != nil {
			return "", err
		}
		d.write(o)
		return d.applied(o), nil
	}
	return stepEnd, nil
}

// key reads a key, and shows it.
func (d *reviewDialogue) key(question string) (reviewStep, error) {
	fmt.Fprint(d.app.Stderr, question)
	key, err := d.keys.Key()
	if err != nil {
		fmt.Fprintln(d.app.Stderr)
		return "", err
	}
	step := d.press(key)
	if step != stepKey {
		fmt.Fprintln(d.app.Stderr, cli.Printable(string(key)))
	}
	return step, nil
}

// show writes a group.
func (d *reviewDialogue) show(g *hold.HoldGroup) {
	w := d.app.Stdout
	fmt.Fprintf(w, "\n%d of %d: %s of workflow %d failed alike, such as %s (%d): %s\n", d.at+1, len(d.groups), workflow.CountOf(int64(g.Count), "job", "jobs"), g.WorkflowID,
		cli.Printable(g.ExampleName), g.ExampleID, cli.Printable(failureOf(*g)))
	fmt.Fprintf(w, "held since %s: %s; %s left", cli.LocalTime(g.SinceMS), cli.Printable(g.Reason), workflow.CountOf(g.RetriesLeft, "retry", "retries"))
	if g.DeadlineMS != 0 {
		fmt.Fprintf(w, "; deadline %s", deadlineOf(*g))
	}
	fmt.Fprintln(w)
	writeLastLines(w, *g)
	writeEarlier(w, *g, d.app.Now().UnixMilli())
}

// foreseen shows what the verdict would do, and asks whether to do it.
func (d *reviewDialogue) foreseen(ctx context.Context, g *hold.HoldGroup) (reviewStep, error) {
	o, err := d.resolve(ctx, g, true)
	if err != nil {
		return "", err
	}
	d.write(o)
	if o.Error != "" && len(o.Jobs) == 0 && d.gone(ctx, g) {
		d.app.Note("Others have decided about these jobs.")
		return d.next(), nil
	}
	if !d.foresee(o) {
		return d.start(), nil
	}
	return d.key("do it? [y]es, [n]o ")
}

// gone reports whether a group has no held jobs any more.
func (d *reviewDialogue) gone(ctx context.Context, g *hold.HoldGroup) bool {
	now, err := d.c.Holds.List(ctx, g.WorkflowID)
	for i := range now {
		if now[i].Fingerprint == g.Fingerprint {
			return false
		}
	}
	return err == nil
}

func (d *reviewDialogue) write(o *hold.VerdictOutcome) {
	for _, line := range effects(o) {
		fmt.Fprintln(d.app.Stdout, "  "+line)
	}
}

// resolve carries out the verdict about a group, or says what it would do.
func (d *reviewDialogue) resolve(ctx context.Context, g *hold.HoldGroup, dryRun bool) (*hold.VerdictOutcome, error) {
	v := d.verdict
	v.Author = d.app.User()
	answer, err := d.c.Holds.ResolveEach(ctx, g.WorkflowID, &api.HoldVerdicts{Verdicts: []hold.HoldVerdict{v}, DryRun: dryRun})
	var refusal *client.APIError
	switch {
	case errors.As(err, &refusal) && refusal.Status < 500 && refusal.Status != 401 && refusal.Status != 403:
		return &hold.VerdictOutcome{Error: refusal.Message, Hint: refusal.Detail.Hint}, nil // such as a deleted workflow
	case err != nil:
		return nil, err
	case len(answer) != 1:
		return nil, fmt.Errorf("the server answered %d outcomes to one verdict", len(answer))
	}
	return &answer[0], nil
}

// logLines is how many lines of stderr are shown.
const logLines = 40

// log writes the end of the stderr of the example.
func (d *reviewDialogue) log(ctx context.Context, g *hold.HoldGroup) error {
	attempts, err := d.c.Jobs.Attempts(ctx, g.ExampleID)
	if err != nil {
		return err
	}
	text := ""
	if n := len(attempts); n > 0 && attempts[n-1].Evidence != nil {
		text = strings.TrimRight(attempts[n-1].Evidence.StderrTail, "\n")
	}
	if text == "" {
		d.app.Note("The report of job %d has no stderr; try `torc-slurm logs show %d`.", g.ExampleID, g.ExampleID)
		return nil
	}
	lines := strings.Split(text, "\n")
	for _, line := range lines[max(0, len(lines)-logLines):] {
		fmt.Fprintln(d.app.Stdout, "| "+cli.Printable(line))
	}
	d.app.Note("`torc-slurm logs show %d` shows all.", g.ExampleID)
	return nil
}
