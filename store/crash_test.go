package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

var kills = flag.Int("kills", 50, "how often the crash test kills its victim")

// TestKilledOverAndOver kills a loaded process, at random times and at each failpoint,
// and checks each time that everything that it had acknowledged is there, and that the
// database keeps its guarantees.
func TestKilledOverAndOver(t *testing.T) {
	n := *kills
	if testing.Short() {
		n = min(n, 8)
	}
	c := &crashes{t: t, dir: t.TempDir(), gone: map[int64]bool{}}
	for i := range n {
		c.kill(i)
		if c.check(); t.Failed() {
			t.Fatalf("after kill %d of %d", i+1, n)
		}
	}
	if c.reports == 0 || c.grants == 0 {
		t.Errorf("%d grants and %d reports were acknowledged: the victim did not work", c.grants, c.reports)
	}
	t.Logf("%d kills survived, with %d grants and %d reports acknowledged", n, c.grants, c.reports)
}

// crashes is what the killer knows.
type crashes struct {
	t       *testing.T
	dir     string
	said    check.Acknowledged
	gone    map[int64]bool        // jobs
	pending []check.SpooledReport // in spool files when the victim started
	grants  int
	reports int
}

// kill starts a victim and kills it.
func (c *crashes) kill(i int) {
	c.t.Helper()
	c.pending = c.spooled(false)
	points := []string{"store.commit.before", "store.commit.after", "store.answer.before", "store.answer.after"}
	cmd := exec.Command(os.Args[0])
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), victimDir+"="+c.dir)
	life := victimLife / 2
	if i%2 == 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s=kill@%d", victimFailpoints, points[i/2%len(points)], 1+rand.IntN(300)))
	} else {
		life = time.Duration(rand.IntN(250)) * time.Millisecond
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	timer := time.AfterFunc(life, func() { cmd.Process.Kill() }) //nolint:errcheck // it may be dead
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			break // cut off
		}
		c.hear(&e)
	}
	err = cmd.Wait()
	timer.Stop()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		c.t.Fatalf("the victim ended by itself: %v", err)
	}
}

// hear processes a line of the victim's journal.
func (c *crashes) hear(e *entry) {
	a := &c.said
	if e.Workflow != 0 {
		a.Workflows = append(a.Workflows, e.Workflow)
		a.Jobs = append(a.Jobs, e.Jobs...)
	}
	a.Grants = append(a.Grants, e.Grants...)
	a.Reports = append(a.Reports, e.Reports...)
	c.grants += len(e.Grants)
	c.reports += len(e.Reports)
	if e.Canceled != 0 {
		a.Canceled = append(a.Canceled, e.Canceled)
	}
	without := func(list []int64, id int64) []int64 {
		return slices.DeleteFunc(list, func(x int64) bool { return x == id })
	}
	a.Canceled = without(without(a.Canceled, e.Uncancel), e.Forget)
	if e.Forget != 0 {
		a.Workflows = without(a.Workflows, e.Forget)
		for _, job := range e.Jobs {
			c.gone[job] = true
		}
	}
	c.pending = slices.DeleteFunc(c.pending, func(r check.SpooledReport) bool { return slices.Contains(e.Dropped, r.LeaseRef) })
	if e.Settled { // the spool is recorded now
		for _, r := range c.pending {
			r.Answered = true
			a.Reports = append(a.Reports, r)
		}
	}
}

// spooled reads the answered or the unanswered reports in the spool files.
func (c *crashes) spooled(answered bool) []check.SpooledReport {
	c.t.Helper()
	paths, err := spool.Files(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	var all []check.SpooledReport
	for _, path := range paths {
		contents, err := spool.Read(path)
		if err != nil {
			c.t.Fatal(err)
		}
		for i, r := range contents.Reports {
			if (i < contents.Answered) == answered {
				all = append(all, check.SpooledReport{RunID: contents.Header.RunID, LeaseRef: r.LeaseRef, EndedMS: r.EndedMS, Answered: answered})
			}
		}
	}
	return all
}

func (c *crashes) check() {
	c.t.Helper()
	a := &c.said
	a.Jobs = slices.DeleteFunc(a.Jobs, func(id int64) bool { return c.gone[id] })
	a.Grants = slices.DeleteFunc(a.Grants, func(g lease.LeaseRef) bool { return c.gone[g.JobID] })
	a.Reports = slices.DeleteFunc(a.Reports, func(r check.SpooledReport) bool { return c.gone[r.JobID] })
	findings, err := check.Deep(c.t.Context(), filepath.Join(c.dir, "torc.db"), check.Witness{Spooled: c.spooled(true), Acknowledged: c.said})
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range findings {
		c.t.Error(f)
	}
}
