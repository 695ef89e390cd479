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
	"github.com/torc-slurm/torc-slurm/workflow"
)

// ActionClient lists and claims the actions of a workflow; a client.Runners
// is one.
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
	runner *Runner

	running         bool
	begun           bool // the triggers of the start are being served
	ready           bool // they have been: jobs may start
	ended           bool // the triggers of the end are being served
	none            bool // the workflow has no commands to run
	due             bool // jobs have moved since the last look
	next            time.Time
	unansweredSince time.Time       // since when there is no answer about those of the start; zero if there is
	ran             map[int64]bool  // persistent actions are run once by each runner
	unsure          map[int64]int64 // claimed without an answer, and the runner's id at that time
	cancel          context.CancelFunc
}

// actionsDoneMsg says that a look at the actions is over.
type actionsDoneMsg struct {
	ran        []int64
	any        bool            // the workflow has commands to run
	unanswered bool            // there was no answer to the look, or to a claim
	unsure     map[int64]int64 // claims without an answer
}

// blockJobs reports whether jobs must wait for the actions of the start.
func (s *actions) blockJobs() bool { return s.runner.opts.Actions != nil && !s.runner.actions.ready }

// startDue looks for due actions when there is reason to.
func (s *actions) startDue(ctx context.Context, now time.Time) {
	switch {
	case s.runner.opts.Actions == nil || s.running || s.ended:
	case !s.begun:
		if !s.unansweredSince.IsZero() && (!s.runner.turns.outage.since.IsZero() || now.Before(s.next) || s.runner.leaving.active()) {
			return
		}
		s.begun = true
		s.runInBackground(ctx, workflow.TriggerWorkflowStart, workflow.TriggerWorkerStart)
	case s.due && !s.none && now.After(s.next) && !s.runner.leaving.active() && s.runner.turns.outage.since.IsZero():
		s.due = false
		s.next = now.Add(actionPause)
		s.runInBackground(ctx, workflow.TriggerJobsReady, workflow.TriggerJobsComplete)
	}
}

// waitForDaemon reports whether the actions of the start wait for a daemon that was
// asked about them and did not answer.
func (s *actions) waitForDaemon() bool {
	return !s.begun && !s.unansweredSince.IsZero() && !s.runner.leaving.active()
}

// startFinal serves the triggers of the end; it reports whether that is
// under way.
func (s *actions) startFinal(ctx context.Context) bool {
	if s.runner.opts.Actions == nil || s.none || s.ended || s.runner.leaving.kind >= StopKill || !s.runner.turns.outage.since.IsZero() {
		return false
	}
	s.ended = true
	triggers := []string{workflow.TriggerWorkerComplete}
	if s.runner.turns.latest.Complete && !s.runner.turns.latest.Canceled {
		triggers = append(triggers, workflow.TriggerJobsReady, workflow.TriggerJobsComplete, workflow.TriggerWorkflowComplete)
	}
	s.runInBackground(ctx, triggers...)
	return true
}

// runInBackground runs the due actions with one of the triggers in the background.
func (s *actions) runInBackground(ctx context.Context, triggers ...string) {
	ctx, cancel := context.WithCancel(ctx)
	s.running, s.cancel = true, cancel
	if s.ran == nil {
		s.ran, s.unsure = make(map[int64]bool), make(map[int64]int64)
	}
	look := actionPass{runnerID: s.runner.id, triggers: triggers, ran: maps.Clone(s.ran), unsure: maps.Clone(s.unsure)}
	s.runner.requests.Go(func() {
		defer cancel()
		m := actionsDoneMsg{unsure: make(map[int64]int64)}
		if err := s.runDue(ctx, look, &m); err != nil {
			s.runner.log.Error("actions", "error", err)
		}
		s.runner.box.put(m)
	})
}

// onDone takes in what a look has led to. Without an answer of the daemon there is
// another look when it is back; jobs wait for the actions of the start, as long as
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

// actionPass is what a look at the actions has to know.
type actionPass struct {
	runnerID int64
	triggers []string
	ran      map[int64]bool
	unsure   map[int64]int64
}

// isDue reports whether an action is to be run: it is triggered, and nobody has
// claimed it, save for this runner, which was not told.
func (l *actionPass) isDue(a *api.Action) bool {
	if !slices.Contains(l.triggers, a.TriggerType) || l.ran[*a.ID] {
		return false
	}
	if a.Executed != nil && *a.Executed {
		return l.claimed(a)
	}
	return a.TriggerCount != nil && a.RequiredTriggers != nil && *a.TriggerCount >= *a.RequiredTriggers
}

// claimed reports whether a claim that got no answer was carried out.
func (l *actionPass) claimed(a *api.Action) bool {
	by, unsure := l.unsure[*a.ID]
	return unsure && a.ExecutedBy != nil && *a.ExecutedBy == by
}

// errUnanswered is the error of a call of the daemon that was away, and not that of a
// command.
var errUnanswered = errors.New("the daemon does not answer")

func asUnanswered(err error) error {
	if !isUnanswered(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errUnanswered, err)
}

// runDue claims and runs what is due, one after the other.
func (s *actions) runDue(ctx context.Context, look actionPass, m *actionsDoneMsg) error {
	call, cancel := context.WithTimeout(ctx, actionCall)
	list, err := s.runner.opts.Actions.Actions(call, s.runner.opts.WorkflowID)
	cancel()
	if err = asUnanswered(err); err != nil {
		m.any, m.unanswered = true, errors.Is(err, errUnanswered) // not known; ask again
		return fmt.Errorf("list actions: %w", err)
	}
	var errs []error
	for i := range list {
		a := &list[i]
		if a.ActionType != workflow.ActionRunCommands || a.ID == nil {
			continue
		}
		m.any = true
		if m.unanswered || !look.isDue(a) {
			continue
		}
		err := s.runAction(ctx, look, a)
		if errors.Is(err, errUnanswered) {
			m.unanswered = true
			m.unsure[*a.ID] = look.runnerID
		} else {
			m.ran = append(m.ran, *a.ID)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("action %d: %w", *a.ID, err))
		}
	}
	return errors.Join(errs...)
}

// runAction claims an action and runs its commands until one fails.
func (s *actions) runAction(ctx context.Context, look actionPass, a *api.Action) error {
	var config struct {
		Commands []string `json:"commands"`
	}
	if err := json.Unmarshal(a.ActionConfig, &config); err != nil {
		return fmt.Errorf("action_config: %w", err)
	}
	if !look.claimed(a) {
		call, cancel := context.WithTimeout(ctx, actionCall)
		mine, err := s.runner.opts.Actions.ClaimAction(call, s.runner.opts.WorkflowID, *a.ID, look.runnerID)
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

// runCommand runs one command of an action in the output directory. When its
// time is up, or ctx is done, its process group is ended.
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
