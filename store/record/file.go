package record

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

const fileColumns = `id, workflow_id, name, path, identifier, st_mtime`

func scanFile(r sqlite.Scanner) (f artifact.File, err error) {
	err = r.Scan(&f.ID, &f.WorkflowID, &f.Name, &f.Path, &f.Identifier, &f.ModTime)
	return f, err
}

// Create stores files, all or none, and returns them with their ids.
func (s Files) Create(_ context.Context, files []artifact.File) ([]artifact.File, error) {
	created := make([]artifact.File, len(files))
	err := s.shared.Do("create files", func(tx *core.Tx) error {
		copy(created, files)
		for i := range created {
			f := &created[i]
			if err := workflow.CheckName("file", f.Name); err != nil {
				return err
			}
			if i == 0 || f.WorkflowID != created[i-1].WorkflowID {
				if err := core.RequireWorkflow(tx, f.WorkflowID); err != nil {
					return err
				}
			}
			id, err := tx.Insert(`INSERT INTO file (workflow_id, name, path, identifier, st_mtime) VALUES (?, ?, ?, ?, ?)`,
				f.WorkflowID, f.Name, f.Path, f.Identifier, f.ModTime)
			if err != nil {
				return fmt.Errorf("insert file %q: %w", f.Name, err)
			}
			f.ID = id
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// Get returns a file; CodeNotFound if there is none with this id.
func (s Files) Get(ctx context.Context, id int64) (artifact.File, error) {
	return view.ReadOne(ctx, s.DB.Read, "file", id, `SELECT `+fileColumns+` FROM file WHERE id = ?`, scanFile)
}

// FileFilter selects files of a workflow. Nil fields match all.
type FileFilter struct {
	WorkflowID    int64
	ProducedByJob *int64
	Name          *string
	Path          *string // a substring
	OutputsOnly   bool
}

// List returns a page of the files of a workflow, and how many match in all.
func (s Files) List(ctx context.Context, q FileFilter, page sqlite.Page) ([]artifact.File, int64, error) {
	if err := view.RequireVisible(ctx, s.DB, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := sqlite.Where(`workflow_id = ?`, q.WorkflowID)
	sqlite.Equal(f, "name", q.Name)
	sqlite.Contains(f, "path", q.Path)
	if q.ProducedByJob != nil {
		f.Add(`id IN (SELECT file_id FROM job_output_file WHERE job_id = ?)`, *q.ProducedByJob)
	}
	if q.OutputsOnly {
		f.Add(`EXISTS (SELECT 1 FROM job_output_file o WHERE o.file_id = file.id)`)
	}
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: fileColumns, From: "file", Filter: f, ID: "id", Page: page,
		Sortable: map[string]string{"workflow_id": "workflow_id", "name": "name", "path": "path", "st_mtime": "st_mtime"},
	}, scanFile)
}

// Update replaces a file's name, path and time. Its workflow cannot change.
func (s Files) Update(_ context.Context, f artifact.File) (artifact.File, error) {
	if err := workflow.CheckName("file", f.Name); err != nil {
		return f, err
	}
	var updated artifact.File
	err := s.shared.Do("update file", func(tx *core.Tx) (err error) {
		updated, err = getFile(tx, f.ID)
		if err != nil {
			return err
		}
		if err := core.SameWorkflow("file", f.ID, updated.WorkflowID, f.WorkflowID); err != nil {
			return err
		}
		updated.Name, updated.Path, updated.ModTime = f.Name, f.Path, f.ModTime
		return tx.ExecOne(`UPDATE file SET name = ?, path = ?, st_mtime = ?, size = NULL WHERE id = ?`, f.Name, f.Path, f.ModTime, f.ID)
	})
	return updated, err
}

// Delete deletes a file with its links to jobs, and returns it.
func (s Files) Delete(_ context.Context, id int64) (artifact.File, error) {
	var deleted artifact.File
	err := s.shared.Do("delete file", func(tx *core.Tx) (err error) {
		if deleted, err = getFile(tx, id); err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM job_input_file WHERE file_id = ?`,
			`DELETE FROM job_output_file WHERE file_id = ?`,
			`DELETE FROM file WHERE id = ?`,
		} {
			if _, err := tx.Exec(query, id); err != nil {
				return fmt.Errorf("delete file %d: %w", id, err)
			}
		}
		return nil
	})
	return deleted, err
}

// DeleteAll deletes all files of a workflow and returns how many there were.
func (s Files) DeleteAll(_ context.Context, workflowID int64) (n int64, err error) {
	err = s.shared.Do("delete files", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM job_input_file WHERE file_id IN (SELECT id FROM file WHERE workflow_id = ?)`,
			`DELETE FROM job_output_file WHERE file_id IN (SELECT id FROM file WHERE workflow_id = ?)`,
			`DELETE FROM file WHERE workflow_id = ?`,
		} {
			if n, err = tx.Exec(query, workflowID); err != nil {
				return fmt.Errorf("delete files of workflow %d: %w", workflowID, err)
			}
		}
		return nil
	})
	return n, err
}

func getFile(tx *core.Tx, id int64) (artifact.File, error) {
	return core.GetOne(tx, "file", id, `SELECT `+fileColumns+` FROM file WHERE id = ?`, scanFile)
}
