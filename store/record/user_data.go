package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

const userDataColumns = `id, workflow_id, name, is_ephemeral, data`

func scanUserData(r sqlite.Scanner) (d artifact.UserData, err error) {
	var data sql.NullString
	err = r.Scan(&d.ID, &d.WorkflowID, &d.Name, &d.IsEphemeral, &data)
	if data.Valid {
		d.Data = json.RawMessage(data.String)
	}
	return d, err
}

// UserDataLinks are the jobs to which a new record is linked.
type UserDataLinks struct {
	ConsumerJobID *int64
	ProducerJobID *int64
}

// Create stores records, all or none, and returns them with their ids. The links apply to
// each of them.
func (s UserData) Create(_ context.Context, records []artifact.UserData, links UserDataLinks) ([]artifact.UserData, error) {
	created := make([]artifact.UserData, len(records))
	err := s.shared.Do("create user data", func(tx *core.Tx) error {
		copy(created, records)
		for i := range created {
			d := &created[i]
			if i == 0 || d.WorkflowID != created[i-1].WorkflowID {
				if err := core.RequireWorkflow(tx, d.WorkflowID); err != nil {
					return err
				}
			}
			if err := InsertUserData(tx, d, links); err != nil {
				return fmt.Errorf("insert user data %q: %w", d.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// InsertUserData stores a record and sets its id.
func InsertUserData(tx *core.Tx, d *artifact.UserData, links UserDataLinks) (err error) {
	if err := workflow.CheckName("record of user data", d.Name); err != nil {
		return err
	}
	d.ID, err = tx.Insert(`INSERT INTO user_data (workflow_id, name, is_ephemeral, data) VALUES (?, ?, ?, ?)`,
		d.WorkflowID, d.Name, d.IsEphemeral, view.Text(d.Data))
	if sqlite.IsUnique(err) {
		return workflow.Errorf(workflow.CodeConflict, "workflow %d already has user data %q", d.WorkflowID, d.Name)
	}
	if err != nil {
		return err
	}
	for _, link := range []struct {
		job   *int64
		query string
	}{
		{links.ConsumerJobID, `INSERT INTO job_input_user_data (job_id, user_data_id) VALUES (?, ?)`},
		{links.ProducerJobID, `INSERT INTO job_output_user_data (job_id, user_data_id) VALUES (?, ?)`},
	} {
		if link.job == nil {
			continue
		}
		if err := core.RequireIn(tx, "job", "job", d.WorkflowID, *link.job); err != nil {
			return err
		}
		if _, err := tx.Exec(link.query, *link.job, d.ID); err != nil {
			return err
		}
	}
	return nil
}

// Get returns a record; CodeNotFound if there is none with this id.
func (s UserData) Get(ctx context.Context, id int64) (artifact.UserData, error) {
	return view.ReadOne(ctx, s.DB.Read, "user_data", id, `SELECT `+userDataColumns+` FROM user_data WHERE id = ?`, scanUserData)
}

// UserDataFilter selects records of a workflow. Nil fields match all.
type UserDataFilter struct {
	WorkflowID    int64
	ConsumerJobID *int64
	ProducerJobID *int64
	Name          *string // a substring
	IsEphemeral   *bool
}

// List returns a page of the records of a workflow, and how many match in all.
func (s UserData) List(ctx context.Context, q UserDataFilter, page sqlite.Page) ([]artifact.UserData, int64, error) {
	if err := view.RequireVisible(ctx, s.DB, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := sqlite.Where(`workflow_id = ?`, q.WorkflowID)
	sqlite.Contains(f, "name", q.Name)
	sqlite.Equal(f, "is_ephemeral", q.IsEphemeral)
	if q.ConsumerJobID != nil {
		f.Add(`id IN (SELECT user_data_id FROM job_input_user_data WHERE job_id = ?)`, *q.ConsumerJobID)
	}
	if q.ProducerJobID != nil {
		f.Add(`id IN (SELECT user_data_id FROM job_output_user_data WHERE job_id = ?)`, *q.ProducerJobID)
	}
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: userDataColumns, From: "user_data", Filter: f, ID: "id", Page: page,
		Sortable: map[string]string{"workflow_id": "workflow_id", "name": "name", "is_ephemeral": "is_ephemeral", "data": "data"},
	}, scanUserData)
}

// UserDataUpdate is a change of a record. Nil fields are kept.
type UserDataUpdate struct {
	IsEphemeral *bool
	Name        *string
	Data        json.RawMessage
}

// Update changes a record and returns it.
func (s UserData) Update(_ context.Context, id int64, u UserDataUpdate) (artifact.UserData, error) {
	var d artifact.UserData
	err := s.shared.Do("update user data", func(tx *core.Tx) (err error) {
		if d, err = getUserData(tx, id); err != nil {
			return err
		}
		core.Set(&d.IsEphemeral, u.IsEphemeral)
		core.Set(&d.Name, u.Name)
		if err := workflow.CheckName("record of user data", d.Name); u.Name != nil && err != nil {
			return err
		}
		if view.Text(u.Data) != nil {
			d.Data = u.Data
		}
		err = tx.ExecOne(`UPDATE user_data SET name = ?, is_ephemeral = ?, data = ? WHERE id = ?`, d.Name, d.IsEphemeral, view.Text(d.Data), id)
		if sqlite.IsUnique(err) {
			return workflow.Errorf(workflow.CodeConflict, "workflow %d already has user data %q", d.WorkflowID, d.Name)
		}
		return err
	})
	return d, err
}

// Delete deletes a record with its links to jobs, and returns it.
func (s UserData) Delete(_ context.Context, id int64) (artifact.UserData, error) {
	var deleted artifact.UserData
	err := s.shared.Do("delete user data", func(tx *core.Tx) (err error) {
		if deleted, err = getUserData(tx, id); err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM job_input_user_data WHERE user_data_id = ?`,
			`DELETE FROM job_output_user_data WHERE user_data_id = ?`,
			`DELETE FROM user_data WHERE id = ?`,
		} {
			if _, err := tx.Exec(query, id); err != nil {
				return fmt.Errorf("delete user data %d: %w", id, err)
			}
		}
		return nil
	})
	return deleted, err
}

// DeleteAll deletes the records of a workflow, and returns how many there were.
func (s UserData) DeleteAll(_ context.Context, workflowID int64) (n int64, err error) {
	err = s.shared.Do("delete all user data", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM job_input_user_data WHERE user_data_id IN (SELECT id FROM user_data WHERE workflow_id = ?)`,
			`DELETE FROM job_output_user_data WHERE user_data_id IN (SELECT id FROM user_data WHERE workflow_id = ?)`,
			`DELETE FROM user_data WHERE workflow_id = ?`,
		} {
			if n, err = tx.Exec(query, workflowID); err != nil {
				return fmt.Errorf("delete user data of workflow %d: %w", workflowID, err)
			}
		}
		return nil
	})
	return n, err
}

func getUserData(tx *core.Tx, id int64) (artifact.UserData, error) {
	return core.GetOne(tx, "user_data", id, `SELECT `+userDataColumns+` FROM user_data WHERE id = ?`, scanUserData)
}
