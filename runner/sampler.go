package runner

import (
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// limitInterval is the longest time between samples of an attempt that has a
// memory limit.
const limitInterval = time.Second

// sample is one measurement of a tree.
type sample struct {
	cpuPercent float64 // 100 is one CPU
	memory     int64   // bytes
	processes  int
}

// usage is what was measured of an attempt.
type usage struct {
	samples    int64
	last       time.Time
	lastCPU    time.Duration
	peakCPU    float64 // percent
	peakMemory int64
	sumMemory  float64
}

// add takes in a measurement: the tree's memory and the CPU time that it has
// used so far.
func (u *usage) add(now, started time.Time, memory int64, cpu time.Duration) (cpuPercent float64) {
	since, before := u.last, u.lastCPU
	if u.samples == 0 {
		since, before = started, 0
	}
	if elapsed := now.Sub(since); elapsed > 0 {
		cpuPercent = max(0, 100*(cpu-before).Seconds()/elapsed.Seconds())
	}
	u.samples++
	u.last, u.lastCPU = now, cpu
	u.peakCPU = max(u.peakCPU, cpuPercent)
	u.peakMemory = max(u.peakMemory, memory)
	u.sumMemory += float64(memory)
	return cpuPercent
}

func (u *usage) averageMemory() int64 {
	if u.samples == 0 {
		return 0
	}
	return int64(u.sumMemory / float64(u.samples))
}

// overLimitMsg says that a tree's memory is above its limit.
type overLimitMsg struct {
	attempt *attempt
	memory  int64
}

// measure samples one tree. The sample is kept if one was due.
func (k *keeper) measure(now time.Time, w *watch, tree []*process, due bool) {
	var memory int64
	var cpu time.Duration
	for _, p := range tree {
		memory += p.rss
		cpu += p.cpu
	}
	if w.limit > 0 && memory > w.limit {
		// Resident sizes count shared pages once per process.
		memory = 0
		for _, p := range tree {
			memory += pss(p)
		}
	}
	k.mu.Lock()
	percent := w.usage.add(now, w.started, memory, cpu)
	k.mu.Unlock()
	if k.record != nil && due {
		k.record(now, w, sample{cpuPercent: percent, memory: memory, processes: len(tree)})
	}
	if w.limit > 0 && memory > w.limit && !w.overLimit {
		w.overLimit = true
		k.tell(overLimitMsg{attempt: w.attempt, memory: memory})
	}
}

// defaultInterval is the time between samples if the workflow does not say.
const defaultInterval = 10 * time.Second

// monitorInterval returns how often jobs are to be measured, 0 for never.
func monitorInterval(c *workflow.ResourceMonitorConfig) time.Duration {
	enabled := c != nil && c.Enabled
	if c != nil && c.Jobs != nil {
		enabled = c.Jobs.Enabled
	}
	switch {
	case !enabled:
		return 0
	case c.SampleIntervalSeconds <= 0:
		return defaultInterval
	}
	return seconds(c.SampleIntervalSeconds)
}
