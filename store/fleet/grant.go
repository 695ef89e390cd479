package fleet

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// granter reads grants. Jobs with the same environment share one map.
type granter struct {
	claim  *Claim
	envs   map[string]map[string]string
	stages []sql.NullInt64 // of the jobs
}

// grants returns what a runner needs to know about its selected jobs.
func (c *Claim) grants() ([]lease.Grant, error) {
	picks := append(c.kept, c.Picked...)
	if len(picks) == 0 {
		return nil, nil
	}
	ids := sqlite.IDList(JobsOf(picks))
	rows, err := c.tx.Query(`SELECT j.id, j.attempt_id, j.fence, j.name, j.command, v.env, j.run_timeout, j.stdio, j.recovery, j.stage_id,
			EXISTS (SELECT 1 FROM stage s WHERE s.id = j.stage_id AND s.kind = 'compensation'), `+row.SelectJobSettings()+`
		FROM json_each(?) e CROSS JOIN job j ON j.id = e.value LEFT JOIN job_env v ON v.id = j.env_id ORDER BY e.key`, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d grants of workflow %d: %w", len(picks), c.workflowID, err)
	}
	reading := granter{claim: c}
	grants, err := sqlite.Collect(rows, reading.scan)
	if err != nil {
		return nil, fmt.Errorf("read %d grants of workflow %d: %w", len(picks), c.workflowID, err)
	}
	byJob := make(map[int64]*lease.Grant, len(grants))
	for i := range grants {
		g, p := &grants[i], picks[i]
		k := c.classes[p.class]
		g.Requirements, g.CPUs, g.GPUs, g.Nodes = k.Requirements, k.CPUs, k.GPUs, k.Nodes
		g.MemoryBytes, g.RuntimeSeconds = k.MemoryBytes, k.RuntimeSeconds
		if p.node < len(c.offer.Nodes) {
			g.Node = c.offer.Nodes[p.node].Name
		}
		byJob[g.JobID] = g
	}
	for i, stage := range reading.stages {
		if stage.Valid {
			if grants[i].Input, err = engine.StageInput(c.tx, c.workflowID, stage.Int64); err != nil {
				return nil, err
			}
		}
	}
	return grants, outputFiles(c.tx, ids, byJob)
}

func (r *granter) scan(rows sqlite.Scanner) (g lease.Grant, err error) {
	var env, timeout, stdio, recovery sql.NullString
	var stage sql.NullInt64
	err = rows.Scan(append([]any{&g.JobID, &g.Attempt, &g.Fence, &g.Name, &g.Command, &env, &timeout, &stdio, &recovery, &stage, &g.Compensates},
		row.JobSettings(&g.JobSettings)...)...)
	if err != nil {
		return g, err
	}
	r.stages = append(r.stages, stage)
	if env.Valid {
		if g.Env, err = r.env(env.String); err != nil {
			return g, fmt.Errorf("read the environment of job %d: %w", g.JobID, err)
		}
	}
	for _, c := range []struct {
		text sql.NullString
		dest any
	}{{timeout, &g.RunTimeout}, {stdio, &g.Stdio}, {recovery, &g.Recovery}} {
		if c.text.Valid {
			if err := json.Unmarshal([]byte(c.text.String), c.dest); err != nil {
				return g, fmt.Errorf("read job %d: %w", g.JobID, err)
			}
		}
	}
	return g, nil
}

func (r *granter) env(text string) (map[string]string, error) {
	if env, known := r.envs[text]; known {
		return env, nil
	}
	var env map[string]string
	if err := json.Unmarshal([]byte(text), &env); err != nil {
		return nil, err
	}
	if r.envs == nil {
		r.envs = map[string]map[string]string{}
	}
	r.envs[text] = env
	return env, nil
}

// outputFiles reads the output files of granted jobs.
func outputFiles(tx *core.Tx, ids string, grants map[int64]*lease.Grant) error {
	err := tx.Each(`SELECT o.job_id, f.id, f.path FROM json_each(?) e CROSS JOIN job_output_file o ON o.job_id = e.value
		JOIN file f ON f.id = o.file_id`, func(r sqlite.Scanner) error {
		var job int64
		var file lease.GrantFile
		if err := r.Scan(&job, &file.ID, &file.Path); err != nil {
			return err
		}
		grants[job].OutputFiles = append(grants[job].OutputFiles, file)
		return nil
	}, ids)
	return sqlite.Wrap(err, "read output files")
}
