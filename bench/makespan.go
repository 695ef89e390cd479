package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// secondScript is a job that takes a second and records when it began and ended.
const secondScript = `#!/bin/bash
began=$EPOCHREALTIME
sleep 1
echo $began $EPOCHREALTIME >>$1
`

// minuteScript is a job that takes a minute and records the same.
const minuteScript = `#!/bin/bash
began=$EPOCHREALTIME
sleep 60
echo $began $EPOCHREALTIME >>$1
`

// makespanJobs is the number of jobs that two job arrays may have with Slurm's default
// MaxArraySize, 1001.
const (
	makespanJobs = 2000
	arraySize    = 1000
	singleJobs   = 400 // one sbatch each; their time is multiplied
)

// oneEach is what each job requests, as options of sbatch.
var oneEach = []string{"--quiet", "--cpus-per-task=1", "--mem=60M", "--time=5"}

// makespan has the times of one way to run jobs, in seconds.
type makespan struct {
	work    []float64 // first start → last end
	whole   []float64 // submission → all nodes are released
	release []float64 // last end → all nodes are released
}

// submitter is a way to have n jobs run on all slots of the cluster.
type submitter struct {
	name   string
	jobs   int
	submit func(ctx context.Context, c *cluster, n int, stamps string) error
}

// runMakespan compares torc-slurm with what people do with sbatch alone.
func runMakespan(ctx context.Context, b *bench) error {
	n := b.size(makespanJobs)
	arrays := (n + arraySize - 1) / arraySize
	ways := []submitter{
		{"torc-slurm", n, submitWorkflow},
		{fmt.Sprintf("%d job array(s)", arrays), n, submitArrays},
		{"one sbatch per job", b.size(singleJobs), submitSingles},
	}
	took := make([]makespan, len(ways))
	for range b.rounds {
		for i := range ways {
			err := b.onCluster(ctx, func(ctx context.Context, c *cluster) error { return took[i].measure(ctx, c, &ways[i]) })
			if err != nil {
				return fmt.Errorf("%s: %w", ways[i].name, err)
			}
		}
	}
	what := fmt.Sprintf("%d jobs of 1 s on %d slots", n, clusterSlots)
	ideal := float64(n) / clusterSlots
	b.compareSpans(what+", first start → last end", took[0].work, "ideal", ideal, "1.10 ×", "1.05 ×")
	b.compareSpans("… submission → all allocations released", took[0].whole, "ideal", ideal, "1.10 ×", "1.05 ×")
	for i, way := range ways[1:] {
		scale := float64(n) / float64(way.jobs)
		name := way.name
		if scale != 1 {
			name += fmt.Sprintf(" (%d of them, times %g)", way.jobs, scale)
		}
		b.compareSpans("… first start → last end", took[0].work, name, scale*median(took[i+1].work), "", "")
		b.compareSpans("… submission → all released", took[0].whole, name, scale*median(took[i+1].whole), "", "")
	}
	b.table.add(row{what: fmt.Sprintf("… last job's end → all %d allocations released", clusterNodes), ours: secs(median(took[0].release)), must: "10 s", aim: "3 s"})
	return nil
}

// compareSpans adds a row of times; less is better.
func (b *bench) compareSpans(what string, ours []float64, name string, theirs float64, must, aim string) {
	b.table.add(row{what: what + ", against " + name, ours: secs(median(ours)), baseline: secs(theirs), ratio: factor(median(ours) / theirs), must: must, aim: aim})
}

// measure runs the jobs once.
func (m *makespan) measure(ctx context.Context, c *cluster, way *submitter) error {
	file := c.stampFile()
	ctx, cancel := context.WithTimeout(ctx, time.Minute+time.Duration(way.jobs)*time.Second/2)
	defer cancel()
	submitted := time.Now()
	if err := way.submit(ctx, c, way.jobs, file); err != nil {
		return err
	}
	lines, err := stamps(ctx, file, way.jobs)
	if err != nil {
		return err
	}
	released, err := c.released(ctx)
	if err != nil {
		return err
	}
	began := slices.MinFunc(lines, func(a, b []float64) int { return int(1e6 * (a[0] - b[0])) })[0]
	ended := slices.MaxFunc(lines, func(a, b []float64) int { return int(1e6 * (a[1] - b[1])) })[1]
	m.work = append(m.work, ended-began)
	m.whole = append(m.whole, released.Sub(submitted).Seconds())
	m.release = append(m.release, float64(released.UnixMicro())/1e6-ended)
	say("  %-20s %5d jobs in %.1f s, with submission and release %.1f s", way.name, way.jobs, ended-began, released.Sub(submitted).Seconds())
	return nil
}

// fullNodes returns the head of a specification whose jobs get all nodes of the cluster.
func fullNodes(name, more string) string {
	return fmt.Sprintf(`name: %s
%sresource_requirements: [{name: one, num_cpus: 1, memory: 60m, runtime: PT1M}]
slurm_schedulers: [{name: node, account: research, mem: 2000M, nodes: 1, walltime: "00:20:00", extra: "--cpus-per-task=%d"}]
actions: [{trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: node, scheduler_type: slurm, num_allocations: %d}]
`, name, more, nodeCPUs, clusterNodes)
}

func submitWorkflow(ctx context.Context, c *cluster, n int, stamps string) error {
	return c.submit(ctx, "seconds", fullNodes("seconds", "")+fmt.Sprintf(
		"jobs: [{name: 'j{i}', command: './second.sh %s', parameters: {i: '1:%d'}, resource_requirements: one, scheduler: node}]\n", stamps, n))
}

func submitArrays(ctx context.Context, c *cluster, n int, stamps string) error {
	for ; n > 0; n -= arraySize {
		argv := slices.Concat([]string{"sbatch", fmt.Sprintf("--array=1-%d", min(n, arraySize))}, oneEach, []string{"second.sh", stamps})
		if err := c.run(ctx, argv...); err != nil {
			return err
		}
	}
	return nil
}

// submitSingles is a shell loop, as people write it.
func submitSingles(ctx context.Context, c *cluster, n int, stamps string) error {
	loop := `n=$1; shift; for ((i = 0; i < n; i++)); do sbatch "$@" || exit; done`
	return c.run(ctx, slices.Concat([]string{"bash", "-c", loop, "-", strconv.Itoa(n)}, oneEach, []string{"second.sh", stamps})...)
}
