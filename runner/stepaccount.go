package runner

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// StepAccounts receives what steps have used according to Slurm's accounting; a
// client.Runners is one.
type StepAccounts interface {
	AccountSteps(ctx context.Context, runnerID int64, accounts *api.StepAccounts) error
}

// What steps have used is sent after their reports. Nothing waits for it, and one poll
// serves many steps.
const (
	accountPeriod = time.Minute
	accountFor    = 10 * time.Minute // later no record will come
	lastPollTime  = 5 * time.Second  // limits the last poll
	accountAgain  = time.Second      // before the last poll is repeated for steps that have just ended
)

// stepAccounts are the reported steps whose use of resources is not yet known.
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

// accountedMsg is the result of a poll of the accounting.
type accountedMsg struct {
	names []string // of steps that are settled
	err   error
}

// add adds a step that was reported.
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

// poll polls the accounting when it is due.
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

// pending returns the wanted accounts, and drops those that will not come.
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
		s.runner.log.Warn("cannot get what steps have used", "error", m.err)
	}
	for _, name := range m.names {
		delete(s.wanted, name)
	}
}

// account polls Slurm for what steps have used and sends it to the daemon. It returns
// the names of the settled steps.
func (s *stepAccounts) account(ctx context.Context, runnerID int64, wanted map[string]lease.LeaseRef) ([]string, error) {
	names, accounts, err := s.runner.steps.Account(ctx, s.runner.began.Add(-recordsSince), s.runner.about.RunID, wanted)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return names, s.runner.opts.Accounts.AccountSteps(ctx, runnerID, &accounts)
}

// pollLast polls for a few seconds before the runner deregisters, unless it is short of
// time.
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
