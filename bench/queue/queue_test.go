package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/bench/queue/work"
)

// outcomesOf runs all contenders in a cell.
func outcomesOf(t *testing.T, c cell, seed uint64) map[string]result {
	t.Helper()
	s := newStart(&site{nodes: 300}, work.PartitionOf(c.workload), c.load, seed)
	out, err := s.outcomes(c, seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// On an idle cluster all contenders finish, none faster than the oracle says is possible for
// fixed choices, and nobody uses more than is allocated.
func TestIdleCluster(t *testing.T) {
	for _, workload := range []string{"forty", "forty-wide", "gpus", "nodes", "retries"} {
		c := cell{0, workload, 3}
		out := outcomesOf(t, c, 1)
		w, err := work.New(workload, 3, 1)
		if err != nil {
			t.Fatal(err)
		}
		used := int64(0)
		for _, j := range w.Jobs {
			k := &w.Classes[j.Class]
			used += int64(1+j.Fails) * j.Runtime * k.CPUs * k.Nodes
		}
		for _, name := range names() {
			r, known := out[name]
			if !known || !r.Finished || r.Used != used || r.Allocated < r.Used || r.Completion <= 0 || r.Calls.total() == 0 {
				t.Errorf("%s, %s: %+v; the jobs use %d", c, name, r, used)
			}
		}
		for _, e := range fixedChoices {
			if out[e.name].Completion < out[nameOracle].Completion {
				t.Errorf("%s: %s is faster than the oracle", c, e.name)
			}
		}
	}
}

// The same seed gives the same results.
func TestOutcomesAreDeterministic(t *testing.T) {
	c := cell{80, "forty-wide", 3}
	a, b, other := outcomesOf(t, c, 2), outcomesOf(t, c, 2), outcomesOf(t, c, 3)
	same := true
	for name := range a {
		if a[name] != b[name] {
			t.Errorf("%s: %+v, then %+v", name, a[name], b[name])
		}
		same = same && a[name] == other[name]
	}
	if same {
		t.Error("another seed gives the same")
	}
}

func TestFixedShapes(t *testing.T) {
	for _, tc := range []struct {
		workload           string
		fixed              fixed
		count, nodes, cpus int64
		walltime           int64
	}{
		// 40 jobs at a time, each declares 5 min; margins of a twentieth and a tenth
		{"forty", fixed{count: 1, stretch: 1}, 1, 1, 40, 360},
		{"forty", fixed{count: 4, nodes: 1, stretch: 1}, 4, 1, 10, 360},
		{"forty", fixed{count: 64, nodes: 1, stretch: 1}, 40, 1, 1, 360},
		{"forty-wide", fixed{count: 1, stretch: 1}, 1, 10, 64, 360},
		{"forty-wide", fixed{count: 4, nodes: 1, stretch: 1}, 4, 1, 64, 1080}, // three rows of four
		{"minutes", fixed{count: 64, nodes: 1, stretch: 1}, 64, 1, 64, 300},
		{"chains", fixed{count: 4, nodes: 1, stretch: 1}, 4, 1, 25, 3780},
		{"gpus", fixed{count: 4, nodes: 1, stretch: 1}, 4, 1, 32, 4980}, // four rows of four
		{"nodes", fixed{count: 4, nodes: 1, stretch: 1}, 4, 8, 64, 5580},
		{"nodes", fixed{count: 1, stretch: 1}, 1, 96, 64, 1980},
	} {
		s := newStart(&site{nodes: 1000}, work.PartitionOf(tc.workload), 0, 1)
		trial, err := s.trial(cell{0, tc.workload, 1}, 1)
		if err != nil {
			t.Fatal(err)
		}
		shape, count := tc.fixed.shape(trial)
		if count != tc.count || shape.Nodes != tc.nodes || shape.Node.CPUs != tc.cpus || shape.Walltime != tc.walltime {
			t.Errorf("%s, %+v: %d allocations of %d nodes, %d CPUs, %d s; want %+v", tc.workload, tc.fixed, count, shape.Nodes, shape.Node.CPUs, shape.Walltime, tc)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		patterns string
		quick    bool
		want     int
	}{
		{"", false, 105}, {"", true, 28}, {"80/*/3", false, 7}, {"0/forty/1,110/chains/*", true, 4}, {"*/*/*", false, 105},
	} {
		if cells, err := choose(tc.patterns, tc.quick); err != nil || len(cells) != tc.want {
			t.Errorf("%q: %d cells, %v; want %d", tc.patterns, len(cells), err, tc.want)
		}
	}
	for _, bad := range []string{"80/none/3", "[", "80"} {
		if _, err := choose(bad, false); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// The program prints the table and the summary, and writes the file.
func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cells.csv")
	var out bytes.Buffer
	if err := run([]string{"-nodes", "200", "-seeds", "2", "-cells", "0/forty/*", "-csv", path}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`medians of 2 seed\(s\)`, `\| forty \| 10 × \|`, `\*\*5 min\*\*`, `must: \d+ % of the cells`, `aim: completion`} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
	text, err := os.ReadFile(path)
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 1+3*2*len(names()) {
		t.Errorf("%d lines, %v", lines, err)
	}
	out.Reset()
	if err := run([]string{"-nodes", "200", "-cells", "0/forty/1", "-trace", "before"}, &out, io.Discard); err != nil || !strings.Contains(out.String(), "submit") {
		t.Errorf("%v\n%s", err, &out)
	}
	out.Reset()
	if err := run([]string{"-nodes", "200", "-cells", "50/forty/1", "-others", "20000", "-trace", "before"}, &out, io.Discard); err != nil || !regexp.MustCompile(`after 2\d{4} jobs of others in \d+ days`).Match(out.Bytes()) {
		t.Errorf("%v\n%s", err, &out)
	}
	for _, bad := range [][]string{{"x"}, {"-seeds", "0"}, {"-nodes", "1"}, {"-swf", path}, {"-swf", "/none"}, {"-cells", "no"}, {"-cells", "0/forty/1", "-trace", "array"}} {
		if err := run(bad, io.Discard, io.Discard); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

// The summary has the figures of the planner.
func TestSummary(t *testing.T) {
	c, d := cell{0, "forty", 1}, cell{110, "forty", 1}
	of := func(seconds int64) outcome {
		return outcome{{Finished: true, Completion: seconds, Used: 90, Allocated: 100, Calls: calls{Squeue: seconds / 60}}}
	}
	f := figures{
		c: {namePlanner: of(600), nameBefore: of(1200), "4": of(600), "array": of(900), nameOracle: of(600)},
		d: {namePlanner: of(1200), nameBefore: of(1200), "4": of(600), "array": of(900), nameOracle: of(600)},
	}
	text := f.summary([]cell{c, d}, namePlanner)
	for _, want := range []string{
		"completion 0.50 × of the planner of before, median of the cells up to 80 % load (at most 0.7 ×): reached",
		"50 % of the cells at most 1.1 × of the best fixed choice (at least 90 %): not reached",
		"10 % of the core hours wasted, median (at most 15 %): reached",
		"1.0 calls a minute in the cell with the most, 1.0 in the median (at most 20): reached",
		"loses 110/forty/1: 20 min, 4 takes 10 min (2.00 ×)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
