package simulation

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// batch is the script of an allocation, which starts a runner.
type batch struct {
	*cluster
	life   *slurmtest.Restart
	name   string // of the runner
	cancel context.CancelFunc

	mu      sync.Mutex
	machine *machine
	runner  *runner.Runner
	ended   bool
}

// launch starts the script of an allocation. It is a slurmtest.Launcher.
func (s *cluster) launch(c *slurmtest.Cluster, l *slurmtest.Restart) slurmtest.Process {
	if !strings.HasPrefix(l.Name, "torc:") {
		return slurmtest.Pretend(c, l) // another user's
	}
	b := &batch{cluster: s, life: l, name: fmt.Sprintf("%s.%s.%d", l.Nodes[0], l.ID, l.Number)}
	s.mu.Lock()
	s.batches[b.name] = b
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

// runnerCalls is the number of Slurm calls that a runner may make within a minute.
const runnerCalls = 6

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
	m := &machine{processes: b.ps, name: b.name, allocation: b.life}
	o.Executor = m
	o.Steps = &steps.Starter{
		Slurm: slurm.New(slurm.Options{Executor: b.gate(ctx, b.name, nil, runnerCalls), Budget: runnerCalls}), Job: b.life.ID, Srun: "srun",
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
	b.note("%s starts to work", b.name)
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

// exit ends the script and everything that it has started.
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
	delete(b.batches, b.name)
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
