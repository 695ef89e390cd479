package oom

import (
	"slices"
	"time"
)

// Limits of the history.
const (
	maxGrowths = 256
	maxEnds    = 1024
)

// ledger is the history for attributions: readings of the counter, live jobs, and ends of
// processes. Its methods get the time as a parameter and do no I/O.
type ledger struct {
	in      Cgroup
	jobs    map[string]*entry
	read    time.Time // of the last reading
	kills   int64
	growths []Growth
	ends    []End
}

// entry is a live job.
type entry struct {
	party *Party
	kills int64 // reading of the counter at its start
	ours  bool  // we kill its processes ourselves
}

func newLedger(now time.Time, kills int64, in Cgroup) *ledger {
	return &ledger{in: in, jobs: make(map[string]*entry), read: now, kills: kills}
}

// start adds a job, with a reading.
func (l *ledger) start(now time.Time, kills int64, key, name string) {
	l.reading(now, kills)
	l.jobs[key] = &entry{party: &Party{Key: key, Name: name}, kills: kills}
}

// reading adds a reading of the counter.
func (l *ledger) reading(now time.Time, kills int64) {
	if kills > l.kills && len(l.jobs) > 0 {
		g := Growth{From: l.read, To: now, Kills: kills - l.kills}
		for _, e := range l.jobs {
			g.Live = append(g.Live, e.party)
		}
		if l.growths = append(l.growths, g); len(l.growths) > maxGrowths {
			l.merge()
		}
	}
	l.read, l.kills = now, kills
	l.prune()
}

// merge merges the two oldest growths.
func (l *ledger) merge() {
	first, second := &l.growths[0], l.growths[1]
	first.To, first.Kills = second.To, first.Kills+second.Kills
	for _, p := range second.Live {
		if !slices.Contains(first.Live, p) {
			first.Live = append(first.Live, p)
		}
	}
	l.growths = slices.Delete(l.growths, 1, 2)
}

// prune drops growths whose jobs have all ended, and ends before the last reading that
// belong to no growth.
func (l *ledger) prune() {
	l.growths = slices.DeleteFunc(l.growths, func(g Growth) bool {
		return !slices.ContainsFunc(g.Live, l.isLive)
	})
	l.ends = slices.DeleteFunc(l.ends, func(e End) bool {
		return !e.At.After(l.read) && !slices.ContainsFunc(l.growths, func(g Growth) bool { return g.within(e.At, lag) })
	})
	if n := len(l.ends) - maxEnds; n > 0 {
		l.ends = slices.Delete(l.ends, 0, n)
	}
}

func (l *ledger) isLive(p *Party) bool {
	e := l.jobs[p.Key]
	return e != nil && e.party == p
}

// ended adds the end of a process of a job.
func (l *ledger) ended(key string, e End) {
	j := l.jobs[key]
	if j == nil {
		return
	}
	e.Of = j.party
	if e.How == Killed && j.ours {
		e.How = Unknown
	}
	if e.How == ReportedByShell && slices.ContainsFunc(l.ends, func(o End) bool { return o.Of == e.Of && o.How == Killed && e.At.Sub(o.At) < lag }) {
		return // it was seen
	}
	e.Size = max(e.Size, 0)
	e.Of.Largest = max(e.Of.Largest, e.Size)
	l.ends = append(l.ends, e)
	slices.SortStableFunc(l.ends, func(a, b End) int { return a.At.Compare(b.At) })
}

// setSize raises the size of the largest process of a job.
func (l *ledger) setSize(key string, size int64) {
	if j := l.jobs[key]; j != nil {
		j.party.Largest = max(j.party.Largest, size)
	}
}

// grown returns the growth of the counter since the start of a job.
func (l *ledger) grown(key string) int64 {
	if j := l.jobs[key]; j != nil {
		return l.kills - j.kills
	}
	return 0
}

// shareOf returns a job's share of the kills, and until when more may become known.
func (l *ledger) shareOf(key string) (s Share, until time.Time) {
	j := l.jobs[key]
	if j == nil {
		return Share{}, time.Time{}
	}
	var of []Verdict
	for _, v := range Attribute(l.growths, l.ends, l.in) {
		if !slices.Contains(v.Live, j.party) {
			continue
		}
		of = append(of, v)
		if v.Rest > 0 && v.To.Add(settle).After(until) {
			until = v.To.Add(settle)
		}
	}
	return ShareOf(j.party, of), until
}

// remove drops a job that has ended or was not started.
func (l *ledger) remove(key string) {
	delete(l.jobs, key)
	if len(l.growths)+len(l.ends) > 0 {
		l.prune()
	}
}
