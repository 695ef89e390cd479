package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// contender is a way to run n no-op processes.
type contender struct {
	name string
	run  func(ctx context.Context, n int) (time.Duration, error)
}

// runNoop runs jobs without output files.
func runNoop(ctx context.Context, b *bench) error {
	contenders := []contender{
		{"torc-slurm", b.ours("none")},
		{"bare spawner", func(ctx context.Context, n int) (time.Duration, error) {
			return command(ctx, b.dir, b.spawner, "-n", strconv.Itoa(n), "-j", strconv.Itoa(b.jobs), "bash", "-c", "/bin/true")
		}},
		{"xargs -P" + strconv.Itoa(b.jobs), b.xargs},
		{"make -j" + strconv.Itoa(b.jobs), b.make},
	}
	if _, err := exec.LookPath("parallel"); err == nil {
		contenders = append(contenders, contender{"GNU parallel", b.parallel})
	} else {
		say("  GNU parallel: not installed")
	}
	return b.compare(ctx, b.size(10_000), "no-op jobs, no output kept", contenders)
}

// runFiles runs jobs with two output files each.
func runFiles(ctx context.Context, b *bench) error {
	return b.compare(ctx, b.size(10_000), "no-op jobs with .o and .e files", []contender{
		{"torc-slurm", b.ours("separate")},
		{"spawner that opens two files", func(ctx context.Context, n int) (time.Duration, error) {
			dir, err := b.folder("files")
			if err != nil {
				return 0, err
			}
			defer os.RemoveAll(dir)
			return command(ctx, b.dir, b.spawner, "-n", strconv.Itoa(n), "-j", strconv.Itoa(b.jobs), "-files", dir, "bash", "-c", "/bin/true")
		}},
	})
}

// compare runs the contenders in turns. The first is ours; the second is the baseline for
// must and aim.
func (b *bench) compare(ctx context.Context, n int, what string, contenders []contender) error {
	rates := make([][]float64, len(contenders))
	for range b.rounds {
		for i, c := range contenders {
			took, err := c.run(ctx, n)
			if err != nil {
				return err
			}
			rates[i] = append(rates[i], perSecond(n, took))
			say("  %-28s %s", c.name, rate(perSecond(n, took)))
		}
	}
	ours := median(rates[0])
	for i, c := range contenders[1:] {
		theirs := median(rates[i+1])
		r := row{what: fmt.Sprintf("%d %s, against %s", n, what, c.name), ours: rate(ours), baseline: rate(theirs),
			ratio: fmt.Sprintf("%.2f ×", ours/theirs)}
		if i == 0 {
			r.must, r.aim = "0.6 ×", "0.85 ×"
		}
		b.table.add(r)
	}
	return nil
}

// ours returns a contender that creates and runs a workflow in one command, timed from
// the start of the program to its end.
func (b *bench) ours(stdio string) func(context.Context, int) (time.Duration, error) {
	return func(ctx context.Context, n int) (time.Duration, error) {
		dir, spec, err := b.write("noop", fmt.Sprintf(
			"name: noop\nexecution_config: {stdio: {mode: %s}}\njobs:\n  - {name: 'j{i}', command: /bin/true, parameters: {i: '1:%d'}}\n", stdio, n))
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		return command(ctx, dir, b.binary, "-s", "run", "--num-cpus", strconv.Itoa(b.jobs), spec)
	}
}

func (b *bench) xargs(ctx context.Context, n int) (time.Duration, error) {
	return command(ctx, b.dir, "sh", "-c",
		fmt.Sprintf("seq %d | xargs -P%d -n1 bash -c /bin/true", n, b.jobs))
}

// make runs each recipe by bash -c; with a shell other than /bin/sh it starts one for
// each line, however simple.
func (b *bench) make(ctx context.Context, n int) (time.Duration, error) {
	dir, err := b.folder("make")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	var targets strings.Builder
	for i := range n {
		fmt.Fprintf(&targets, " j%d", i)
	}
	text := fmt.Sprintf("SHELL = /bin/bash\nJOBS =%s\nall: $(JOBS)\n.PHONY: all $(JOBS)\n$(JOBS):\n\t@/bin/true\n", targets.String())
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(text), 0o644); err != nil {
		return 0, err
	}
	return command(ctx, dir, "make", "-s", "-j", strconv.Itoa(b.jobs), "all")
}

func (b *bench) parallel(ctx context.Context, n int) (time.Duration, error) {
	return command(ctx, b.dir, "sh", "-c",
		fmt.Sprintf("seq %d | SHELL=/bin/bash parallel --will-cite -j%d -N1 '/bin/true #'", n, b.jobs))
}
