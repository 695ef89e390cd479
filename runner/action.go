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
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// ActionClient lists and claims the actions of a workflow; a client.Runners
// is one.
type ActionClient interface {
	Actions(ctx context.Context, workflowID int64) ([]api.Action, error)
	// ClaimAction reports whether the runner must carry out the action.
	ClaimAction(ctx context.Context, workflowID, actionID, runnerID int64) (bool, error)
}

const (
	actionPause   = time.Second // between two polls of the actions
	actionTimeout = time.Hour   // of one command
	actionCall    = 30 * time.Second
)

// actions runs the commands that a workflow has for points of its run. One goroutine at a
// time lists them and runs those that are due.
type actions struct {
	runner *Runner

	running         bool
	begun           bool // the actions of the start are running
	ready           bool // they have run: jobs may start
	ended           bool // the actions of the end are running
	none            bool // the workflow has no commands to run
	due             bool // jobs have changed since the last poll
	next            time.Time
	unansweredSince time.Time       // since when the daemon has not answered; zero if it has
	ran             map[int64]bool  // persistent actions are run once by each runner
	unsure          map[int64]int64 // claims that were not answered, with the runner's id at that time
	cancel          context.CancelFunc
}

// actionsDoneMsg is the result of one pass over the actions.
type actionsDoneMsg struct {
	ran        []int64
	any        bool            // the workflow has commands to run
	unanswered bool            // the list or a claim was not answered
	unsure     map[int64]int64 // claims that were not answered
}

// blockJobs reports whether jobs must wait for the actions of the start.
func (s *actions) blockJobs() bool { return s.runner.opts.Actions != nil && !s.runner.actions.ready }

// startDue starts a pass over the actions if some may be due.
func (s *actions) startDue(ctx context.Context, now time.Time) {
	switch {
	case s.runner.opts.Actions == nil || s.running || s.ended:
	case !s.begun:
		if !s.unansweredSince.IsZero() && (!s.runner.turns.outage.since.IsZero() || now.Before(s.next) || s.runner.leaving.active()) {
			return
		}
		s.begun = true
		s.runInBackground(ctx, action.TriggerWorkflowStart, action.TriggerWorkerStart)
	case s.due && !s.none && now.After(s.next) && !s.runner.leaving.active() && s.runner.turns.outage.since.IsZero():
		s.due = false
		s.next = now.Add(actionPause)
		s.runInBackground(ctx, action.TriggerJobsReady, action.TriggerJobsComplete)
	}
}

// waitForDaemon reports whether the actions of the start were polled, and wait for a
// daemon that did not answer.
func (s *actions) waitForDaemon() bool {
	return !s.begun && !s.unansweredSince.IsZero() && !s.runner.leaving.active()
}

// startFinal starts the actions of the end. It reports whether it did.
func (s *actions) startFinal(ctx context.Context) bool {
	if s.runner.opts.Actions == nil || s.none || s.ended || s.runner.leaving.kind >= StopKill || !s.runner.turns.outage.since.IsZero() {
		return false
	}
	s.ended = true
	triggers := []string{action.TriggerWorkerComplete}
	if s.runner.turns.latest.Complete && !s.runner.turns.latest.Canceled {
		triggers = append(triggers, action.TriggerJobsReady, action.TriggerJobsComplete, action.TriggerWorkflowComplete)
	}
	s.runInBackground(ctx, triggers...)
	return true
}

// runInBackground runs the due actions that have one of the triggers.
func (s *actions) runInBackground(ctx context.Context, triggers ...string) {
	ctx, cancel := context.WithCancel(ctx)
	s.running, s.cancel = true, cancel
	if s.ran == nil {
		s.ran, s.unsure = make(map[int64]bool), make(map[int64]int64)
	}
	pass := actionPass{runnerID: s.runner.id, triggers: triggers, ran: maps.Clone(s.ran), unsure: maps.Clone(s.unsure)}
	s.runner.requests.Go(func() {
		defer cancel()
		m := actionsDoneMsg{unsure: make(map[int64]int64)}
		if err := s.runDue(ctx, pass, &m); err != nil {
			s.runner.log.Error("actions", "error", err)
		}
		s.runner.box.put(m)
	})
}

// onDone records the result of a pass. If the daemon did not answer, the pass is
// repeated when it is back. Jobs wait for the actions of the start as long as
// a runner waits for a daemon.
func (s *actions) onDone(m actionsDoneMsg) {
	now := time.Now()
	s.running, s.none = false, !m.any
	for _, id := range m.ran {
		s.ran[id] = true
		delete(s.unsure, id)
	}
	maps.Copy(s.unsure, m.unsure)
	s.runner.active = now
	if m.unanswered {
		s.next = now.Add(actionPause)
		if s.unansweredSince.IsZero() {
			s.unansweredSince = now
		}
		if !s.ready && now.Sub(s.unansweredSince) < time.Duration(s.runner.about.WaitForHealthyMins)*time.Minute {
			s.begun = false
			return
		}
		s.due = true
	}
	s.ready = true
}

// actionPass is what a pass over the actions needs to know.
type actionPass struct {
	runnerID int64
	triggers []string
	ran      map[int64]bool
	unsure   map[int64]int64
}

// isDue reports whether an action must run: it is triggered, and not claimed, or claimed
// by this runner, which got no answer.
func (l *actionPass) isDue(a *api.Action) bool {
	if !slices.Contains(l.triggers, a.TriggerType) || l.ran[*a.ID] {
		return false
	}
	if a.Executed != nil && *a.Executed {
		return l.claimed(a)
	}
	return a.TriggerCount != nil && a.RequiredTriggers != nil && *a.TriggerCount >= *a.RequiredTriggers
}

// claimed reports whether an unanswered claim of this runner was recorded.
func (l *actionPass) claimed(a *api.Action) bool {
	by, unsure := l.unsure[*a.ID]
	return unsure && a.ExecutedBy != nil && *a.ExecutedBy == by
}

// errUnanswered says that the daemon did not answer, as opposed to a failed command.
var errUnanswered = errors.New("the daemon does not answer")

func asUnanswered(err error) error {
	if !isUnanswered(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errUnanswered, err)
}

// runDue claims and runs the due actions, one after the other. It returns the errors of
// all that failed.
func (s *actions) runDue(ctx context.Context, pass actionPass, m *actionsDoneMsg) error {
	call, cancel := context.WithTimeout(ctx, actionCall)
	list, err := s.runner.opts.Actions.Actions(call, s.runner.opts.WorkflowID)
	cancel()
	if err = asUnanswered(err); err != nil {
		m.any, m.unanswered = true, errors.Is(err, errUnanswered) // unknown; poll again
		return fmt.Errorf("list actions: %w", err)
	}
	var errs []error
	for i := range list {
		a := &list[i]
		if a.ActionType != action.RunCommands || a.ID == nil {
			continue
		}
		m.any = true
		if m.unanswered || !pass.isDue(a) {
			continue
		}
		err := s.runAction(ctx, pass, a)
		if errors.Is(err, errUnanswered) {
			m.unanswered = true
			m.unsure[*a.ID] = pass.runnerID
		} else {
			m.ran = append(m.ran, *a.ID)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("action %d: %w", *a.ID, err))
		}
	}
	return errors.Join(errs...)
}

// runAction claims an action and runs its commands until one fails. It returns
// errUnanswered if the claim was not answered.
func (s *actions) runAction(ctx context.Context, pass actionPass, a *api.Action) error {
	var config struct {
		Commands []string `json:"commands"`
	}
	if err := json.Unmarshal(a.ActionConfig, &config); err != nil {
		return fmt.Errorf("action_config: %w", err)
	}
	if !pass.claimed(a) {
		call, cancel := context.WithTimeout(ctx, actionCall)
		mine, err := s.runner.opts.Actions.ClaimAction(call, s.runner.opts.WorkflowID, *a.ID, pass.runnerID)
		cancel()
		if err != nil || !mine {
			return asUnanswered(err)
		}
	}
	for i, command := range config.Commands {
		err := s.runCommand(ctx, *a.ID, i, command)
		message := fmt.Sprintf("%s: %s", a.TriggerType, command)
		if err != nil {
			message += ": " + err.Error()
		}
		s.runner.box.put(Event{Kind: EventAction, Message: message, Failed: err != nil})
		if err != nil {
			return fmt.Errorf("command %d: %w", i+1, err)
		}
	}
	return nil
}

// runCommand runs one command of an action in the output directory. When
// actionTimeout has passed, or ctx is done, it ends the process group.
func (s *actions) runCommand(ctx context.Context, actionID int64, index int, command string) error {
	key := fmt.Sprintf("%s.action.%d.%d", s.runner.key, actionID, index)
	base := fmt.Sprintf("action_wf%d_ac%d_r%d_c%d", s.runner.opts.WorkflowID, actionID, s.runner.about.RunID, index+1)
	base = filepath.Join(s.runner.opts.OutputDir, output.StdioDir, base)
	ended := make(chan process.Exit, 1)
	pid, err := s.runner.executor.Start(&process.Command{
		Argv:   []string{s.runner.shell, "-c", command},
		Env:    s.runner.env.with(nil, [][2]string{{process.AttemptKeyVariable, key}}),
		Dir:    s.runner.opts.OutputDir,
		Stdout: base + ".o", Stderr: base + ".e",
	}, func(e process.Exit) { ended <- e })
	if err != nil {
		return err
	}
	s.runner.leftover.Started(pid, key)
	defer s.runner.leftover.Ended(key)
	limit := time.NewTimer(actionTimeout)
	defer limit.Stop()
	select {
	case e := <-ended:
		if code := e.ReturnCode(); code != 0 {
			return errors.New("return code " + strconv.FormatInt(code, 10))
		}
		return nil
	case <-limit.C:
		err = fmt.Errorf("did not end within %s", actionTimeout)
	case <-ctx.Done():
		err = ctx.Err()
	}
	process.SignalGroup(pid, unix.SIGTERM)
	select {
	case <-ended:
		return err
	case <-time.After(min(s.runner.policy.lead, strayLead)):
	}
	process.SignalGroup(pid, unix.SIGKILL)
	select {
	case <-ended:
	case <-time.After(process.KillPatience):
	}
	return err
}
