package repair

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/classifier"
)

// agentFlags are the flags for asking an AI agent about held jobs.
type agentFlags struct {
	recovery bool
	agent    string
	apply    bool
}

func (f *agentFlags) add(s *pflag.FlagSet) {
	s.BoolVar(&f.recovery, "ai-recovery", false, "make the daemon ask an AI agent about held jobs; what it proposes is applied by you")
	s.StringVar(&f.agent, "ai-agent", "", "`AGENT` to ask: claude, codex, copilot, gemini, one of the configuration, or the path of a program (default claude)")
	s.BoolVar(&f.apply, "ai-apply", false, "let the daemon apply proposals within the caps of the workflow's classifier")
}

func (f *agentFlags) check() error {
	if !f.recovery && (f.agent != "" || f.apply) {
		return cli.UsageErrorf("--ai-agent and --ai-apply need --ai-recovery")
	}
	return nil
}

// enable makes the daemon ask the agent about held jobs of a workflow, with the other settings
// of the workflow's classifier if it has one. It returns what happens from now on, or a
// conflict if this daemon asks no agents.
func (f *agentFlags) enable(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) (string, error) {
	state, err := c.Holds.Classifier(ctx, id)
	if err != nil {
		return "", err
	}
	if !state.Asks {
		return "", workflow.Errorf(workflow.CodeConflict, "the daemon within this command asks no agents").WithHint("leave out -s")
	}
	var p workflow.ClassifierPolicy
	if state.Policy != nil {
		p = *state.Policy
	}
	if p.Agent = cmp.Or(f.agent, p.Agent, "claude"); f.agent != "" && strings.Contains(p.Agent, "/") {
		p.Agent = a.Path(p.Agent)
	}
	p.Apply = p.Apply || f.apply
	if state.Policy == nil || *state.Policy != p {
		w, err := c.Workflows.Get(ctx, id)
		if err != nil {
			return "", err
		}
		change := api.WorkflowUpdate{Workflow: api.Workflow{Name: w.Name, User: w.User, Policy: &workflow.RunPolicy{Classifier: &p}}}
		if _, err := c.Workflows.Update(ctx, id, &change); err != nil {
			return "", fmt.Errorf("make the daemon ask an agent about held jobs of workflow %d: %w", id, err)
		}
	}
	who := "you apply what it proposes"
	if p.Apply {
		who = "proposals within the caps are applied at once"
	}
	return fmt.Sprintf("The daemon asks the agent %s about held jobs, with or without this command; %s.", p.Agent, who), nil
}

// agentInterval is the time between polls while an agent is asked.
const agentInterval = time.Second

// askAboutHeld makes the daemon ask an agent about the held jobs of a workflow, and waits for
// the answer. It reports whether the workflow has ended, so that failed jobs can be repeated.
func askAboutHeld(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, flags *recoverFlags) (goOn bool, err error) {
	status, err := c.Workflows.Status(ctx, id)
	if err != nil {
		return false, err
	}
	held := status.JobsByStatus.PendingFailed
	switch {
	case held == 0:
		a.Note("No job is held: there is nothing to ask an agent about.")
		return true, nil
	case flags.dryRun:
		a.Note("An agent would be asked about %s.", workflow.CountOf(held, "held job", "held jobs"))
		return status.IsComplete, nil
	}
	text, err := flags.agent.enable(ctx, a, c, id)
	if err != nil {
		return false, err
	}
	a.Note("%s", text)
	state, err := awaitAgent(ctx, c, id)
	if err != nil {
		return false, err
	}
	for i := range state.Calls {
		a.Note("%s", sentence(state.Calls[i].Line(a.Now().UnixMilli())))
	}
	if status, err = c.Workflows.Status(ctx, id); err != nil || status.IsComplete {
		return err == nil, err
	}
	if n := status.JobsByStatus.PendingFailed; n > 0 {
		a.Note("%s.", sentence(state.Next))
		return false, cli.FailedErrorf("%s for a decision; `%s proposals list %d` shows what was proposed", workflow.CountOf(n, "job waits", "jobs wait"), cli.Prefix(a), id)
	}
	a.Note("The workflow goes on: `%[1]s run %[2]d` or `%[1]s submit %[2]d` runs the jobs that are ready, if nothing works on it.", cli.Prefix(a), id)
	return false, nil
}

// awaitAgent waits until no call of an agent goes on or is due.
func awaitAgent(ctx context.Context, c *cli.Connection, id int64) (*api.ClassifierState, error) {
	for {
		state, err := c.Holds.Classifier(ctx, id)
		if err != nil || !state.Pending {
			return state, err
		}
		if err := cli.Pause(ctx, agentInterval); err != nil {
			return nil, err
		}
	}
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// waitsForAgent reports whether only held jobs are left, and an agent is asked about them.
func (w *watch) waitsForAgent(ctx context.Context, s *api.WorkflowStatus) (bool, error) {
	if !w.flags.agent.recovery || !s.OnlyHeld() || s.IsCanceled {
		return false, nil
	}
	state, err := w.c.Holds.Classifier(ctx, w.id)
	if err != nil {
		return false, err
	}
	return state.Pending, nil
}

// tellAgents says what came of the calls of agents.
func (w *watch) tellAgents(ctx context.Context) error {
	if !w.flags.agent.recovery {
		return nil
	}
	state, err := w.c.Holds.Classifier(ctx, w.id)
	if err != nil {
		return err
	}
	proposed := false
	for i := range state.Calls {
		w.say("%s.", sentence(state.Calls[i].Line(w.app.Now().UnixMilli())))
		proposed = proposed || state.Calls[i].Outcome == classifier.Proposed
	}
	w.say("%s.", sentence(state.Next))
	if proposed {
		w.say("`%[1]s proposals list %[2]d` shows what was proposed, `%[1]s proposals apply ID` applies it.", cli.Prefix(w.app), w.id)
	}
	return nil
}
