package process

import (
	"time"
)

// limitInterval is the longest time between samples of an attempt that has a
// memory limit.
const limitInterval = time.Second

// Sample is one measurement of a tree.
type Sample struct {
	CPUPercent float64 // 100 is one CPU
	Memory     int64   // bytes
	Processes  int
}

// Usage is what was measured of an attempt.
type Usage struct {
	samples    int64
	last       time.Time
	CPU        time.Duration // that the tree had used at the last sample
	PeakCPU    float64       // percent
	PeakMemory int64
	sumMemory  float64
}

// add adds a sample: the tree's memory, and the CPU time that it has used so far. It
// returns the CPU use since the last one.
func (u *Usage) add(now, started time.Time, memory int64, cpu time.Duration) (cpuPercent float64) {
	since, before := u.last, u.CPU
	if u.samples == 0 {
		since, before = started, 0
	}
	if elapsed := now.Sub(since); elapsed > 0 {
		cpuPercent = max(0, 100*(cpu-before).Seconds()/elapsed.Seconds())
	}
	u.samples++
	u.last, u.CPU = now, cpu
	u.PeakCPU = max(u.PeakCPU, cpuPercent)
	u.PeakMemory = max(u.PeakMemory, memory)
	u.sumMemory += float64(memory)
	return cpuPercent
}

// AverageMemory returns the mean of all samples, 0 without any.
func (u *Usage) AverageMemory() int64 {
	if u.samples == 0 {
		return 0
	}
	return int64(u.sumMemory / float64(u.samples))
}

// measure samples one tree. The sample is kept if one was due.
func (k *Keeper) measure(now time.Time, w *Watch, tree []*process, due bool) {
	var memory int64
	var cpu time.Duration
	for _, p := range tree {
		memory += p.rss
		cpu += p.cpu
	}
	if w.Limit > 0 && memory > w.Limit {
		// Resident sizes count shared pages once per process.
		memory = 0
		for _, p := range tree {
			memory += pss(p)
		}
	}
	k.mu.Lock()
	percent := w.usage.add(now, w.Started, memory, cpu)
	k.mu.Unlock()
	if w.Record != nil && due {
		w.Record(now, Sample{CPUPercent: percent, Memory: memory, Processes: len(tree)})
	}
	if w.Limit > 0 && memory > w.Limit && !w.overLimit {
		w.overLimit = true
		w.AboveLimit(memory)
	}
}
