package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Wait is how long an allocation is expected to be pending: in one of ten cases at most
// Low, in half of them at most Likely, in nine of ten at most High.
type Wait struct {
	Low, Likely, High time.Duration
	Reason            string // for people: what this is based on
	Assumed           bool   // there is no evidence at all
}

// Quantile returns the wait that is exceeded with the probability 1-q.
func (w Wait) Quantile(q float64) time.Duration {
	between := func(a, b time.Duration, part float64) time.Duration {
		return a + time.Duration(float64(b-a)*part)
	}
	switch {
	case q <= 0.1:
		return w.Low
	case q <= 0.5:
		return between(w.Low, w.Likely, (q-0.1)/0.4)
	case q < 0.9:
		return between(w.Likely, w.High, (q-0.5)/0.4)
	}
	return w.High
}

// After returns the wait of an allocation that is requested some time later.
func (w Wait) After(d time.Duration) Wait {
	w.Low, w.Likely, w.High = w.Low+d, w.Likely+d, w.High+d
	return w
}

// Soon reports whether that is not long enough to call it waiting.
func (w Wait) Soon() bool { return w.Likely <= Patience }

// Past is one allocation of ours that has started, or was canceled while pending.
type Past struct {
	Partition  string // in which it started; the first requested if it did not start
	QOS        string
	Account    string
	Nodes      int64
	CPUs       int64 // in total
	GPUs       int64 // in total
	Walltime   time.Duration
	Asked      time.Time
	Waited     time.Duration
	NotStarted bool // it was canceled or changed after Waited: it would have waited longer
	// Free says that resources for it were free when it was requested.
	Free bool
}

// Probe is Slurm's answer to the question when it would start an allocation.
type Probe struct {
	Request Request
	At      time.Time
	Start   time.Time
}

// Forecast has the facts from which waits are estimated. The zero value knows nothing.
type Forecast struct {
	Cluster *Cluster // nil: not known
	Past    []Past
	Probes  []Probe
}

// What is assumed where nothing is known.
var (
	// freeWait is for an allocation whose resources are free: Slurm's scheduler runs every
	// few seconds, its backfill every half minute.
	freeWait = Wait{Low: 2 * time.Second, Likely: 10 * time.Second, High: time.Minute, Reason: "its resources are free now"}
	// queueWait is for one that has to queue. It is the same for all shapes: that short ones
	// start sooner is learned, not assumed.
	queueWait = Wait{Low: 5 * time.Minute, Likely: 30 * time.Minute, High: 4 * time.Hour, Reason: "no similar allocation has been observed; half an hour is assumed"}
)

// Patience is how long an allocation may be pending while its resources seem to be free. After
// that, something else holds it back.
const Patience = 2 * time.Minute

// How similar and recent earlier allocations have to be.
const (
	halfLife      = 3 * 24 * time.Hour // of the weight of an earlier allocation
	probeWeight   = 3.0                // of Slurm's own estimate, in earlier allocations
	probeLifetime = 5 * time.Minute
	assumedWeight = 1.0 // of what is assumed without any evidence
	otherQOS      = 0.3 // the weight of an earlier allocation with other QOS or account
)

// Taken returns the forecast without the answers of Slurm that an allocation would start at
// once: one that was requested before has taken what was free.
func (f *Forecast) Taken(now time.Time) *Forecast {
	taken := *f
	taken.Probes = slices.DeleteFunc(slices.Clone(f.Probes), func(p Probe) bool { return p.Start.Before(now.Add(Patience)) })
	return &taken
}

// Wait returns how long an allocation would be pending if it were requested now. Free says
// that its resources are free.
func (f *Forecast) Wait(now time.Time, r *Request, free bool) Wait {
	return f.Remaining(now, r, free, 0, time.Time{})
}

// Remaining returns how much longer an allocation will be pending that has been pending for
// some time. Expected is when Slurm expects to start it; zero if it does not say.
func (f *Forecast) Remaining(now time.Time, r *Request, free bool, waited time.Duration, expected time.Time) Wait {
	free = free && waited < Patience
	prior := queueWait
	if free {
		prior = freeWait
	}
	var known sample
	for i := range f.Past {
		p := &f.Past[i]
		if p.Waited < waited {
			continue
		}
		alike, less := weightOf(p, r, now, free)
		if alike > 0.01 {
			known.add(p.Waited-waited, alike, p.NotStarted)
		}
		if less > 0.01 { // as much as that it would have waited, too, and perhaps longer
			known.add(p.Waited-waited, less, true)
		}
	}
	estimate, from := f.estimate(now, r, expected)
	count := known.total
	if from != "" && !free {
		for _, part := range [...]float64{0.25, 0.75, 1, 1.25, 1.75} {
			known.add(time.Duration(float64(estimate)*part), probeWeight/5, false)
		}
	}
	for _, q := range [...]float64{0.05, 0.25, 0.5, 0.75, 0.95} {
		known.add(prior.Quantile(q), assumedWeight/5, false)
	}
	out := Wait{Low: known.quantile(0.1), Likely: known.quantile(0.5), High: known.quantile(0.9)}
	switch {
	case free:
		out.Reason = prior.Reason
	case from != "" && count >= 1:
		out.Reason = fmt.Sprintf("%s, and by %.0f similar allocations", from, math.Round(count))
	case from != "":
		out.Reason = from
	case count >= 1:
		out.Reason = fmt.Sprintf("by %.0f similar allocations", math.Round(count))
	default:
		out.Reason, out.Assumed = prior.Reason, true
	}
	return out
}

// estimate returns how long Slurm expects an allocation to wait, and how it said so; empty
// if it did not say. Its estimate for a pending allocation is preferred to a probe.
func (f *Forecast) estimate(now time.Time, r *Request, expected time.Time) (time.Duration, string) {
	if expected.After(now) && expected.Before(now.Add(longestEstimate)) {
		return expected.Sub(now), "by Slurm's estimate"
	}
	var best *Probe
	for i := range f.Probes {
		p := &f.Probes[i]
		if now.Sub(p.At) < probeLifetime && r.Within(&p.Request) && p.Start.Before(now.Add(longestEstimate)) && (best == nil || p.Start.Before(best.Start)) {
			best = p
		}
	}
	if best == nil {
		return 0, ""
	}
	return max(best.Start.Sub(now), 0), "by sbatch --test-only"
}

// longestEstimate bounds the estimates that are believed. Slurm answers with a year from now
// where it does not know.
const longestEstimate = 30 * 24 * time.Hour

// weightOf returns how much an earlier allocation says about a request: alike is 1 if it is
// equal and recent, and less the more it differs. Less is how much it says as one that asked for
// no more, so that the request would not have started sooner.
func weightOf(p *Past, r *Request, now time.Time, free bool) (alike, less float64) {
	if p.Free != free || len(r.Partitions) > 0 && !slices.Contains(r.Partitions, p.Partition) || p.Asked.After(now) {
		return 0, 0
	}
	w := math.Exp2(-float64(now.Sub(p.Asked)) / float64(halfLife))
	if p.QOS != r.QOS || p.Account != r.Account {
		w *= otherQOS
	}
	alike, within := w, w
	for _, x := range [...]struct{ past, asked, width float64 }{
		{float64(p.Walltime), float64(r.Walltime), 1},
		{float64(p.CPUs), float64(r.CPUs()), 1.5},
		{float64(p.Nodes), float64(r.Nodes), 1},
		{float64(1 + p.GPUs), float64(1 + r.Nodes*r.Node.GPUs), 1},
	} {
		c := closeness(x.past, x.asked, x.width)
		if alike *= c; x.past > x.asked {
			within *= c
		}
	}
	return alike, within - alike
}

// closeness is a Gaussian kernel over the ratio of two sizes, with a width in octaves.
func closeness(a, b, width float64) float64 {
	octaves := math.Log2(max(a, 1) / max(b, 1))
	return math.Exp(-octaves * octaves / (2 * width * width))
}

// sample is a weighted set of waits, of which some are only known to have been longer.
type sample struct {
	waits []observed
	total float64 // of the weights of complete waits
}

type observed struct {
	wait     time.Duration
	weight   float64
	censored bool
}

func (s *sample) add(wait time.Duration, weight float64, censored bool) {
	s.waits = append(s.waits, observed{max(wait, 0), weight, censored})
	if !censored {
		s.total += weight
	}
}

// quantile returns the wait that a part of the allocations did not exceed, by the
// Kaplan-Meier estimator: canceled ones count as pending until they were canceled.
func (s *sample) quantile(q float64) time.Duration {
	slices.SortStableFunc(s.waits, func(a, b observed) int { return cmp.Compare(a.wait, b.wait) })
	atRisk := 0.0
	for _, o := range s.waits {
		atRisk += o.weight
	}
	pending := 1.0
	for i, o := range s.waits {
		if !o.censored {
			pending *= 1 - o.weight/atRisk
		}
		if 1-pending >= q-1e-9 || i == len(s.waits)-1 {
			return o.wait
		}
		atRisk -= o.weight
	}
	return 0
}
