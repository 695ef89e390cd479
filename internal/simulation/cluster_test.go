package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/server"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// cluster is the fake Slurm of a run, and what is wrong with it.
type cluster struct {
	*world
	*slurmtest.Cluster
	faultiness float64 // how likely a program of Slurm is to go wrong
	mischief   time.Duration

	mu       sync.Mutex
	lives    map[string]*batch // that run
	isolated map[string]bool   // nodes that nobody can reach
}

// newCluster draws a cluster.
func newCluster(w *world) *cluster {
	c := w.seed.of("cluster")
	s := &cluster{world: w, lives: map[string]*batch{}, isolated: map[string]bool{}}
	s.faultiness = oneOf(c, 0, 0.05, 0.3)
	s.mischief = oneOf(c, 0, 5*time.Minute, 40*time.Second)
	s.Cluster = slurmtest.New(slurmtest.Options{
		Launch: s.launch, KillWait: 30 * time.Second, Lag: c.spread(100*time.Millisecond, time.Minute),
		Completing: c.spread(100*time.Millisecond, 10*time.Second), MinJobAge: oneOf(c, time.Minute, 5*time.Minute),
		SlurmdTimeout: c.spread(10*time.Second, 2*time.Minute),
	})
	return s
}

// options are how a daemon finds the cluster.
func (s *cluster) options(d *daemon) server.ClusterOptions {
	client := slurm.New(slurm.Options{Executor: s.gate(d.life, fmt.Sprintf("daemon %d", d.number)), Budget: budget})
	random := [32]byte{}
	for i := range 8 {
		random[i], random[8+i] = byte(s.seed>>(8*i)), byte(d.number>>(8*i))
	}
	return server.ClusterOptions{
		Slurm: client, Program: "/bin/torc-slurm", Random: rand.NewChaCha8(random), Requeue: s.seed.of("requeue").is(0.5),
		Site: func(ctx context.Context) (*siteconfigs.Site, error) {
			return siteconfigs.Detect(ctx, client, slurmtest.TestUser)
		},
		Spooled:  spooled,
		Settings: allocation.Settings{User: slurmtest.TestUser, Owner: "999"},
	}
}

// spooled reads what a runner that is over wrote down.
func spooled(outputDir, database string, runnerID int64) (left []server.Spooled, err error) {
	lives, err := runner.ReadSpooled(outputDir, database, func(h *spool.Header) bool { return h.RunnerID == runnerID })
	for _, life := range lives {
		left = append(left, server.Spooled{RunID: life.RunID, Reports: life.Reports, Delivered: life.Delivered})
	}
	return left, err
}

// budget is how many questions a daemon may ask Slurm within a minute.
const budget = 20

// gate is the way of a daemon or runner to Slurm.
type gate struct {
	*cluster
	who   string
	life  context.Context // of who asks
	mu    sync.Mutex
	calls map[string]*atomic.Int64 // by program
}

func (s *cluster) gate(life context.Context, who string) *gate {
	return &gate{cluster: s, who: who, life: life, calls: map[string]*atomic.Int64{}}
}

// Run runs a program of Slurm for somebody, as long as that lives. It is a
// slurm.Executor.
func (g *gate) Run(ctx context.Context, cmd slurm.Command) (slurm.Output, error) {
	g.mu.Lock()
	if g.calls[cmd.Program] == nil {
		g.calls[cmd.Program] = &atomic.Int64{}
	}
	number := g.calls[cmd.Program].Add(1)
	g.mu.Unlock()
	c := g.seed.of("slurm", g.who, cmd.Program, number)
	before, after := c.spread(5*time.Millisecond, 2*time.Second), c.spread(5*time.Millisecond, 2*time.Second)
	bad := g.faulty() && c.is(g.faultiness)
	kind := c.IntN(6)
	g.note("%s: %s %s", g.who, cmd.Program, strings.Join(cmd.Args, " "))
	if err := sleep(ctx, before); err != nil || g.life.Err() != nil {
		if c.is(0.5) { // who asked is dead, not what was asked
			_, _ = g.Cluster.Run(context.Background(), cmd)
		}
		return slurm.Output{}, errors.New("simulated: it is dead")
	}
	if out, is := g.outage(cmd.Program); is {
		return out, nil
	}
	if bad && kind == 0 {
		g.note("%s: %s has no effect and does not end", g.who, cmd.Program)
		return slurm.Output{}, hang(ctx, after)
	}
	if bad && kind == 1 {
		return slurm.Output{Stderr: []byte("slurm_load_jobs error: Unable to contact slurm controller (connect failure)"), ExitCode: 1}, nil
	}
	out, err := g.Cluster.Run(ctx, cmd)
	if bad {
		switch kind {
		case 2:
			g.note("%s: %s does not end", g.who, cmd.Program)
			return slurm.Output{}, hang(ctx, after)
		case 3:
			out.Stdout = out.Stdout[:int(c.Float64()*float64(len(out.Stdout)))]
		case 4:
			out = slurm.Output{}
		case 5:
			out = lie(cmd, out)
		}
	}
	if e := sleep(ctx, after); e != nil {
		return slurm.Output{}, e
	}
	g.note("%s: %s says %d %q %q, %v", g.who, cmd.Program, out.ExitCode, out.Stdout, out.Stderr, err)
	return out, err
}

// outagePeriod is how often the daemons of Slurm may fail.
const outagePeriod = 5 * time.Minute

// outage is what a program says when the daemon of Slurm that it asks is down.
func (s *cluster) outage(program string) (out slurm.Output, is bool) {
	daemon, says := "slurmctld", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
	if program == slurm.Sacct || program == slurm.Sacctmgr {
		daemon, says = "slurmdbd", "sacct: error: Problem talking to the database: Connection refused"
	}
	if s.faultiness == 0 || !s.faulty() {
		return out, false
	}
	at := time.Since(s.began)
	c := s.seed.of("outage", daemon, at/outagePeriod)
	if !c.is(0.15) || at%outagePeriod > c.spread(10*time.Second, outagePeriod) {
		return out, false
	}
	return slurm.Output{Stderr: []byte(says), ExitCode: 1}, true
}

// hang waits until a program is killed, and a little more: it does not end at
// the very moment.
func hang(ctx context.Context, more time.Duration) error {
	<-ctx.Done()
	_ = sleep(context.Background(), more)
	return fmt.Errorf("simulated: %w", context.DeadlineExceeded)
}

// lie leaves out all jobs of an answer of squeue.
func lie(cmd slurm.Command, out slurm.Output) slurm.Output {
	if cmd.Program == slurm.Squeue {
		heading, _, _ := strings.Cut(string(out.Stdout), "\n")
		out.Stdout = []byte(heading + "\n")
	}
	return out
}

// batch is the script of an allocation, which becomes a runner.
type batch struct {
	*cluster
	life   *slurmtest.Life
	name   string // of the runner
	cancel context.CancelFunc

	mu      sync.Mutex
	machine *machine
	runner  *runner.Runner
	ended   bool
}

// launch starts the script of an allocation. It is a slurmtest.Launcher.
func (s *cluster) launch(c *slurmtest.Cluster, l *slurmtest.Life) slurmtest.Process {
	if !strings.HasPrefix(l.Name, "torc:") {
		return slurmtest.Pretend(c, l) // another user's
	}
	b := &batch{cluster: s, life: l, name: fmt.Sprintf("%s.%s.%d", l.Nodes[0], l.ID, l.Restart)}
	s.mu.Lock()
	s.lives[b.name] = b
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(s.world.life)
	b.cancel = cancel
	s.group.Go(func() {
		defer cancel()
		code := 1
		if sleep(ctx, s.seed.of("launch", b.name).spread(10*time.Millisecond, 5*time.Second)) == nil {
			code = b.run(ctx)
		}
		b.exit(slurm.ExitCode{Code: code})
	})
	return b
}

// run works as `torc-slurm runner` does.
func (b *batch) run(ctx context.Context) int {
	flags := flagsOf(b.life.Script)
	secret, err := readSecret(flags["--secret"])
	if err != nil {
		b.note("%s: %v", b.name, err)
		return 1
	}
	o, err := b.runnerOptions(flags)
	if err != nil {
		b.note("%s: %v", b.name, err)
		return 1
	}
	o.Client = &link{world: b.world, runner: b.name, node: b.life.Nodes[0], secret: secret}
	m := &machine{processes: b.ps, name: b.name}
	o.Executor = m
	o.Steps = &runner.Steps{
		Slurm: slurm.New(slurm.Options{Executor: b.gate(ctx, b.name), Budget: 6}), Job: b.life.ID, Srun: "srun",
	}
	r, err := runner.New(o)
	if err != nil {
		b.violated("%s: %v", b.name, err)
		return 1
	}
	b.mu.Lock()
	b.machine, b.runner = m, r
	ended := b.ended
	b.mu.Unlock()
	if ended {
		return 1
	}
	b.note("%s begins to work", b.name)
	_, err = r.Run(ctx)
	b.note("%s has ended: %v", b.name, err)
	if err != nil {
		return 1
	}
	return 0
}

func (b *batch) runnerOptions(flags map[string]string) (runner.Options, error) {
	place, err := runner.Locate(b.life.Env, runner.Probes{MaskCPUs: 4, OnlineCPUs: 4, NodeMemory: 4000 * slurm.MiB}, false)
	if err != nil {
		return runner.Options{}, err
	}
	idle, _ := time.ParseDuration(flags["--idle-timeout"])
	killWait, _ := time.ParseDuration(flags["--kill-wait"])
	return runner.Options{
		WorkflowID: b.workflow, OutputDir: flags["--output-dir"], Database: databaseName, Hostname: place.Nodes[0], Nodes: place.Nodes,
		Resources: place.Resources, EndTime: b.life.Deadline, IdleTimeout: idle, KillWait: killWait, Patience: 20 * time.Minute, NodeType: "slurm",
		Key: b.name, Random: b.seed.of("runner", b.name).Float64, Environ: []string{}, Log: b.log.With("runner", b.name),
		Allocation: memberOf(place),
	}, nil
}

// exit ends the script, with all that it has started.
func (b *batch) exit(code slurm.ExitCode) {
	b.mu.Lock()
	ended, m := b.ended, b.machine
	b.ended = true
	b.mu.Unlock()
	if ended {
		return
	}
	if m != nil {
		m.kill()
	}
	b.cluster.mu.Lock()
	delete(b.lives, b.name)
	b.cluster.mu.Unlock()
	b.life.Exit(code)
}

// Signal is part of slurmtest.Process.
func (b *batch) Signal(name string, to slurmtest.Target) {
	b.note("%s gets SIG%s, %d", b.name, name, to)
	b.mu.Lock()
	r, ended := b.runner, b.ended
	b.mu.Unlock()
	switch {
	case ended || to == slurmtest.Steps || name == "CONT" || name == "STOP":
	case name == "KILL" || r == nil:
		b.group.Go(func() {
			b.exit(slurm.ExitCode{Signal: 9})
			b.cancel()
			if r != nil {
				r.Abandon()
			}
		})
	default:
		r.Stop(runner.StopSlurm)
	}
}

// flagsOf reads the arguments of the runner in a batch script.
func flagsOf(script []byte) map[string]string {
	flags := map[string]string{}
	for line := range strings.Lines(string(script)) {
		if !strings.HasPrefix(line, "exec ") {
			continue
		}
		words := strings.Fields(line)
		for i, word := range words {
			if strings.HasPrefix(word, "--") && i+1 < len(words) {
				flags[word] = strings.Trim(words[i+1], `'"`)
			}
		}
	}
	return flags
}

func (w *world) outputDir() string { return filepath.Join(w.dir, "output") }
