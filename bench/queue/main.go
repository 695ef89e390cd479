// Command queue simulates a Slurm cluster with other users, and compares ways to get the jobs
// of a workflow run on it: our plan of allocations, fixed numbers of them, job arrays, one
// sbatch per job, and the best fixed choice of one who knows the queue.
//
//	make bench-queue
//	go run ./bench/queue -quick
//	go run ./bench/queue -cells '80/chains/3' -seeds 5 -trace before
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/bench/queue/background"
	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
	"github.com/torc-slurm/torc-slurm/bench/queue/work"
)

// The grid.
var (
	allLoads    = []int{0, 50, 80, 95, 110}
	allDeclared = []int64{1, 3, 10}
)

// options are what the flags say.
type options struct {
	site      site
	seeds     int
	first     int
	workers   int
	quick     bool
	fairShare bool
	cells     string
	swf       string
	csv       string
	keep      string
	again     string
	trace     string
}

func main() {
	debug.SetGCPercent(400) // the simulations need little memory, and make much garbage
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "queue:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("queue", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.site.nodes, "nodes", 1000, "nodes of the cluster")
	flags.IntVar(&o.seeds, "seeds", 3, "runs of each cell with other jobs; the table has medians")
	flags.IntVar(&o.first, "first", 1, "the seed of the first run; those of the others follow")
	flags.IntVar(&o.workers, "j", runtime.NumCPU(), "simulations at a time")
	flags.BoolVar(&o.quick, "quick", false, "one seed, loads up to 95 %, and only jobs that declare three times their runtime")
	flags.StringVar(&o.cells, "cells", "", "patterns LOAD/WORKLOAD/DECLARED of the cells to simulate, separated by commas, such as '80/*/3' (default: all)")
	flags.StringVar(&o.swf, "swf", "", "the jobs of others are those of this log in the Standard Workload Format, scaled to the cluster and the load")
	flags.BoolVar(&o.fairShare, "fairshare", false, "priorities go by fair share and size too, not by age alone")
	flags.Int64Var(&o.site.others, "others", 0, "jobs of others that are submitted before the workflow, at least; more than the three days have that are simulated anyway")
	flags.BoolVar(&o.site.exact, "exact", false, "the other users know how long their jobs run")
	flags.IntVar(&o.site.auto.MaxAllocations, "max-allocations", 0, "max_allocations of the plans (default: that of the product)")
	flags.IntVar(&o.site.auto.MaxSubmitPerMinute, "max-submit", 0, "max_submit_per_minute of the plans (default: that of the product)")
	flags.StringVar(&o.csv, "csv", "", "write a line for each cell, contender and seed to this file")
	flags.StringVar(&o.keep, "keep", "", "keep the results in this file, and do not simulate again what it has")
	flags.StringVar(&o.again, "again", "", "contenders that are simulated again although their results are kept, separated by commas")
	flags.StringVar(&o.trace, "trace", "", "print the plans of this contender (before, planner) in the cells, with the first seed, instead of the table")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: queue [flags]\n\nworkloads:")
		list, about := work.Names()
		for i, name := range list {
			fmt.Fprintf(stderr, "  %-10s %s\n", name, about[i])
		}
		fmt.Fprintln(stderr, "\nflags:")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.seeds < 1 || o.first < 1 || o.workers < 1 || o.site.nodes < 100:
		return o, fmt.Errorf("-seeds, -first and -j are at least 1, -nodes is at least 100")
	}
	return o, nil
}

func run(args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if o.fairShare {
		o.site.priority = cluster.Priority{Age: 1000, Size: 1000, FairShare: 10_000}
	}
	if o.swf != "" {
		if o.site.log, err = background.OpenLog(o.swf); err != nil {
			return err
		}
		for _, bad := range o.site.log.Bad() {
			fmt.Fprintln(stderr, "queue: skipped", bad)
		}
	}
	cells, err := choose(o.cells, o.quick)
	if err != nil {
		return err
	}
	if o.trace != "" {
		return trace(&o, cells, stdout)
	}
	began := time.Now()
	g := grid{site: &o.site, cells: cells, seeds: o.seeds, first: uint64(o.first), workers: o.workers, say: func(format string, args ...any) {
		fmt.Fprintf(stderr, format+"\n", args...)
	}}
	if o.quick {
		g.seeds = 1
	}
	if o.keep != "" {
		if g.kept, err = openKept(o.keep, strings.Split(o.again, ",")); err != nil {
			return err
		}
	}
	f, err := g.run()
	err = errors.Join(err, g.kept.close())
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "Made by `go run ./bench/queue %s` in %s, medians of %d seed(s).\n%s\n%s", strings.Join(args, " "), time.Since(began).Round(time.Second), g.seeds, f.markdown(cells), f.summary(cells, f.ours(cells[0])))
	if o.csv == "" {
		return nil
	}
	file, err := os.Create(o.csv)
	if err != nil {
		return err
	}
	return errors.Join(f.writeCSV(file, cells, o.first), file.Close())
}

// choose returns the cells that match one of some patterns.
func choose(patterns string, quick bool) (cells []cell, err error) {
	list, _ := work.Names()
	for _, load := range allLoads {
		for _, workload := range list {
			for _, declared := range allDeclared {
				c := cell{load, workload, declared}
				wanted := patterns == "" && (!quick || declared == 3 && load < 100)
				for pattern := range strings.SplitSeq(patterns, ",") {
					ok, err := path.Match(pattern, c.String())
					if err != nil {
						return nil, fmt.Errorf("-cells: %w", err)
					}
					wanted = wanted || ok
				}
				if wanted {
					cells = append(cells, c)
				}
			}
		}
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("-cells %s matches no cell; they are LOAD/WORKLOAD/DECLARED, such as 80/chains/3", patterns)
	}
	return cells, nil
}

// trace prints the plans of a contender.
func trace(o *options, cells []cell, stdout io.Writer) error {
	for _, e := range planners {
		if e.name != o.trace {
			continue
		}
		for _, c := range cells {
			s := newStart(&o.site, work.PartitionOf(c.workload), c.load, uint64(o.first))
			t, err := s.trial(c, uint64(o.first))
			if err != nil {
				return err
			}
			fmt.Fprintf(stdout, "%s, %s, after %d jobs of others in %d days\n", c, e.name, s.cluster.Submitted(), s.cluster.Now()/day)
			t.trace = func(format string, args ...any) { fmt.Fprintf(stdout, format+"\n", args...) }
			r := t.run(e.contender, giveUp)
			fmt.Fprintf(stdout, "completed after %d s, first start after %d s, waste %.0f %%, %d calls\n\n", r.Completion, r.FirstStart, 100*r.waste(), r.Calls.total())
		}
		return nil
	}
	return fmt.Errorf("-trace: there is no contender %q that plans", o.trace)
}
