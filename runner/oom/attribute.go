package oom

import (
	"cmp"
	"slices"
	"time"
)

// Growth is an increase of the counter between two readings.
type Growth struct {
	From, To time.Time
	Kills    int64
	Live     []*Party // the jobs that were alive
}

// Party is a job with the memory of its largest process.
type Party struct {
	Key, Name string
	Largest   int64 // bytes of its largest process, if known
}

// How says what is known of the end of a process.
type How uint8

// What may be known of an end. Ends other than by SIGKILL are not recorded.
const (
	Unknown         How = iota // it has ended
	Killed                     // by a SIGKILL that we did not send
	ReportedByShell            // exit code 137 of a shell reports it for its child
)

// End is the end of a process.
type End struct {
	Of      *Party
	At      time.Time
	How     How
	Size    int64  // bytes, if known
	Process string // its name and pid, as text
}

// How long after the kernel has counted a kill the process may end, since it first frees
// its memory: lag if SIGKILL is known to have ended it, settle if nothing is known.
const (
	settle = 500 * time.Millisecond
	lag    = 5 * time.Second
)

// Cgroup is the cgroup in which the kills were counted.
type Cgroup struct {
	Foreign bool  // it may have processes other than our jobs
	Limit   int64 // of its memory, in bytes; 0 if unknown
}

// Verdict attributes the kills of a growth to jobs.
type Verdict struct {
	*Growth
	Victims []End // one for each kill whose victim is known
	// Likely is the job to which the other kills are attributed, because processes of
	// no other job ended then; nil if there are none, or if they are in doubt.
	Likely *Party
	Rest   int64    // kills without a victim: of Likely, or in doubt
	Doubt  []*Party // the jobs in question, the likeliest first
	// Foreign says that the victim was probably a process of none of the jobs.
	Foreign bool
}

// Attribute returns a verdict for each growth. Growths and ends are ordered by time.
//
// The kernel counts a kill before it sends the signal. So a victim ends after the last
// reading without it.
func Attribute(growths []Growth, ends []End, in Cgroup) []Verdict {
	verdicts := make([]Verdict, len(growths))
	taken := make([]bool, len(ends))
	for i := range growths {
		verdicts[i] = Verdict{Growth: &growths[i], Rest: growths[i].Kills}
	}
	// Ends within an interval are attributed to it rather than to an earlier one.
	for _, how := range []How{Killed, ReportedByShell} {
		for i := range verdicts {
			verdicts[i].assignVictims(ends, taken, how, 0)
		}
		for i := range verdicts {
			verdicts[i].assignVictims(ends, taken, how, lag)
		}
	}
	for i := range verdicts {
		verdicts[i].assignRest(ends, taken, in)
	}
	return verdicts
}

// within reports whether a victim of g can have ended at a time, at most late after g.
func (g *Growth) within(at time.Time, late time.Duration) bool {
	return at.After(g.From) && !at.After(g.To.Add(late))
}

// assignVictims makes ends of a kind the victims of kills without one. If there are more
// such ends than kills, some were signaled by others: then all are in doubt, unless they
// are of one job.
func (v *Verdict) assignVictims(ends []End, taken []bool, how How, late time.Duration) {
	if v.Rest == 0 || v.Doubt != nil {
		return
	}
	var found []int
	for i := range ends {
		if !taken[i] && ends[i].How == how && v.within(ends[i].At, late) {
			found = append(found, i)
		}
	}
	if late > 0 { // the earliest are the most likely
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

// assignRest attributes kills without a victim to the jobs with a process that ended then
// for unknown reasons, else to all live jobs. Unless a job used half of the memory, the
// victim may also be a process of none of the jobs.
func (v *Verdict) assignRest(ends []End, taken []bool, in Cgroup) {
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

// Share is the part of the kills that is attributed to a job.
type Share struct {
	Kills   int64  // of the job's processes
	Seen    bool   // its processes were seen to end by SIGKILL; else only by exclusion
	Process string // the largest of them, if seen
	Doubt   int64  // kills that may be of the job's processes
	Likely  bool   // the job is the most likely of those in doubt
	Others  []string
}

// ShareOf sums up the verdicts for a job. Others are the names of the jobs to which other
// kills are or may be attributed.
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
