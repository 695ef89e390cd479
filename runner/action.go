package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// ActionClient lists and claims the actions of a workflow; *client.Client is
// one.
type ActionClient interface {
	Actions(ctx context.Context, workflowID int64) ([]api.Action, error)
	// ClaimAction reports whether the action is the runner's to carry out.
	ClaimAction(ctx context.Context, workflowID, actionID, runnerID int64) (bool, error)
}

const (
	actionPause   = time.Second // between two looks at the actions
	actionTimeout = time.Hour   // of one command
	actionCall    = 30 * time.Second
)

// actions follows the commands that a workflow wants run at points of its
// life. One goroutine at a time looks for those that are due and runs them.
type actions struct {
	running bool
	begun   bool // the triggers of the start are being served
	ready   bool // they have been: jobs may start
	ended   bool // the triggers of the end are being served
	none    bool // the workflow has no commands to run
	due     bool // jobs have moved since the last look
	next    time.Time
	ran     map[int64]bool // persistent actions are run once by each runner
	cancel  context.CancelFunc
}

// actedMsg says that a look at the actions is over.
type actedMsg struct {
	ran []int64
	any bool // the workflow has commands to run
}

// actionsFirst reports whether jobs must wait for the actions of the start.
func (r *Runner) actionsFirst() bool { return r.opts.Actions != nil && !r.actions.ready }

// stepActions looks for due actions when there is reason to.
func (r *Runner) stepActions(ctx context.Context, now time.Time) {
	s := &r.actions
	switch {
	case r.opts.Actions == nil || s.running || s.ended:
	case !s.begun:
		s.begun = true
		r.act(ctx, workflow.TriggerWorkflowStart, workflow.TriggerWorkerStart)
	case s.due && !s.none && now.After(s.next) && !r.leaving.active():
		s.due = false
		s.next = now.Add(actionPause)
		r.act(ctx, workflow.TriggerJobsReady, workflow.TriggerJobsComplete)
	}
}

// actBeforeLeaving serves the triggers of the end; it reports whether that is
// under way.
func (r *Runner) actBeforeLeaving(ctx context.Context) bool {
	s := &r.actions
	if r.opts.Actions == nil || s.none || s.ended || r.leaving.kind >= StopHurry || !r.turns.outage.since.IsZero() {
		return false
	}
	s.ended = true
	triggers := []string{workflow.TriggerWorkerComplete}
	if r.turns.latest.Complete && !r.turns.latest.Canceled {
		triggers = append(triggers, workflow.TriggerJobsReady, workflow.TriggerJobsComplete, workflow.TriggerWorkflowComplete)
	}
	r.act(ctx, triggers...)
	return true
}

// act runs the due actions with one of the triggers in the background.
func (r *Runner) act(ctx context.Context, triggers ...string) {
	ctx, cancel := context.WithCancel(ctx)
	r.actions.running, r.actions.cancel = true, cancel
	ran, id := maps.Clone(r.actions.ran), r.id
	r.requests.Go(func() {
		defer cancel()
		m := actedMsg{}
		if err := r.runActions(ctx, id, triggers, ran, &m); err != nil {
			r.log.Error("actions", "error", err)
		}
		r.box.put(m)
	})
}

func (r *Runner) onActed(m actedMsg) {
	s := &r.actions
	s.running, s.ready, s.none = false, true, !m.any
	for _, id := range m.ran {
		if s.ran == nil {
			s.ran = make(map[int64]bool)
		}
		s.ran[id] = true
	}
	r.active = time.Now()
}

// runActions claims and runs what is due, one after the other.
func (r *Runner) runActions(ctx context.Context, runnerID int64, triggers []string, ran map[int64]bool, m *actedMsg) error {
	call, cancel := context.WithTimeout(ctx, actionCall)
	list, err := r.opts.Actions.Actions(call, r.opts.WorkflowID)
	cancel()
	if err != nil {
		m.any = true // not known; ask again
		return fmt.Errorf("list actions: %w", err)
	}
	var errs []error
	for i := range list {
		a := &list[i]
		if a.ActionType != workflow.ActionRunCommands || a.ID == nil {
			continue
		}
		m.any = true
		if !slices.Contains(triggers, a.TriggerType) || ran[*a.ID] || !isDue(a) {
			continue
		}
		m.ran = append(m.ran, *a.ID)
		if err := r.runAction(ctx, runnerID, a); err != nil {
			errs = append(errs, fmt.Errorf("action %d: %w", *a.ID, err))
		}
	}
	return errors.Join(errs...)
}

func isDue(a *api.Action) bool {
	if a.Executed != nil && *a.Executed {
		return false
	}
	return a.TriggerCount != nil && a.RequiredTriggers != nil && *a.TriggerCount >= *a.RequiredTriggers
}

// runAction claims an action and runs its commands until one fails.
func (r *Runner) runAction(ctx context.Context, runnerID int64, a *api.Action) error {
	var config struct {
		Commands []string `json:"commands"`
	}
	if err := json.Unmarshal(a.ActionConfig, &config); err != nil {
		return fmt.Errorf("action_config: %w", err)
	}
	call, cancel := context.WithTimeout(ctx, actionCall)
	defer cancel()
	mine, err := r.opts.Actions.ClaimAction(call, r.opts.WorkflowID, *a.ID, runnerID)
	if err != nil || !mine {
		return err
	}
	for i, command := range config.Commands {
		err := r.runCommand(ctx, *a.ID, i, command)
		message := fmt.Sprintf("%s: %s", a.TriggerType, command)
		if err != nil {
			message += ": " + err.Error()
		}
		r.box.put(Event{Kind: EventAction, Message: message, Failed: err != nil})
		if err != nil {
			return fmt.Errorf("command %d: %w", i+1, err)
		}
	}
	return nil
}

// runCommand runs one command of an action in the output directory. When its
// time is up, or ctx is done, its process group is ended.
func (r *Runner) runCommand(ctx context.Context, actionID int64, index int, command string) error {
	key := fmt.Sprintf("%s.action.%d.%d", r.key, actionID, index)
	base := fmt.Sprintf("action_wf%d_ac%d_r%d_c%d", r.opts.WorkflowID, actionID, r.about.RunID, index+1)
	base = filepath.Join(r.opts.OutputDir, stdioDir, base)
	ended := make(chan Exit, 1)
	pid, err := r.executor.Start(&Command{
		Argv:   []string{r.shell, "-c", command},
		Env:    r.env.with(nil, [][2]string{{envAttemptKey, key}}),
		Dir:    r.opts.OutputDir,
		Stdout: base + ".o", Stderr: base + ".e",
	}, func(e Exit) { ended <- e })
	if err != nil {
		return err
	}
	r.leftover.started(pid, key)
	defer r.leftover.ended(key)
	limit := time.NewTimer(actionTimeout)
	defer limit.Stop()
	select {
	case e := <-ended:
		if code := e.returnCode(); code != 0 {
			return errors.New("return code " + strconv.FormatInt(code, 10))
		}
		return nil
	case <-limit.C:
		err = fmt.Errorf("did not end within %s", actionTimeout)
	case <-ctx.Done():
		err = ctx.Err()
	}
	children.signalGroup(pid, unix.SIGTERM)
	select {
	case <-ended:
		return err
	case <-time.After(min(r.policy.lead, strayLead)):
	}
	children.signalGroup(pid, unix.SIGKILL)
	select {
	case <-ended:
	case <-time.After(killPatience):
	}
	return err
}
