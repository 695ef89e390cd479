package classifier

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// The limits of a policy that sets none.
const (
	usualAgent    = "claude"
	usualRetries  = 1
	usualDelay    = 10 * time.Second
	usualTimeout  = 10 * time.Minute
	usualCalls    = 10
	usualCallsDay = 20
)

// Limits are the settings of a policy, with the defaults filled in.
type Limits struct {
	Agent       string
	Apply       bool
	MaxRetries  int64
	MaxMemory   int64         // bytes; 0: memory is not changed without a person
	MaxRuntime  time.Duration // 0: the runtime is not changed without a person
	MaxCPUs     int64         // 0: the CPUs are not changed without a person
	Delay       time.Duration
	Timeout     time.Duration
	Calls       int64
	CallsPerDay int64
}

// LimitsOf returns the limits of a valid policy.
func LimitsOf(p *workflow.ClassifierPolicy) Limits {
	l := Limits{
		Agent: cmp.Or(p.Agent, usualAgent), Apply: p.Apply, MaxRetries: usualRetries, MaxCPUs: p.MaxCPUs,
		MaxRuntime: duration(p.MaxRuntime, 0), Delay: duration(p.Delay, usualDelay), Timeout: duration(p.Timeout, usualTimeout),
		Calls: cmp.Or(p.MaxCalls, usualCalls), CallsPerDay: cmp.Or(p.MaxCallsPerDay, usualCallsDay),
	}
	if p.MaxRetries != nil {
		l.MaxRetries = *p.MaxRetries
	}
	if n, err := workflow.ParseMemory(p.MaxMemory); err == nil {
		l.MaxMemory = n
	}
	return l
}

// Name returns how the agent is called in texts.
func (l *Limits) Name() string { return filepath.Base(l.Agent) }

func duration(text string, otherwise time.Duration) time.Duration {
	if text == "" {
		return otherwise
	}
	d, err := workflow.ParseDuration(text)
	if err != nil {
		return otherwise
	}
	return d
}
