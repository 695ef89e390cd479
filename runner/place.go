package runner

import (
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/oom"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Place is where a runner in an allocation of Slurm finds itself.
type Place struct {
	Cluster      string
	JobID        int64
	RestartCount int64
	NodeID       int64  // 0: the first node of the allocation
	NodeList     string // of the allocation, as Slurm writes it
	TaskPID      int64  // 0 if Slurm does not say
	// Nodes are those that the runner is for, as Slurm names them, its own
	// first; more than one only where it is the only runner of its allocation.
	Nodes []string
	// Resources are what each of them has for jobs.
	Resources Resources
	// End is when Slurm takes the nodes away; zero if it does not say (before
	// 23.02) or if there is no end.
	End time.Time
}

// Probes is what a node says of itself.
type Probes struct {
	// MaskCPUs are those that this process may use, OnlineCPUs those of the node.
	MaskCPUs, OnlineCPUs int64
	NodeMemory           int64    // bytes
	CgroupMemory         int64    // the lowest limit above this process; 0: none
	GPUs                 []string // found without the help of variables
}

// Probe asks this node. It may run the tools of GPU vendors, unless the
// environment names the devices.
func Probe(environ []string) Probes {
	p := Probes{MaskCPUs: int64(runtime.NumCPU()), OnlineCPUs: onlineCPUs(), CgroupMemory: oom.MemoryLimit(), GPUs: detectGPUs(environ)}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		p.NodeMemory = int64(info.Totalram) * int64(info.Unit)
	}
	return p
}

// ownMemory is left for this process and the system where a whole node is ours.
const ownMemory = 128 << 20

// Locate reads Slurm's variables. Isolated says that there is a runner on each
// node even if this one is not in a step of Slurm.
func Locate(environ []string, probes Probes, isolated bool) (Place, error) {
	v := make(variables, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		v[name] = value
	}
	p := Place{
		Cluster: v["SLURM_CLUSTER_NAME"], JobID: v.number("SLURM_JOB_ID"), RestartCount: v.number("SLURM_RESTART_COUNT"),
		NodeID: v.number("SLURM_NODEID"), NodeList: v["SLURM_JOB_NODELIST"], TaskPID: v.number("SLURM_TASK_PID"),
	}
	if p.JobID == 0 {
		return p, workflow.Errorf(workflow.CodeInvalid, "SLURM_JOB_ID is not set: this is no allocation of Slurm")
	}
	if end := v.number("SLURM_JOB_END_TIME"); end > 0 {
		p.End = time.Unix(end, 0)
	}
	p.Nodes = v.nodes(isolated)
	p.Resources = Resources{CPUs: v.cpus(probes), GPUDevices: v.gpus(probes)}
	p.Resources.GPUs = int64(len(p.Resources.GPUDevices))
	p.Resources.MemoryBytes = v.memory(probes, p.Resources)
	return p, nil
}

// variables are those of an environment.
type variables map[string]string

// number reads a variable; 0 if it is not there or no number.
func (v variables) number(name string) int64 {
	n, err := strconv.ParseInt(v[name], 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// nodes lists the nodes that a runner is for: all of the allocation, if it
// takes the place of the batch script; else its own.
func (v variables) nodes(isolated bool) []string {
	all, err := slurm.ExpandNodes(v["SLURM_JOB_NODELIST"])
	if err != nil || len(all) == 0 {
		return []string{v["SLURMD_NODENAME"]}
	}
	own := v["SLURMD_NODENAME"]
	if own == "" {
		own = all[min(int(v.number("SLURM_NODEID")), len(all)-1)]
	}
	nodes := []string{own}
	if isolated || v["SLURM_STEP_ID"] != "" {
		return nodes
	}
	for _, name := range all {
		if name != own {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// cpus is the smallest number of CPUs that the allocation has on any of its
// nodes, or the affinity mask where it confines us to part of this one.
func (v variables) cpus(probes Probes) int64 {
	n := v.number("SLURM_CPUS_ON_NODE")
	if v["SLURM_STEP_ID"] == "" {
		for each := range strings.SplitSeq(v["SLURM_JOB_CPUS_PER_NODE"], ",") {
			each, _, _ = strings.Cut(each, "(") // 4(x3): three nodes with 4 each
			if c, err := strconv.ParseInt(each, 10, 64); err == nil && c > 0 && (n == 0 || c < n) {
				n = c
			}
		}
	}
	if n == 0 || probes.MaskCPUs < min(n, probes.OnlineCPUs) {
		n = probes.MaskCPUs
	}
	return max(n, 1)
}

// memory is what was asked for on each node, but not more than there is.
func (v variables) memory(probes Probes, r Resources) int64 {
	own := int64(ownMemory)
	limits := []int64{probes.CgroupMemory, probes.NodeMemory - min(own, probes.NodeMemory/16)}
	switch { // Slurm sets one of them; 0 means the whole node
	case v.number("SLURM_MEM_PER_NODE") > 0:
		limits = append(limits, v.number("SLURM_MEM_PER_NODE")<<20)
	case v.number("SLURM_MEM_PER_CPU") > 0:
		limits = append(limits, v.number("SLURM_MEM_PER_CPU")*max(v.number("SLURM_CPUS_ON_NODE"), r.CPUs)<<20)
	case v.number("SLURM_MEM_PER_GPU") > 0:
		limits = append(limits, v.number("SLURM_MEM_PER_GPU")*max(r.GPUs, 1)<<20)
	}
	var least int64
	for _, limit := range limits {
		if limit > 0 && (least == 0 || limit < least) {
			least = limit
		}
	}
	return least
}

// gpus are the devices of the allocation on this node. Slurm's word that there
// are none is believed too, since what the tools find may be somebody else's.
func (v variables) gpus(probes Probes) []string {
	for _, name := range gpuLists {
		if list, ok := v[name]; ok {
			return splitDevices(list)
		}
	}
	if n := v.number("SLURM_GPUS_ON_NODE"); n > 0 && n <= int64(len(probes.GPUs)) {
		return probes.GPUs[:n]
	} else if n > 0 {
		return Resources{GPUs: n}.devices()
	}
	return nil
}
