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

// Place is the part of a Slurm allocation that a runner serves.
type Place struct {
	Cluster      string
	JobID        int64
	RestartCount int64
	NodeID       int64  // 0: the first node of the allocation
	NodeList     string // of the allocation, as Slurm writes it
	TaskPID      int64  // 0 if Slurm does not say
	// Nodes are those that the runner serves, as Slurm names them, its own first;
	// more than one only if it is the only runner of its allocation.
	Nodes []string
	// Resources are what each of them has for jobs.
	Resources Resources
	// End is when the allocation ends; zero if Slurm does not say (before 23.02) or
	// if it has no end.
	End time.Time
}

// Probes is what was measured on a node.
type Probes struct {
	// MaskCPUs is the number of CPUs that this process may use, OnlineCPUs of the node.
	MaskCPUs, OnlineCPUs int64
	NodeMemory           int64    // bytes
	CgroupMemory         int64    // the lowest limit above this process; 0: none
	GPUs                 []string // found without SLURM variables
}

// Probe measures this node. It may run the tools of GPU vendors, unless the
// environment names the devices.
func Probe(environ []string) Probes {
	p := Probes{MaskCPUs: int64(runtime.NumCPU()), OnlineCPUs: onlineCPUs(), CgroupMemory: oom.MemoryLimit(), GPUs: detectGPUs(environ)}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		p.NodeMemory = int64(info.Totalram) * int64(info.Unit)
	}
	return p
}

// ownMemory is reserved for this process and the system if the runner has a whole node.
const ownMemory = 128 << 20

// Locate returns the place that Slurm's variables describe. isolated says that each
// node has a runner, even if this one is not in a Slurm step. Its error has the code
// invalid if this is not an allocation.
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
		return p, workflow.Errorf(workflow.CodeInvalid, "SLURM_JOB_ID is not set: this is not a Slurm allocation")
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

// variables are the variables of an environment.
type variables map[string]string

// number returns the value of a variable, 0 if it is unset or not a number.
func (v variables) number(name string) int64 {
	n, err := strconv.ParseInt(v[name], 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// nodes returns the nodes that a runner serves: all of the allocation if it runs in
// the batch script, else its own.
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

// cpus returns the smallest number of CPUs that the allocation has on any of its
// nodes, or that of the affinity mask if it is smaller.
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

// memory returns the memory that was requested on each node, but not more than there is.
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

// gpus returns the devices of the allocation on this node. If Slurm lists none, there
// are none: those that the vendors' tools find may belong to other jobs.
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
