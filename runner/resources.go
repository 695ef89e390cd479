package runner

import (
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/oom"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Resources are what a node has for jobs.
type Resources struct {
	CPUs        int64
	MemoryBytes int64
	GPUs        int64
	// GPUDevices names the devices; 0 to GPUs-1 if empty.
	GPUDevices []string
}

// sharesHost reports whether the runner, outside of allocations, offers everything that
// this host has, because no amounts are set.
func (o *Options) sharesHost() bool {
	r := &o.Resources
	return r.CPUs == 0 && r.MemoryBytes == 0 && r.GPUs == 0 && len(r.GPUDevices) == 0 && o.MaxParallelJobs == 0 &&
		o.NodeType == compute.SchedulerLocal && o.Allocation == nil && o.Steps == nil
}

// capacity is an amount of resources.
type capacity struct {
	cpus, memory, gpus int64
}

func (r Resources) capacity() capacity {
	return capacity{cpus: r.CPUs, memory: r.MemoryBytes, gpus: r.GPUs}
}

func needs(g *lease.Grant) capacity {
	return capacity{cpus: g.CPUs, memory: g.MemoryBytes, gpus: g.GPUs}
}

func (c capacity) plus(d capacity) capacity {
	return capacity{c.cpus + d.cpus, c.memory + d.memory, c.gpus + d.gpus}
}

func (c capacity) minus(d capacity) capacity {
	return capacity{c.cpus - d.cpus, c.memory - d.memory, c.gpus - d.gpus}
}

// holds reports whether d fits into c.
func (c capacity) holds(d capacity) bool {
	return d.cpus <= c.cpus && d.memory <= c.memory && d.gpus <= c.gpus
}

// atLeastZero clips negative amounts.
func (c capacity) atLeastZero() capacity {
	return capacity{max(0, c.cpus), max(0, c.memory), max(0, c.gpus)}
}

// orDetected replaces zero values by what this node has.
func (r Resources) orDetected(environ []string, log *slog.Logger) Resources {
	if r.CPUs <= 0 {
		r.CPUs = int64(runtime.NumCPU()) // respects the affinity mask
	}
	if r.MemoryBytes <= 0 {
		r.MemoryBytes = nodeMemory(log)
	}
	switch {
	case len(r.GPUDevices) > 0:
		r.GPUs = int64(len(r.GPUDevices))
	case r.GPUs <= 0:
		r.GPUDevices = detectGPUs(environ)
		r.GPUs = int64(len(r.GPUDevices))
	}
	return r
}

// devices returns the names of the GPUs.
func (r Resources) devices() []string {
	if len(r.GPUDevices) > 0 {
		return r.GPUDevices
	}
	devices := make([]string, 0, r.GPUs)
	for i := range r.GPUs {
		devices = append(devices, strconv.FormatInt(i, 10))
	}
	return devices
}

// onlineCPUs returns the number of CPUs of the node, whoever may use them; 0 if it is
// not known.
func onlineCPUs() int64 {
	data, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return 0
	}
	return countCPUs(strings.TrimSpace(string(data)))
}

// countCPUs counts the CPUs of a list such as 0-3,8.
func countCPUs(list string) (n int64) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err1 := strconv.ParseInt(first, 10, 64)
		b, err2 := strconv.ParseInt(last, 10, 64)
		if err1 == nil && err2 == nil && b >= a {
			n += b - a + 1
		}
	}
	return n
}

// nodeMemory returns the node's memory, or the limit of our cgroup if that is
// lower.
func nodeMemory(log *slog.Logger) int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		log.Warn("cannot read the node's memory; assuming 1 GiB", "error", err)
		return 1 << 30
	}
	total := int64(info.Totalram) * int64(info.Unit)
	if limit := oom.MemoryLimit(); limit > 0 {
		total = min(total, limit)
	}
	return total
}
