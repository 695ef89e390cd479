package usage

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Attempt is an attempt that has ended, with what it used and what its job requests. What was not
// measured is nil.
type Attempt struct {
	JobID           int64
	JobName         string
	Status          workflow.JobStatus
	Cause           string // why it did not complete
	Seconds         float64
	CPUSeconds      *float64 // CPU time
	PeakCPUPercent  *float64 // 100 for one CPU
	PeakMemoryBytes *int64

	CPUs, GPUs, Nodes int64 // CPUs and GPUs of each node
	MemoryBytes       int64 // of each node
	RuntimeSeconds    int64
}

// coreSeconds returns how long the attempt had CPUs for itself, times their number.
func (a *Attempt) coreSeconds() float64 {
	return a.Seconds * float64(max(a.CPUs, 1)*max(a.Nodes, 1))
}

// Efficiency is what the attempts of a workflow requested and used. Core-seconds are CPUs times
// seconds, shares are 0 to 1.
type Efficiency struct {
	Families []FamilyUse `json:"families"` // those with most core-seconds first
	// CoreSeconds are those of all attempts, UsefulCoreSeconds those of attempts that completed.
	CoreSeconds       float64 `json:"core_seconds"`
	UsefulCoreSeconds float64 `json:"useful_core_seconds"`
	// CPUShare is the CPU time of all attempts in which it was measured, as a part of their core-seconds;
	// nil if it was not measured.
	CPUShare *float64 `json:"cpu_share,omitempty"`
	Wasted   []Waste  `json:"wasted"` // by cause, most core-seconds first
}

// Waste are the attempts that ended with one cause and did not complete.
type Waste struct {
	Cause       string  `json:"cause"`
	Attempts    int64   `json:"attempts"`
	CoreSeconds float64 `json:"core_seconds"`
}

// FamilyUse is what the attempts of jobs used whose names differ only in numbers.
type FamilyUse struct {
	Family   string `json:"family"`
	Example  string `json:"example"` // the name of one of the jobs
	Jobs     int64  `json:"jobs"`
	Attempts int64  `json:"attempts"`
	// Of a job, the largest of the family. GPUs are requested, never measured.
	Nodes int64 `json:"nodes"`
	GPUs  int64 `json:"gpus"`
	// CPUs are used on average by an attempt, CPUs on all of its nodes; Peak is the largest number at any
	// time. Memory is the peak of each attempt, in bytes. Runtime is in seconds, of attempts that
	// completed.
	CPUs        Spread  `json:"cpus"`
	Memory      Spread  `json:"memory"`
	Runtime     Spread  `json:"runtime"`
	CoreSeconds float64 `json:"core_seconds"`
	Wasted      []Waste `json:"wasted,omitempty"`
}

// Spread is how much of a resource was used, compared with the request.
type Spread struct {
	Requested float64 `json:"requested"`
	Measured  int64   `json:"measured"` // attempts; the rest is 0 if there are none
	P50       float64 `json:"p50"`
	P95       float64 `json:"p95"`
	Peak      float64 `json:"peak"`
}

// Share returns the median use as a part of the request; -1 if it is not known.
func (s Spread) Share() float64 {
	if s.Requested <= 0 || s.Measured == 0 {
		return -1
	}
	return s.P50 / s.Requested
}

// Meter adds up attempts. The zero value is ready to use.
type Meter struct {
	families map[string]*familyMeter
	wasted   map[string]*Waste
	total    Efficiency
	cpuTime  float64 // of attempts in which it was measured
	cpuCores float64 // core-seconds of these
}

type familyMeter struct {
	use                 FamilyUse
	jobs                map[int64]struct{}
	cpus, memory, times []float64
	peakCPUs            float64
	wasted              map[string]*Waste
}

// Add adds an attempt.
func (m *Meter) Add(a *Attempt) {
	if m.families == nil {
		m.families, m.wasted = map[string]*familyMeter{}, map[string]*Waste{}
	}
	name := FamilyOf(a.JobName)
	f := m.families[name]
	if f == nil {
		f = &familyMeter{use: FamilyUse{Family: name, Example: a.JobName}, jobs: map[int64]struct{}{}, wasted: map[string]*Waste{}}
		m.families[name] = f
	}
	cores := a.coreSeconds()
	m.total.CoreSeconds += cores
	if a.Status == workflow.Completed {
		m.total.UsefulCoreSeconds += cores
	} else {
		addWaste(m.wasted, a.Cause, cores)
		addWaste(f.wasted, a.Cause, cores)
	}
	if a.CPUSeconds != nil && cores > 0 {
		m.cpuTime, m.cpuCores = m.cpuTime+*a.CPUSeconds, m.cpuCores+cores
	}
	f.add(a, cores)
}

func (f *familyMeter) add(a *Attempt, cores float64) {
	u := &f.use
	f.jobs[a.JobID] = struct{}{}
	u.Attempts++
	u.CoreSeconds += cores
	u.Nodes, u.GPUs = max(u.Nodes, a.Nodes, 1), max(u.GPUs, a.GPUs)
	u.CPUs.Requested = max(u.CPUs.Requested, float64(max(a.CPUs, 1)*max(a.Nodes, 1)))
	u.Memory.Requested = max(u.Memory.Requested, float64(a.MemoryBytes))
	u.Runtime.Requested = max(u.Runtime.Requested, float64(a.RuntimeSeconds))
	if a.CPUSeconds != nil && a.Seconds > 0 {
		f.cpus = append(f.cpus, *a.CPUSeconds/a.Seconds)
	}
	if a.PeakCPUPercent != nil {
		f.peakCPUs = max(f.peakCPUs, *a.PeakCPUPercent/100)
	}
	if a.PeakMemoryBytes != nil {
		f.memory = append(f.memory, float64(*a.PeakMemoryBytes))
	}
	if a.Status == workflow.Completed {
		f.times = append(f.times, a.Seconds)
	}
}

func addWaste(by map[string]*Waste, cause string, cores float64) {
	w := by[cause]
	if w == nil {
		w = &Waste{Cause: cause}
		by[cause] = w
	}
	w.Attempts++
	w.CoreSeconds += cores
}

// Report returns what was added up.
func (m *Meter) Report() Efficiency {
	e := m.total
	e.Families, e.Wasted = []FamilyUse{}, wastes(m.wasted)
	if m.cpuCores > 0 {
		share := m.cpuTime / m.cpuCores
		e.CPUShare = &share
	}
	for _, f := range m.families {
		u := f.use
		if u.Jobs = int64(len(f.jobs)); u.Jobs == 1 {
			u.Family = u.Example
		}
		u.CPUs.measure(f.cpus)
		u.CPUs.Peak = max(u.CPUs.Peak, f.peakCPUs)
		u.Memory.measure(f.memory)
		u.Runtime.measure(f.times)
		u.Wasted = wastes(f.wasted)
		e.Families = append(e.Families, u)
	}
	slices.SortFunc(e.Families, func(a, b FamilyUse) int {
		return cmp.Or(cmp.Compare(b.CoreSeconds, a.CoreSeconds), strings.Compare(a.Family, b.Family))
	})
	return e
}

func wastes(by map[string]*Waste) []Waste {
	all := make([]Waste, 0, len(by))
	for _, w := range by {
		all = append(all, *w)
	}
	slices.SortFunc(all, func(a, b Waste) int {
		return cmp.Or(cmp.Compare(b.CoreSeconds, a.CoreSeconds), strings.Compare(a.Cause, b.Cause))
	})
	return all
}

// measure sets the quantiles of some values, which it sorts.
func (s *Spread) measure(values []float64) {
	if s.Measured = int64(len(values)); s.Measured == 0 {
		return
	}
	slices.Sort(values)
	at := func(q float64) float64 { return values[max(int(math.Ceil(q*float64(len(values))))-1, 0)] }
	s.P50, s.P95, s.Peak = at(0.5), at(0.95), values[len(values)-1]
}
