package server

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/server/hub"
	"github.com/torc-slurm/torc-slurm/store"
)

// watchdog handles runners that fall silent, delays that end, claims of torc clients that
// were never started, and timeouts, deadlines and holds. Its goroutine owns its fields.
type watchdog struct {
	store  *store.Store
	leases *leases
	hub    *hub.Hub
	log    *slog.Logger
	now    func() time.Time
	host   string
	bootID string
	// endLeftovers ends what a dead runner of this host left running.
	endLeftovers func(outputDir string) error
	spool        spoolOf
	undelivered  map[int64]time.Time // since when the spool of a dead runner cannot be read

	cluster *cluster // nil without Slurm
	// explain returns why a ready job waits; nil if that is unknown.
	explain func(ctx context.Context, job int64) (string, error)

	startNeeded chan struct{} // a runner's connection broke
	delayed     chan int64    // a job was delayed until then, in ms
	released    int64         // delays up to then were announced
	unstarted   time.Time     // when Jobs.ReturnUnstarted last ran
}

// newWatchdog makes the watchdog of a server.
func newWatchdog(s *Server, delayed chan int64, o DaemonOptions) *watchdog {
	s.defaults()
	host, _ := os.Hostname() // empty where there is none
	return &watchdog{
		store: s.Store, leases: s.leases, hub: s.Hub, log: s.Log, now: s.Now, host: host, bootID: BootID(),
		endLeftovers: o.EndLeftovers, spool: spoolOf{store: s.Store, read: o.Spooled}, undelivered: map[int64]time.Time{}, startNeeded: s.startNeeded, delayed: delayed, explain: s.whyQueued,
	}
}

// Periods of the watchdog.
const (
	watchInterval    = 5 * time.Second
	heartbeatTimeout = 10 * time.Minute // silence after which a runner that cannot be checked is lost
	unstartedAfter   = 15 * time.Minute
	spoolPatience    = time.Minute // with files of a dead runner that cannot be read
)

// askAfter are the times of silence after which Slurm is polled about the allocation of a
// runner whose connection broke. It may reconnect at once, and Slurm may take some time
// to notice that it is gone.
var askAfter = []time.Duration{3 * time.Second, 20 * time.Second, time.Minute}

// Run runs the checks until ctx ends.
func (w *watchdog) Run(ctx context.Context) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	w.released = w.now().UnixMilli()
	delay := time.NewTimer(0)
	defer delay.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.startNeeded:
			w.checkRunners(ctx)
		case <-tick.C:
			w.checkRunners(ctx)
			w.returnUnstarted(ctx)
			w.expire(ctx)
			w.reviewEnds(ctx)
		case <-w.delayed:
			delay.Reset(w.release(ctx))
		case <-delay.C:
			delay.Reset(w.release(ctx))
		}
	}
}

func (w *watchdog) reviewEnds(ctx context.Context) {
	if err := w.store.Workflows.ReviewCompensations(ctx); err != nil && ctx.Err() == nil {
		w.log.Error("cannot check compensations", "error", err)
	}
	if err := w.store.Workflows.ReviewEnds(ctx); err != nil && ctx.Err() == nil {
		w.log.Error("cannot check end jobs", "error", err)
	}
}

// noDelay is how long to sleep when no job is delayed: a later delay arrives by the
// channel.
const noDelay = time.Hour

// release wakes the runners of workflows whose delays or holds of claims have
// ended, and returns how long to wait for the next one.
func (w *watchdog) release(ctx context.Context) time.Duration {
	now := w.now().UnixMilli()
	due, next, err := w.store.Jobs.Delayed(ctx, w.released, now)
	if err == nil {
		var held int64
		if held, err = w.store.ClaimHolds.Expire(ctx); held != 0 && (next == 0 || held < next) {
			next = held
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			w.log.Error("cannot list delayed jobs", "error", err)
		}
		return watchInterval
	}
	w.released = now
	for _, id := range due {
		w.hub.Wake(hub.WorkOf(id))
	}
	if next == 0 {
		return noDelay
	}
	return time.Duration(max(0, next-now)) * time.Millisecond
}

func (w *watchdog) returnUnstarted(ctx context.Context) {
	now := w.now()
	if now.Sub(w.unstarted) < time.Minute {
		return
	}
	w.unstarted = now
	n, err := w.store.Jobs.ReturnUnstarted(ctx, now.Add(-unstartedAfter).UnixMilli())
	switch {
	case err != nil:
		w.log.Error("cannot return unstarted jobs", "error", err)
	case n > 0:
		w.log.Warn("jobs that were claimed and never started are ready again", "jobs", n)
	}
}

// checkRunners expires the dead runners.
func (w *watchdog) checkRunners(ctx context.Context) {
	silent := w.leases.silent(w.now())
	if len(silent) == 0 {
		return
	}
	runners, err := w.store.Runners.Live(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.log.Error("cannot list live runners", "error", err)
		}
		return
	}
	for _, r := range runners { // in their order
		if _, isSilent := silent[r.ID]; !isSilent {
			continue
		}
		delete(silent, r.ID)
		silence, isSilent := w.leases.silentFor(r.ID, w.now())
		if !isSilent {
			continue // it sent a turn while others were expired
		}
		patience := w.expireHeartbeats(ctx, r.ID, silence)
		if r.AllocationID != 0 {
			// Slurm knows how it ended.
			if w.cluster != nil && w.leases.ask(r.ID, silence) {
				w.cluster.Wake()
			}
			continue
		}
		if why, dead := w.isDead(r, silence, patience); dead {
			w.expireRunner(ctx, r, why)
		}
	}
	for id := range silent {
		if _, isSilent := w.leases.silentFor(id, w.now()); isSilent {
			w.leases.Forget(id) // it has deregistered
		}
	}
}

// isDead reports whether a silent runner is dead, and how that is known. A process that
// exists but is silent (stopped, swapped out) is not dead. Slurm knows whether a runner
// in an allocation is dead. patience is how long a runner that cannot be checked may be
// silent.
func (w *watchdog) isDead(r store.LiveRunner, silence, patience time.Duration) (why string, dead bool) {
	switch {
	case r.AllocationID != 0:
		return "", false
	case r.Hostname == w.host && r.BootID != "" && r.BootID != w.bootID:
		return "its host was rebooted", true
	case r.Hostname == w.host && r.BootID == w.bootID && !processExists(r.PID):
		return "its process " + strconv.FormatInt(r.PID, 10) + " is gone", true
	case r.Hostname == w.host && r.BootID == w.bootID:
		return "", false
	case silence > patience:
		return "it has been silent for " + silence.Round(time.Second).String(), true
	}
	return "", false
}

// expireRunner ends a dead runner's leases. Before that it ends the processes that the
// runner left on this host, so that no job runs twice here, and delivers its spool.
func (w *watchdog) expireRunner(ctx context.Context, r store.LiveRunner, why string) {
	if r.Hostname == w.host && r.OutputDir != "" && w.endLeftovers != nil {
		if err := w.endLeftovers(r.OutputDir); err != nil {
			w.log.Error("cannot end what a dead runner left running", "compute_node_id", r.ID, "error", err)
		}
	}
	if !w.delivered(ctx, r) {
		return
	}
	if err := w.store.Runners.Expire(ctx, r.ID, why); err != nil {
		w.log.Error("cannot expire a dead runner", "compute_node_id", r.ID, "error", err)
		return
	}
	w.leases.Forget(r.ID)
	delete(w.undelivered, r.ID)
	w.log.Warn("a runner is lost", "compute_node_id", r.ID, "workflow_id", r.WorkflowID, "hostname", r.Hostname, "reason", why)
}

// delivered delivers the spool of a dead runner of this host before its jobs are lost. It
// reports whether the runner can be expired: an unreadable file delays that for
// spoolPatience only.
func (w *watchdog) delivered(ctx context.Context, r store.LiveRunner) bool {
	if r.Hostname != w.host || r.OutputDir == "" {
		return true
	}
	err := w.spool.Deliver(ctx, []store.AllocationRunner{{RunnerID: r.ID, OutputDir: r.OutputDir}})
	if err == nil {
		return true
	}
	since, known := w.undelivered[r.ID]
	if !known {
		since = w.now()
		w.undelivered[r.ID] = since
	}
	gaveUp := w.now().Sub(since) >= spoolPatience
	w.log.Warn("cannot deliver the spool of a dead runner", "compute_node_id", r.ID, "gave_up", gaveUp, "error", err)
	return gaveUp
}

// processExists reports whether a process exists and is not a zombie.
func processExists(pid int64) bool {
	text, err := os.ReadFile("/proc/" + strconv.FormatInt(pid, 10) + "/stat")
	if err != nil {
		return false
	}
	// The state follows the name in parentheses, which may contain anything.
	_, rest, ok := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	return ok && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
