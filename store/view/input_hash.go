package view

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

// hashedJob is a job with its stored and its current input hash.
type hashedJob struct {
	ID          int64
	name        string
	status      workflow.JobStatus
	stored, Now []byte
	rests       bool // it is in a compensation, which only a failed run starts
}

// inputs are what the jobs of a workflow depend on besides themselves.
type inputs struct {
	env   string // of the workflow
	gates map[int64][]int64
	links [4]map[int64][]int64 // by job, in the order of LinksOf
	data  map[int64]json.RawMessage
}

// ChangedHashes returns the jobs whose stored input hash is missing or out of date.
func ChangedHashes(query queryFunc, workflowID int64) ([]hashedJob, error) {
	in, err := readInputs(query, workflowID)
	if err != nil {
		return nil, fmt.Errorf("read the inputs of workflow %d: %w", workflowID, err)
	}
	rows, err := query(`SELECT j.id, j.name, j.status, j.command, j.invocation_script, e.env, COALESCE(j.gate_id, 0), j.input_hash, NOT `+BesideCompensation+`
		FROM job j LEFT JOIN job_env e ON e.id = j.env_id WHERE j.workflow_id = ?1 ORDER BY j.id`, workflowID)
	if err != nil {
		return nil, fmt.Errorf("read the jobs of workflow %d: %w", workflowID, err)
	}
	defer rows.Close()
	var scanner JobScanner
	var changed []hashedJob
	for rows.Next() {
		var j hashedJob
		var what artifact.HashInput
		var env sql.NullString
		var gate int64
		if err := rows.Scan(&j.ID, &j.name, &j.status, &what.Command, &what.InvocationScript, &env, &gate, &j.stored, &j.rests); err != nil {
			return nil, fmt.Errorf("read the jobs of workflow %d: %w", workflowID, err)
		}
		if what.Env, err = scanner.env(in.env, env.String); err != nil {
			return nil, fmt.Errorf("read the environment of job %d: %w", j.ID, err)
		}
		what.DependsOn = in.gates[gate]
		in.complete(j.ID, &what)
		if j.Now, err = hex.DecodeString(artifact.InputHash(what)); err != nil {
			return nil, fmt.Errorf("hash job %d: %w", j.ID, err)
		}
		if !bytes.Equal(j.stored, j.Now) {
			changed = append(changed, j)
		}
	}
	return changed, rows.Err()
}

// complete adds the files and user data of a job to its input.
func (in *inputs) complete(job int64, what *artifact.HashInput) {
	what.InputFiles, what.OutputFiles = in.links[0][job], in.links[1][job]
	what.InputUserData, what.OutputUserData = in.links[2][job], in.links[3][job]
	for _, id := range what.InputUserData {
		what.InputData = append(what.InputData, artifact.UserDataContent{ID: id, Data: in.data[id]})
	}
}

func readInputs(query queryFunc, workflowID int64) (in inputs, err error) {
	rows, err := query(`SELECT COALESCE(env, '') FROM workflow WHERE id = ?`, workflowID)
	if err != nil {
		return in, err
	}
	envs, err := sqlite.Collect(rows, sqlite.ScanString)
	if err != nil {
		return in, err
	}
	in.env = strings.Join(envs, "") // there is one row
	if in.gates, err = GateDependencies(query, workflowID); err != nil {
		return in, err
	}
	for i, table := range LinkTables {
		rows, err := query(`SELECT l.job_id, t.id FROM `+table.Target+` t JOIN `+table.Name+` l ON l.`+table.Column+` = t.id
			WHERE t.workflow_id = ? ORDER BY l.job_id, t.id`, workflowID)
		if err != nil {
			return in, err
		}
		if in.links[i], err = CollectLists(rows); err != nil {
			return in, err
		}
	}
	rows, err = query(`SELECT id, data FROM user_data d WHERE workflow_id = ? AND data IS NOT NULL
		AND EXISTS (SELECT 1 FROM job_input_user_data l WHERE l.user_data_id = d.id)`, workflowID)
	if err != nil {
		return in, err
	}
	defer rows.Close()
	in.data = map[int64]json.RawMessage{}
	for rows.Next() {
		var id int64
		var data string
		if err := rows.Scan(&id, &data); err != nil {
			return in, err
		}
		in.data[id] = json.RawMessage(data)
	}
	return in, rows.Err()
}

// ChangedInputs returns the names of the jobs whose inputs changed since they ran. It
// changes nothing.
func (s Workflows) ChangedInputs(ctx context.Context, workflowID int64) ([]string, error) {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return nil, err
	}
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	jobs, err := ChangedHashes(reader(ctx, tx), workflowID)
	if err != nil {
		return nil, err
	}
	names, _ := Resettable(jobs)
	return names, nil
}

// Resettable returns the jobs that were initialized before and can be reset.
func Resettable(jobs []hashedJob) (names []string, ids []int64) {
	names = []string{}
	for _, j := range jobs {
		if j.stored != nil && !j.status.IsLive() && j.status != workflow.Disabled && !j.rests {
			names, ids = append(names, j.name), append(ids, j.ID)
		}
	}
	return names, ids
}
