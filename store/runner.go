package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Registration introduces a runner.
type Registration struct {
	WorkflowID        int64
	Key               string // made by the runner, unique to its life
	Hostname          string
	PID               int64
	BootID            string
	StartTime         string // RFC 3339
	EndTime           string // of its allocation, RFC 3339; empty if it has none
	NumCPUs           int64  // per node, as the next two
	MemoryBytes       int64
	NumGPUs           int64
	NumNodes          int64
	Labels            []string
	NodeType          string // local, slurm
	OutputDir         string // absolute
	MaxParallelJobs   int64  // not 0: it counts jobs and ignores resources
	SchedulerConfigID *int64
	StrictScheduler   bool
	Scheduler         json.RawMessage   // free form; nil if not given
	Allocation        *AllocationMember // nil outside of allocations of ours
	Login             workflow.LoginPart
	// SharesHost: what it offers is all that its host has, which it shares with other
	// such runners.
	SharesHost bool
}

// Registered is what a runner is told when it is known.
type Registered struct {
	RunnerID int64
	Workflow workflow.Workflow
}

// RegisterRunner makes a runner of a workflow known. Repeating it with the same
// key returns the same runner.
func (s *Store) RegisterRunner(_ context.Context, r Registration) (Registered, error) {
	labels, err := workflow.NormalizeLabels(r.Labels)
	if err != nil {
		return Registered{}, err
	}
	r.Labels = labels
	switch {
	case r.Key == "":
		return Registered{}, workflow.Errorf(workflow.CodeInvalid, "a runner needs a key")
	case r.Hostname == "":
		return Registered{}, workflow.Errorf(workflow.CodeInvalid, "a runner needs a hostname")
	case min(r.NumCPUs, r.MemoryBytes, r.NumGPUs, r.MaxParallelJobs) < 0 || r.NumNodes < 1:
		return Registered{}, workflow.Errorf(workflow.CodeInvalid, "a runner has at least one node and no negative resources")
	}
	if err := workflow.CheckName("host", r.Hostname); err != nil {
		return Registered{}, err
	}
	var answer Registered
	var refusal error // what it rests on is stored
	err = s.writer.do("register runner", func(tx *Tx) (err error) {
		if answer.Workflow, err = getWorkflow(tx, r.WorkflowID); err != nil {
			return err
		}
		joined := r
		var allocation *int64
		if allocation, refusal, err = tx.join(&joined); err != nil || refusal != nil {
			return err
		}
		answer.RunnerID, err = tx.register(&joined, allocation)
		return err
	})
	return answer, cmp.Or(err, refusal)
}

// register returns the id of the runner with the registration's key, which it
// inserts if there is none.
func (tx *Tx) register(r *Registration, allocation *int64) (int64, error) {
	var id, workflowID int64
	err := tx.row(`SELECT id, workflow_id FROM compute_node WHERE runner_key = ?`, []any{r.Key}, &id, &workflowID)
	switch {
	case err == nil && workflowID != r.WorkflowID:
		return 0, workflow.Errorf(workflow.CodeConflict, "runner %d has this key and belongs to workflow %d", id, workflowID)
	case err == nil:
		return id, nil
	case !errors.Is(err, sql.ErrNoRows):
		return 0, fmt.Errorf("find a runner of workflow %d by its key: %w", r.WorkflowID, err)
	}
	n := workflow.ComputeNode{
		WorkflowID: r.WorkflowID, Hostname: r.Hostname, PID: r.PID, NumCPUs: r.NumCPUs,
		MemoryGB: float64(r.MemoryBytes) / (1 << 30), NumGPUs: r.NumGPUs, Type: r.NodeType,
	}
	n.ID, err = tx.insert(`INSERT INTO compute_node (workflow_id, hostname, pid, start_time, end_time, is_active, num_cpus, memory_gb, num_gpus,
			num_nodes, scheduler_config_id, compute_node_type, labels, scheduler, runner_key, boot_id, output_dir, max_parallel_jobs, strict_scheduler,
			allocation_id, login, shares_host)
		VALUES (?, ?, ?, ?, NULLIF(?, ''), 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULLIF(?, 0), ?, ?, ?, ?)`,
		n.WorkflowID, n.Hostname, n.PID, r.StartTime, r.EndTime, n.NumCPUs, n.MemoryGB, n.NumGPUs,
		r.NumNodes, r.SchedulerConfigID, n.Type, joinedLabels(r.Labels), text(r.Scheduler), r.Key, r.BootID, r.OutputDir,
		r.MaxParallelJobs, r.StrictScheduler, allocation, int64(r.Login), r.sharesHost(allocation))
	if err != nil {
		return 0, fmt.Errorf("insert a runner of workflow %d: %w", r.WorkflowID, err)
	}
	return n.ID, tx.computeNodeStarted(&n)
}

// sharesHost reports whether a runner shares its host. One that counts jobs, one with
// several nodes, and one in an allocation does not.
func (r *Registration) sharesHost(allocation *int64) bool {
	return r.SharesHost && r.MaxParallelJobs == 0 && r.NumNodes == 1 && allocation == nil && r.BootID != ""
}

// runner is what a turn must know of a runner.
type runner struct {
	id          int64
	workflowID  int64
	hostname    string
	pid         int64
	nodeType    string
	turn        int64 // the newest that had an effect
	isActive    bool
	endTime     string
	walltime    time.Duration // from the start of its allocation to the end; 0 without end
	whole       int64         // see workflow.Offer, WholeSeconds
	labels      []string
	schedulerID *int64
	strict      bool
	slots       int64              // 0: it looks at resources
	total       workflow.OfferNode // one of its nodes
	nodes       int64
	login       workflow.LoginPart
	sharesHost  bool
	bootID      string
}

func scanRunner(row rowScanner) (r runner, err error) {
	var labels string
	var memoryGB float64
	var start string
	var walltimeS int64
	err = row.Scan(&r.id, &r.workflowID, &r.hostname, &r.pid, &r.nodeType, &r.turn, &r.isActive, &r.endTime, &labels,
		&r.schedulerID, &r.strict, &r.slots, &r.total.CPUs, &memoryGB, &r.total.GPUs, &r.nodes, &r.login, &start, &walltimeS, &r.sharesHost, &r.bootID)
	if err != nil {
		return r, err
	}
	r.walltime = walltimeOf(walltimeS, start, r.endTime)
	r.total.Name, r.total.MemoryBytes = r.hostname, int64(memoryGB*(1<<30))
	r.labels, err = workflow.ParseLabels(labels)
	return r, err
}

// walltimeOf is how long an allocation lasts: what was asked for, or, of a runner
// in none, from its start to its end; 0 without end.
func walltimeOf(askedS int64, start, end string) time.Duration {
	if askedS > 0 || end == "" {
		return time.Duration(askedS) * time.Second
	}
	from, err := time.Parse(time.RFC3339, start)
	if err != nil {
		return 0
	}
	to, err := time.Parse(time.RFC3339, end)
	if err != nil {
		return 0
	}
	return to.Sub(from)
}

// wholeSeconds is the longest runtime that a job may declare to start in what is
// left of a walltime until its end, if that is fresh.
func wholeSeconds(walltime time.Duration, end string, nowMS int64) int64 {
	t, err := time.Parse(time.RFC3339, end)
	if err != nil {
		return 0
	}
	return int64(workflow.WholeRuntime(walltime, t.Sub(time.UnixMilli(nowMS))) / time.Second)
}

const selectRunners = `SELECT id, workflow_id, hostname, pid, compute_node_type, turn, is_active, COALESCE(end_time, ''), COALESCE(labels, ''),
	scheduler_config_id, strict_scheduler, COALESCE(max_parallel_jobs, 0), num_cpus, memory_gb, num_gpus, num_nodes, login,
	start_time, COALESCE((SELECT json_extract(a.request, '$.walltime_s') FROM allocation a WHERE a.id = allocation_id), 0),
	shares_host, COALESCE(boot_id, '') FROM compute_node `

// runner reads a runner of ours.
func (tx *Tx) runner(id int64) (runner, error) {
	r, err := getOne(tx, "compute_node", id, selectRunners+`WHERE id = ? AND runner_key IS NOT NULL`, scanRunner)
	r.whole = wholeSeconds(r.walltime, r.endTime, tx.nowMS)
	return r, err
}

// offer is what the runner has to give of the nodes that are free.
func (r *runner) offer(free Free) workflow.Offer {
	return workflow.Offer{
		Nodes: free.Nodes, Slots: free.Slots, TimeLeftSeconds: free.TimeLeftSeconds, WholeSeconds: r.whole, Labels: r.labels,
		SchedulerConfigID: r.schedulerID, StrictScheduler: r.strict, IgnoreResources: r.slots > 0, Login: r.login,
	}
}

// totalOffer is what the runner has to give when nothing runs.
func (r *runner) totalOffer(timeLeft *int64) workflow.Offer {
	slots := r.slots
	if slots == 0 {
		slots = r.nodes * max(r.total.CPUs, 1)
	}
	return r.offer(Free{Nodes: slices.Repeat([]workflow.OfferNode{r.total}, int(r.nodes)), Slots: slots, TimeLeftSeconds: timeLeft})
}

// NoteLaunchPause writes in the log of a runner's workflow that the runner starts
// no jobs for now. A daemon that has just begun may write it once more.
func (s *Store) NoteLaunchPause(_ context.Context, runnerID int64, why workflow.LaunchPause) error {
	return s.writer.do("note a pause", func(tx *Tx) error {
		r, err := tx.runner(runnerID)
		if err != nil {
			return err
		}
		return tx.event(r.workflowID, string(workflow.EventLaunchPaused), workflow.SeverityWarning, workflow.LaunchPausedPayload{
			ComputeNodeID: r.id, Hostname: r.hostname, LaunchPause: why,
		})
	})
}
