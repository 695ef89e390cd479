package runner

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
)

// StepAccounts takes what Slurm accounted for attempts that were steps; a
// *client.Client does.
type StepAccounts interface {
	AccountSteps(ctx context.Context, runnerID int64, accounts *api.StepAccounts) error
}

// What steps have used comes after their reports: nobody waits for it, and
// Slurm is asked once for all of them.
const (
	accountPeriod = time.Minute
	accountFor    = 10 * time.Minute // then the accounting database will never know
	accountLast   = 5 * time.Second  // what the last look may take
	accountAgain  = time.Second      // before it is repeated for steps that have just ended
)

// stepAccounts are the reported steps whose use of resources is not known.
type stepAccounts struct {
	wanted map[string]wantedAccount // by the name of the step
	asking bool
	askAt  time.Time
}

type wantedAccount struct {
	ref  api.LeaseRef
	ends time.Time
}

// accountedMsg is what has become of a look at the accounting.
type accountedMsg struct {
	names []string // of steps that need no further look
	err   error
}

// wantAccount notes a step that was reported.
func (r *Runner) wantAccount(a *attempt, report *api.Report) {
	if r.steps == nil || r.opts.Accounts == nil || a.recovery != nil || report.Evidence.SpawnError != "" {
		return
	}
	s := &r.accounts
	if s.wanted == nil {
		s.wanted = make(map[string]wantedAccount)
	}
	if len(s.wanted) == 0 && s.askAt.IsZero() {
		s.askAt = time.Now().Add(accountPeriod)
	}
	s.wanted[stepName(r.opts.WorkflowID, r.about.RunID, &a.grant)] = wantedAccount{a.ref(), time.Now().Add(accountFor)}
}

// accountSteps looks into the accounting when it is time.
func (r *Runner) accountSteps(ctx context.Context, now time.Time) {
	s := &r.accounts
	if s.asking || len(s.wanted) == 0 || now.Before(s.askAt) || !r.turns.outage.since.IsZero() || r.leaving.active() {
		return
	}
	s.asking, s.askAt = true, now.Add(accountPeriod)
	wanted := s.take(now)
	r.requests.Go(func() {
		names, err := r.account(ctx, r.id, wanted)
		r.box.put(accountedMsg{names, err})
	})
}

// take returns the wanted accounts, without those that will not come.
func (s *stepAccounts) take(now time.Time) map[string]api.LeaseRef {
	wanted := make(map[string]api.LeaseRef, len(s.wanted))
	for name, w := range s.wanted {
		if now.After(w.ends) {
			delete(s.wanted, name)
			continue
		}
		wanted[name] = w.ref
	}
	return wanted
}

func (r *Runner) onAccounted(m accountedMsg) {
	r.accounts.asking = false
	if m.err != nil {
		r.log.Warn("what steps have used is not known", "error", m.err)
	}
	for _, name := range m.names {
		delete(r.accounts.wanted, name)
	}
}

// account asks Slurm what steps have used and tells the daemon. It returns the
// names of those that are settled.
func (r *Runner) account(ctx context.Context, runnerID int64, wanted map[string]api.LeaseRef) ([]string, error) {
	m := r.steps
	look, err := m.Slurm.Accounting(ctx, slurm.AccountingQuery{IDs: []slurm.JobID{m.Job}, Since: r.began.Add(-wordsSince)})
	if err != nil {
		return nil, err
	}
	var names []string
	var accounts api.StepAccounts
	job := m.Job.String()
	for i := range look.Records {
		rec := &look.Records[i]
		ref, ok := wanted[rec.Name]
		if !ok || !rec.IsStep() || !rec.Over() {
			continue
		}
		names = append(names, rec.Name)
		stats := api.SlurmStats{JobID: ref.JobID, RunID: r.about.RunID, AttemptID: ref.Attempt, SlurmJobID: &job}
		for field, n := range map[**int64]int64{
			&stats.MaxRSSBytes: rec.MaxRSS, &stats.MaxVMSizeBytes: rec.MaxVMSize, &stats.MaxDiskReadBytes: rec.MaxRead, &stats.MaxDiskWriteBytes: rec.MaxWrite,
		} {
			if n > 0 {
				*field = &n
			}
		}
		if cpu := rec.AveCPU.Seconds(); cpu > 0 {
			stats.AveCPUSeconds = &cpu
		}
		if rec.NodeList != "" {
			stats.NodeList = &rec.NodeList
		}
		accounts.Steps = append(accounts.Steps, stats)
	}
	if len(names) == 0 {
		return nil, nil
	}
	return names, r.opts.Accounts.AccountSteps(ctx, runnerID, &accounts)
}

// accountLast looks a last time, shortly, before the runner leaves; not if it
// leaves in a hurry.
func (r *Runner) accountLast() {
	s := &r.accounts
	if len(s.wanted) == 0 || r.leaving.kind >= StopHurry || !r.words.until.IsZero() {
		return
	}
	patience := accountLast
	if end := r.schedule.end; !end.IsZero() {
		patience = min(patience, time.Until(end)/2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	again := time.NewTicker(accountAgain)
	defer again.Stop()
	for {
		names, err := r.account(ctx, r.id, s.take(time.Now()))
		r.onAccounted(accountedMsg{names, err})
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
