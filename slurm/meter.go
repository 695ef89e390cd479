package slurm

import (
	"maps"
	"sync"
	"time"
)

// Calls counts the runs of one program.
type Calls struct {
	Total    int64
	Failed   int64 // of those, ended with an error
	TimedOut int64 // of those, did not end in time
	Withheld int64 // not made, and not in Total, because the budget was spent
	Spent    time.Duration
}

// priority says what becomes of a call when the budget is spent.
type priority uint8

const (
	nicety   priority = iota // made while at least half of the budget is left
	question                 // made while there is budget
	duty                     // always made: submissions and cancellations
)

// window is the time over which the budget counts.
const window = time.Minute

// meter counts calls and holds them to the budget.
type meter struct {
	budget int

	mu     sync.Mutex
	calls  map[string]Calls
	recent []time.Time // of the last window, oldest first; kept only with a budget
}

func newMeter(budget int) *meter {
	return &meter{budget: budget, calls: map[string]Calls{}}
}

// admit tells whether a call may be made, and counts it as made.
func (m *meter) admit(now time.Time, program string, p priority) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls[program]
	defer func() { m.calls[program] = calls }()
	if m.budget > 0 {
		left := m.left(now)
		if p == question && left <= 0 || p == nicety && left <= m.budget/2 {
			calls.Withheld++
			return false
		}
		m.recent = append(m.recent, now)
	}
	calls.Total++
	return true
}

// left forgets calls older than the window and returns what may still be made.
func (m *meter) left(now time.Time) int {
	old := 0
	for old < len(m.recent) && now.Sub(m.recent[old]) >= window {
		old++
	}
	m.recent = m.recent[old:]
	return m.budget - len(m.recent)
}

func (m *meter) done(program string, spent time.Duration, failure *Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls[program]
	calls.Spent += spent
	if failure != nil {
		calls.Failed++
		if failure.Code == codeTimeout {
			calls.TimedOut++
		}
	}
	m.calls[program] = calls
}

// Calls is how often each program was run since the client was made.
func (c *Client) Calls() map[string]Calls {
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	return maps.Clone(c.meter.calls)
}

// Spare is how many calls that could be left out (comments, estimates) the
// budget still has room for in this minute; without a budget it is large.
// Questions are withheld when the budget is spent, such niceties when half of
// it is; submissions and cancellations never.
func (c *Client) Spare() int {
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	if c.meter.budget <= 0 {
		return 1 << 30
	}
	return max(c.meter.left(c.now())-c.meter.budget/2, 0)
}
