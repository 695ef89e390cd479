package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// markdown returns a table of the completions for each load; the best fixed choice is bold.
func (f figures) markdown(cells []cell) string {
	var b strings.Builder
	columns := names()
	load := -1
	for _, c := range cells {
		if c.load != load {
			load = c.load
			fmt.Fprintf(&b, "\nLoad: %s\n\n| workload | declared | %s | waste | calls |\n|---|---|%s---|---|\n", loadName(load), strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
		}
		fmt.Fprintf(&b, "| %s | %d × |", c.workload, c.declared)
		_, least := f.bestFixed(c)
		for _, name := range columns {
			text := f.duration(c, name)
			if f[c][name].median(completion) == least && name != nameOracle {
				text = "**" + text + "**"
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		ours := f[c][f.ours(c)]
		fmt.Fprintf(&b, " %.0f %% | %.0f |\n", 100*ours.median((*result).waste), ours.median(func(r *result) float64 { return float64(r.Calls.total()) }))
	}
	return b.String()
}

// ours returns the name of the contender whose waste and calls the table has.
func (f figures) ours(c cell) string {
	if f[c][namePlanner] != nil {
		return namePlanner
	}
	return nameBefore
}

// duration returns a completion as the table shows it.
func (f figures) duration(c cell, name string) string {
	o := f[c][name]
	if o == nil {
		return ""
	}
	seconds := o.median(completion)
	switch {
	case seconds >= giveUp:
		return "> 24 h"
	case seconds < 5400:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.1f h", seconds/hour)
}

// writeCSV writes a line for each cell, contender and seed.
func (f figures) writeCSV(w io.Writer, cells []cell, first int) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"load", "workload", "declared", "contender", "seed", "finished", "completion_s", "first_start_s", "mean_wait_s",
		"used_core_hours", "allocated_core_hours", "waste", "requests", "calls", "sbatch", "squeue", "scancel", "sinfo", "scontrol", "update", "test_only"})
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	float := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	for _, c := range cells {
		for _, name := range names() {
			for i := range f[c][name] {
				r := &f[c][name][i]
				k := &r.Calls
				_ = out.Write([]string{number(int64(c.load)), c.workload, number(c.declared), name, number(int64(first + i)), strconv.FormatBool(r.Finished),
					number(r.Completion), number(r.FirstStart), float(r.MeanWait), float(float64(r.Used) / hour), float(float64(r.Allocated) / hour), float(r.waste()),
					number(r.Requests), number(k.total()), number(k.Sbatch), number(k.Squeue), number(k.Scancel), number(k.Sinfo), number(k.Scontrol), number(k.Update), number(k.TestOnly)})
			}
		}
	}
	out.Flush()
	return out.Error()
}
