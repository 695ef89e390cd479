package view

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// JobColumns are the columns of JobTables that a JobScanner reads.
var JobColumns = `j.id, j.workflow_id, j.name, j.command, w.env, e.env, j.status, j.start_ms, j.compute_node_id,
	j.run_if, j.torc_extra, c.requirements_id, c.scheduler_id, c.labels, c.login, c.priority,
	j.failure_handler_id, j.attempt_id, j.origin, j.stdio, j.run_timeout, p.policy,
	j.gate_id, j.fence, j.not_before_ms, j.phase, j.hold, j.skipped_by, j.input_hash, j.rule_counts, j.avoid_nodes, j.stage_id, j.child_id, j.undoes_id, j.user_hold, ` + row.SelectJobSettings()

// JobTables are the tables of JobColumns.
const JobTables = `job j JOIN workflow w ON w.id = j.workflow_id JOIN claim_class c ON c.id = j.class_id LEFT JOIN job_env e ON e.id = j.env_id
	LEFT JOIN job_policy p ON p.id = j.policy_id`

// notNeeded decodes the column skipped_by.
func notNeeded(j *workflow.Job) {
	if j.SkippedBy != nil && *j.SkippedBy == 0 {
		j.SkippedBy, j.NotNeeded = nil, true
	}
}

// JobScanner reads jobs. Jobs with the same environment share it.
type JobScanner struct {
	envs map[[2]string]map[string]string
}

// Scan reads a row of JobColumns.
func (s *JobScanner) Scan(r sqlite.Scanner) (j workflow.Job, err error) {
	var workflowEnv, env, stdio, timeout, policy, hold, counts, avoid, userHold sql.NullString
	var startMS sql.NullInt64
	var requirements, scheduler, notBefore int64
	var labels string
	var inRecovery bool
	var hash []byte
	err = r.Scan(append([]any{&j.ID, &j.WorkflowID, &j.Name, &j.Command, &workflowEnv, &env, &j.Status, &startMS, &j.ComputeNodeID,
		&j.RunIf, row.TorcExtra{Keys: &j.TorcJob}, &requirements, &scheduler, &labels, &j.Login, &j.Priority,
		&j.FailureHandlerID, &j.AttemptID, &j.Origin, &stdio, &timeout, &policy,
		&j.GateID, &j.Fence, &notBefore, &inRecovery, &hold, &j.SkippedBy, &hash, &counts, &avoid, &j.StageID, &j.ChildID, &j.UndoesID, &userHold}, row.JobSettings(&j.JobSettings)...)...)
	if err != nil {
		return j, err
	}
	if requirements != 0 {
		j.ResourceRequirementsID = &requirements
	}
	if scheduler != 0 {
		j.SchedulerID = &scheduler
	}
	if j.Status != workflow.Running {
		j.ComputeNodeID = nil
	} else if startMS.Valid {
		j.StartTime = new(Rfc3339(startMS.Int64))
	}
	if notBefore != 0 {
		j.NotBeforeMS = &notBefore
	}
	notNeeded(&j)
	if inRecovery {
		j.Phase = workflow.PhaseRecovery
	}
	if len(hash) > 0 {
		j.InputHash = hex.EncodeToString(hash)
	}
	if j.Labels, err = workflow.ParseLabels(labels); err != nil {
		return j, fmt.Errorf("read the labels of job %d: %w", j.ID, err)
	}
	if j.Env, err = s.env(workflowEnv.String, env.String); err != nil {
		return j, fmt.Errorf("read the environment of job %d: %w", j.ID, err)
	}
	for _, c := range []struct {
		text sql.NullString
		dest any
	}{{stdio, &j.Stdio}, {timeout, &j.RunTimeout}, {policy, &j.Policy}, {hold, &j.Hold}, {counts, &j.Retries}, {avoid, &j.AvoidNodes}, {userHold, &j.UserHold}} {
		if c.text.Valid {
			if err := json.Unmarshal([]byte(c.text.String), c.dest); err != nil {
				return j, fmt.Errorf("read job %d: %w", j.ID, err)
			}
		}
	}
	return j, nil
}

// env returns a workflow's environment, overridden by that of a job.
func (s *JobScanner) env(workflowEnv, jobEnv string) (map[string]string, error) {
	key := [2]string{workflowEnv, jobEnv}
	if env, known := s.envs[key]; known {
		return env, nil
	}
	var parts [2]map[string]string
	for i, text := range key {
		if text != "" {
			if err := json.Unmarshal([]byte(text), &parts[i]); err != nil {
				return nil, err
			}
		}
	}
	env := workflow.MergeEnv(parts[0], parts[1])
	if s.envs == nil {
		s.envs = map[[2]string]map[string]string{}
	}
	s.envs[key] = env
	return env, nil
}

// SelectJob selects a visible job by id.
var SelectJob = `SELECT ` + JobColumns + ` FROM ` + JobTables + ` WHERE j.id = ? AND w.is_hidden = 0`

// Get returns a job with its relations; CodeNotFound if there is none with this id.
func (s Jobs) Get(ctx context.Context, id int64) (workflow.Job, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return workflow.Job{}, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	j, err := new(JobScanner).Scan(tx.QueryRowContext(ctx, SelectJob, id))
	if err != nil {
		return j, OrNotFound(err, "job", id)
	}
	jobs := []workflow.Job{j}
	if err := AddRelations(reader(ctx, tx), jobs); err != nil {
		return j, fmt.Errorf("read the relations of job %d: %w", id, err)
	}
	return jobs[0], nil
}

// queryFunc runs a SELECT.
type queryFunc func(query string, args ...any) (*sql.Rows, error)

// reader returns a queryFunc for one snapshot.
func reader(ctx context.Context, tx *sql.Tx) queryFunc {
	return func(query string, args ...any) (*sql.Rows, error) { return tx.QueryContext(ctx, query, args...) }
}

// AddRelations fills in the relations of jobs, with one query per kind.
func AddRelations(query queryFunc, jobs []workflow.Job) error {
	ids, gates := make([]int64, len(jobs)), []int64{}
	for i, j := range jobs {
		if ids[i] = j.ID; j.GateID != nil {
			gates = append(gates, *j.GateID)
		}
	}
	deps, err := Related(query, `SELECT d.gate_id, d.job_id FROM gate_dependency d
		WHERE d.gate_id IN (SELECT value FROM json_each(?)) ORDER BY d.gate_id, d.job_id`, gates)
	if err != nil {
		return err
	}
	var lists [4]map[int64][]int64
	for i, table := range LinkTables {
		lists[i], err = Related(query, `SELECT job_id, `+table.Column+` FROM `+table.Name+`
			WHERE job_id IN (SELECT value FROM json_each(?)) ORDER BY job_id, `+table.Column, ids)
		if err != nil {
			return err
		}
	}
	for i := range jobs {
		j := &jobs[i]
		if j.GateID != nil {
			j.DependsOn = deps[*j.GateID]
		}
		for k, list := range LinksOf(j) {
			*list = lists[k][j.ID]
		}
	}
	return nil
}

// LinkTable is a table that links jobs with files or user data.
type LinkTable struct{ Name, Column, Target, What string }

// LinkTables are in the order of LinksOf.
var LinkTables = [4]LinkTable{
	{"job_input_file", "file_id", "file", "file"},
	{"job_output_file", "file_id", "file", "file"},
	{"job_input_user_data", "user_data_id", "user_data", "user data"},
	{"job_output_user_data", "user_data_id", "user_data", "user data"},
}

// LinksOf returns a job's links with files and user data.
func LinksOf(j *workflow.Job) [4]*[]int64 {
	return [4]*[]int64{&j.InputFiles, &j.OutputFiles, &j.InputUserData, &j.OutputUserData}
}

// Related reads (owner, related) pairs of the owners with the given ids.
func Related(query queryFunc, text string, owners []int64) (map[int64][]int64, error) {
	if len(owners) == 0 {
		return nil, nil
	}
	rows, err := query(text, sqlite.IDList(owners))
	if err != nil {
		return nil, err
	}
	return CollectLists(rows)
}

// CollectLists reads (owner, related) pairs and closes rows.
func CollectLists(rows *sql.Rows) (map[int64][]int64, error) {
	defer rows.Close()
	lists := map[int64][]int64{}
	for rows.Next() {
		var owner, id int64
		if err := rows.Scan(&owner, &id); err != nil {
			return nil, err
		}
		lists[owner] = append(lists[owner], id)
	}
	return lists, rows.Err()
}
