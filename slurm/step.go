package slurm

import (
	"strconv"
	"time"
)

// Step is a job step that srun starts inside an allocation.
type Step struct {
	Job         JobID
	Name        string
	Node        string // the host that it must run on; "": Slurm chooses
	Nodes       int    // 0 means 1
	Tasks       int    // 0 means 1
	CPUsPerTask int    // 0: not specified
	Memory      int64  // bytes per node; 0: not specified
	GPUs        int
	TimeLimit   time.Duration // rounded down to minutes; 0: the allocation's
	Signal      string        // such as "TERM@120"
	MPI         string
	NoCPUBind   bool
	Error       string // where the step's error output goes; "": to srun's
	Overlap     bool   // it shares the resources of other steps, and takes nothing from them
	Program     []string
}

// SrunArgs returns the arguments of srun for a step, in a fixed order.
func SrunArgs(s Step) []string {
	args := []string{"--jobid=" + s.Job.String(), "--ntasks=" + strconv.Itoa(max(s.Tasks, 1))}
	if s.NoCPUBind {
		args = append(args, "--cpu-bind=none")
	}
	share := "--exact"
	if s.Overlap {
		share = "--overlap"
	}
	args = append(args, share, "--job-name="+s.Name)
	if s.Node != "" {
		args = append(args, "--nodelist="+s.Node)
	}
	args = append(args, "--nodes="+strconv.Itoa(max(s.Nodes, 1)))
	if s.CPUsPerTask > 0 {
		args = append(args, "--cpus-per-task="+strconv.Itoa(s.CPUsPerTask))
	}
	if s.Memory > 0 {
		args = append(args, "--mem="+FormatMemory(s.Memory))
	}
	if s.GPUs > 0 {
		args = append(args, "--gpus="+strconv.Itoa(s.GPUs))
	}
	if minutes := int(s.TimeLimit / time.Minute); minutes > 0 {
		args = append(args, "--time="+strconv.Itoa(minutes))
	}
	if s.Signal != "" {
		args = append(args, "--signal="+s.Signal)
	}
	if s.MPI != "" {
		args = append(args, "--mpi="+s.MPI)
	}
	if s.Error != "" {
		args = append(args, "--error="+s.Error)
	}
	return append(args, s.Program...)
}
