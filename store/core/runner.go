package core

import (
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Runner is what a turn needs to know about a runner.
type Runner struct {
	ID          int64
	WorkflowID  int64
	Hostname    string
	Pid         int64
	NodeType    string
	Turn        int64 // newest turn that had an effect
	IsActive    bool
	EndTime     string
	walltime    time.Duration // of its allocation; 0: it has no end
	whole       int64         // see workflow.Offer, WholeSeconds
	labels      []string
	schedulerID *int64
	strict      bool
	slots       int64              // 0: limited by resources instead
	Total       placement.FreeNode // of one of its nodes
	nodes       int64
	Login       placement.LoginPart
	SharesHost  bool
	BootID      string
}

// ScanRunner reads a row of SelectRunners.
func ScanRunner(row sqlite.Scanner) (r Runner, err error) {
	var labels string
	var memoryGB float64
	var start string
	var walltimeS int64
	err = row.Scan(&r.ID, &r.WorkflowID, &r.Hostname, &r.Pid, &r.NodeType, &r.Turn, &r.IsActive, &r.EndTime, &labels,
		&r.schedulerID, &r.strict, &r.slots, &r.Total.CPUs, &memoryGB, &r.Total.GPUs, &r.nodes, &r.Login, &start, &walltimeS, &r.SharesHost, &r.BootID)
	if err != nil {
		return r, err
	}
	r.walltime = view.WalltimeOf(walltimeS, start, r.EndTime)
	r.Total.Name, r.Total.MemoryBytes = r.Hostname, int64(memoryGB*(1<<30))
	r.labels, err = workflow.ParseLabels(labels)
	return r, err
}

// SelectRunners selects what ScanRunner reads; a condition follows.
const SelectRunners = `SELECT id, workflow_id, hostname, pid, compute_node_type, turn, is_active, COALESCE(end_time, ''), COALESCE(labels, ''),
	scheduler_config_id, strict_scheduler, COALESCE(max_parallel_jobs, 0), num_cpus, memory_gb, num_gpus, num_nodes, login,
	start_time, COALESCE((SELECT json_extract(a.request, '$.walltime_s') FROM allocation a WHERE a.id = allocation_id), 0),
	shares_host, COALESCE(boot_id, '') FROM compute_node `

// LoadRunner reads one of our runners; CodeNotFound if there is none.
func LoadRunner(tx *Tx, id int64) (Runner, error) {
	r, err := GetOne(tx, "compute_node", id, SelectRunners+`WHERE id = ? AND runner_key IS NOT NULL`, ScanRunner)
	r.whole = view.WholeSeconds(r.walltime, r.EndTime, tx.NowMS)
	return r, err
}

// Offer returns what the runner offers, given the free nodes.
func (r *Runner) Offer(free lease.Free) placement.Offer {
	return placement.Offer{
		Nodes: free.Nodes, Slots: free.Slots, TimeLeftSeconds: free.TimeLeftSeconds, WholeSeconds: r.whole, Labels: r.labels,
		SchedulerConfigID: r.schedulerID, StrictScheduler: r.strict, IgnoreResources: r.slots > 0, Login: r.Login,
	}
}

// TotalOffer returns what the runner offers when nothing runs.
func (r *Runner) TotalOffer(timeLeft *int64) placement.Offer {
	slots := r.slots
	if slots == 0 {
		slots = r.nodes * max(r.Total.CPUs, 1)
	}
	return r.Offer(lease.Free{Nodes: slices.Repeat([]placement.FreeNode{r.Total}, int(r.nodes)), Slots: slots, TimeLeftSeconds: timeLeft})
}
