// Command bench measures torc-slurm against what it could at best be, and
// against the tools that people use instead. It needs the built binary:
//
//	make bench
//	make bench BENCHFLAGS='-quick -run chain,barrier'
//
// Ours and the baselines run in turns, so that a machine that gets slower does
// so for both; the table has medians.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// workload measures one thing and adds its rows to the table.
type workload struct {
	name, about string
	run         func(ctx context.Context, b *bench) error
}

var workloads = []workload{
	{"noop", "no-op jobs that keep no output, against a bare spawner, xargs, make and GNU parallel", runNoop},
	{"files", "no-op jobs with a stdout and a stderr file each, against a spawner that opens two files", runFiles},
	{"control", "the control plane alone: jobs that are claimed, reported and never spawned", runControl},
	{"chain", "a chain of jobs: how long from one to the next", runChain},
	{"barrier", "n jobs that wait for n others: last completion to first start", runBarrier},
	{"create", "a spec to jobs in the database", runCreate},
	{"idle", "what a daemon with queued jobs and nothing to do needs", runIdle},
	{"restart", "start of a daemon on a large database until it answers", runRestart},
}

// bench is what the workloads share.
type bench struct {
	binary  string // torc-slurm
	spawner string // the bare spawner
	dir     string // scratch, on the file system that is measured
	rounds  int
	jobs    int // at a time
	quick   bool
	table   table
}

// size returns full, or a tenth of it in a quick run.
func (b *bench) size(full int) int {
	if b.quick {
		return full / 10
	}
	return full
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	b := &bench{}
	var names []string
	for _, w := range workloads {
		names = append(names, w.name)
	}
	only := flag.String("run", strings.Join(names, ","), "workloads, separated by commas")
	out := flag.String("o", "", "replace the table in this file (between the bench comments) as well as printing it")
	scratch := flag.String("dir", "", "scratch folder; the file system counts (default: a temporary folder)")
	flag.StringVar(&b.binary, "binary", "bin/torc-slurm", "the program to measure")
	flag.IntVar(&b.rounds, "rounds", 3, "runs of each, in turns; the table has medians")
	flag.IntVar(&b.jobs, "j", numCPU(), "jobs at a time")
	flag.BoolVar(&b.quick, "quick", false, "a tenth of the work, to see that all of it runs")
	flag.Usage = usage
	flag.Parse()

	chosen := strings.Split(*only, ",")
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no workload %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	if err := b.prepare(ctx, *scratch); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)

	for _, w := range workloads {
		if !slices.Contains(chosen, w.name) {
			continue
		}
		say("%s: %s", w.name, w.about)
		if err := w.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return b.table.report(ctx, b, *out)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: bench [flags]\n\nworkloads:")
	for _, w := range workloads {
		fmt.Fprintf(os.Stderr, "  %-9s %s\n", w.name, w.about)
	}
	fmt.Fprintln(os.Stderr, "\nflags:")
	flag.PrintDefaults()
}

// prepare makes the scratch folder and the baseline.
func (b *bench) prepare(ctx context.Context, scratch string) error {
	binary, err := filepath.Abs(b.binary)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("%w (make build first)", err)
	}
	b.binary = binary
	if b.dir, err = os.MkdirTemp(scratch, "torc-slurm-bench-"); err != nil {
		return err
	}
	b.spawner = filepath.Join(b.dir, "spawner")
	if _, err := command(ctx, ".", "go", "build", "-o", b.spawner, "./bench/spawner"); err != nil {
		return fmt.Errorf("build the baseline: %w", err)
	}
	return nil
}

// say tells on stderr what is going on.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
