package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Create stores jobs of one workflow, all or none, and returns them in the same order with
// ids, effective environments and sorted labels. Jobs start uninitialized and can depend
// only on existing jobs. The default requirements apply where none are given.
func (s Jobs) Create(_ context.Context, jobs []workflow.Job) ([]workflow.Job, error) {
	created := slices.Clone(jobs)
	for i := range created {
		if err := checkNewJob(&created[i]); err != nil {
			return nil, err
		}
		if created[i].WorkflowID != created[0].WorkflowID {
			return nil, workflow.Errorf(workflow.CodeInvalid, "the jobs belong to different workflows: %d and %d", created[0].WorkflowID, created[i].WorkflowID)
		}
	}
	if len(created) == 0 {
		return nil, nil
	}
	var env map[string]string
	err := s.shared.Do("create jobs", func(tx *core.Tx) error {
		w, err := core.GetWorkflow(tx, created[0].WorkflowID)
		if err != nil {
			return err
		}
		env = w.Env
		if err := createJobs(tx, created); err != nil || w.Verdict == "" {
			return err
		}
		r, err := core.LoadRun(tx, w.ID)
		if err != nil {
			return err
		}
		return engine.ReopenIfOpen(tx, r)
	})
	if err != nil {
		return nil, err
	}
	for i := range created {
		created[i].Env = workflow.MergeEnv(env, created[i].Env)
	}
	return created, nil
}

// checkNewJob rejects invalid jobs, and normalizes a job's lists.
func checkNewJob(j *workflow.Job) (err error) {
	if err := workflow.CheckName("job", j.Name); err != nil {
		return err
	}
	if j.Priority < 0 {
		return workflow.Errorf(workflow.CodeInvalid, "job %q: priority must not be negative, but is %d", j.Name, j.Priority)
	}
	if err := workflow.ValidateEnv(j.Env); err != nil {
		return fmt.Errorf("job %q: %w", j.Name, err)
	}
	if err := workflow.ProblemsError(fmt.Sprintf("job %q", j.Name), j.Policy.Validate()); err != nil {
		return err
	}
	if j.Labels, err = workflow.NormalizeLabels(j.Labels); err != nil {
		return fmt.Errorf("job %q: %w", j.Name, err)
	}
	j.DependsOn = core.IDSet(j.DependsOn)
	for _, list := range view.LinksOf(j) {
		*list = core.IDSet(*list)
	}
	j.Status, j.AttemptID, j.Origin, j.StartTime, j.ComputeNodeID = workflow.Uninitialized, 1, nil, nil, nil
	return nil
}

// createJobs stores jobs of one workflow, whose Env does not include the workflow's, and
// sets their ids.
func createJobs(tx *core.Tx, jobs []workflow.Job) error {
	in, err := newJobInserter(tx, jobs[0].WorkflowID)
	if err != nil {
		return err
	}
	gates := map[row.GateHash]int64{}
	for i := range jobs {
		if jobs[i].GateID, err = in.gate(gates, &jobs[i]); err != nil {
			return err
		}
		if err := in.insert(&jobs[i]); err != nil {
			return err
		}
	}
	if err := in.finish(); err != nil {
		return err
	}
	return checkSameStage(tx, in.workflowID, in.first, in.next-1)
}

// jobInserter stores jobs of one workflow.
type jobInserter struct {
	tx           *core.Tx
	workflowID   int64
	first, next  int64 // ids of its first and its next job
	requirements int64 // the default; 0 if there is none
	known        map[reference]bool
	classes      map[core.ClassKey]int64
	envs         map[string]int64
	policies     map[string]int64 // by their text
	jobs         *sqlite.Bulk
	links        [4]*sqlite.Bulk
	byStatus     map[workflow.JobStatus]int64
}

// reference is a row that jobs refer to.
type reference struct {
	table string
	id    int64
}

func newJobInserter(tx *core.Tx, workflowID int64) (*jobInserter, error) {
	in := &jobInserter{
		tx: tx, workflowID: workflowID,
		known: map[reference]bool{}, classes: map[core.ClassKey]int64{}, envs: map[string]int64{}, policies: map[string]int64{}, byStatus: map[workflow.JobStatus]int64{},
		jobs: tx.NewBulk("job", `id, workflow_id, name, command, env_id, policy_id, status, class_id, gate_id, failure_handler_id,
			run_if, torc_extra, stdio, run_timeout, origin, stage_id, child_id, undoes_id, `+strings.Join(row.JobSettingColumns(), ", ")),
	}
	for i, table := range view.LinkTables {
		in.links[i] = tx.NewBulk(table.Name, "job_id, "+table.Column)
	}
	err := tx.Row(`SELECT COALESCE(MIN(id), 0) FROM resource_requirements WHERE workflow_id = ? AND name = ?`,
		[]any{workflowID, workflow.DefaultRequirements}, &in.requirements)
	if err != nil {
		return nil, fmt.Errorf("find the default requirements of workflow %d: %w", workflowID, err)
	}
	if in.first, err = tx.NextID("job"); err != nil {
		return nil, fmt.Errorf("number new jobs of workflow %d: %w", workflowID, err)
	}
	in.next = in.first
	return in, nil
}

// gate returns the gate of a new job's dependencies; nil if it has none.
func (in *jobInserter) gate(known map[row.GateHash]int64, j *workflow.Job) (*int64, error) {
	if len(j.DependsOn) == 0 {
		return nil, nil
	}
	if last := j.DependsOn[len(j.DependsOn)-1]; last >= in.first {
		return nil, workflow.Errorf(workflow.CodeInvalid, "job %q depends on job %d, which does not exist", j.Name, last)
	}
	hash := row.HashGate(j.DependsOn)
	id, found := known[hash]
	if !found {
		var err error
		if id, err = engine.GateOf(in.tx, in.workflowID, j.DependsOn); err != nil {
			return nil, err
		}
		known[hash] = id
	}
	return &id, nil
}

// insert stores a job, whose Env does not include the workflow's, and sets its id.
func (in *jobInserter) insert(j *workflow.Job) error {
	class, err := in.class(j)
	if err != nil {
		return err
	}
	if j.FailureHandlerID != nil {
		if err := in.require("failure_handler", "failure handler", *j.FailureHandlerID); err != nil {
			return err
		}
	}
	env, err := in.env(j.Env)
	if err != nil {
		return fmt.Errorf("insert job %q: %w", j.Name, err)
	}
	stdio, err := jsonText(j.Stdio)
	if err != nil {
		return fmt.Errorf("insert job %q: %w", j.Name, err)
	}
	if j.Policy != nil && j.Policy.Timeouts != nil && j.Policy.Timeouts.Run != nil {
		j.RunTimeout = j.Policy.Timeouts.Run.Enforced()
	}
	timeout, err := jsonText(j.RunTimeout)
	if err != nil {
		return fmt.Errorf("insert job %q: %w", j.Name, err)
	}
	policy, err := in.policy(j.Policy)
	if err != nil {
		return fmt.Errorf("insert job %q: %w", j.Name, err)
	}
	j.ID = in.next
	in.next++
	in.byStatus[j.Status]++
	err = in.jobs.Add(append([]any{j.ID, in.workflowID, j.Name, j.Command, env, policy, int64(j.Status), class, j.GateID, j.FailureHandlerID,
		int64(j.RunIf), row.TorcExtra{Keys: &j.TorcJob}, stdio, timeout, j.Origin, j.StageID, j.ChildID, j.UndoesID}, row.JobSettings(&j.JobSettings)...)...)
	if err != nil {
		return fmt.Errorf("insert jobs of workflow %d: %w", in.workflowID, err)
	}
	for i, list := range view.LinksOf(j) {
		for _, id := range *list {
			if err := in.links[i].Add(j.ID, id); err != nil {
				return fmt.Errorf("insert links of jobs of workflow %d: %w", in.workflowID, err)
			}
		}
	}
	return nil
}

// class returns the claim class of a new job. It sets the default requirements if the job
// has none.
func (in *jobInserter) class(j *workflow.Job) (int64, error) {
	if j.ResourceRequirementsID == nil {
		if in.requirements == 0 {
			return 0, workflow.Errorf(workflow.CodeConflict, "workflow %d has no default resource requirements", in.workflowID)
		}
		j.ResourceRequirementsID = &in.requirements
	}
	key := classKeyOf(j)
	if id, known := in.classes[key]; known {
		return id, nil
	}
	if err := in.require("resource_requirements", "resource requirements", key.RequirementsID); err != nil {
		return 0, err
	}
	if err := checkScheduler(in.tx, in.workflowID, key.SchedulerID); err != nil {
		return 0, err
	}
	id, err := core.ClassOf(in.tx, in.workflowID, key)
	in.classes[key] = id
	return id, err
}

// classKeyOf returns the properties of a job that matter for claims.
func classKeyOf(j *workflow.Job) core.ClassKey {
	key := core.ClassKey{Priority: j.Priority, Labels: workflow.JoinLabels(j.Labels), Login: j.Login, Held: j.UserHold != nil}
	core.Set(&key.RequirementsID, j.ResourceRequirementsID)
	core.Set(&key.SchedulerID, j.SchedulerID)
	return key
}

// checkScheduler rejects a scheduler of another workflow. Unknown ids are accepted, since
// torc's clients use schedulers as mere numbers.
func checkScheduler(tx *core.Tx, workflowID, id int64) error {
	if id == 0 {
		return nil
	}
	var owner int64
	err := tx.Row(`SELECT workflow_id FROM slurm_scheduler WHERE id = ?`, []any{id}, &owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("read scheduler %d: %w", id, err)
	case owner != workflowID:
		return workflow.Errorf(workflow.CodeInvalid, "scheduler %d belongs to workflow %d, not to workflow %d", id, owner, workflowID)
	}
	return nil
}

// require rejects a reference to another workflow. It checks each reference once.
func (in *jobInserter) require(table, what string, id int64) error {
	ref := reference{table, id}
	if in.known[ref] {
		return nil
	}
	in.known[ref] = true
	return core.RequireIn(in.tx, table, what, in.workflowID, id)
}

// env returns the id of an environment; nil for an empty one.
func (in *jobInserter) env(env map[string]string) (any, error) {
	if len(env) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(env)
	if err != nil {
		return nil, err
	}
	if id, known := in.envs[string(text)]; known {
		return id, nil
	}
	id, err := envOf(in.tx, in.workflowID, string(text))
	in.envs[string(text)] = id
	return id, err
}

// envOf returns the id of an environment. It stores the environment if it is new.
func envOf(tx *core.Tx, workflowID int64, env string) (id int64, err error) {
	err = tx.Row(`SELECT id FROM job_env WHERE workflow_id = ? AND env = ?`, []any{workflowID, env}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		id, err = tx.Insert(`INSERT INTO job_env (workflow_id, env) VALUES (?, ?)`, workflowID, env)
	}
	return id, sqlite.Wrap(err, "environment of jobs of workflow %d", workflowID)
}

// policy returns the id of a job's policy; nil if it is empty.
func (in *jobInserter) policy(p *workflow.JobPolicy) (any, error) {
	if p == nil {
		return nil, nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	if id, known := in.policies[string(text)]; known {
		return id, nil
	}
	if err := record.RequirePolicies(in.tx, "retry_policies", p.RetryPolicies); err != nil {
		return nil, err
	}
	delete(in.tx.Shared.Patterns, in.workflowID)
	id, err := policyOf(in.tx, in.workflowID, string(text), p.Timeouts.NeedDaemon())
	if err != nil {
		return nil, err
	}
	in.policies[string(text)] = id
	return id, nil
}

// policyOf returns the id of a job's policy. It stores the policy if it is new.
func policyOf(tx *core.Tx, workflowID int64, policy string, watched bool) (id int64, err error) {
	err = tx.Row(`SELECT id FROM job_policy WHERE workflow_id = ? AND policy = ?`, []any{workflowID, policy}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		id, err = tx.Insert(`INSERT INTO job_policy (workflow_id, policy, watched) VALUES (?, ?, ?)`, workflowID, policy, watched)
	}
	return id, sqlite.Wrap(err, "policy of jobs of workflow %d", workflowID)
}

// finish writes the rest, and checks and counts all jobs.
func (in *jobInserter) finish() error {
	if err := in.jobs.Flush(); err != nil {
		return fmt.Errorf("insert jobs of workflow %d: %w", in.workflowID, err)
	}
	for i, table := range view.LinkTables {
		if err := in.links[i].Flush(); err != nil {
			return fmt.Errorf("insert links of jobs of workflow %d: %w", in.workflowID, err)
		}
		if err := in.checkLinks(table); err != nil {
			return err
		}
	}
	for status, n := range in.byStatus {
		in.tx.Count(in.workflowID, status, n)
	}
	return nil
}

// checkLinks rejects links to what does not exist in the workflow.
func (in *jobInserter) checkLinks(table view.LinkTable) error {
	var id int64
	err := in.tx.Row(`SELECT l.`+table.Column+` FROM `+table.Name+` l LEFT JOIN `+table.Target+` t ON t.id = l.`+table.Column+`
		WHERE l.job_id >= ? AND l.job_id < ? AND t.workflow_id IS NOT ? LIMIT 1`, []any{in.first, in.next, in.workflowID}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check links of jobs of workflow %d: %w", in.workflowID, err)
	}
	return core.RequireIn(in.tx, table.Target, table.What, in.workflowID, id)
}
