package runner

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// gpuVariables tell programs which devices they may use.
var gpuVariables = []string{
	"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "TORC_GPU_VISIBLE_DEVICES",
}

// gpuPool hands out devices in the order in which they were returned.
type gpuPool struct {
	devices []string
	free    []string
	next    int // for sharing when all are taken
}

func newGPUPool(devices []string) *gpuPool {
	return &gpuPool{devices: devices, free: append([]string(nil), devices...)}
}

// take returns n devices. shared says that other jobs use them, too; this happens only
// if a number of parallel jobs is set, so that resources are ignored.
func (p *gpuPool) take(n int64) (devices []string, shared bool) {
	if n <= 0 || len(p.devices) == 0 {
		return nil, false
	}
	n = min(n, int64(len(p.devices)))
	if int64(len(p.free)) >= n {
		devices = append(devices, p.free[:n]...)
		p.free = p.free[n:]
		return devices, false
	}
	for range n {
		devices = append(devices, p.devices[p.next%len(p.devices)])
		p.next++
	}
	return devices, true
}

// give puts back devices that take returned unshared.
func (p *gpuPool) give(devices []string) { p.free = append(p.free, devices...) }

// gpuLists are the variables that list our devices; the first that is set counts.
var gpuLists = []string{"CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS", "SLURM_JOB_GPUS"}

// detectGPUs returns the devices that the environment names, else all that the
// vendors' tools list.
func detectGPUs(environ []string) []string {
	values := make(map[string]string)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	for _, name := range gpuLists {
		if value, ok := values[name]; ok {
			return splitDevices(value)
		}
	}
	if devices := runTool("nvidia-smi", "--query-gpu=index", "--format=csv,noheader"); len(devices) > 0 {
		return devices
	}
	return rocmDevices(runTool("rocm-smi", "--showid", "--csv"))
}

// splitDevices reads a list such as 0,1 or gpu:0,gpu:1.
func splitDevices(list string) []string {
	var devices []string
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimPrefix(strings.TrimSpace(item), "gpu:")
		if item == "-1" || item == "NoDevFiles" {
			return nil // the vendors' way to say none
		}
		if item != "" {
			devices = append(devices, item)
		}
	}
	return devices
}

// toolTime limits a vendor's tool, which hangs with a broken driver.
const toolTime = 5 * time.Second

// runTool returns the lines that a program prints, none if it cannot be run.
func runTool(name string, args ...string) []string {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), toolTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// rocmDevices reads lines such as "card0,0x740f".
func rocmDevices(lines []string) []string {
	var devices []string
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "card"); ok {
			number, _, _ := strings.Cut(rest, ",")
			devices = append(devices, number)
		}
	}
	return devices
}
