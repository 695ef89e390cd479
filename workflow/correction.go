package workflow

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// CorrectionOptions say how requirements are corrected.
type CorrectionOptions struct {
	// A new request is the largest use times this, at least 1.
	MemoryMultiplier, CPUMultiplier, RuntimeMultiplier float64
	// NoDownsize leaves requests that were too large.
	NoDownsize bool
	// Codes are the return codes of jobs that were killed for memory and time.
	Codes ReturnCodes
}

// Correction is the change of one resource in requirements that jobs share.
type Correction struct {
	Requirements ResourceRequirements // as they are
	Resource     Resource
	JobIDs       []int64 // whose use decided, ascending
	Old, New     string  // in the form of the requirements
	Downsize     bool
	Reason       string
}

// CorrectRequirements says how requests have to change for what their jobs
// used. A request is raised to what the most demanding job needs. It is lowered
// only if all jobs of users have an attempt in uses that succeeded and was
// measured: users holds for each requirements id the number of its jobs.
func CorrectRequirements(uses []JobUse, users map[int64]int, o CorrectionOptions) []Correction {
	byRequirements := make(map[int64][]JobUse)
	for _, u := range uses {
		if u.Requirements.Enforced() {
			byRequirements[u.Requirements.ID] = append(byRequirements[u.Requirements.ID], u)
		}
	}
	var all []Correction
	for id, shared := range byRequirements {
		for _, r := range []Resource{ResourceMemory, ResourceRuntime, ResourceCPU} {
			if c, ok := correct(r, shared, users[id], o); ok {
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Correction) int { return cmp.Compare(a.Requirements.ID, b.Requirements.ID) })
	return all
}

// correct decides about one resource of requirements that the jobs of uses
// share.
func correct(r Resource, uses []JobUse, jobs int, o CorrectionOptions) (Correction, bool) {
	c := Correction{Requirements: uses[0].Requirements, Resource: r}
	requested, ok := request(r, c.Requirements)
	if !ok {
		return c, false
	}
	var need, peak float64 // peak is the largest use of jobs that succeeded
	measured := make(map[int64]bool)
	for _, u := range uses {
		used, known := u.used(r)
		if known && u.Status == Completed {
			peak, measured[u.JobID] = max(peak, used), true
		}
		if n := u.need(r, requested, used, known, o); n > 0 {
			need = max(need, n)
			c.JobIDs = append(c.JobIDs, u.JobID)
		}
	}
	switch {
	case need > 0:
		c.Reason = fmt.Sprintf("%s used or needed more than %s", CountOf(int64(len(c.JobIDs)), "job", "jobs"), r.amount(requested))
	case o.NoDownsize || peak == 0 || len(measured) < jobs || len(measured) < distinctJobs(uses):
		return c, false
	default:
		need, c.Downsize = peak*o.multiplier(r), true
		c.Reason = fmt.Sprintf("no job used more than %s of %s", r.amount(peak), r.amount(requested))
		for id := range measured {
			c.JobIDs = append(c.JobIDs, id)
		}
	}
	slices.Sort(c.JobIDs)
	c.JobIDs = slices.Compact(c.JobIDs)
	rounded := roundUp(r, need)
	if c.Downsize && rounded >= requested || !c.Downsize && rounded <= requested {
		return c, false
	}
	c.Old, c.New = r.written(c.Requirements), r.write(rounded)
	return c, true
}

// need is what a job should have asked for, 0 if its request was enough.
func (u JobUse) need(r Resource, requested, used float64, known bool, o CorrectionOptions) float64 {
	n := 0.0
	if known && used > requested {
		n = used * o.multiplier(r)
	}
	killed := u.Status == Failed || u.Status == Terminated
	if killed && (r == ResourceMemory && u.ReturnCode == o.Codes.OOM || r == ResourceRuntime && u.ReturnCode == o.Codes.Timeout) {
		n = max(n, requested*o.multiplier(r)) // it was stopped at the limit
	}
	return n
}

func (u JobUse) used(r Resource) (v float64, known bool) {
	switch r {
	case ResourceMemory:
		if u.PeakMemoryBytes == nil {
			return 0, false
		}
		return float64(*u.PeakMemoryBytes), true
	case ResourceCPU:
		if u.PeakCPUPercent == nil {
			return 0, false
		}
		return *u.PeakCPUPercent, true
	}
	return u.ExecSeconds, true
}

func request(r Resource, rr ResourceRequirements) (v float64, ok bool) {
	switch r {
	case ResourceMemory:
		n, err := ParseMemory(rr.Memory)
		return float64(n), err == nil && n > 0
	case ResourceCPU:
		return float64(rr.NumCPUs) * 100, true
	}
	n, err := ParseRuntime(rr.Runtime)
	return float64(n), err == nil && n > 0
}

func (o CorrectionOptions) multiplier(r Resource) float64 {
	switch r {
	case ResourceMemory:
		return o.MemoryMultiplier
	case ResourceCPU:
		return o.CPUMultiplier
	}
	return o.RuntimeMultiplier
}

// roundUp goes to whole mebibytes (gibibytes from 10 on), CPUs and minutes.
func roundUp(r Resource, v float64) float64 {
	unit := 60.0
	switch r {
	case ResourceMemory:
		if unit = 1 << 20; v > 10<<30 {
			unit = 1 << 30
		}
	case ResourceCPU:
		unit = 100
	}
	return max(1, math.Ceil(v/unit-1e-9)) * unit
}

func (r Resource) write(v float64) string {
	switch r {
	case ResourceMemory:
		return FormatMemory(int64(v))
	case ResourceCPU:
		return fmt.Sprint(int64(v / 100))
	}
	return FormatRuntime(int64(v))
}

func (r Resource) written(rr ResourceRequirements) string {
	switch r {
	case ResourceMemory:
		return rr.Memory
	case ResourceCPU:
		return fmt.Sprint(rr.NumCPUs)
	}
	return rr.Runtime
}

func distinctJobs(uses []JobUse) int {
	ids := make(map[int64]bool)
	for _, u := range uses {
		ids[u.JobID] = true
	}
	return len(ids)
}

// Apply returns the requirements with the correction.
func (c Correction) Apply(rr ResourceRequirements) ResourceRequirements {
	switch c.Resource {
	case ResourceMemory:
		rr.Memory = c.New
	case ResourceRuntime:
		rr.Runtime = c.New
	case ResourceCPU:
		_, _ = fmt.Sscan(c.New, &rr.NumCPUs) // written by write
	}
	return rr
}
