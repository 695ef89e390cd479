package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// plannedWork is a workflow that is submitted without schedulers and actions: the daemon
// decides which allocations it gets.
type plannedWork struct {
	name     string
	jobs     int
	script   string
	seconds  int    // what a job takes
	declared string // its runtime in the specification
	must     string // ratio to the ideal
}

var plannedWorks = []plannedWork{
	{"minutes", 40, "minute.sh", 60, "PT5M", "1.15 ×"},
	{"seconds", 2000, "second.sh", 1, "PT1M", "1.03 ×"},
}

// takenNodes is the number of nodes that another user has in the workload shared.
const takenNodes = 2

// othersName is the name of the Slurm job that takes them.
const othersName = "bench-others"

// plannedRuns has the results of one workflow, an element for each round.
type plannedRuns struct {
	end, start, release []float64 // submission → last end, first start, all allocations over; in seconds
	calls               []float64
	allocations         []float64
	shapes, programs    string // of the last round
}

// runPlanned measures workflows for which the daemon plans, on an idle cluster.
func runPlanned(ctx context.Context, b *bench) error { return b.measurePlanned(ctx, 0) }

// runShared is runPlanned on a cluster where another user has some of the nodes.
func runShared(ctx context.Context, b *bench) error { return b.measurePlanned(ctx, takenNodes) }

func (b *bench) measurePlanned(ctx context.Context, taken int) error {
	slots := (clusterNodes - taken) * nodeCPUs
	runs := make([]plannedRuns, len(plannedWorks))
	for range b.rounds {
		for i, w := range plannedWorks {
			w.jobs = b.size(w.jobs)
			err := b.onCluster(ctx, func(ctx context.Context, c *cluster) error {
				return c.withTaken(ctx, taken, func() error { return runs[i].measure(ctx, c, &w, slots) })
			})
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	for i, w := range plannedWorks {
		w.jobs = b.size(w.jobs)
		b.addPlanned(&w, &runs[i], slots)
	}
	return nil
}

func (b *bench) addPlanned(w *plannedWork, r *plannedRuns, slots int) {
	ideal := w.ideal(slots)
	b.compareSpans(fmt.Sprintf("%d jobs of %d s that declare %s on %d free slots, submission → last end", w.jobs, w.seconds, w.declared, slots),
		r.end, fmt.Sprintf("ideal (%d × %d s)", rows(w.jobs, slots), w.seconds), ideal, w.must, "")
	b.table.add(row{what: "… submission → first start", ours: secs(median(r.start))})
	b.table.add(row{what: "… submission → all allocations released", ours: secs(median(r.release))})
	b.table.add(row{what: "… allocations: " + r.shapes, ours: fmt.Sprintf("%.0f", median(r.allocations))})
	b.table.add(row{what: "… calls of Slurm by daemon and runners: " + r.programs, ours: fmt.Sprintf("%.0f", median(r.calls))})
}

// ideal returns how many seconds the jobs take on all slots without any pause.
func (w *plannedWork) ideal(slots int) float64 { return float64(rows(w.jobs, slots) * w.seconds) }

// rows returns how many equal jobs one slot runs at least, one after the other.
func rows(jobs, slots int) int { return (jobs + slots - 1) / slots }

// measure runs the workflow once.
func (r *plannedRuns) measure(ctx context.Context, c *cluster, w *plannedWork, slots int) error {
	log, err := c.countCalls()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute+time.Duration(3*w.ideal(slots))*time.Second)
	defer cancel()
	file := c.stampFile()
	spec := fmt.Sprintf(`name: %s
resource_requirements: [{name: one, num_cpus: 1, memory: 60m, runtime: %s}]
jobs: [{name: 'j{i}', command: './%s %s', parameters: {i: '1:%d'}, resource_requirements: one}]
`, w.name, w.declared, w.script, file, w.jobs)
	before := load()
	submitted := time.Now()
	if err := c.submit(ctx, w.name, spec); err != nil {
		return err
	}
	lines, err := stamps(ctx, file, w.jobs)
	if err != nil {
		return errors.Join(err, c.sayAllocations(context.WithoutCancel(ctx), submitted))
	}
	released, err := c.released(ctx)
	if err != nil {
		return err
	}
	since := float64(submitted.UnixMicro()) / 1e6
	r.start = append(r.start, slices.MinFunc(lines, byNumber(0))[0]-since)
	r.end = append(r.end, slices.MaxFunc(lines, byNumber(1))[1]-since)
	r.release = append(r.release, released.Sub(submitted).Seconds())
	calls, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	var n int
	n, r.programs = sumCalls(string(calls))
	r.calls = append(r.calls, float64(n))
	records, err := c.accounted(ctx, submitted)
	if err != nil {
		return err
	}
	r.allocations = append(r.allocations, float64(len(records)))
	r.shapes = shapes(records)
	sayRecords(records, submitted)
	say("  %-20s %5d jobs: first start %.1f s, last end %.1f s, ideal %.0f s; load %s → %s", w.name, w.jobs,
		r.start[len(r.start)-1], r.end[len(r.end)-1], w.ideal(slots), before, load())
	return nil
}

// byNumber orders the stamps of jobs by one of their numbers.
func byNumber(i int) func(a, b []float64) int {
	return func(a, b []float64) int { return cmp.Compare(a[i], b[i]) }
}

// accounted returns the accounting records of the user's allocations since a time, as
// soon as it says of all of them that they are over.
func (c *cluster) accounted(ctx context.Context, since time.Time) ([]slurm.Record, error) {
	for {
		records, err := c.records(ctx, since)
		if err != nil {
			return nil, err
		}
		if len(records) > 0 && !slices.ContainsFunc(records, func(r slurm.Record) bool { return !r.Over() }) {
			return records, nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// records returns the accounting records of the allocations that the daemon has requested
// since a time.
func (c *cluster) records(ctx context.Context, since time.Time) ([]slurm.Record, error) {
	since = since.Truncate(time.Second)
	accounting, err := c.queue.Accounting(ctx, slurm.AccountingQuery{User: slurmtest.TestUser, Since: since, JobsOnly: true})
	return slices.DeleteFunc(accounting.Records, func(r slurm.Record) bool {
		return r.Submit.Before(since) || !strings.HasPrefix(r.Name, "torc:")
	}), err
}

// sayAllocations reports the allocations of a run that did not end in time.
func (c *cluster) sayAllocations(ctx context.Context, since time.Time) error {
	records, err := c.records(ctx, since)
	sayRecords(records, since)
	return err
}

func sayRecords(records []slurm.Record, since time.Time) {
	after := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return fmt.Sprintf("%.0f s", t.Sub(since).Seconds())
	}
	for i := range records {
		r := &records[i]
		say("  allocation %d: %s, limit %v, %s, submitted %s, start %s, end %s, %s", r.ID.Job.Number, size(r), r.TimeLimit, r.Partition,
			after(r.Submit), after(r.Start), after(r.End), cmp.Or(r.NodeList, string(r.State)))
	}
}

// size returns the nodes and CPUs of an allocation.
func size(r *slurm.Record) string { return fmt.Sprintf("%d node(s) %d CPUs", r.Nodes, r.CPUs) }

// shapes lists the sizes and time limits of allocations, the most frequent first, and how
// many never started.
func shapes(records []slurm.Record) string {
	count, never := map[string]int{}, 0
	for i := range records {
		if r := &records[i]; r.Started() {
			count[fmt.Sprintf("%s %.0f min", size(r), r.TimeLimit.Minutes())]++
		} else {
			never++
		}
	}
	var parts []string
	for _, shape := range byCount(count) {
		parts = append(parts, fmt.Sprintf("%d of %s", count[shape], shape))
	}
	if never > 0 {
		parts = append(parts, fmt.Sprintf("%d canceled before their start", never))
	}
	return strings.Join(parts, ", ")
}

// byCount returns the keys, the most frequent first.
func byCount(count map[string]int) []string {
	return slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
}

// callScript records the call of a program of Slurm in a line, and makes it.
const callScript = `#!/bin/bash
line="%[1]s $*"
echo "${line//$'\n'/ }" >>%[2]s
exec %[1]s "$@"
`

// countCalls makes the daemon and the runners that it will start record their calls of
// Slurm in a file, and returns its path.
func (c *cluster) countCalls() (log string, err error) {
	log = filepath.Join(c.dir, "calls")
	for _, program := range []string{slurm.Sbatch, slurm.Squeue, slurm.Sacct, slurm.Scancel, slurm.Scontrol, slurm.Sinfo, slurm.Sacctmgr, slurm.Srun} {
		path := filepath.Join(c.dir, "count-"+program)
		if err := os.WriteFile(path, fmt.Appendf(nil, callScript, program, log), 0o755); err != nil {
			return "", err
		}
		c.env = append(c.env, "TORC_FAKE_"+strings.ToUpper(program)+"="+path)
	}
	return log, nil
}

// sumCalls returns the number of recorded calls, and the calls by program.
func sumCalls(log string) (n int, programs string) {
	count := map[string]int{}
	for line := range strings.Lines(log) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		program, estimate := words[0], slices.Contains(words, "--test-only")
		words = slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") })
		switch {
		case estimate:
			program += " --test-only"
		case program == slurm.Scontrol:
			program = strings.Join(append([]string{program}, words[:min(len(words), scontrolWords(words))]...), " ")
		}
		count[program]++
		n++
	}
	var parts []string
	for _, program := range byCount(count) {
		parts = append(parts, fmt.Sprintf("%d %s", count[program], program))
	}
	return n, strings.Join(parts, ", ")
}

// scontrolWords returns how many words of a call of scontrol say what it does.
func scontrolWords(words []string) int {
	if slices.Contains(words[:min(len(words), 1)], "show") {
		return 2
	}
	return 1
}

// withTaken calls run while another user has n nodes for themselves.
func (c *cluster) withTaken(ctx context.Context, n int, run func() error) (err error) {
	if err := c.leave(ctx); err != nil { // what a killed run has left
		return err
	}
	if n == 0 {
		return run()
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
		defer cancel()
		err = errors.Join(err, c.leave(ctx))
	}()
	err = c.asRoot(ctx, slurm.Sbatch, "--exclusive", fmt.Sprintf("--nodes=%d", n), "--time=60", "--output=/dev/null", "--job-name="+othersName, "--wrap=sleep 3600")
	if err != nil {
		return err
	}
	if err := c.awaitOthers(ctx, func(jobs []slurm.Job) bool { return len(jobs) == 1 && jobs[0].State == slurm.Running }); err != nil {
		return err
	}
	return run()
}

// leave ends the other user's job.
func (c *cluster) leave(ctx context.Context) error {
	if err := c.asRoot(ctx, slurm.Scancel, "--user=root", "--name="+othersName); err != nil {
		return err
	}
	return c.awaitOthers(ctx, func(jobs []slurm.Job) bool { return len(jobs) == 0 })
}

// awaitOthers waits until a condition holds for the other user's jobs that are not over.
func (c *cluster) awaitOthers(ctx context.Context, until func([]slurm.Job) bool) error {
	for {
		queue, err := c.queue.Queue(ctx, slurm.QueueQuery{User: "root", Names: []string{othersName}})
		if err != nil {
			return err
		}
		if until(slices.DeleteFunc(queue.Jobs, func(j slurm.Job) bool { return j.State.Over() })) {
			return nil
		}
		if err := pause(ctx, clusterLook); err != nil {
			return err
		}
	}
}

func (c *cluster) asRoot(ctx context.Context, program string, args ...string) error {
	out, err := c.real.Root().Run(ctx, slurm.Command{Program: program, Args: args})
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	if out.ExitCode != 0 {
		return fmt.Errorf("%s: exit status %d: %s", program, out.ExitCode, tail(string(out.Stderr)))
	}
	return nil
}
