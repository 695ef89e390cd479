package slurm

import (
	"fmt"
	"maps"
	"os"
	"slices"
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

// priority says whether a call is made when the budget is spent.
type priority uint8

const (
	optionalCall priority = iota // made while at least half of the budget is left
	queryCall                    // made while there is budget
	requiredCall                 // always made: submissions and cancellations
)

// window is the time over which the budget counts.
const window = time.Minute

// meter counts calls and enforces the budget.
type meter struct {
	budget int
	modest bool    // queries count as optional
	ledger *ledger // calls of other processes count too; nil: they do not

	mu     sync.Mutex
	calls  map[string]Calls
	recent []time.Time // of the last window, oldest first
}

func newMeter(o *Options) *meter {
	m := &meter{budget: o.Budget, modest: o.Modest, calls: map[string]Calls{}}
	if o.Ledger != "" {
		m.ledger = &ledger{o.Ledger, o.OpenLedger}
		if m.ledger.open == nil {
			m.ledger.open = os.OpenFile
		}
	}
	return m
}

// admit reports whether a call may be made, and counts it as made. If not, why
// is the reason.
func (m *meter) admit(now time.Time, program string, p priority) (ok bool, why string) {
	if m.modest && p == queryCall {
		p = optionalCall
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls[program]
	m.share(now, func() {
		made := len(m.recent)
		if ok = m.budget == 0 || p == requiredCall || made < m.most(p); ok {
			m.recent = append(m.recent, now)
			return
		}
		again := m.recent[made-m.most(p)].Add(window).Sub(now)
		why = fmt.Sprintf("withheld: Slurm's programs were run %d times within a minute, and at most %d are allowed; again in %ds",
			made, m.most(p), int((again+time.Second-1)/time.Second))
	})
	if ok {
		calls.Total++
	} else {
		calls.Withheld++
	}
	m.calls[program] = calls
	return ok, why
}

// most returns how many calls a window may have before one more call of a priority
// is withheld.
func (m *meter) most(p priority) int {
	if p == optionalCall {
		return m.budget - m.budget/2
	}
	return m.budget
}

// share sets recent to the recent calls of all processes, if there is a usable
// ledger. Otherwise this process counts its own calls: calling Slurm is
// more important than an exact count.
func (m *meter) share(now time.Time, use func()) {
	if m.ledger != nil {
		err := m.ledger.update(func(recent []time.Time) []time.Time {
			m.recent = recent
			m.forget(now)
			use()
			return m.recent
		})
		if err == nil {
			return
		}
	}
	m.forget(now)
	use()
}

// forget removes calls that are older than the window, and calls in the future, from
// before the clock was set back.
func (m *meter) forget(now time.Time) {
	m.recent = slices.DeleteFunc(m.recent, func(t time.Time) bool { return now.Sub(t) >= window || t.Sub(now) > window })
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

// Calls returns how often each program was run since the client was created.
func (c *Client) Calls() map[string]Calls {
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	return maps.Clone(c.meter.calls)
}

// Spare returns how many optional calls (comments, estimates) the
// budget still allows in this minute; without a budget it is large.
// Queries are withheld when the budget is spent, optional calls when half of
// it is; submissions and cancellations never.
func (c *Client) Spare() (left int) {
	m := c.meter
	if m.budget <= 0 {
		return 1 << 30
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.share(c.now(), func() { left = m.most(optionalCall) - len(m.recent) })
	return max(left, 0)
}
