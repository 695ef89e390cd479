// Command bench compares torc-slurm with the theoretical optimum and with the tools that
// people use instead. It needs the built binary:
//
//	make bench
//	make bench BENCHFLAGS='-quick -run chain,barrier'
//	make bench-slurm      on the test cluster, see slurm/slurmtest
//
// torc-slurm and the baselines run in turns, so that a machine that gets slower affects
// both; the table has medians.
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

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// workload measures one thing and adds its rows to the table.
type workload struct {
	name, about string
	run         func(ctx context.Context, b *bench) error
}

// local are the workloads that need this machine exclusively.
var local = []workload{
	{"noop", "no-op jobs that keep no output, against a bare spawner, xargs, make and GNU parallel", runNoop},
	{"files", "no-op jobs with a stdout and a stderr file each, against a spawner that opens two files", runFiles},
	{"control", "the control plane alone: jobs that are claimed, reported and never spawned", runControl},
	{"chain", "a chain of jobs: the time from one to the next", runChain},
	{"barrier", "n jobs that wait for n others: last completion to first start", runBarrier},
	{"create", "from a spec to jobs in the database", runCreate},
	{"resume", "an edited spec: from the file to the plan of what runs again", runResume},
	{"idle", "the resources of a daemon with queued jobs and nothing to do", runIdle},
	{"restart", "start of a daemon on a large database until it answers", runRestart},
}

// onSlurm are those that need a cluster: the test cluster on this machine, or, for
// steady, the fake one.
var onSlurm = []workload{
	{"makespan", "jobs of one second, against a job array, one sbatch per job, and the ideal", runMakespan},
	{"planned", "workflows without schedulers on an idle cluster, against the ideal: does the daemon request the right allocations?", runPlanned},
	{"shared", "the same while another user has two of the four nodes", runShared},
	{"retry", "jobs that fail once: failure to next attempt", runRetry},
	{"release", "last job's end to the end of its allocation", runRelease},
	{"steady", "the resources and Slurm calls of a daemon with 50 busy allocations", runSteady},
}

// bench is what the workloads share.
type bench struct {
	binary  string // torc-slurm
	spawner string // spawns processes and does nothing else
	dir     string // scratch folder, on the measured file system
	out     string // file with the tables; empty: none
	rounds  int
	jobs    int // at a time
	quick   bool
	slurm   bool
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
	if code, called := slurmtest.Program(os.Getenv, os.Args, os.Stdin, os.Stdout, os.Stderr); called {
		os.Exit(code)
	}
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
	only := flag.String("run", "", "workloads, separated by commas (default: all of the group)")
	scratch := flag.String("dir", "", "scratch folder; the measurements depend on its file system (default: a temporary folder)")
	flag.StringVar(&b.out, "o", "", "replace the tables in this file (between the bench comments) as well as printing them")
	flag.StringVar(&b.binary, "binary", "bin/torc-slurm", "the program to measure")
	flag.IntVar(&b.rounds, "rounds", 3, "runs of each, in turns; the table has medians")
	flag.IntVar(&b.jobs, "j", numCPU(), "jobs at a time")
	flag.BoolVar(&b.quick, "quick", false, "a tenth of the work, to check that everything runs")
	flag.BoolVar(&b.slurm, "slurm", false, "the group of workloads on Slurm; a round takes about half an hour")
	flag.Usage = usage
	flag.Parse()

	group := local
	if b.slurm {
		group = onSlurm
	}
	chosen, err := choose(group, *only)
	if err != nil {
		return err
	}
	if err := b.prepare(ctx, *scratch); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)

	about := machine(ctx, b)
	for _, w := range chosen {
		say("%s: %s", w.name, w.about)
		if b.slurm { // a separate table, so that each can be updated alone
			about = machine(ctx, b)
		}
		if err := w.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if b.slurm {
			if err := b.report("bench-"+w.name, about); err != nil {
				return err
			}
		}
	}
	if b.slurm {
		return nil
	}
	return b.report("bench", about)
}

// choose finds workloads by their names.
func choose(group []workload, names string) (chosen []workload, err error) {
	if names == "" {
		return group, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(group, func(w workload) bool { return w.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no workload %q in this group; -help lists them", name)
		}
		chosen = append(chosen, group[i])
	}
	return chosen, nil
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: bench [flags]\n\nworkloads:")
	for _, w := range local {
		fmt.Fprintf(os.Stderr, "  %-9s %s\n", w.name, w.about)
	}
	fmt.Fprintln(os.Stderr, "\nworkloads with -slurm:")
	for _, w := range onSlurm {
		fmt.Fprintf(os.Stderr, "  %-9s %s\n", w.name, w.about)
	}
	fmt.Fprintln(os.Stderr, "\nflags:")
	flag.PrintDefaults()
}

// prepare creates the scratch folder and builds the baseline.
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
	if b.slurm {
		return os.Chmod(b.dir, 0o755) // runners of the fake cluster work there
	}
	b.spawner = filepath.Join(b.dir, "spawner")
	if _, err := command(ctx, ".", "go", "build", "-o", b.spawner, "./bench/spawner"); err != nil {
		return fmt.Errorf("build the baseline: %w", err)
	}
	return nil
}

// say reports progress on stderr.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
