package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const userDataColumns = `id, workflow_id, name, is_ephemeral, data`

func scanUserData(r rowScanner) (d workflow.UserData, err error) {
	var data sql.NullString
	err = r.Scan(&d.ID, &d.WorkflowID, &d.Name, &d.IsEphemeral, &data)
	if data.Valid {
		d.Data = json.RawMessage(data.String)
	}
	return d, err
}

// UserDataLinks are the jobs that a new record is linked with.
type UserDataLinks struct {
	ConsumerJobID *int64
	ProducerJobID *int64
}

// CreateUserData stores records, all or none, and returns them with their ids.
// The links apply to each of them.
func (s *Store) CreateUserData(_ context.Context, records []workflow.UserData, links UserDataLinks) ([]workflow.UserData, error) {
	created := make([]workflow.UserData, len(records))
	err := s.writer.do("create user data", func(tx *Tx) error {
		copy(created, records)
		for i := range created {
			d := &created[i]
			if i == 0 || d.WorkflowID != created[i-1].WorkflowID {
				if err := tx.requireWorkflow(d.WorkflowID); err != nil {
					return err
				}
			}
			if err := insertUserData(tx, d, links); err != nil {
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

func insertUserData(tx *Tx, d *workflow.UserData, links UserDataLinks) (err error) {
	if err := workflow.CheckName("record of user data", d.Name); err != nil {
		return err
	}
	d.ID, err = tx.insert(`INSERT INTO user_data (workflow_id, name, is_ephemeral, data) VALUES (?, ?, ?, ?)`,
		d.WorkflowID, d.Name, d.IsEphemeral, text(d.Data))
	if isUnique(err) {
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
		if err := tx.requireIn("job", "job", d.WorkflowID, *link.job); err != nil {
			return err
		}
		if _, err := tx.exec(link.query, *link.job, d.ID); err != nil {
			return err
		}
	}
	return nil
}

// UserData returns a record.
func (s *Store) UserData(ctx context.Context, id int64) (workflow.UserData, error) {
	return readOne(ctx, s.read, "user_data", id, `SELECT `+userDataColumns+` FROM user_data WHERE id = ?`, scanUserData)
}

// UserDataFilter says which records of a workflow are wanted; nil fields do
// not matter.
type UserDataFilter struct {
	WorkflowID    int64
	ConsumerJobID *int64
	ProducerJobID *int64
	Name          *string // a part of it
	IsEphemeral   *bool
}

// ListUserData returns a page of the records of a workflow.
func (s *Store) ListUserData(ctx context.Context, q UserDataFilter, page Page) ([]workflow.UserData, int64, error) {
	if err := s.requireWorkflow(ctx, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := where(`workflow_id = ?`, q.WorkflowID)
	contains(f, "name", q.Name)
	equal(f, "is_ephemeral", q.IsEphemeral)
	if q.ConsumerJobID != nil {
		f.add(`id IN (SELECT user_data_id FROM job_input_user_data WHERE job_id = ?)`, *q.ConsumerJobID)
	}
	if q.ProducerJobID != nil {
		f.add(`id IN (SELECT user_data_id FROM job_output_user_data WHERE job_id = ?)`, *q.ProducerJobID)
	}
	return readList(ctx, s.read, list{
		columns: userDataColumns, from: "user_data", filter: f, id: "id", page: page,
		sortable: map[string]string{"workflow_id": "workflow_id", "name": "name", "is_ephemeral": "is_ephemeral", "data": "data"},
	}, scanUserData)
}

// UserDataUpdate is a change of a record: a nil field is kept.
type UserDataUpdate struct {
	IsEphemeral *bool
	Name        *string
	Data        json.RawMessage
}

// UpdateUserData changes a record and returns it.
func (s *Store) UpdateUserData(_ context.Context, id int64, u UserDataUpdate) (workflow.UserData, error) {
	var d workflow.UserData
	err := s.writer.do("update user data", func(tx *Tx) (err error) {
		if d, err = getUserData(tx, id); err != nil {
			return err
		}
		set(&d.IsEphemeral, u.IsEphemeral)
		set(&d.Name, u.Name)
		if err := workflow.CheckName("record of user data", d.Name); u.Name != nil && err != nil {
			return err
		}
		if text(u.Data) != nil {
			d.Data = u.Data
		}
		err = tx.execOne(`UPDATE user_data SET name = ?, is_ephemeral = ?, data = ? WHERE id = ?`, d.Name, d.IsEphemeral, text(d.Data), id)
		if isUnique(err) {
			return workflow.Errorf(workflow.CodeConflict, "workflow %d already has user data %q", d.WorkflowID, d.Name)
		}
		return err
	})
	return d, err
}

// DeleteUserData deletes a record with its links to jobs, and returns it.
func (s *Store) DeleteUserData(_ context.Context, id int64) (workflow.UserData, error) {
	var deleted workflow.UserData
	err := s.writer.do("delete user data", func(tx *Tx) (err error) {
		if deleted, err = getUserData(tx, id); err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM job_input_user_data WHERE user_data_id = ?`,
			`DELETE FROM job_output_user_data WHERE user_data_id = ?`,
			`DELETE FROM user_data WHERE id = ?`,
		} {
			if _, err := tx.exec(query, id); err != nil {
				return fmt.Errorf("delete user data %d: %w", id, err)
			}
		}
		return nil
	})
	return deleted, err
}

// DeleteAllUserData deletes the records of a workflow and returns how many
// there were.
func (s *Store) DeleteAllUserData(_ context.Context, workflowID int64) (n int64, err error) {
	err = s.writer.do("delete all user data", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM job_input_user_data WHERE user_data_id IN (SELECT id FROM user_data WHERE workflow_id = ?)`,
			`DELETE FROM job_output_user_data WHERE user_data_id IN (SELECT id FROM user_data WHERE workflow_id = ?)`,
			`DELETE FROM user_data WHERE workflow_id = ?`,
		} {
			if n, err = tx.exec(query, workflowID); err != nil {
				return fmt.Errorf("delete user data of workflow %d: %w", workflowID, err)
			}
		}
		return nil
	})
	return n, err
}

func getUserData(tx *Tx, id int64) (workflow.UserData, error) {
	return getOne(tx, "user_data", id, `SELECT `+userDataColumns+` FROM user_data WHERE id = ?`, scanUserData)
}
