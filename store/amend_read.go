package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/amend"
)

// earlierWorkflow is a workflow before its amendment.
type earlierWorkflow struct {
	side           amend.Side
	rows           []earlierJob // of the jobs of the side
	files          []int64      // ids of the files of the side
	userData       []int64      // ids of the user data records of the side
	gates          map[int64][]int64
	gateOf         []int64              // of each job; 0: none
	links          [4]map[int64][]int64 // by job, in the order of view.LinkTables
	requirements   []specified
	handlers       map[int64]workflow.FailureHandler
	schedulerNames map[int64]string
}

// specified are requirements, and what the specification said about them.
type specified struct {
	workflow.ResourceRequirements
	text sql.NullString
}

// earlierJob is the row of a job.
type earlierJob struct {
	id       int64
	stage    sql.NullInt64
	child    sql.NullInt64
	columns  jobColumns
	settings workflow.JobSettings
	key      core.ClassKey
}

// jobColumns are the columns of a job that follow from its definition, without settings and
// the gate. Equal columns need no update.
type jobColumns struct {
	command                     string
	env, policy, handler, class int64 // 0: none
	undoes                      int64
	runIf                       int64
	extra, stdio, timeout       string // empty: null
	origin                      string
}

// readEarlier reads a workflow.
func readEarlier(tx *core.Tx, w *workflow.Workflow) (*earlierWorkflow, error) {
	e := &earlierWorkflow{handlers: map[int64]workflow.FailureHandler{}, schedulerNames: map[int64]string{}}
	for _, read := range []func(*core.Tx, *workflow.Workflow) error{e.readNamed, e.readArtifacts, e.readJobs, e.readRelations} {
		if err := read(tx, w); err != nil {
			return nil, fmt.Errorf("read workflow %d: %w", w.ID, err)
		}
	}
	return e, nil
}

// readNamed reads what jobs refer to by name.
func (e *earlierWorkflow) readNamed(tx *core.Tx, w *workflow.Workflow) (err error) {
	e.requirements, err = sqlite.Select(tx, func(r sqlite.Scanner) (q specified, err error) {
		return q, r.Scan(&q.ID, &q.Name, &q.NumCPUs, &q.NumGPUs, &q.NumNodes, &q.Memory, &q.Runtime, &q.text)
	}, `SELECT id, name, num_cpus, num_gpus, num_nodes, memory, runtime, specified FROM resource_requirements WHERE workflow_id = ? ORDER BY id`, w.ID)
	if err != nil {
		return err
	}
	err = tx.Each(`SELECT id, name, rules FROM failure_handler WHERE workflow_id = ?`, func(r sqlite.Scanner) error {
		var h workflow.FailureHandler
		err := r.Scan(&h.ID, &h.Name, &h.Rules)
		e.handlers[h.ID] = h
		return err
	}, w.ID)
	if err != nil {
		return err
	}
	return tx.Each(`SELECT id, name FROM slurm_scheduler WHERE workflow_id = ?`, func(r sqlite.Scanner) error {
		var id int64
		var name string
		err := r.Scan(&id, &name)
		e.schedulerNames[id] = name
		return err
	}, w.ID)
}

// readArtifacts reads files and user data.
func (e *earlierWorkflow) readArtifacts(tx *core.Tx, w *workflow.Workflow) error {
	err := tx.Each(`SELECT id, name, path, st_mtime, size FROM file WHERE workflow_id = ? ORDER BY id`, func(r sqlite.Scanner) error {
		var id int64
		var f amend.File
		err := r.Scan(&id, &f.Name, &f.Path, &f.ModTime, &f.Size)
		e.files, e.side.Files = append(e.files, id), append(e.side.Files, f)
		return err
	}, w.ID)
	if err != nil {
		return err
	}
	return tx.Each(`SELECT id, name, iif(EXISTS (SELECT 1 FROM job_output_user_data o WHERE o.user_data_id = d.id), '', COALESCE(data, ''))
		FROM user_data d WHERE workflow_id = ? ORDER BY id`, func(r sqlite.Scanner) error {
		var id int64
		var u amend.UserData
		err := r.Scan(&id, &u.Name, &u.Data)
		e.userData, e.side.UserData = append(e.userData, id), append(e.side.UserData, u)
		return err
	}, w.ID)
}

// readJobs reads the jobs without their relations.
func (e *earlierWorkflow) readJobs(tx *core.Tx, w *workflow.Workflow) error {
	requirements := make(map[int64]string, len(e.requirements))
	for i := range e.requirements {
		requirements[e.requirements[i].ID] = requirementsText(&e.requirements[i].ResourceRequirements)
	}
	handlers := make(map[int64]string, len(e.handlers))
	for id, h := range e.handlers {
		handlers[id] = h.Name + " " + h.Rules
	}
	envs := map[string]map[string]string{}
	return tx.Each(`SELECT j.id, j.name, j.command, COALESCE(j.env_id, 0), COALESCE(j.policy_id, 0), j.class_id, COALESCE(j.failure_handler_id, 0), COALESCE(j.undoes_id, 0),
			j.run_if, COALESCE(j.torc_extra, ''), COALESCE(j.stdio, ''), COALESCE(j.run_timeout, ''), COALESCE(j.origin, ''), j.stage_id, j.child_id, j.status,
			COALESCE(j.skipped_by, -1), COALESCE(j.gate_id, 0), c.priority, c.requirements_id, c.scheduler_id, rtrim(c.labels, ','), c.login, c.held,
			COALESCE(e.env, ''), COALESCE(p.policy, ''), COALESCE((SELECT s.kind FROM stage s WHERE s.id = j.stage_id), ''), `+row.SelectJobSettings()+`
		FROM job j JOIN claim_class c ON c.id = j.class_id LEFT JOIN job_env e ON e.id = j.env_id LEFT JOIN job_policy p ON p.id = j.policy_id
		WHERE j.workflow_id = ? ORDER BY j.id`, func(r sqlite.Scanner) error {
		var x earlierJob
		var j amend.Job
		var env, policy, kind string
		var skippedBy, gate int64
		c := &x.columns
		err := r.Scan(append([]any{&x.id, &j.Name, &c.command, &c.env, &c.policy, &c.class, &c.handler, &c.undoes,
			&c.runIf, &c.extra, &c.stdio, &c.timeout, &c.origin, &x.stage, &x.child, &j.State.Status,
			&skippedBy, &gate, &x.key.Priority, &x.key.RequirementsID, &x.key.SchedulerID, &x.key.Labels, &x.key.Login, &x.key.Held,
			&env, &policy, &kind}, row.JobSettings(&x.settings)...)...)
		if err != nil {
			return err
		}
		if _, known := envs[env]; !known {
			if envs[env], err = mergedEnv(w.Env, env); err != nil {
				return fmt.Errorf("read the environment of job %q: %w", j.Name, err)
			}
		}
		j.Env = envs[env]
		j.Command = c.command
		if x.settings.InvocationScript != nil {
			j.Script = *x.settings.InvocationScript
		}
		s := &j.State
		s.NotNeeded, s.Skipped = s.Status == workflow.Disabled && skippedBy == 0, s.Status == workflow.Canceled && skippedBy > 0
		s.Spawned, s.Removed, s.Rests = c.origin == workflow.OriginSpawn, c.origin == workflow.OriginRemoved, kind == string(workflow.StageCompensation)
		j.Settings = amend.Settings{
			Requirements: requirements[x.key.RequirementsID], Priority: x.key.Priority, Labels: x.key.Labels, Scheduler: e.schedulerNames[x.key.SchedulerID],
			FailureHandler: handlers[c.handler], RunIf: workflow.RunIf(c.runIf), Policy: policy, Stdio: c.stdio, RunTimeout: c.timeout,
		}
		e.rows, e.gateOf, e.side.Jobs = append(e.rows, x), append(e.gateOf, gate), append(e.side.Jobs, j)
		return nil
	}, w.ID)
}

// mergedEnv returns the environment of a job from its own, which is JSON.
func mergedEnv(workflowEnv map[string]string, own string) (map[string]string, error) {
	if own == "" {
		return workflowEnv, nil
	}
	var env map[string]string
	err := json.Unmarshal([]byte(own), &env)
	return workflow.MergeEnv(workflowEnv, env), err
}

// readRelations reads what jobs depend on, read and write.
func (e *earlierWorkflow) readRelations(tx *core.Tx, w *workflow.Workflow) (err error) {
	if e.gates, err = view.GateDependencies(tx.Query, w.ID); err != nil {
		return err
	}
	jobs := make(map[int64]int32, len(e.rows))
	for i := range e.rows {
		jobs[e.rows[i].id] = int32(i)
	}
	deps := make(map[int64][]int32, len(e.gates))
	for gate, ids := range e.gates {
		deps[gate] = indexesOf(ids, jobs)
	}
	for i, table := range view.LinkTables {
		e.links[i] = map[int64][]int64{}
		err := tx.Each(`SELECT l.job_id, t.id FROM `+table.Target+` t JOIN `+table.Name+` l ON l.`+table.Column+` = t.id
			WHERE t.workflow_id = ? ORDER BY l.job_id, t.id`, func(r sqlite.Scanner) error {
			var job, id int64
			err := r.Scan(&job, &id)
			e.links[i][job] = append(e.links[i][job], id)
			return err
		}, w.ID)
		if err != nil {
			return err
		}
	}
	places := [2]map[int64]int32{indexOf(e.files), indexOf(e.userData)}
	for i := range e.rows {
		id, j := e.rows[i].id, &e.side.Jobs[i]
		j.DependsOn = deps[e.gateOf[i]]
		for k, list := range linksOfSide(j) {
			*list = indexesOf(e.links[k][id], places[k/2])
		}
	}
	return nil
}

// linksOfSide returns the links of a job, in the order of view.LinkTables.
func linksOfSide(j *amend.Job) [4]*[]int32 {
	return [4]*[]int32{&j.InputFiles, &j.OutputFiles, &j.InputUserData, &j.OutputUserData}
}

func indexOf(ids []int64) map[int64]int32 {
	index := make(map[int64]int32, len(ids))
	for i, id := range ids {
		index[id] = int32(i)
	}
	return index
}

func indexesOf(ids []int64, index map[int64]int32) []int32 {
	if len(ids) == 0 {
		return nil
	}
	list := make([]int32, len(ids))
	for k, id := range ids {
		list[k] = index[id]
	}
	return list
}

// requirementsText returns requirements as a text with their name.
func requirementsText(q *workflow.ResourceRequirements) string {
	return q.Name + ": " + specifiedText(q)
}

// placeholders returns n placeholders of a statement.
func placeholders(n int) string { return strings.Repeat("?, ", n-1) + "?" }
