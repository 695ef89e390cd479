package run

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// progress is the state of a running workflow: the server's counts and the events of this
// runner. It is safe for concurrent use.
type progress struct {
	mu      sync.Mutex
	began   time.Time
	id      int64
	name    string
	status  *api.WorkflowStatus
	running map[int64]runningJob
	ends    []time.Time // of attempts, within rateWindow
	trouble []trouble   // the latest, oldest first
	unseen  []trouble   // not yet returned by takeTroubles
	retries int64
	// stopping is true while the runner stops: jobs that it ends are returned to the
	// queue, and are not failures.
	stopping bool
	stopped  int64 // attempts that were returned to the queue
	// failedActions are the messages of failed commands of actions.
	failedActions []string
	message       string   // of outages, stops and holds of claims
	held          string   // why no job is claimed, as it was told
	prefix        string   // this program, with the flags for the server
	unsaid        []string // messages, not yet returned by takeMessages
}

type runningJob struct {
	name    string
	started time.Time
}

// trouble is an attempt without success.
type trouble struct {
	Job     string
	Attempt int64
	Status  workflow.JobStatus // of the job after it
	Cause   workflow.CauseKind
	Code    int64
	Reason  string
	Repair  bool // a recovery script runs
}

const (
	// rateWindow is the time over which the rate is taken.
	rateWindow = 15 * time.Second
	// keptTroubles is how many attempts without success are kept.
	keptTroubles = 50
)

func newProgress(id int64, name string, now time.Time) *progress {
	return &progress{
		began: now, id: id, name: name,
		running: map[int64]runningJob{},
	}
}

// observe adds an event of the runner.
func (p *progress) observe(e runner.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case runner.EventStarted:
		p.running[e.JobID] = runningJob{e.JobName, e.Time}
	case runner.EventEnded:
		p.attemptEnded(e)
	case runner.EventRecovering, runner.EventVoided:
		delete(p.running, e.JobID)
	case runner.EventOutage:
		p.tell(e.Message)
	case runner.EventOutputLost:
		p.tell(e.Message)
	case runner.EventResumed:
		p.tell("the server answers again")
		p.message = ""
	case runner.EventStopping:
		p.stopping = true
	case runner.EventAction:
		if e.Failed {
			p.failedActions = append(p.failedActions, e.Message)
			p.tell("an action failed: " + e.Message)
		}
	}
}

func (p *progress) attemptEnded(e runner.Event) {
	delete(p.running, e.JobID)
	if p.stopping && e.Status == workflow.Ready {
		p.stopped++
		return
	}
	p.ends = append(p.ends, e.Time)
	switch {
	case e.Status == workflow.Completed:
		return
	case !e.Status.IsComplete() && e.Status != workflow.PendingFailed:
		p.retries++
	}
	t := trouble{Job: e.JobName, Attempt: e.Attempt, Status: e.Status, Cause: e.Cause, Code: e.ReturnCode,
		Reason: e.Reason, Repair: e.Status.IsLive()}
	p.trouble = append(p.trouble, t)
	p.trouble = p.trouble[max(0, len(p.trouble)-keptTroubles):]
	p.unseen = append(p.unseen, t)
	p.unseen = p.unseen[max(0, len(p.unseen)-keptTroubles):]
}

// count stores the server's counts, and reports when claims become held or released.
func (p *progress) count(s *api.WorkflowStatus, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = s
	holds := apidata.ClaimHolds(s.ClaimHolds)
	held := holds.Text(now)
	if held == p.held || s.IsComplete {
		return
	}
	if p.held = held; held == "" {
		p.tell("claims continue")
		p.message = ""
		return
	}
	p.tell("claims are held: " + held + "; to continue: " + strings.Join(holds.Commands(p.prefix, p.id), ", or "))
}

// takeTroubles returns the attempts without success since the last call.
func (p *progress) takeTroubles() []trouble {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.unseen
	p.unseen = nil
	return all
}

// view returns the present state.
func (p *progress) view(now time.Time) progressView {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := progressView{
		WorkflowID: p.id, Name: p.name, Elapsed: now.Sub(p.began), Message: p.message,
		Trouble: slices.Clone(p.trouble), Retries: p.retries,
	}
	if p.status != nil {
		shown := p.status.Shown()
		v.Total, v.Counts = shown.TotalJobs, shown.JobsByStatus
		if s := p.status.Stages; s != nil {
			for _, part := range s.Shown { // those that run come first
				if part.State == stage.Running && len(v.Stages) < runningStages {
					v.Stages = append(v.Stages, part)
				}
			}
		}
	}
	for _, j := range p.running {
		v.Running = append(v.Running, runningView{j.name, now.Sub(j.started)})
	}
	slices.SortFunc(v.Running, func(a, b runningView) int {
		return cmp.Or(cmp.Compare(b.For, a.For), cmp.Compare(a.Name, b.Name))
	})
	p.ends = slices.DeleteFunc(p.ends, func(t time.Time) bool { return now.Sub(t) > rateWindow })
	if span := min(rateWindow, v.Elapsed).Seconds(); span > 0 {
		v.Rate = float64(len(p.ends)) / span
	}
	return v
}

// say shows a message until the next one.
func (p *progress) say(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell(message)
}

func (p *progress) tell(message string) {
	p.message = message
	p.unsaid = append(p.unsaid, message)
}

// takeMessages returns the messages since the last call.
func (p *progress) takeMessages() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.unsaid
	p.unsaid = nil
	return all
}
