package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// resumeChanged is how many jobs of the edited specification have another command.
const resumeChanged = 10

// runResume measures how long it takes to find, in a workflow that has run, what an edit of
// its specification affects, and to make that ready: from the start of the program to its
// end. The rest of the jobs are complete.
func runResume(ctx context.Context, b *bench) error {
	n := b.size(100_000)
	dir, path, err := b.write("resume", editedSpec(n, 0))
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := command(ctx, dir, b.binary, "-s", "create", path); err != nil {
		return err
	}
	if _, err := command(ctx, dir, b.binary, "-s", "workflows", "init", "1", "--no-prompts"); err != nil {
		return err
	}
	if err := b.playAll(ctx, dir); err != nil {
		return err
	}
	var planned, applied []float64
	for round := range b.rounds {
		if err := os.WriteFile(path, []byte(editedSpec(n, round+1)), 0o600); err != nil {
			return err
		}
		plan, took, err := output(ctx, dir, b.binary, "-s", "run", "--resume", "--dry-run", path)
		if err != nil {
			return err
		}
		if want := fmt.Sprintf("%d jobs run, %d unchanged", resumeChanged, n-resumeChanged); !strings.Contains(plan, want) {
			return fmt.Errorf("the plan of a resumed workflow lacks %q: %.200s", want, plan)
		}
		planned = append(planned, took.Seconds())
		took, err = command(ctx, dir, b.binary, "-s", "run", "--resume", path)
		if err != nil {
			return err
		}
		applied = append(applied, took.Seconds())
	}
	what := fmt.Sprintf("resume %d jobs from an edited spec, %d changed", n, resumeChanged)
	b.table.add(row{what: what + ", plan", ours: fmt.Sprintf("%.2f s", median(planned)), must: "2 s"})
	b.table.add(row{what: "… to the end of the changed jobs and the report", ours: fmt.Sprintf("%.2f s", median(applied))})
	return nil
}

// editedSpec is a sweep of n jobs, some of which have a command of their edition.
func editedSpec(n, edition int) string {
	return fmt.Sprintf("name: edited\njobs:\n  - {name: 'j{i}', command: 'true {i}', parameters: {i: '1:%d'}}\n  - {name: 'k{i}', command: 'true %d {i}', parameters: {i: '1:%d'}}\n",
		n-resumeChanged, edition, resumeChanged)
}

// playAll completes the jobs of workflow 1 without running them.
func (b *bench) playAll(ctx context.Context, dir string) error {
	url, stop, err := inProcess(ctx, standaloneDatabase(dir))
	if err != nil {
		return err
	}
	err = nullRunners(ctx, url, 1, dir)
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	return err
}
