package compute

import (
	"cmp"
	"slices"
)

// AllocationUse is an allocation, and what it was used for.
type AllocationUse struct {
	Allocation
	CPUs          int64 // that its runners had on all of their nodes; 0: none has registered
	JobCPUSeconds int64 // requested CPUs times runtime of its jobs
}

// Calibration compares what plans expected of allocations with what happened. Times are in
// seconds, shares are 0 to 1.
type Calibration struct {
	// Waited is how many allocations have started, or are or were pending for longer than
	// expected. InTime of them started within HighS: nine of ten should.
	Waited int `json:"waited"`
	InTime int `json:"in_time"`
	// ExpectedWaitS and WaitS are the medians of the likely and of the real waits of those that
	// have started.
	ExpectedWaitS     int64                  `json:"expected_wait_s"`
	WaitS             int64                  `json:"wait_s"`
	ExpectedIdleShare float64                `json:"expected_idle_share"`
	IdleShare         float64                `json:"idle_share"` // of the CPU time of all allocations
	Plans             []CalibratedPlan       `json:"plans"`
	Allocations       []CalibratedAllocation `json:"allocations"`
}

// CalibratedAllocation is an allocation that was requested with an expectation.
type CalibratedAllocation struct {
	ID            int64           `json:"id"`
	SlurmJobID    int64           `json:"slurm_job_id,omitempty"`
	State         AllocationState `json:"state"`
	ExpectedWaitS int64           `json:"expected_wait_s"`
	HighS         int64           `json:"high_s"`
	WaitS         int64           `json:"wait_s"` // until it started, or so far, or until it ended without a start
	Started       bool            `json:"started"`
	CPUSeconds    int64           `json:"cpu_seconds"` // that it had so far
	IdleShare     float64         `json:"idle_share"`
	Reason        string          `json:"reason,omitempty"` // what the expected wait was based on
}

// CalibratedPlan is a set of allocations that was chosen among others, and the best of these.
type CalibratedPlan struct {
	AskedMS            int64  `json:"asked_ms"`
	Allocations        int    `json:"allocations"`
	ExpectedEndS       int64  `json:"expected_end_s"`       // until the jobs that were ready then had ended
	ExpectedCPUSeconds int64  `json:"expected_cpu_seconds"` // also of allocations that existed
	CPUSeconds         int64  `json:"cpu_seconds"`          // of its own allocations, so far
	Instead            string `json:"instead,omitempty"`
	InsteadEndS        int64  `json:"instead_end_s,omitempty"`
	InsteadCPUSeconds  int64  `json:"instead_cpu_seconds,omitempty"`
}

// Calibrate compares the expectations of allocations with what happened until now. It returns nil
// if none was requested with an expectation.
func Calibrate(uses []AllocationUse, nowMS int64) *Calibration {
	c := &Calibration{}
	var expected, real []int64
	var held, used, idle float64
	for i := range uses {
		u := &uses[i]
		e := u.Request.Expected
		if e == nil || u.RestartCount > 0 { // Slurm has requeued it: nothing was expected of that
			continue
		}
		a := u.calibrated(nowMS)
		c.Allocations = append(c.Allocations, a)
		c.addPlan(u, a.CPUSeconds)
		switch {
		case a.Started:
			expected, real = append(expected, e.WaitS), append(real, a.WaitS)
			c.Waited++
			if a.WaitS <= e.HighS {
				c.InTime++
			}
		case a.WaitS > e.HighS:
			c.Waited++
		}
		held, used, idle = held+float64(a.CPUSeconds), used+float64(u.JobCPUSeconds), idle+e.IdleShare*float64(a.CPUSeconds)
	}
	if len(c.Allocations) == 0 {
		return nil
	}
	c.ExpectedWaitS, c.WaitS = median(expected), median(real)
	if held > 0 {
		c.IdleShare, c.ExpectedIdleShare = max(0, 1-used/held), idle/held
	}
	return c
}

// CPUSeconds returns the CPU time that the allocation has had until now, used or not.
func (u *AllocationUse) CPUSeconds(nowMS int64) int64 {
	if u.StartMS == 0 {
		return 0
	}
	end := nowMS
	if u.State == AllocationEnded {
		end = u.EndMS
	}
	cpus := cmp.Or(u.CPUs, max(u.Request.Nodes, 1)*max(u.Request.Offer.CPUs, 1))
	return cpus * max(end-u.StartMS, 0) / 1000
}

// calibrated returns how an allocation with an expectation did.
func (u *AllocationUse) calibrated(nowMS int64) CalibratedAllocation {
	e := u.Request.Expected
	a := CalibratedAllocation{
		ID: u.ID, SlurmJobID: u.SlurmJobID, State: u.State, ExpectedWaitS: e.WaitS, HighS: e.HighS, Started: u.StartMS > 0, Reason: e.Reason,
	}
	end := nowMS
	if u.State == AllocationEnded {
		end = u.EndMS
	}
	a.WaitS = max(end-u.AskedMS, 0) / 1000
	if a.Started {
		a.WaitS = max(u.StartMS-u.AskedMS, 0) / 1000
		a.CPUSeconds = u.CPUSeconds(nowMS)
	}
	if a.CPUSeconds > 0 {
		a.IdleShare = max(0, 1-float64(u.JobCPUSeconds)/float64(a.CPUSeconds))
	}
	return a
}

// addPlan adds an allocation to the plan that requested it. Those of one plan were requested one
// after the other, with the same expectation of the jobs.
func (c *Calibration) addPlan(u *AllocationUse, cpuSeconds int64) {
	e := u.Request.Expected
	p := CalibratedPlan{
		AskedMS: u.AskedMS, Allocations: 1, ExpectedEndS: e.EndS, ExpectedCPUSeconds: e.CPUSeconds, CPUSeconds: cpuSeconds,
		Instead: e.Instead, InsteadEndS: e.InsteadEndS, InsteadCPUSeconds: e.InsteadCPUSeconds,
	}
	if n := len(c.Plans); n > 0 {
		last := &c.Plans[n-1]
		if last.ExpectedEndS == p.ExpectedEndS && last.ExpectedCPUSeconds == p.ExpectedCPUSeconds && last.Instead == p.Instead {
			last.Allocations++
			last.CPUSeconds += cpuSeconds
			return
		}
	}
	c.Plans = append(c.Plans, p)
}

// median returns the lower median of some values; 0 if there are none.
func median(values []int64) int64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
