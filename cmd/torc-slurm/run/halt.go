package run

import (
	"strconv"
	"strings"
	"sync"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// halt is how many jobs of exec may fail, as GNU parallel's --halt says it.
type halt struct {
	now  bool  // what runs is ended, too
	fail int64 // after so many failures no job starts

	mu     sync.Mutex
	failed int64
	stop   func() // ends the running jobs; set before the runner starts
}

// parseHalt returns the meaning of --halt for n jobs, nil for never, or a usage error.
func parseHalt(text string, n int) (*halt, error) {
	if text == "" || text == "never" {
		return nil, nil
	}
	when, what, _ := strings.Cut(text, ",")
	kind, number, _ := strings.Cut(what, "=")
	if (when == "now" || when == "soon") && kind == "fail" {
		percent := strings.HasSuffix(number, "%")
		if count, err := strconv.ParseInt(strings.TrimSuffix(number, "%"), 10, 64); err == nil && count > 0 && (!percent || count <= 100) {
			if percent {
				count = max(1, (count*int64(n)+99)/100)
			}
			return &halt{now: when == "now", fail: count}, nil
		}
	}
	return nil, cli.UsageErrorf("--halt %q is not never, soon,fail=N, now,fail=N or one of these with N%%, for example now,fail=1", text)
}

// count counts a job that has ended, and ends the others if it is one failure too many.
func (h *halt) count(failed bool) {
	if h == nil || !failed {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed++; h.failed == h.fail && h.now && h.stop != nil {
		h.stop()
	}
}
