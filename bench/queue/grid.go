package main

import (
	"fmt"
	"slices"
	"sync"

	"github.com/torc-slurm/torc-slurm/bench/queue/work"
)

// grid is the cells that are to be simulated, with several seeds each.
type grid struct {
	site    *site
	cells   []cell
	seeds   int
	first   uint64 // seed
	workers int
	kept    *kept // nil: results are not kept
	say     func(format string, args ...any)
}

// outcomes returns the result of each contender in a cell, as far as possible from those that are kept.
func (g *grid) outcomes(c cell, seed uint64, start func() *start) (map[string]result, error) {
	about := situation{g.site.String(), c.String(), seed}
	known := g.kept.of(about)
	if complete(known) {
		return known, nil
	}
	all, err := start().outcomes(c, seed, known)
	if err != nil {
		return nil, err
	}
	return all, g.kept.add(about, all)
}

// outcome has the results of a contender in a cell, one for each seed.
type outcome []result

// median returns the median of a figure.
func (o outcome) median(figure func(*result) float64) float64 {
	if len(o) == 0 {
		return 0
	}
	values := make([]float64, len(o))
	for i := range o {
		values[i] = figure(&o[i])
	}
	slices.Sort(values)
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[len(values)/2]
}

func completion(r *result) float64 { return float64(r.Completion) }

// figures are the outcomes by cell and contender.
type figures map[cell]map[string]outcome

// run simulates all cells.
func (g *grid) run() (figures, error) {
	type key struct {
		partition string
		load      int
		seed      uint64
	}
	type unit struct {
		cell
		key
	}
	var units []unit
	starts := make(map[key]func() *start)
	for _, c := range g.cells {
		for seed := range uint64(g.seeds) {
			k := key{work.PartitionOf(c.workload), c.load, g.first + seed}
			units = append(units, unit{c, k})
			if starts[k] == nil {
				starts[k] = sync.OnceValue(func() *start { return newStart(g.site, k.partition, k.load, k.seed) })
			}
		}
	}
	all := make([]map[string]result, len(units))
	errs := make([]error, len(units))
	next := make(chan int)
	var group sync.WaitGroup
	var progress sync.Mutex
	done := 0
	for range g.workers {
		group.Go(func() {
			for i := range next {
				u := units[i]
				all[i], errs[i] = g.outcomes(u.cell, u.seed, starts[u.key])
				progress.Lock()
				done++
				g.say("%d/%d  %s seed %d", done, len(units), u.cell, u.seed)
				progress.Unlock()
			}
		})
	}
	for i := range units {
		next <- i
	}
	close(next)
	group.Wait()
	out := make(figures)
	for i, u := range units {
		if errs[i] != nil {
			return nil, fmt.Errorf("%s: %w", u.cell, errs[i])
		}
		if out[u.cell] == nil {
			out[u.cell] = make(map[string]outcome)
		}
		for name, r := range all[i] {
			out[u.cell][name] = append(out[u.cell][name], r)
		}
	}
	return out, nil
}
