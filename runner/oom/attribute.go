package oom

import (
	"cmp"
	"slices"
	"time"
)

// Growth is that the counter has grown between two readings of it.
type Growth struct {
	From, To time.Time
	Kills    int64
	Live     []*Party // the jobs that were alive
}

// Party is a job as far as its memory goes.
type Party struct {
	Key, Name string
	Largest   int64 // bytes of its largest process, as far as is known
}

// How says what is known of the end of a process.
type How uint8

// What may be known of an end. Of a process that ended in another way than by SIGKILL
// nothing is noted: it is nobody's victim.
const (
	Unknown How = iota // it has ended
	Killed             // by a SIGKILL that is not ours
	Said               // a shell says so of a child, with exit code 137
)

// End is the end of a process.
type End struct {
	Of      *Party
	At      time.Time
	How     How
	Size    int64  // bytes, as far as is known
	Process string // in words: its name and pid
}

// How long a process may need to be gone after the kernel has counted its kill, as it
// gives back its memory. A SIGKILL that is seen later than lag after a kill is another
// one. An end of which nothing is known is of a kill within settle.
const (
	settle = 500 * time.Millisecond
	lag    = 5 * time.Second
)

// Cgroup is what the kills were counted in.
type Cgroup struct {
	Foreign bool  // more may live in it than our jobs
	Limit   int64 // of its memory, in bytes; 0: none is known
}

// Verdict says whose the kills of a growth are.
type Verdict struct {
	*Growth
	Victims []End // one for each kill whose victim is known
	// Likely is the job whose the other kills are, as of no other a process ended
	// then. It is nil if there are none, or if they are in doubt.
	Likely *Party
	Rest   int64    // kills without a victim: of Likely, or in doubt
	Doubt  []*Party // the jobs in question, the likeliest first
	// Foreign says that the likeliest is none of the jobs: others live in the cgroup.
	Foreign bool
}

// Attribute says whose the kills are. Growths are in order of time, and so are ends.
//
// The kernel counts a kill before it sends the signal. A victim therefore ends after
// the last reading that did not have it; most often at once, and always after it if it
// takes time to give its memory back.
func Attribute(growths []Growth, ends []End, in Cgroup) []Verdict {
	verdicts := make([]Verdict, len(growths))
	taken := make([]bool, len(ends))
	for i := range growths {
		verdicts[i] = Verdict{Growth: &growths[i], Rest: growths[i].Kills}
	}
	// What ended within an interval is a victim of it rather than of an earlier one.
	for _, how := range []How{Killed, Said} {
		for i := range verdicts {
			verdicts[i].take(ends, taken, how, 0)
		}
		for i := range verdicts {
			verdicts[i].take(ends, taken, how, lag)
		}
	}
	for i := range verdicts {
		verdicts[i].weigh(ends, taken, in)
	}
	return verdicts
}

// within reports whether a victim of g can have ended at a time, if it took so long.
func (g *Growth) within(at time.Time, late time.Duration) bool {
	return at.After(g.From) && !at.After(g.To.Add(late))
}

// take makes ends of a kind the victims of kills that have none. If more ended so than
// were killed, somebody else has sent signals too: all are left in doubt, unless they
// are of one job.
func (v *Verdict) take(ends []End, taken []bool, how How, late time.Duration) {
	if v.Rest == 0 || v.Doubt != nil {
		return
	}
	var found []int
	for i := range ends {
		if !taken[i] && ends[i].How == how && v.within(ends[i].At, late) {
			found = append(found, i)
		}
	}
	if late > 0 { // the earliest ones are the likeliest
		found = found[:min(len(found), int(v.Rest))]
	}
	if int64(len(found)) > v.Rest {
		slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(ends[b].Size, ends[a].Size) })
		for _, i := range found {
			taken[i] = true
			if !slices.Contains(v.Doubt, ends[i].Of) {
				v.Doubt = append(v.Doubt, ends[i].Of)
			}
		}
		if len(v.Doubt) > 1 {
			return
		}
		v.Doubt, found = nil, found[:v.Rest]
	}
	for _, i := range found {
		taken[i] = true
		v.Victims = append(v.Victims, ends[i])
		v.Rest--
	}
}

// weigh says whose the kills may be that have no victim: of the jobs of which a process
// ended then, nobody knows how, or of those that were alive. A process that is none of a job's
// may be the victim as well, but not a likely one where a job's had half of all memory.
func (v *Verdict) weigh(ends []End, taken []bool, in Cgroup) {
	if v.Rest == 0 || v.Doubt != nil {
		return
	}
	size := map[*Party]int64{}
	for i := range ends {
		if !taken[i] && ends[i].How == Unknown && v.within(ends[i].At, settle) {
			size[ends[i].Of] = max(size[ends[i].Of], ends[i].Size)
		}
	}
	if len(size) == 0 {
		v.Foreign = in.Foreign
		for _, p := range v.Live {
			if size[p] = p.Largest; in.Limit > 0 && p.Largest >= in.Limit/2 {
				v.Foreign = false
			}
		}
	}
	for p := range size {
		v.Doubt = append(v.Doubt, p)
	}
	slices.SortFunc(v.Doubt, func(a, b *Party) int {
		return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a.Key, b.Key))
	})
	if len(v.Doubt) == 1 && !v.Foreign {
		v.Likely, v.Doubt = v.Doubt[0], nil
	}
}

// Share is what of the kills is a job's.
type Share struct {
	Kills   int64  // that are the job's
	Seen    bool   // its processes were seen to end by SIGKILL; else nobody else's ended
	Process string // the largest of them, if seen
	Doubt   int64  // kills that may be the job's
	Likely  bool   // and of those in question it is the likeliest
	Others  []string
}

// ShareOf sums up what verdicts say of a job. Others are the jobs whose the other kills
// are or may be.
func ShareOf(p *Party, verdicts []Verdict) Share {
	var s Share
	var largest int64 = -1
	all := true
	others := map[string]bool{}
	for i := range verdicts {
		v := &verdicts[i]
		for _, e := range v.Victims {
			if e.Of != p {
				others[e.Of.Name] = true
				continue
			}
			if s.Kills++; e.Size > largest {
				largest, s.Process = e.Size, e.Process
			}
		}
		if v.Likely == p {
			s.Kills += v.Rest
			all = false
		} else if v.Likely != nil {
			others[v.Likely.Name] = true
		}
		if slices.Contains(v.Doubt, p) {
			s.Doubt += v.Rest
			s.Likely = s.Likely || v.Doubt[0] == p && !v.Foreign
		}
		for _, other := range v.Doubt {
			if other != p {
				others[other.Name] = true
			}
		}
	}
	s.Seen = all && s.Kills > 0
	for name := range others {
		s.Others = append(s.Others, name)
	}
	slices.Sort(s.Others)
	return s
}
