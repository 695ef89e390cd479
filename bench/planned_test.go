package main

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

func TestIdeal(t *testing.T) {
	for _, tc := range []struct {
		jobs, seconds, slots int
		want                 float64
	}{
		{40, 60, 16, 180},
		{40, 60, 8, 300},
		{2000, 1, 16, 125},
		{2000, 1, 8, 250},
		{16, 60, 16, 60},
		{17, 60, 16, 120},
		{4, 60, 16, 60},
	} {
		w := plannedWork{jobs: tc.jobs, seconds: tc.seconds}
		if got := w.ideal(tc.slots); got != tc.want {
			t.Errorf("%d jobs of %d s on %d slots: %g s, want %g", tc.jobs, tc.seconds, tc.slots, got, tc.want)
		}
	}
}

func TestShapes(t *testing.T) {
	one := slurm.Record{Nodes: 1, CPUs: 4, TimeLimit: 6 * time.Minute, NodeList: "n4"}
	wide := slurm.Record{Nodes: 2, CPUs: 8, TimeLimit: 18 * time.Minute, NodeList: "n[1-2]"}
	canceled := slurm.Record{Nodes: 1, CPUs: 4, TimeLimit: 6 * time.Minute, State: slurm.Cancelled}
	for _, tc := range []struct {
		records []slurm.Record
		want    string
	}{
		{nil, ""},
		{[]slurm.Record{one}, "1 of 1 node(s) 4 CPUs 6 min"},
		{[]slurm.Record{one, wide, wide, canceled}, "2 of 2 node(s) 8 CPUs 18 min, 1 of 1 node(s) 4 CPUs 6 min, 1 canceled before their start"},
	} {
		if got := shapes(tc.records); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestSumCalls(t *testing.T) {
	for _, tc := range []struct {
		log      string
		n        int
		programs string
	}{
		{"", 0, ""},
		{"\n", 0, ""},
		{"scontrol\n", 1, "1 scontrol"},
		{"sbatch --parsable\nsbatch --parsable --test-only\nsbatch --parsable\n", 3, "2 sbatch, 1 sbatch --test-only"},
		{"scontrol --local show config\nscontrol update JobId=7 Comment=1/2 done\nsqueue --all --user=u\nscontrol show --oneliner config\n", 4,
			"2 scontrol show config, 1 scontrol update, 1 squeue"},
	} {
		if n, programs := sumCalls(tc.log); n != tc.n || programs != tc.programs {
			t.Errorf("%q: got %d, %q; want %d, %q", tc.log, n, programs, tc.n, tc.programs)
		}
	}
}
