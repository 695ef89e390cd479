package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/server"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// cluster is the fake Slurm of a run, and its faults.
type cluster struct {
	*world
	*slurmtest.Cluster
	faultiness float64 // how likely a program of Slurm is to fail
	mischief   time.Duration
	nodes      []string

	calls int // that a daemon may make within a minute

	mu       sync.Mutex
	made     map[string][]time.Time // when Slurm made jobs, by name
	canceled map[int64]bool         // by others, by number
	asked    []time.Time            // when daemons requested allocations
	batches  map[string]*batch      // running ones
	isolated map[string]bool        // nodes that nobody can reach
}

// newCluster draws a cluster.
func newCluster(w *world) *cluster {
	c := w.seed.of("cluster")
	s := &cluster{world: w, batches: map[string]*batch{}, isolated: map[string]bool{}, made: map[string][]time.Time{}, canceled: map[int64]bool{}}
	s.calls = oneOf(c, 10, 20)
	s.faultiness = oneOf(c, 0, 0.05, 0.3)
	s.mischief = oneOf(c, 0, 5*time.Minute, 40*time.Second)
	var nodes []slurmtest.Node
	for i := range 1 + c.IntN(4) {
		nodes = append(nodes, slurmtest.Node{Name: fmt.Sprintf("n%d", i+1), CPUs: 4, Memory: 4000 * slurm.MiB})
		s.nodes = append(s.nodes, nodes[i].Name)
	}
	s.Cluster = slurmtest.New(slurmtest.Options{
		Nodes:  nodes,
		Launch: s.launch, KillWait: 30 * time.Second, Lag: c.spread(100*time.Millisecond, time.Minute),
		Completing: c.spread(100*time.Millisecond, 10*time.Second), MinJobAge: oneOf(c, time.Minute, 5*time.Minute),
		SlurmdTimeout: c.spread(10*time.Second, 2*time.Minute),
	})
	return s
}

// options returns the daemon's options for the cluster.
func (s *cluster) options(d *daemon) server.ClusterOptions {
	client := slurm.New(slurm.Options{Executor: s.gate(d.life, fmt.Sprintf("daemon %d", d.number), d, s.calls), Budget: s.calls})
	random := [32]byte{}
	for i := range 8 {
		random[i], random[8+i] = byte(s.seed>>(8*i)), byte(d.number>>(8*i))
	}
	return server.ClusterOptions{
		Slurm: client, Program: "/bin/torc-slurm", Random: rand.NewChaCha8(random), Requeue: s.seed.of("requeue").is(0.5),
		Site: func(ctx context.Context, _ bool) (*siteconfigs.Site, error) {
			return siteconfigs.Detect(ctx, client, slurmtest.TestUser)
		},
		Settings: allocation.Settings{User: slurmtest.TestUser, Owner: "999"},
	}
}

// spooled reads the spool of a runner that has ended. A daemon that has died removes no
// files: what it stored since then is not in its image.
func (d *daemon) spooled(outputDir, database string, runnerID int64) (left []server.Spooled, err error) {
	lives, err := runner.ReadSpooled(outputDir, database, func(h *spool.Header) bool { return h.RunnerID == runnerID })
	for _, life := range lives {
		delivered := func() error {
			if d.died.Load() != 0 {
				return nil
			}
			return life.Delivered()
		}
		left = append(left, server.Spooled{RunID: life.RunID, Reports: life.Reports, Started: life.Started, Delivered: delivered})
	}
	return left, err
}
