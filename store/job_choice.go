package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/operate"
)

// JobChoice chooses jobs of a workflow. What is set must all match.
type JobChoice struct {
	Jobs     []string // names, patterns of names (*, ?, [abc]) and ids; nil: any
	Statuses []workflow.JobStatus
	Causes   []workflow.CauseKind // of the latest attempt in this run
	Group    string               // the fingerprint of how the latest attempt failed
	All      bool                 // all jobs, if nothing else is set
}

// IsEmpty reports whether nothing is chosen.
func (c *JobChoice) IsEmpty() bool {
	return len(c.Jobs)+len(c.Statuses)+len(c.Causes) == 0 && c.Group == "" && !c.All
}

// chosenJob is a job that was chosen, with what a decision about it depends on.
type chosenJob struct {
	LiveJob
	operate.JobFacts
	attempt int64
	child   int64 // the stage of the sub-workflow that it stands for; 0: none
	named   bool  // by its name or id
}

// choice chooses jobs within a transaction.
type choice struct {
	tx    *core.Tx
	r     *view.Run
	named map[int64]bool
}

// choose returns the chosen jobs by id. Those of a sub-workflow that has begun stand for the
// job that stands for it. It returns CodeNotFound if a name, a pattern or everything together
// matches no job.
func choose(tx *core.Tx, r *view.Run, c *JobChoice) ([]chosenJob, error) {
	if c.IsEmpty() {
		return nil, workflow.Errorf(workflow.CodeInvalid, "no jobs are chosen").WithHint("name jobs, or choose them by status, cause or group")
	}
	x := choice{tx: tx, r: r, named: map[int64]bool{}}
	var conditions []string
	args := []any{r.WorkflowID, r.RunID}
	add := func(condition string, value any) {
		args = append(args, value)
		conditions = append(conditions, strings.ReplaceAll(condition, "?N", fmt.Sprintf("?%d", len(args))))
	}
	if len(c.Jobs) > 0 {
		ids, err := x.resolve(c.Jobs)
		if err != nil {
			return nil, err
		}
		add(`j.id IN (SELECT value FROM json_each(?N))`, sqlite.IDList(ids))
	}
	if len(c.Statuses) > 0 {
		list := make([]int64, len(c.Statuses))
		for i, s := range c.Statuses {
			list[i] = int64(s)
		}
		add(`j.status IN (SELECT value FROM json_each(?N))`, sqlite.IDList(list))
	}
	if len(c.Causes) > 0 {
		text, err := json.Marshal(c.Causes)
		if err != nil {
			return nil, fmt.Errorf("choose jobs: %w", err)
		}
		add(latestAttempt+` AND a.cause IN (SELECT value FROM json_each(?N)))`, string(text))
	}
	if c.Group != "" {
		ids, err := x.failedAlike(c.Group)
		if err != nil {
			return nil, err
		}
		add(`j.id IN (SELECT value FROM json_each(?N))`, sqlite.IDList(ids))
	}
	jobs, err := x.read(strings.Join(append(conditions, `?2 IS NOT NULL`), ` AND `), args...)
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, workflow.Errorf(workflow.CodeNotFound, "no job of workflow %d is chosen: %s", r.WorkflowID, c)
	}
	return x.withStages(jobs)
}

// latestAttempt begins a condition about the latest attempt of job j in run ?2.
const latestAttempt = `EXISTS (SELECT 1 FROM attempt a WHERE a.job_id = j.id AND a.run_id = ?2
	AND a.attempt_id = (SELECT MAX(attempt_id) FROM attempt WHERE job_id = j.id AND run_id = ?2)`

// String returns what was chosen: "name a*, status ready".
func (c *JobChoice) String() string {
	var parts []string
	if len(c.Jobs) > 0 {
		parts = append(parts, "name "+strings.Join(c.Jobs, ", "))
	}
	for _, s := range c.Statuses {
		parts = append(parts, "status "+s.String())
	}
	for _, s := range c.Causes {
		parts = append(parts, "cause "+string(s))
	}
	if c.Group != "" {
		parts = append(parts, "group "+c.Group)
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, "; ")
}

// resolve returns the ids of jobs by names, patterns and ids; a name takes precedence.
func (x *choice) resolve(refs []string) (ids []int64, err error) {
	for _, ref := range refs {
		found, err := core.IDsOf(x.tx, `SELECT id FROM job WHERE workflow_id = ? AND name = ?`, x.r.WorkflowID, ref)
		if err != nil {
			return nil, fmt.Errorf("find job %q: %w", ref, err)
		}
		if len(found) == 0 {
			found, err = x.byIDOrPattern(ref)
		} else {
			x.name(found)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	return ids, nil
}

func (x *choice) name(ids []int64) {
	for _, id := range ids {
		x.named[id] = true
	}
}

func (x *choice) byIDOrPattern(ref string) ([]int64, error) {
	w := x.r.WorkflowID
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil && id > 0 {
		var of int64
		err := x.tx.Row(`SELECT COALESCE((SELECT workflow_id FROM job WHERE id = ?), 0)`, []any{id}, &of)
		switch {
		case err != nil:
			return nil, fmt.Errorf("find job %d: %w", id, err)
		case of == w:
			x.name([]int64{id})
			return []int64{id}, nil
		case of != 0:
			return nil, workflow.Errorf(workflow.CodeNotFound, "job %d belongs to workflow %d, not to workflow %d", id, of, w).WithHint("choose its workflow with -w (workflow_id in the API)")
		}
	}
	if strings.ContainsAny(ref, "*?[") {
		found, err := core.IDsOf(x.tx, `SELECT id FROM job WHERE workflow_id = ? AND name GLOB ?`, w, ref)
		if err != nil {
			return nil, fmt.Errorf("find jobs like %q: %w", ref, err)
		}
		if len(found) == 0 {
			return nil, workflow.Errorf(workflow.CodeNotFound, "no job of workflow %d has a name like %q", w, ref).WithHint("* stands for any text, ? for one character; `torc-slurm jobs list %d` lists the names", w)
		}
		return found, nil
	}
	names, err := sqlite.Select(x.tx, sqlite.ScanString, `SELECT name FROM job WHERE workflow_id = ? ORDER BY id LIMIT 100000`, w)
	if err != nil {
		return nil, fmt.Errorf("read the names of the jobs of workflow %d: %w", w, err)
	}
	e := workflow.Errorf(workflow.CodeNotFound, "workflow %d has no job %q", w, ref)
	if near := workflow.Nearest(ref, names); near != "" {
		return nil, e.WithHint("did you mean %q?", near)
	}
	return nil, e.WithHint("`torc-slurm jobs list %d` lists them; -w chooses another workflow", w)
}

// failedAlike returns the jobs whose latest attempt failed with a fingerprint.
func (x *choice) failedAlike(group string) (ids []int64, err error) {
	ids, err = core.IDsOf(x.tx, `SELECT j.id FROM job j JOIN attempt a ON a.job_id = j.id AND a.run_id = ?2
			AND a.attempt_id = (SELECT MAX(attempt_id) FROM attempt WHERE job_id = j.id AND run_id = ?2)
		WHERE j.workflow_id = ?1 AND a.fingerprint = ?3 ORDER BY j.id`, x.r.WorkflowID, x.r.RunID, group)
	if err != nil {
		return nil, fmt.Errorf("find the jobs of group %s: %w", group, err)
	}
	if len(ids) == 0 {
		return nil, workflow.Errorf(workflow.CodeNotFound, "no job of workflow %d has failed in the group %s", x.r.WorkflowID, group)
	}
	return ids, nil
}

// read reads the jobs that meet a condition, by id.
func (x *choice) read(condition string, args ...any) ([]chosenJob, error) {
	jobs, err := sqlite.Select(x.tx, func(r sqlite.Scanner) (j chosenJob, err error) {
		var kind, state string
		var inner bool
		err = r.Scan(&j.ID, &j.Name, &j.JobFacts.Status, &j.StartMS, &j.CPUs, &j.JobFacts.Unreachable, &j.attempt, &j.Recovering, &j.Canceling, &j.Held, &j.Priority, &j.child, &kind, &state, &inner)
		j.LiveJob.Status = j.JobFacts.Status
		switch {
		case kind == string(workflow.StageCompensation):
			j.Part = operate.PartCompensation
		case kind == string(workflow.StageEnd):
			j.Part = operate.PartEnd
		case inner && state != "running":
			j.Part = operate.PartNotBegun
		}
		return j, err
	}, `SELECT j.id, j.name, j.status, COALESCE(j.start_ms, 0), iif(q.name = 'default', 0, q.num_cpus * MAX(1, q.num_nodes)),
			j.status IN {live} AND NOT EXISTS (SELECT 1 FROM compute_node n WHERE n.id = j.compute_node_id AND n.runner_key IS NOT NULL),
			j.attempt_id, j.phase, j.cancel_fence > 0 AND j.cancel_fence = j.fence AND j.cancel_for IS NULL, c.held, c.priority, COALESCE(j.child_id, 0),
			COALESCE(s.kind, ''), COALESCE(s.state, ''), s.id IS NOT NULL
		FROM job j JOIN claim_class c ON c.id = j.class_id JOIN resource_requirements q ON q.id = c.requirements_id LEFT JOIN stage s ON s.id = j.stage_id
		WHERE j.workflow_id = ?1 AND `+condition+` ORDER BY j.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read the chosen jobs of workflow %d: %w", x.r.WorkflowID, err)
	}
	for i := range jobs {
		jobs[i].named = x.named[jobs[i].ID]
	}
	return jobs, nil
}

// withStages replaces jobs that stand for running sub-workflows by the jobs of these.
func (x *choice) withStages(jobs []chosenJob) ([]chosenJob, error) {
	known := map[int64]bool{}
	for i := range jobs {
		known[jobs[i].ID] = true
	}
	for i := 0; i < len(jobs); i++ {
		j := &jobs[i]
		if j.child == 0 || j.JobFacts.Status != workflow.Running {
			continue
		}
		inner, err := x.read(`?2 IS NOT NULL AND j.stage_id = ?3`, x.r.WorkflowID, x.r.RunID, j.child)
		if err != nil {
			return nil, err
		}
		for _, k := range inner {
			if !known[k.ID] {
				known[k.ID] = true
				jobs = append(jobs, k)
			}
		}
	}
	jobs = slices.DeleteFunc(jobs, func(j chosenJob) bool { return j.child != 0 && j.JobFacts.Status == workflow.Running })
	slices.SortFunc(jobs, func(a, b chosenJob) int { return int(a.ID - b.ID) })
	return jobs, nil
}
