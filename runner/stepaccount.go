package runner

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// StepAccounts takes what Slurm accounted for attempts that were steps; a
// client.Runners does.
type StepAccounts interface {
	AccountSteps(ctx context.Context, runnerID int64, accounts *api.StepAccounts) error
}

// What steps have used comes after their reports: nobody waits for it, and
// Slurm is asked once for all of them.
const (
	accountPeriod = time.Minute
	accountFor    = 10 * time.Minute // then the accounting database will never know
	lastPollTime  = 5 * time.Second  // what the last look may take
	accountAgain  = time.Second      // before it is repeated for steps that have just ended
)

// stepAccounts are the reported steps whose use of resources is not known.
type stepAccounts struct {
	runner  *Runner
	wanted  map[string]wantedAccount // by the name of the step
	polling bool
	pollAt  time.Time
}

type wantedAccount struct {
	ref  lease.LeaseRef
	ends time.Time
}

// accountedMsg is what has become of a look at the accounting.
type accountedMsg struct {
	names []string // of steps that need no further look
	err   error
}

// add notes a step that was reported.
func (s *stepAccounts) add(a *attempt, report *lease.Report) {
	if s.runner.steps == nil || s.runner.opts.Accounts == nil || a.recovery != nil || report.Evidence.SpawnError != "" {
		return
	}
	if s.wanted == nil {
		s.wanted = make(map[string]wantedAccount)
	}
	if len(s.wanted) == 0 && s.pollAt.IsZero() {
		s.pollAt = time.Now().Add(accountPeriod)
	}
	s.wanted[steps.Name(s.runner.opts.WorkflowID, s.runner.about.RunID, &a.grant)] = wantedAccount{a.ref(), time.Now().Add(accountFor)}
}

// poll looks into the accounting when it is time.
func (s *stepAccounts) poll(ctx context.Context, now time.Time) {
	if s.polling || len(s.wanted) == 0 || now.Before(s.pollAt) || !s.runner.turns.outage.since.IsZero() || s.runner.leaving.active() {
		return
	}
	s.polling, s.pollAt = true, now.Add(accountPeriod)
	wanted := s.pending(now)
	s.runner.requests.Go(func() {
		names, err := s.account(ctx, s.runner.id, wanted)
		s.runner.box.put(accountedMsg{names, err})
	})
}

// pending returns the wanted accounts, without those that will not come.
func (s *stepAccounts) pending(now time.Time) map[string]lease.LeaseRef {
	wanted := make(map[string]lease.LeaseRef, len(s.wanted))
	for name, w := range s.wanted {
		if now.After(w.ends) {
			delete(s.wanted, name)
			continue
		}
		wanted[name] = w.ref
	}
	return wanted
}

func (s *stepAccounts) onAccounted(m accountedMsg) {
	s.polling = false
	if m.err != nil {
		s.runner.log.Warn("what steps have used is not known", "error", m.err)
	}
	for _, name := range m.names {
		delete(s.wanted, name)
	}
}

// account asks Slurm what steps have used and tells the daemon. It returns the
// names of those that are settled.
func (s *stepAccounts) account(ctx context.Context, runnerID int64, wanted map[string]lease.LeaseRef) ([]string, error) {
	names, accounts, err := s.runner.steps.Account(ctx, s.runner.began.Add(-recordsSince), s.runner.about.RunID, wanted)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return names, s.runner.opts.Accounts.AccountSteps(ctx, runnerID, &accounts)
}

// pollLast looks a last time, shortly, before the runner leaves; not if it
// leaves in a hurry.
func (s *stepAccounts) pollLast() {
	if len(s.wanted) == 0 || s.runner.leaving.kind >= StopKill || !s.runner.slurmReasons.until.IsZero() {
		return
	}
	patience := lastPollTime
	if end := s.runner.schedule.end; !end.IsZero() {
		patience = min(patience, time.Until(end)/2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	again := time.NewTicker(accountAgain)
	defer again.Stop()
	for {
		names, err := s.account(ctx, s.runner.id, s.pending(time.Now()))
		s.onAccounted(accountedMsg{names, err})
		if err != nil || len(s.wanted) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}
