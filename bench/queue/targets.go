package main

import (
	"fmt"
	"slices"
	"strings"
)

// The targets of the planner.
const (
	mustBefore  = 0.7  // of the completion of the planner of before, up to 80 % load
	mustFixed   = 1.1  // of the completion of the best fixed choice in hindsight
	mustCells   = 0.9  // of the cells
	mustWaste   = 0.15 // of the core hours, as a median
	mustCalls   = 20   // a minute: the least limit that can be configured
	aimOracle   = 1.15
	busiestMust = 80
)

// bestFixed returns the fixed choice that was best in a cell.
func (f figures) bestFixed(c cell) (name string, least float64) {
	least = giveUp
	for _, e := range fixedChoices {
		if v := f[c][e.name].median(completion); f[c][e.name] != nil && v < least {
			name, least = e.name, v
		}
	}
	return name, least
}

// summary says how far the targets are reached, and in which cells a contender loses to the best
// fixed choice.
func (f figures) summary(cells []cell, ours string) string {
	var before, oracle, waste, calls []float64
	var lost []string
	well := 0
	for _, c := range cells {
		o := f[c][ours]
		took := o.median(completion)
		if old := f[c][nameBefore]; c.load <= busiestMust {
			before = append(before, took/old.median(completion))
		}
		oracle = append(oracle, took/f[c][nameOracle].median(completion))
		waste = append(waste, o.median((*result).waste))
		calls = append(calls, o.median(func(r *result) float64 { return float64(r.Calls.total()) / max(float64(r.Completion)/60, 1) }))
		if name, least := f.bestFixed(c); took <= mustFixed*least {
			well++
		} else {
			lost = append(lost, fmt.Sprintf("%s: %s, %s takes %s (%.2f ×)", c, f.duration(c, ours), name, f.duration(c, name), took/least))
		}
	}
	part := float64(well) / float64(max(len(cells), 1))
	var b strings.Builder
	line := func(reached bool, format string, args ...any) {
		verdict := map[bool]string{true: "reached", false: "not reached"}[reached]
		fmt.Fprintf(&b, "* %s: %s\n", fmt.Sprintf(format, args...), verdict)
	}
	if ours != nameBefore && len(before) > 0 {
		line(middle(before) <= mustBefore, "must: completion %.2f × of the planner of before, median of the cells up to %d %% load (at most %.1f ×)", middle(before), busiestMust, mustBefore)
	}
	line(part >= mustCells, "must: %.0f %% of the cells at most %.1f × of the best fixed choice (at least %.0f %%)", 100*part, mustFixed, 100*mustCells)
	line(middle(waste) <= mustWaste, "must: %.0f %% of the core hours wasted, median (at most %.0f %%)", 100*middle(waste), 100*mustWaste)
	line(slices.Max(calls) <= mustCalls, "must: %.1f calls a minute in the cell with the most, %.1f in the median (at most %d)", slices.Max(calls), middle(calls), mustCalls)
	line(middle(oracle) <= aimOracle, "aim: completion %.2f × of the oracle's, median (at most %.2f ×)", middle(oracle), aimOracle)
	for _, text := range lost {
		fmt.Fprintf(&b, "  loses %s\n", text)
	}
	return b.String()
}

func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
