package forecast

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// waited returns an earlier allocation like need(8) that waited for some minutes, some hours ago.
func waited(minutes int, hoursAgo int, change func(*Past)) Past {
	p := Past{Partition: "std", Nodes: 1, CPUs: 8, Walltime: time.Hour, Asked: noon.Add(-time.Duration(hoursAgo) * time.Hour), Waited: time.Duration(minutes) * time.Minute}
	if change != nil {
		change(&p)
	}
	return p
}

func several(n int, p Past) (all []Past) {
	for range n {
		all = append(all, p)
	}
	return all
}

func TestWait(t *testing.T) {
	r := need(8, nil)
	for name, tc := range map[string]struct {
		past     []Past
		probes   []Probe
		free     bool
		waited   time.Duration
		expected time.Time
		least    time.Duration // of Likely
		most     time.Duration
		reason   string
	}{
		"nothing is known":                {least: 30 * time.Minute, most: 30 * time.Minute, reason: "half an hour is assumed"},
		"free":                            {free: true, least: time.Second, most: 30 * time.Second, reason: "free now"},
		"free, but pending for long":      {free: true, waited: 10 * time.Minute, least: 10 * time.Minute, most: time.Hour, reason: "assumed"},
		"similar ones":                    {past: several(20, waited(7, 5, nil)), least: 7 * time.Minute, most: 7 * time.Minute, reason: "by 19 similar"},
		"those of another partition":      {past: several(20, waited(7, 5, func(p *Past) { p.Partition = "gpu" })), least: 30 * time.Minute, most: 30 * time.Minute, reason: "assumed"},
		"those that found free nodes":     {past: several(20, waited(0, 5, func(p *Past) { p.Free = true })), least: 30 * time.Minute, most: 30 * time.Minute, reason: "assumed"},
		"a year ago":                      {past: several(20, waited(7, 8760, nil)), least: 30 * time.Minute, most: 30 * time.Minute, reason: "assumed"},
		"in the future":                   {past: several(20, waited(7, -1, nil)), least: 30 * time.Minute, most: 30 * time.Minute, reason: "assumed"},
		"recent ones before old ones":     {past: append(several(10, waited(5, 1, nil)), several(10, waited(300, 24*14, nil))...), least: 5 * time.Minute, most: 5 * time.Minute, reason: "similar"},
		"much longer ones count little":   {past: append(several(10, waited(5, 1, nil)), several(10, waited(600, 1, func(p *Past) { p.Walltime = 24 * time.Hour }))...), least: 5 * time.Minute, most: 5 * time.Minute, reason: "similar"},
		"canceled ones would have waited": {past: append(several(5, waited(5, 1, nil)), several(15, waited(60, 1, func(p *Past) { p.NotStarted = true }))...), least: time.Hour, most: 5 * time.Hour, reason: "similar"},
		"smaller ones: it waits as long":  {past: several(20, waited(300, 5, func(p *Past) { p.CPUs = 1 })), least: 5 * time.Hour, most: 5 * time.Hour, reason: "similar"},
		"free, and such ones waited":      {free: true, past: several(20, waited(30, 5, func(p *Past) { p.Free = true })), least: 30 * time.Minute, most: 30 * time.Minute, reason: "free now"},
		"free, and others waited":         {free: true, past: several(20, waited(30, 5, func(p *Past) { p.Free, p.Walltime = true, 24*time.Hour })), least: time.Second, most: time.Minute, reason: "free now"},
		"it has waited for longer":        {past: append(several(20, waited(7, 5, nil)), several(5, waited(90, 5, nil))...), waited: time.Hour, least: 25 * time.Minute, most: 35 * time.Minute, reason: "similar"},
		"Slurm's estimate":                {expected: noon.Add(3 * time.Hour), least: 2 * time.Hour, most: 3 * time.Hour, reason: "by Slurm's estimate"},
		"an estimate in the past":         {expected: noon.Add(-time.Hour), least: 30 * time.Minute, most: 30 * time.Minute, reason: "assumed"},
		"an absurd estimate":              {expected: noon.Add(365 * 24 * time.Hour), least: 30 * time.Minute, most: 30 * time.Minute, reason: "assumed"},
		"a probe":                         {probes: []Probe{{Request: need(8, nil), At: noon.Add(-time.Minute), Start: noon.Add(2 * time.Hour)}}, least: time.Hour, most: 2 * time.Hour, reason: "--test-only"},
		"a probe of a larger one":         {probes: []Probe{{Request: need(16, nil), At: noon, Start: noon.Add(2 * time.Hour)}}, least: time.Hour, most: 2 * time.Hour, reason: "--test-only"},
		"a probe of a smaller one":        {probes: []Probe{{Request: need(4, nil), At: noon, Start: noon.Add(2 * time.Hour)}}, least: 30 * time.Minute, most: 30 * time.Minute, reason: "assumed"},
		"an old probe":                    {probes: []Probe{{Request: need(8, nil), At: noon.Add(-time.Hour), Start: noon.Add(2 * time.Hour)}}, least: 30 * time.Minute, most: 30 * time.Minute, reason: "assumed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Forecast{Past: tc.past, Probes: tc.probes}
			w := f.Remaining(noon, &r, tc.free, tc.waited, tc.expected)
			if w.Likely < tc.least || w.Likely > tc.most || !strings.Contains(w.Reason, tc.reason) {
				t.Errorf("%s (%s), want %s to %s (%s)", w.Likely, w.Reason, tc.least, tc.most, tc.reason)
			}
		})
	}
}

// TestWaitsAreOrdered: whatever is known, quantiles grow, and no wait is negative.
func TestWaitsAreOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Forecast
		for range rapid.IntRange(0, 30).Draw(t, "past") {
			f.Past = append(f.Past, Past{
				Partition: "std", Nodes: rapid.Int64Range(-1, 9).Draw(t, "nodes"), CPUs: rapid.Int64Range(-1, 99).Draw(t, "cpus"),
				Walltime: time.Duration(rapid.Int64().Draw(t, "walltime")), Asked: noon.Add(-time.Duration(rapid.Int64Range(-1e15, 1e17).Draw(t, "asked"))),
				Waited: time.Duration(rapid.Int64().Draw(t, "waited")), NotStarted: rapid.Bool().Draw(t, "not started"), Free: rapid.Bool().Draw(t, "free"),
			})
		}
		r := need(rapid.Int64Range(1, 99).Draw(t, "needs"), nil)
		w := f.Remaining(noon, &r, rapid.Bool().Draw(t, "is free"), time.Duration(rapid.Int64Range(0, 1e14).Draw(t, "has waited")), noon.Add(time.Duration(rapid.Int64().Draw(t, "expected"))))
		last := time.Duration(0)
		for q := 0.0; q <= 1; q += 0.05 {
			if now := w.Quantile(q); now < last {
				t.Fatalf("%v: quantile %.2f is %s after %s", w, q, now, last)
			} else {
				last = now
			}
		}
		if w.Reason == "" {
			t.Error("no reason")
		}
	})
}
