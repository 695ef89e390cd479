package allocation

import (
	"cmp"
	"context"
	"slices"
	"time"

	sbatchtemplates "github.com/torc-slurm/torc-slurm/sbatch-templates"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// maxShow is how many allocations one poll queries individually.
const maxShow = 3

// poll is one poll of all allocations: one squeue, and at most one sacct, for
// all of them.
type poll struct {
	*Loop
	now     time.Time
	live    []compute.Allocation
	runners map[int64][]store.AllocationRunner
	// abandoned are those whose runners have all left.
	abandoned  map[int64]bool
	queue      *slurm.Queue // nil: no information
	records    *slurm.Accounting
	shows      map[int64]*ShowAnswer
	verdicts   map[int64]Verdict
	reappeared []compute.Allocation // were abandoned, and are in the queue
}

// pollOnce calls Slurm, and judges every live allocation.
func (p *poll) pollOnce(ctx context.Context) error {
	p.askQueue(ctx)
	if err := p.adoptQueued(ctx); err != nil {
		return err
	}
	p.judge()
	if p.askAccounting(ctx) {
		if err := p.adoptRecorded(ctx); err != nil {
			return err
		}
		p.judge()
	}
	if p.askShow(ctx) {
		p.judge()
	}
	return nil
}

// read reads what is stored of the live allocations.
func (p *poll) read(ctx context.Context) (err error) {
	if p.live, err = p.store.Allocations.Live(ctx); err != nil {
		return err
	}
	if p.runners, err = p.store.Allocations.Runners(ctx); err != nil {
		return err
	}
	p.abandoned, err = p.store.Allocations.Abandoned(ctx)
	return err
}

func (p *poll) askQueue(ctx context.Context) {
	queue, err := p.slurm.Queue(ctx, slurm.QueueQuery{User: p.set.User})
	if slurm.ClassOf(err) == slurm.Withheld {
		return
	}
	p.queueOutage.note(p.Loop, "squeue", err)
	if err == nil {
		p.queue = &queue
	}
}

// sighting is a Slurm job that may be one of ours, by its name.
type sighting struct {
	name   string
	over   bool
	ending bool
	store.FoundJob
}

// adoptQueued finds jobs in the queue that have the name of an intent and are
// not known to be its job: the answer of their sbatch was lost, or they are
// duplicates.
func (p *poll) adoptQueued(ctx context.Context) error {
	if p.queue == nil {
		return nil
	}
	var jobs []sighting
	for i := range p.queue.Jobs {
		job := &p.queue.Jobs[i]
		jobs = append(jobs, sighting{job.Name, job.State.Over(), job.State.Ending(), store.FoundJob{SlurmJobID: job.ID.Number, RestartCount: int64(job.Restarts)}})
	}
	return p.adopt(ctx, jobs)
}

// adoptRecorded does the same with accounting records.
func (p *poll) adoptRecorded(ctx context.Context) error {
	var jobs []sighting
	for i := range p.records.Records {
		if r := &p.records.Records[i]; !r.IsStep() {
			jobs = append(jobs, sighting{name: r.Name, over: r.Over(), ending: true, FoundJob: store.FoundJob{SlurmJobID: r.ID.Job.Number}})
		}
	}
	return p.adopt(ctx, jobs)
}

// adopt stores which Slurm jobs belong to intents. If there are several, the oldest is
// the intent's job.
func (p *poll) adopt(ctx context.Context, jobs []sighting) error {
	known := map[int64]bool{}
	for i := range p.live {
		known[p.live[i].SlurmJobID] = true
	}
	jobs = slices.DeleteFunc(jobs, func(s sighting) bool {
		_, ours := sbatchtemplates.ParseJobName(s.name)
		return !ours || known[s.SlurmJobID]
	})
	if len(jobs) == 0 {
		return nil
	}
	slices.SortFunc(jobs, func(a, b sighting) int { return cmp.Compare(a.SlurmJobID, b.SlurmJobID) })
	names := make([]string, len(jobs))
	for i := range jobs {
		names[i] = jobs[i].name
	}
	intents, err := p.store.Allocations.IntentsNamed(ctx, names)
	if err != nil {
		return err
	}
	newest := map[string]compute.Allocation{}
	for _, a := range intents {
		newest[a.JobName] = a
	}
	adopted := false
	for _, job := range jobs {
		a, ok := newest[job.name]
		switch {
		case !ok: // of another database
			continue
		case job.SlurmJobID == a.SlurmJobID && job.RestartCount <= a.RestartCount:
			if a.IsLive() { // sbatch has answered since the live ones were read
				adopted = true
			} else if !job.over && !job.ending {
				p.reappeared = append(p.reappeared, a)
			}
			continue
		case job.over && (a.SlurmJobID != 0 || !a.IsLive()): // a duplicate that has ended
			continue
		}
		job.IntentID, job.Cluster = a.IntentID, a.Cluster
		if a, err = p.store.Allocations.Adopt(ctx, job.FoundJob); err != nil {
			return err
		}
		if adopted = true; !a.IsDuplicate {
			newest[job.name] = a
		}
		p.log.Warn("found a Slurm job of an intent", "allocation_id", a.ID, "slurm_job_id", job.SlurmJobID, "is_duplicate", a.IsDuplicate)
	}
	if !adopted {
		return nil
	}
	return p.read(ctx)
}

// judge judges all live allocations by the current facts.
func (p *poll) judge() {
	p.verdicts = make(map[int64]Verdict, len(p.live))
	for i := range p.live {
		a := &p.live[i]
		p.verdicts[a.ID] = Judge(*a, p.facts(a), p.now, p.set)
	}
}

// facts returns what is known of one allocation.
func (p *poll) facts(a *compute.Allocation) Facts {
	l := Facts{
		NoAccounting: p.noAccounting, AccountingSilent: p.accountingOutage.since(p.now), InFlight: p.submitter.isInFlight(a.IntentID),
		Runners: len(p.runners[a.ID]), Left: p.abandoned[a.ID], Show: p.shows[a.ID],
	}
	id := slurm.JobID{Number: a.SlurmJobID}
	if p.queue != nil {
		job, ok := p.queue.Find(id)
		switch {
		case ok:
			l.Queue = &QueueAnswer{At: p.queue.At, Job: &job}
		case p.queue.Skipped == 0:
			l.Queue = &QueueAnswer{At: p.queue.At}
		}
	}
	if p.records != nil {
		if restarts := p.records.Restarts(id); len(restarts) > 0 || p.records.Skipped == 0 {
			l.Accounting = &AccountingAnswer{At: p.records.At, Restarts: restarts}
		}
	}
	p.fillSilence(a, &l)
	p.fillNeverStarts(a, &l)
	return l
}

// fillNeverStarts fills in for how long Slurm has said that an allocation will never start. A
// poll without an answer changes nothing.
func (p *poll) fillNeverStarts(a *compute.Allocation, l *Facts) {
	m := p.memory[a.ID]
	switch {
	case l.Queue == nil || l.Queue.Job == nil:
	case l.Queue.Job.State != slurm.Pending || !slurm.NeverStarts(l.Queue.Job.Reason):
		m.neverStarts = time.Time{}
	case m.neverStarts.IsZero():
		m.neverStarts = p.now
	default:
		l.NeverStarts = p.now.Sub(m.neverStarts)
	}
}

// fillSilence fills in for how long runners have been silent. The time during which
// the allocation was suspended does not count.
func (p *poll) fillSilence(a *compute.Allocation, l *Facts) {
	m := p.memory[a.ID]
	if m == nil {
		m = &memory{runners: map[int64]time.Time{}}
		p.memory[a.ID] = m
	}
	running := l.Queue != nil && l.Queue.Job != nil && l.Queue.Job.State == slurm.Running
	if l.Queue != nil && l.Queue.Job != nil && (l.Queue.Job.State == slurm.Suspended || l.Queue.Job.State == slurm.Stopped) {
		m.suspended = p.now
	}
	for i, r := range p.runners[a.ID] {
		since, known := m.runners[r.RunnerID]
		if !known {
			since, m.runners[r.RunnerID] = p.now, p.now
		}
		silence := min(p.calls.Silence(r.RunnerID), p.now.Sub(since))
		if i == 0 || silence < l.Silence {
			l.Silence = silence
		}
		l.LongestSilence = max(l.LongestSilence, silence)
	}
	if !m.suspended.IsZero() {
		l.Silence, l.LongestSilence = min(l.Silence, p.now.Sub(m.suspended)), min(l.LongestSilence, p.now.Sub(m.suspended))
	}
	switch {
	case !running || l.Runners > 0:
		m.withoutRunner = time.Time{}
	case m.withoutRunner.IsZero():
		m.withoutRunner = p.now
	default:
		l.WithoutRunner = p.now.Sub(m.withoutRunner)
	}
}

// askAccounting calls sacct for all allocations whose verdict needs it. It
// reports whether there is an answer.
func (p *poll) askAccounting(ctx context.Context) bool {
	q := slurm.AccountingQuery{Since: p.now, Duplicates: true, JobsOnly: true}
	for i := range p.live {
		a := &p.live[i]
		if !p.verdicts[a.ID].AskAccounting {
			continue
		}
		if a.SlurmJobID != 0 {
			q.IDs = append(q.IDs, slurm.JobID{Number: a.SlurmJobID})
		} else {
			q.Names = append(q.Names, a.JobName)
		}
		if asked := time.UnixMilli(a.AskedMS).Add(-time.Hour); asked.Before(q.Since) {
			q.Since = asked
		}
	}
	switch {
	case len(q.IDs) == 0 && len(q.Names) == 0:
		return false
	case len(q.IDs) > 0 && len(q.Names) > 0: // sacct would require both of each job
		q.IDs, q.Names, q.User = nil, nil, p.set.User
	}
	records, err := p.slurm.Accounting(ctx, q)
	if slurm.ClassOf(err) == slurm.Withheld {
		return false
	}
	p.accountingOutage.note(p.Loop, "sacct", err)
	if err != nil {
		return false
	}
	p.records = &records
	return true
}

// askShow calls scontrol for allocations that neither squeue nor sacct knows. It
// reports whether there is an answer.
func (p *poll) askShow(ctx context.Context) bool {
	for i := range p.live {
		a := &p.live[i]
		if !p.verdicts[a.ID].AskShow || len(p.shows) >= maxShow {
			continue
		}
		at := p.clock()
		detail, found, err := p.slurm.ShowJob(ctx, slurm.JobID{Number: a.SlurmJobID})
		if err != nil {
			p.log.Debug("scontrol gives no information", "allocation_id", a.ID, "slurm_job_id", a.SlurmJobID, "error", err)
			continue
		}
		p.shows[a.ID] = &ShowAnswer{At: at}
		if found {
			p.shows[a.ID].Job = &detail.Job
		}
	}
	return len(p.shows) > 0
}

// carryOut stores the verdicts and carries them out.
func (p *poll) carryOut(ctx context.Context) error {
	var seen []store.Observation
	for i := range p.live {
		a, v := &p.live[i], p.verdicts[p.live[i].ID]
		if v.End == nil && isNews(a, &v.Seen) {
			seen = append(seen, v.Seen)
		}
	}
	// This comes first, since later reports of runners are judged by it.
	if err := p.store.Allocations.Observe(ctx, seen); err != nil {
		return err
	}
	for i := range p.live {
		a := &p.live[i]
		v := Judge(*a, p.facts(a), p.now, p.set) // its runner may have called in the meantime
		switch {
		case v.End != nil:
			if err := p.end(ctx, a, v); err != nil {
				return err
			}
		case v.Stop != "":
			for _, r := range p.runners[a.ID] {
				p.calls.Stop(r.RunnerID, v.Stop)
			}
		case v.Cancel != "":
			p.log.Warn("an allocation is to be canceled", "allocation_id", a.ID, "slurm_job_id", a.SlurmJobID, "reason", v.Cancel)
			if err := p.requestCancel(ctx, a, v); err != nil {
				return err
			}
			p.Wake() // to send it
		}
	}
	return nil
}

// requestCancel stores that an allocation is to be canceled. If it will never start, that
// counts as a rejection after sbatch.
func (p *poll) requestCancel(ctx context.Context, a *compute.Allocation, v Verdict) error {
	refusal := ""
	if v.Refused {
		refusal = string(slurm.Permanent)
	}
	return p.store.Allocations.CancelJudged(ctx, p.judged(a), v.Cancel, refusal)
}

// judged returns what the verdict on an allocation is based on.
func (p *poll) judged(a *compute.Allocation) store.Judged {
	return store.Judged{Allocation: *a, Runners: p.runners[a.ID]}
}

// isNews reports whether an observation differs from what is stored.
func isNews(a *compute.Allocation, o *store.Observation) bool {
	keeps := func(seen, known int64) bool { return seen == 0 || seen == known }
	return o.State != a.State && a.State != compute.AllocationActive ||
		o.SlurmState != a.SlurmState || o.SlurmReason != a.SlurmReason || o.NodeList != a.NodeList && o.NodeList != "" ||
		!keeps(o.SubmitMS, a.SubmitMS) || !keeps(o.StartMS, a.StartMS) || !keeps(o.LimitMS, a.LimitMS) ||
		o.AbsentMS != a.AbsentMS || o.OverMS != a.OverMS || o.RestartCount > a.RestartCount || o.NodeLoss != nil && (a.NodeLoss == nil || *o.NodeLoss != *a.NodeLoss)
}

// delivered stores the spooled reports of an allocation's runners before the
// allocation is ended, after storing why it ended. It reports whether there is nothing
// more to wait for: a file that cannot be read does not delay the end forever.
func (p *poll) delivered(ctx context.Context, a *compute.Allocation, v Verdict) bool {
	runners := p.runners[a.ID]
	if len(runners) == 0 || p.spool == nil {
		return true
	}
	seen := v.Seen
	seen.State, seen.NodeLoss = a.State, &v.End.Slurm
	err := p.store.Allocations.Observe(ctx, []store.Observation{seen})
	if err == nil {
		err = p.spool.Deliver(ctx, runners)
	}
	if err == nil {
		return true
	}
	m := p.memory[a.ID]
	if m.undelivered.IsZero() {
		m.undelivered = p.now
	}
	expired := p.now.Sub(m.undelivered) >= p.set.CompletingFor
	p.log.Warn("cannot read the spool files of an allocation's runners", "allocation_id", a.ID, "gave_up", expired, "error", err)
	return expired
}

// end ends an allocation. The spooled reports of its runners are delivered first, so that
// these attempts are not lost.
func (p *poll) end(ctx context.Context, a *compute.Allocation, v Verdict) error {
	if !p.delivered(ctx, a, v) {
		return nil
	}
	end := *v.End
	ended, err := p.store.Allocations.EndJudged(ctx, p.judged(a), end)
	if err != nil {
		return err
	}
	if !ended {
		p.Wake() // to judge it again
		return nil
	}
	delete(p.memory, a.ID)
	if a.SupersededMS == 0 && !a.IsDuplicate {
		p.submitter.forget(a.IntentID)
	}
	p.log.Info("an allocation has ended", "allocation_id", a.ID, "workflow_id", a.WorkflowID, "slurm_job_id", a.SlurmJobID,
		"cause", end.Cause, "reason", end.Text)
	return nil
}
