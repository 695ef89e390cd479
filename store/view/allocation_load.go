package view

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// AllocationLoad has the runners of an allocation and their jobs.
type AllocationLoad struct {
	Runners []AllocationNode
	Left    int64 // nodes of runners that have left
	Jobs    []RunningJobs
}

// AllocationNode is a runner in an allocation that has not left.
type AllocationNode struct {
	RunnerID    int64
	Host        string
	Nodes       int64 // of this runner
	CPUs        int64 // per node, as the next two
	MemoryBytes int64
	GPUs        int64
	Labels      []string
}

// RunningJobs counts claimed or running jobs of a class that end in the same second if they
// take as long as declared.
type RunningJobs struct {
	Class placement.Class
	Count int64
	Until time.Time
}

// loads returns the loads of the live allocations of a workflow that have had runners, by
// allocation.
func (l *factReader) loads(workflowID int64) (map[int64]*AllocationLoad, error) {
	loads := make(map[int64]*AllocationLoad)
	if err := allocationNodes(l, workflowID, loads); err != nil {
		return nil, fmt.Errorf("read the runners in allocations of workflow %d: %w", workflowID, err)
	}
	if err := runningJobs(l, workflowID, loads); err != nil {
		return nil, fmt.Errorf("read the jobs in allocations of workflow %d: %w", workflowID, err)
	}
	return loads, nil
}

// fromLiveNodes joins a workflow's live allocations and their runners.
const fromLiveNodes = ` FROM allocation a JOIN compute_node n ON n.allocation_id = a.id `

func allocationNodes(l *factReader, workflowID int64, loads map[int64]*AllocationLoad) error {
	type row struct {
		allocation int64
		active     bool
		node       AllocationNode
	}
	rows, err := selectFacts(l, `SELECT a.id, n.is_active, n.id, n.hostname, n.num_nodes, n.num_cpus, n.memory_gb, n.num_gpus, COALESCE(n.labels, '')`+fromLiveNodes+
		`WHERE a.workflow_id = ? AND a.state != 'ended' ORDER BY n.id`, []any{workflowID}, func(r sqlite.Scanner) (x row, err error) {
		var labels string
		var gib float64
		n := &x.node
		if err := r.Scan(&x.allocation, &x.active, &n.RunnerID, &n.Host, &n.Nodes, &n.CPUs, &gib, &n.GPUs, &labels); err != nil {
			return x, err
		}
		n.MemoryBytes = int64(gib * (1 << 30))
		n.Labels, err = workflow.ParseLabels(labels)
		return x, err
	})
	if err != nil {
		return err
	}
	for _, x := range rows {
		if loads[x.allocation] == nil {
			loads[x.allocation] = &AllocationLoad{}
		}
		if load := loads[x.allocation]; x.active {
			load.Runners = append(load.Runners, x.node)
		} else {
			load.Left += x.node.Nodes
		}
	}
	return nil
}

func runningJobs(l *factReader, workflowID int64, loads map[int64]*AllocationLoad) error {
	classes, err := selectFacts(l, SelectClasses+`WHERE c.workflow_id = ?`, []any{workflowID}, ScanClass)
	if err != nil {
		return err
	}
	byID := make(map[int64]placement.Class, len(classes))
	for _, c := range classes {
		byID[c.ID] = c.Class
	}
	type row struct{ allocation, class, start, n int64 }
	rows, err := selectFacts(l, `SELECT a.id, j.class_id, COALESCE(j.start_ms, j.claimed_ms, ?2) / 1000 AS start, COUNT(*)`+fromLiveNodes+
		`JOIN job j ON j.compute_node_id = n.id AND j.status IN {live}
		WHERE a.workflow_id = ?1 AND a.state != 'ended' GROUP BY 1, 2, 3`, []any{workflowID, l.nowMS},
		func(r sqlite.Scanner) (x row, err error) { return x, r.Scan(&x.allocation, &x.class, &x.start, &x.n) })
	if err != nil {
		return err
	}
	for _, x := range rows {
		class := byID[x.class]
		until := time.Unix(x.start+class.RuntimeSeconds, 0)
		loads[x.allocation].Jobs = append(loads[x.allocation].Jobs, RunningJobs{Class: class, Count: x.n, Until: until})
	}
	return nil
}
