package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/server/agent"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/classifier"
)

// AgentOptions configure the agents that the daemon asks about held jobs.
type AgentOptions struct {
	Agents agent.Agents // of the configuration
	// Server returns the command of an MCP server that calls the daemon at a URL in the mode
	// propose, in the name of the call with a key, and reads logs in an output directory (the
	// usual one if it is empty). Without it no agent is asked.
	Server func(url, key, outputDir string) agent.Server
	// Environ is the environment of agents.
	Environ []string
	// Interval is the time between checks; a second if 0.
	Interval time.Duration
}

const (
	classifierInterval = time.Second
	// classifierPause is the time between decisions about a workflow while nothing is due.
	classifierPause = 10 * time.Second
	// agentOutput is how many bytes an agent may write.
	agentOutput = 4 << 20
	// maxAgents is how many agents run at once.
	maxAgents = 2
)

// classifiers asks agents about held jobs, one at a time for each workflow. The goroutine of
// Run owns the fields; mu guards running.
type classifiers struct {
	store  *store.Store
	o      AgentOptions
	url    func() string
	shared bool // with other users
	log    *slog.Logger
	now    func() time.Time

	next map[int64]time.Time // by workflow: when to decide again

	mu      sync.Mutex
	running map[int64]bool // by workflow
	calls   sync.WaitGroup
}

func newClassifiers(st *store.Store, o AgentOptions, url func() string, shared bool, log *slog.Logger, now func() time.Time) *classifiers {
	if o.Interval <= 0 {
		o.Interval = classifierInterval
	}
	return &classifiers{store: st, o: o, url: url, shared: shared, log: log, now: now, next: map[int64]time.Time{}, running: map[int64]bool{}}
}

// recover ends the calls of a former daemon, and their processes.
func (c *classifiers) recover(ctx context.Context) {
	keys, err := c.store.Classifiers.Interrupt(ctx)
	if err == nil {
		err = agent.EndLeft(keys)
	}
	if err != nil {
		c.log.Error("cannot end calls of agents that the former daemon began", "error", err)
	}
}

// Run asks agents until ctx ends, and then ends those that run.
func (c *classifiers) Run(ctx context.Context) {
	c.recover(ctx)
	defer c.calls.Wait()
	tick := time.NewTicker(c.o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := c.ask(ctx); err != nil && ctx.Err() == nil {
			c.log.Error("cannot decide whether to ask an agent about held jobs", "error", err)
		}
	}
}

// ask begins the calls that are due.
func (c *classifiers) ask(ctx context.Context) error {
	waiting, err := c.store.Classifiers.Waiting(ctx)
	if err != nil {
		return err
	}
	now := c.now()
	for _, id := range waiting {
		if now.Before(c.next[id]) || !c.enter(id) {
			continue
		}
		begun, err := c.begin(ctx, id)
		if !begun {
			c.leave(id)
		}
		if err != nil {
			return fmt.Errorf("workflow %d: %w", id, err)
		}
	}
	return nil
}

// enter reports whether an agent may be asked about a workflow now, and counts it.
func (c *classifiers) enter(workflowID int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[workflowID] || len(c.running) >= maxAgents {
		return false
	}
	c.running[workflowID] = true
	return true
}

func (c *classifiers) leave(workflowID int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, workflowID)
}

// begin begins a call about a workflow if one is due. The goroutine of the call then leaves.
func (c *classifiers) begin(ctx context.Context, workflowID int64) (begun bool, err error) {
	d, err := c.store.Classifiers.Decide(ctx, workflowID)
	if err != nil {
		return false, err
	}
	if len(d.Ask) == 0 {
		c.postpone(workflowID, d)
		return false, nil
	}
	key := NewToken()
	call, d, limits, err := c.store.Classifiers.Begin(ctx, workflowID, key)
	if err != nil || call.ID == 0 {
		return false, err
	}
	delete(c.next, workflowID)
	c.log.Info("asking an agent about held jobs", "workflow_id", workflowID, "agent", limits.Agent, "jobs", call.Jobs(), "groups", len(call.Asked))
	c.calls.Go(func() {
		defer c.leave(workflowID)
		outcome, detail := c.call(ctx, &call, &d, &limits, key)
		// The result is recorded although the daemon may be stopping.
		ended, err := c.store.Classifiers.End(context.WithoutCancel(ctx), call.ID, outcome, detail)
		if err != nil {
			c.log.Error("cannot record the call of an agent", "workflow_id", workflowID, "call", call.ID, "error", err)
			return
		}
		c.log.Info("an agent was asked about held jobs", "workflow_id", workflowID, "agent", limits.Agent, "outcome", ended.Outcome, "detail", ended.Detail)
	})
	return true, nil
}

// postpone says when to decide about a workflow again.
func (c *classifiers) postpone(workflowID int64, d classifier.Decision) {
	now := c.now()
	at := now.Add(min(classifierPause, 10*c.o.Interval))
	if d.UntilMS != 0 {
		if until := time.UnixMilli(d.UntilMS); until.Before(at) {
			at = until
		}
	}
	c.next[workflowID] = at
}

// call runs the agent, and returns what to record if it has left no proposal.
func (c *classifiers) call(ctx context.Context, call *classifier.Call, d *classifier.Decision, l *classifier.Limits, key string) (classifier.Outcome, string) {
	found, err := c.o.Agents.Find(l.Agent, !c.shared)
	if err != nil {
		return classifier.Absent, err.Error()
	}
	dir, err := c.store.Classifiers.OutputDir(ctx, call.WorkflowID)
	if err != nil {
		c.log.Warn("an agent is asked without logs", "workflow_id", call.WorkflowID, "error", err)
	}
	ended, err := agent.Run(ctx, &agent.Task{
		Agent: found, Brief: classifier.Brief(call, d.Ask, l), Server: c.o.Server(c.url(), key, dir), Key: key, Environ: c.o.Environ,
		Timeout: l.Timeout, MaxOutput: agentOutput,
	})
	if err != nil {
		c.log.Error("an agent was not ended cleanly", "workflow_id", call.WorkflowID, "agent", l.Agent, "error", err)
	}
	switch {
	case ended.Absent != nil:
		return classifier.Absent, ended.Absent.Error()
	case ended.Stopped:
		return classifier.Interrupted, ""
	case ended.TooMuch:
		return classifier.TooMuch, fmt.Sprintf("it wrote more than %d MiB", agentOutput>>20)
	case ended.TimedOut:
		return classifier.TimedOut, ""
	}
	return classifier.Silent, ended.Status
}
