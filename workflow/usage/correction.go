package usage

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// CorrectionOptions says how requirements are corrected.
type CorrectionOptions struct {
	// A new request is the largest use times the multiplier, which is at least 1.
	MemoryMultiplier, CPUMultiplier, RuntimeMultiplier float64
	// NoDownsize leaves requests that were too large.
	NoDownsize bool
	// Codes are the return codes of jobs that were killed because of memory or time.
	Codes workflow.ReturnCodes
}

// Correction is the change of one resource in requirements that jobs share.
type Correction struct {
	Requirements workflow.ResourceRequirements // as they are
	Resource     workflow.Resource
	JobIDs       []int64 // the jobs whose use decided, ascending
	Old, New     string  // in the form of the requirements
	Downsize     bool
	Reason       string
}

// CorrectRequirements returns how requirements have to change according to what their jobs
// used. A request is raised to what the most demanding job needs. It is lowered only if all
// jobs with these requirements have a successful, measured attempt in uses. The map users has
// the number of jobs by the id of the requirements.
func CorrectRequirements(uses []JobUse, users map[int64]int, o CorrectionOptions) []Correction {
	byRequirements := make(map[int64][]JobUse)
	for _, u := range uses {
		if u.Requirements.Enforced() {
			byRequirements[u.Requirements.ID] = append(byRequirements[u.Requirements.ID], u)
		}
	}
	var all []Correction
	for id, shared := range byRequirements {
		for _, r := range []workflow.Resource{workflow.ResourceMemory, workflow.ResourceRuntime, workflow.ResourceCPU} {
			if c, ok := correct(r, shared, users[id], o); ok {
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Correction) int { return cmp.Compare(a.Requirements.ID, b.Requirements.ID) })
	return all
}

// correct returns the correction of one resource, for requirements that the jobs of uses
// share.
func correct(r workflow.Resource, uses []JobUse, jobs int, o CorrectionOptions) (Correction, bool) {
	c := Correction{Requirements: uses[0].Requirements, Resource: r}
	requested, ok := request(r, c.Requirements)
	if !ok {
		return c, false
	}
	var need, peak float64 // peak is the largest use of jobs that succeeded
	measured := make(map[int64]bool)
	for _, u := range uses {
		used, known := u.used(r)
		if known && u.Status == workflow.Completed {
			peak, measured[u.JobID] = max(peak, used), true
		}
		if n := u.need(r, requested, used, known, o); n > 0 {
			need = max(need, n)
			c.JobIDs = append(c.JobIDs, u.JobID)
		}
	}
	switch {
	case need > 0:
		c.Reason = fmt.Sprintf("%s used or needed more than %s", workflow.CountOf(int64(len(c.JobIDs)), "job", "jobs"), amount(r, requested))
	case o.NoDownsize || peak == 0 || len(measured) < jobs || len(measured) < distinctJobs(uses):
		return c, false
	default:
		need, c.Downsize = peak*o.multiplier(r), true
		c.Reason = fmt.Sprintf("no job used more than %s of %s", amount(r, peak), amount(r, requested))
		for id := range measured {
			c.JobIDs = append(c.JobIDs, id)
		}
	}
	slices.Sort(c.JobIDs)
	c.JobIDs = slices.Compact(c.JobIDs)
	rounded := r.RoundUp(need)
	if c.Downsize && rounded >= requested || !c.Downsize && rounded <= requested {
		return c, false
	}
	c.Old, c.New = written(r, c.Requirements), write(r, rounded)
	return c, true
}

// need returns what a job should have requested; 0 if its request was enough.
func (u JobUse) need(r workflow.Resource, requested, used float64, known bool, o CorrectionOptions) float64 {
	n := 0.0
	if known && used > requested {
		n = used * o.multiplier(r)
	}
	killed := u.Status == workflow.Failed || u.Status == workflow.Terminated
	if killed && (r == workflow.ResourceMemory && u.ReturnCode == o.Codes.OOM || r == workflow.ResourceRuntime && u.ReturnCode == o.Codes.Timeout) {
		n = max(n, requested*o.multiplier(r)) // it was stopped at the limit
	}
	return n
}

func (u JobUse) used(r workflow.Resource) (v float64, known bool) {
	switch r {
	case workflow.ResourceMemory:
		if u.PeakMemoryBytes == nil {
			return 0, false
		}
		return float64(*u.PeakMemoryBytes), true
	case workflow.ResourceCPU:
		if u.PeakCPUPercent == nil {
			return 0, false
		}
		return *u.PeakCPUPercent, true
	}
	return u.ExecSeconds, true
}

func request(r workflow.Resource, rr workflow.ResourceRequirements) (v float64, ok bool) {
	switch r {
	case workflow.ResourceMemory:
		n, err := workflow.ParseMemory(rr.Memory)
		return float64(n), err == nil && n > 0
	case workflow.ResourceCPU:
		return float64(rr.NumCPUs) * 100, true
	}
	n, err := workflow.ParseRuntime(rr.Runtime)
	return float64(n), err == nil && n > 0
}

func (o CorrectionOptions) multiplier(r workflow.Resource) float64 {
	switch r {
	case workflow.ResourceMemory:
		return o.MemoryMultiplier
	case workflow.ResourceCPU:
		return o.CPUMultiplier
	}
	return o.RuntimeMultiplier
}

func write(r workflow.Resource, v float64) string {
	switch r {
	case workflow.ResourceMemory:
		return workflow.FormatMemory(int64(v))
	case workflow.ResourceCPU:
		return fmt.Sprint(int64(v / 100))
	}
	return workflow.FormatRuntime(int64(v))
}

func written(r workflow.Resource, rr workflow.ResourceRequirements) string {
	switch r {
	case workflow.ResourceMemory:
		return rr.Memory
	case workflow.ResourceCPU:
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

// Apply returns the corrected requirements.
func (c Correction) Apply(rr workflow.ResourceRequirements) workflow.ResourceRequirements {
	switch c.Resource {
	case workflow.ResourceMemory:
		rr.Memory = c.New
	case workflow.ResourceRuntime:
		rr.Runtime = c.New
	case workflow.ResourceCPU:
		_, _ = fmt.Sscan(c.New, &rr.NumCPUs) // written by write
	}
	return rr
}
