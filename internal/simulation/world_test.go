package simulation

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// world is one run.
type world struct {
	seed    seed
	dir     string
	log     *slog.Logger
	began   time.Time
	worst   weather
	until   time.Time // when the faults end
	jumps   bool      // of the clock of the daemon's host
	crashes float64   // how likely a daemon is to die
	def     *workflow.Definition
	// after which the user cancels the workflow; 0 for never
	cancelAfter time.Duration
	ps          *processes
	cluster     *cluster // nil: there is no Slurm
	group       sync.WaitGroup
	life        context.Context // ends when the run is over
	end         context.CancelFunc
	path        string      // of the last database
	over        time.Time   // when the run was over
	begun       int         // runs of the workflow after the first
	settled     atomic.Bool // people leave the workflow alone from now on

	surplus int // see audit

	mu           sync.Mutex
	daemon       *daemon
	workflow     int64
	jobs         map[int64]int // ids to their indexes in def
	ids          []int64
	trace        strings.Builder
	violations   []string
	acknowledged check.Acknowledged
	answers      map[string]int    // to turns, by runner
	told         map[leaseKey]bool // leases that their runners know of
}

// limit is how long a run may take, in virtual time.
const limit = 12 * time.Hour

// newWorld draws the conditions of a run.
func newWorld(s seed, dir string) *world {
	c := s.of("world")
	w := &world{seed: s, dir: dir, began: time.Now(), def: workload(s), jobs: map[int64]int{}, answers: map[string]int{}, told: map[leaseKey]bool{}}
	w.log = slog.New(slog.NewTextHandler(traceWriter{w}, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: withoutTime}))
	w.ps = &processes{world: w, live: map[string]*execution{}, of: map[int64][]*execution{}, order: newOrder()}
	w.until = w.began.Add(c.spread(time.Minute, 40*time.Minute))
	w.life, w.end = context.WithCancel(context.Background())
	w.worst = oneOf(c,
		weather{},
		weather{lost: 0.02, doubled: 0.02, slow: 0.1, slowest: 2 * time.Second},
		weather{lost: 0.15, doubled: 0.15, slow: 0.3, slowest: 20 * time.Second},
		weather{lost: 0.4, doubled: 0.3, slow: 0.5, slowest: 25 * time.Second})
	w.crashes = oneOf(c, 0, 0.5, 1)
	w.jumps = c.is(0.3)
	if c.is(0.1) {
		w.cancelAfter = c.spread(time.Second, 20*time.Minute)
	}
	if c.is(0.7) {
		w.cluster = newCluster(w)
	}
	return w
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// traceWriter writes log lines to the trace.
type traceWriter struct{ *world }

func (t traceWriter) Write(line []byte) (int, error) {
	t.note("%s", strings.TrimRight(string(line), "\n"))
	return len(line), nil
}

// note adds a line to the trace.
func (w *world) note(format string, args ...any) {
	at := time.Since(w.began)
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), w.dir, "DIR")
	fmt.Fprintf(&w.trace, "%12.6f %s\n", at.Seconds(), text)
}

// violated records that a promise is broken.
func (w *world) violated(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("VIOLATION: %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, text)
}

// hash returns a hash of the whole trace.
func (w *world) hash() uint64 {
	h := fnv.New64a()
	h.Write([]byte(w.trace.String()))
	return h.Sum64()
}

// faulty reports whether faults may still occur.
func (w *world) faulty() bool { return time.Now().Before(w.until) }

func (w *world) weather() weather {
	if !w.faulty() {
		return weather{}
	}
	return w.worst
}

// jumpPeriod is the time between two jumps of the clock.
const jumpPeriod = 3 * time.Minute

// now returns the time of the daemon's host, whose clock may jump.
func (w *world) now() time.Time {
	now := time.Now()
	if !w.jumps || !w.faulty() {
		return now
	}
	return now.Add(w.seed.of("clock", now.Sub(w.began)/jumpPeriod).between(-2*time.Minute, 2*time.Minute))
}

// isCut reports whether a node is cut off from the daemon.
func (w *world) isCut(node string) bool {
	if w.cluster != nil {
		return w.cluster.isIsolated(node)
	}
	if !w.faulty() {
		return false
	}
	const span = 20 * time.Minute
	c := w.seed.of("cut", node, time.Since(w.began)/span)
	from := c.between(0, span)
	at := time.Since(w.began) % span
	lasts := c.spread(time.Second, span)
	cut := c.is(0.5) && at >= from && at < from+lasts
	if cut && at > from+patience {
		w.ps.outOfReach(node) // its runner may be considered dead
	}
	return cut
}

// patience is how long a silent node is certain not to be given up.
const patience = 4 * time.Minute

// adjust adds to the options of a daemon.
func (w *world) adjust(o *server.DaemonOptions, d *daemon) {
	if w.cluster != nil {
		o.Cluster = w.cluster.options(d)
	}
}

// create creates the workflow.
func (w *world) create(d *daemon) {
	ctx := context.Background()
	if _, err := d.Store().Identity(ctx, databaseName); err != nil {
		panic(err)
	}
	definition, err := d.Store().Workflows.BeginDefinition(ctx, w.def, "")
	if err != nil {
		panic(err)
	}
	if err := definition.Add(w.def); err != nil {
		panic(err)
	}
	id, err := definition.Finish(ctx, int64(len(w.def.Jobs)), 0)
	if err != nil {
		panic(err)
	}
	if err := d.Store().Workflows.Initialize(ctx, id, store.InitializeOptions{}); err != nil {
		panic(err)
	}
	if w.ids, err = d.Store().Jobs.IDs(ctx, id); err != nil {
		panic(err)
	}
	w.workflow = id
	for place, job := range w.ids {
		w.jobs[job] = place
	}
	w.acknowledged.Workflows, w.acknowledged.Jobs = []int64{id}, w.ids
}

// job returns the definition of a job.
func (w *world) job(id int64) *workflow.JobDefinition { return &w.def.Jobs[w.jobs[id]] }

func (w *world) idOf(place int32) int64 { return w.ids[place] }

// complete reports whether the workflow and its compensation have ended.
func (w *world) complete() bool {
	d := w.present()
	if d == nil {
		return false
	}
	canceled, complete, err := d.Store().Workflows.IsComplete(context.Background(), w.workflow)
	if err != nil || !complete && !canceled {
		return false
	}
	undone, err := d.Store().Workflows.Compensations(context.Background(), w.workflow)
	return err == nil && !slices.ContainsFunc(undone, func(c stage.Compensation) bool { return !c.State.IsOver() })
}

// isDone reports whether the workflow has ended and nobody will change it any more.
func (w *world) isDone() bool { return w.settled.Load() && w.complete() }

// run runs the simulation.
func (w *world) run() {
	ready := make(chan struct{})
	w.group.Go(func() { w.keepDaemon(ready) })
	<-ready
	w.group.Go(w.audit)
	w.group.Go(func() {
		w.operate()
		w.settled.Store(true)
	})
	var hosts sync.WaitGroup
	if w.cancelAfter > 0 {
		hosts.Go(w.cancel)
	}
	if w.def.Policy.MaxFailures != nil {
		hosts.Go(w.releaseClaims)
	}
	if w.cluster != nil {
		w.group.Go(func() { w.cluster.Live(w.life) })
		hosts.Go(w.cluster.makeMischief)
		hosts.Go(w.submit)
	} else {
		for i := range w.seed.of("nodes").IntN(3) + 1 {
			hosts.Go(func() { w.keepRunner(fmt.Sprintf("h%d", i+1)) })
		}
	}
	for !w.isDone() && w.life.Err() == nil {
		if time.Since(w.began) > limit {
			w.violated("the workflow has not ended after %s", limit)
			w.end()
		}
		_ = sleep(w.life, 3*time.Second)
	}
	w.note("the workflow is complete: %v", w.complete())
	hosts.Wait()
	if w.cluster != nil {
		w.awaitAllocations()
		w.cluster.checkCluster()
	}
	if d := w.present(); d != nil {
		w.checkJobs(d.Store())
	}
	w.over = time.Now()
	w.end()
	w.group.Wait()
}
