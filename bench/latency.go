package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// runChain measures a hop in two ways: from the end of a job to the start of the next one
// as recorded in the attempts, and from one job's first instruction to the next one's,
// which includes bash and the exit.
func runChain(ctx context.Context, b *bench) error {
	n := b.size(1000)
	var hops, cycles []float64
	for range b.rounds {
		dir, err := b.chain(ctx, n)
		if err != nil {
			return err
		}
		list, err := attempts(ctx, dir, "c*")
		if err != nil {
			return err
		}
		if len(list) != n {
			return fmt.Errorf("%d of %d jobs have an attempt", len(list), n)
		}
		for i := 1; i < n; i++ {
			hops = append(hops, float64(list[i].start-list[i-1].end))
		}
		stamps, err := readStamps(dir)
		if err != nil {
			return err
		}
		for i := 1; i < len(stamps); i++ {
			cycles = append(cycles, (stamps[i]-stamps[i-1])*1000)
		}
		os.RemoveAll(dir)
	}
	b.table.add(row{what: fmt.Sprintf("chain of %d jobs, end → next start, p50", n), ours: millis(median(hops)), must: "4 ms", aim: "2.5 ms"})
	b.table.add(row{what: "… p99", ours: millis(quantile(hops, 0.99)), must: "30 ms", aim: "10 ms"})
	b.table.add(row{what: "… first instruction → next first instruction, p50", ours: millis(median(cycles))})
	b.table.add(row{what: "… p99", ours: millis(quantile(cycles, 0.99))})
	return nil
}

// chain runs n jobs one after another; each prints the time at which it starts.
func (b *bench) chain(ctx context.Context, n int) (dir string, err error) {
	var spec strings.Builder
	spec.WriteString("name: chain\njobs:\n  - {name: c0, command: 'echo $EPOCHREALTIME'}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&spec, "  - {name: c%d, command: 'echo $EPOCHREALTIME', depends_on: [c%d]}\n", i, i-1)
	}
	dir, path, err := b.write("chain", spec.String())
	if err != nil {
		return "", err
	}
	_, err = command(ctx, dir, b.binary, "-s", "run", path)
	return dir, err
}

// readStamps returns the times that the jobs printed, in order, in seconds.
func readStamps(dir string) ([]float64, error) {
	files, err := filepath.Glob(filepath.Join(dir, "torc_output", "job_stdio", "*.o"))
	if err != nil {
		return nil, err
	}
	var stamps []float64
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		stamp, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		stamps = append(stamps, stamp)
	}
	slices.Sort(stamps)
	return stamps, nil
}

// runBarrier measures how long jobs that all wait for all others of a stage wait after
// the last of those has ended.
func runBarrier(ctx context.Context, b *bench) error {
	n := b.size(1000)
	var gaps []float64
	for range b.rounds {
		dir, path, err := b.write("barrier", fmt.Sprintf(`name: barrier
execution_config: {stdio: {mode: none}}
jobs:
  - {name: 'a{i}', command: /bin/true, parameters: {i: '1:%d'}}
  - {name: 'b{i}', command: /bin/true, parameters: {i: '1:%d'}, depends_on_regexes: ['^a']}
`, n, n))
		if err != nil {
			return err
		}
		if _, err := command(ctx, dir, b.binary, "-s", "run", path); err != nil {
			return err
		}
		before, err := attempts(ctx, dir, "a*")
		if err != nil {
			return err
		}
		after, err := attempts(ctx, dir, "b*")
		if err != nil {
			return err
		}
		if len(before) != n || len(after) != n {
			return fmt.Errorf("%d and %d attempts, want %d each", len(before), len(after), n)
		}
		last := slices.MaxFunc(before, func(x, y times) int { return int(x.end - y.end) })
		gaps = append(gaps, float64(after[0].start-last.end))
		os.RemoveAll(dir)
	}
	b.table.add(row{what: fmt.Sprintf("%d × %d barrier, last completion → first start", n, n), ours: millis(median(gaps)), must: "100 ms", aim: "30 ms"})
	return nil
}
