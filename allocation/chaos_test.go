package allocation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

var (
	chaosSeeds = flag.Int("seeds", 6, "how many histories of TestChaos are tried")
	chaosFirst = flag.Uint64("seed", 1, "the first of them")
)

// TestChaos has faults of Slurm, runners and the daemon happen in random order. At the
// end every requested allocation is gone, every allocation has one end, no job ran twice
// at the same time, and the checker finds nothing.
func TestChaos(t *testing.T) {
	for i := range *chaosSeeds {
		seed := *chaosFirst + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := newChaos(t, seed)
			for range 120 {
				c.step()
			}
			c.settle()
		})
	}
}

// chaos is a world in which things happen at random.
type chaos struct {
	*world
	rnd    *rand.Rand
	faults []func() // that repair what was injected
	runs   map[int64]*script
	turns  map[*script]int64
	held   map[*script][]lease.Held
	halted map[*script]bool // by SIGSTOP
	cutOff map[string]bool  // nodes that Slurm could not reach
	trace  []string
}

func newChaos(t *testing.T, seed uint64) *chaos {
	c := &chaos{rnd: rand.New(rand.NewPCG(seed, seed)), runs: map[int64]*script{}, turns: map[*script]int64{}, held: map[*script][]lease.Held{}, halted: map[*script]bool{}, cutOff: map[string]bool{}}
	c.world = newWorld(t, 150, func(o *slurmtest.Options) {
		o.Partitions = []slurmtest.Partition{{Name: "debug", PreemptMode: "REQUEUE", GraceTime: time.Second}}
		o.Completing, o.Lag = 5*time.Second, 20*time.Second
	})
	c.loop.submitter.script.Requeue = seed%2 == 0
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range c.trace {
				t.Log(line)
			}
		}
	})
	return c
}

func (c *chaos) say(format string, args ...any) {
	c.trace = append(c.trace, c.now.Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

// step has something happen, and some time pass.
func (c *chaos) step() {
	if len(c.scripts) > 0 {
		c.happen(c.scripts[c.rnd.IntN(len(c.scripts))])
	}
	switch c.rnd.IntN(12) {
	case 0, 1:
		a, err := c.loop.Submitter().Submit(c.Context(), c.want())
		c.say("submit: %d, Slurm job %d, %v", a.ID, a.SlurmJobID, err)
	case 2:
		c.inject()
	case 3:
		for _, remove := range c.faults {
			remove()
		}
		c.faults = nil
		c.say("all faults are repaired")
	case 4:
		script := c.loop.submitter.script
		c.boot(c.loop.submitter.secrets.dir)
		c.loop.submitter.script = script
		c.say("the daemon starts again")
	}
	c.let(time.Duration(1+c.rnd.IntN(40)) * time.Second)
}

// let has time pass, with a poll at its end. Runners that can call do so.
func (c *chaos) let(d time.Duration) {
	for _, l := range c.scripts {
		if l.silence += d; !l.over && !c.halted[l] && c.turn(l) {
			l.silence = 0
		}
	}
	c.advance(d)
	if _, err := c.loop.runOnce(c.Context()); err != nil {
		c.Fatal(err)
	}
	for _, a := range c.allocations() {
		if a.State == compute.AllocationEnded && c.now.UnixMilli()-a.EndMS < 60_000 {
			c.say("allocation %d (Slurm job %d, start %d) has ended: %s: %s", a.ID, a.SlurmJobID, a.RestartCount, a.Cause, a.CauseText)
		}
	}
}

// happen has something happen to a script, or to its job.
func (c *chaos) happen(l *script) {
	var what string
	switch c.rnd.IntN(24) {
	case 0:
		what = "preempted"
		c.cluster.Preempt(l.ID)
	case 1:
		what = "requeued"
		c.cluster.Requeue(l.ID)
	case 2:
		what = "suspended"
		c.cluster.Suspend(l.ID)
		c.halted[l] = true
	case 3, 4, 5:
		what = "resumed"
		c.cluster.Resume(l.ID)
		c.halted[l] = false
	case 6:
		what = "without power"
		if !l.over {
			l.over, l.gone = true, c.now
			c.cluster.KillNode(l.Nodes[0], true)
		}
	case 7:
		what = "out of Slurm's reach"
		c.cutOff[l.Nodes[0]] = true
		c.cluster.KillNode(l.Nodes[0], false)
	case 8, 9, 10:
		what = "node restored"
		c.cluster.RestoreNode(l.Nodes[0])
	case 11:
		what = "canceled by somebody"
		c.cluster.CancelAs([]int{0, 999}[c.rnd.IntN(2)], l.ID)
	case 12:
		what = "killed"
		if !l.over {
			c.vanish(l)
		}
	case 13:
		what = "stopped"
		c.halted[l] = true
	case 14:
		what = "canceled by us"
		for _, a := range c.allocations() {
			if a.SlurmJobID == l.ID.Number {
				_, err := c.store.Allocations.RequestCancel(c.Context(), []int64{a.ID}, "no work is left")
				c.must(err)
			}
		}
	case 15:
		what = "doubled"
		_, _ = c.client.Submit(c.Context(), slurm.Submission{Script: l.Script})
	default:
		return
	}
	c.say("Slurm job %s, start %d: %s", l.ID, l.Number, what)
}

// inject has something fail from now on.
func (c *chaos) inject() {
	faults := []slurmtest.Fault{
		slurmtest.ControllerDown(), slurmtest.AccountingDown(), slurmtest.TimedOut(slurm.Sbatch, true), slurmtest.TimedOut(slurm.Sbatch, false),
		slurmtest.Garbage(slurm.Squeue, "?\n"), slurmtest.Cut(slurm.Squeue, 200), slurmtest.Garbage(slurm.Sacct, ""),
		slurmtest.TimedOut(slurm.Scancel, false), slurmtest.TimedOut(slurm.Squeue, true),
	}
	i := c.rnd.IntN(len(faults))
	c.faults = append(c.faults, c.cluster.Inject(faults[i]))
	c.say("fault %d", i)
}

// turn has a runner register, or take a turn: it reports what has ended, and starts what
// it was granted. It reports whether it could.
func (c *chaos) turn(l *script) bool {
	if l.runner == 0 {
		if err := c.register(l); err != nil {
			c.say("Slurm job %s, start %d: its runner is rejected: %v", l.ID, l.Number, err)
			l.over, l.gone = true, c.now
			l.Exit(slurm.ExitCode{Code: 1})
			return false
		}
	}
	var t lease.TurnRequest
	var running []lease.Held
	for _, h := range c.held[l] {
		if h.StartedMS > 0 && c.rnd.IntN(3) == 0 {
			code := int64(c.rnd.IntN(2))
			t.Reports = append(t.Reports, lease.Report{LeaseRef: h.LeaseRef, StartedMS: h.StartedMS, EndedMS: c.now.UnixMilli(), Evidence: workflow.Evidence{ExitCode: &code}})
			c.ends(h.JobID, l)
			continue
		}
		if h.StartedMS == 0 && l.silence < time.Minute && c.rnd.IntN(2) == 0 {
			h.StartedMS = c.now.UnixMilli()
			c.starts(h.JobID, l)
		}
		running = append(running, h)
	}
	c.turns[l]++
	t.Turn, t.RunID, t.Held, t.Free = c.turns[l], c.workflow.RunID, running, lease.Free{Slots: 2}
	answer, err := c.store.Runners.Turn(c.Context(), l.runner, t)
	c.must(err)
	if stop := answer.Has(lease.OrderStop) || contains(c.stopped, l.runner); stop {
		c.leaves(l)
		return true
	}
	for _, v := range answer.Voided {
		running = dropped(running, v)
		c.ends(v.JobID, l)
	}
	for _, g := range answer.Grants {
		running = append(dropped(running, g.LeaseRef), lease.Held{LeaseRef: g.LeaseRef})
	}
	c.held[l] = running
	return true
}

// leaves has a runner kill its processes, and deregister.
func (c *chaos) leaves(l *script) {
	for _, h := range c.held[l] {
		c.ends(h.JobID, l)
	}
	c.held[l] = nil
	c.leave(l, 0)
}

func (c *chaos) starts(job int64, l *script) {
	other := c.runs[job]
	// A process that neither Slurm nor we can reach may continue.
	if other != nil && other != l && !other.over && !(c.cutOff[other.Nodes[0]] && c.halted[other]) {
		c.Errorf("job %d runs in Slurm job %s, start %d, and in %s, start %d", job, l.ID, l.Number, other.ID, other.Number)
	}
	c.runs[job] = l
	c.say("job %d starts in Slurm job %s, start %d", job, l.ID, l.Number)
}

func (c *chaos) ends(job int64, l *script) {
	if c.runs[job] == l {
		delete(c.runs, job)
	}
}

func contains(ids []int64, id int64) bool {
	for _, i := range ids {
		if i == id {
			return true
		}
	}
	return false
}

func dropped(held []lease.Held, ref lease.LeaseRef) []lease.Held {
	var left []lease.Held
	for _, h := range held {
		if h.LeaseRef != ref {
			left = append(left, h)
		}
	}
	return left
}

// settle repairs everything, cancels the workflow, and checks what is left.
func (c *chaos) settle() {
	for _, remove := range c.faults {
		remove()
	}
	for i := range 4 {
		c.cluster.RestoreNode(fmt.Sprintf("n%d", i+1))
	}
	for _, l := range c.scripts {
		c.cluster.Resume(l.ID)
	}
	c.say("everything is repaired")
	if _, err := c.store.Workflows.Cancel(c.Context(), c.workflow.ID); err != nil {
		c.Fatal(err)
	}
	for range 150 {
		c.let(30 * time.Second)
	}
	ends := map[string]bool{}
	for _, a := range c.allocations() {
		life := fmt.Sprintf("%s/%d/%d", a.IntentID, a.SlurmJobID, a.RestartCount)
		if a.State != compute.AllocationEnded || ends[life] {
			c.Errorf("allocation %d (Slurm job %d, start %d) is %s", a.ID, a.SlurmJobID, a.RestartCount, a.State)
		}
		ends[life] = true
	}
	queue, err := c.client.Queue(c.Context(), slurm.QueueQuery{})
	c.must(err)
	for _, job := range queue.Jobs {
		// A lost node may never confirm the end of its processes.
		if !job.State.Over() && job.State != slurm.Completing {
			c.Errorf("Slurm job %s is %s", job.ID, job.State)
		}
	}
	for _, id := range c.jobs {
		j, err := c.store.Jobs.Get(c.Context(), id)
		c.must(err)
		if j.Status.IsLive() {
			c.Errorf("job %d is %s", id, j.Status)
		}
	}
	c.sound()
}
