package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const fileColumns = `id, workflow_id, name, path, identifier, st_mtime`

func scanFile(r rowScanner) (f workflow.File, err error) {
	err = r.Scan(&f.ID, &f.WorkflowID, &f.Name, &f.Path, &f.Identifier, &f.ModTime)
	return f, err
}

// CreateFiles stores files, all or none, and returns them with their ids.
func (s *Store) CreateFiles(_ context.Context, files []workflow.File) ([]workflow.File, error) {
	created := make([]workflow.File, len(files))
	err := s.writer.do("create files", func(tx *Tx) error {
		copy(created, files)
		for i := range created {
			f := &created[i]
			if err := workflow.CheckName("file", f.Name); err != nil {
				return err
			}
			if i == 0 || f.WorkflowID != created[i-1].WorkflowID {
				if err := tx.requireWorkflow(f.WorkflowID); err != nil {
					return err
				}
			}
			id, err := tx.insert(`INSERT INTO file (workflow_id, name, path, identifier, st_mtime) VALUES (?, ?, ?, ?, ?)`,
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

// File returns a file.
func (s *Store) File(ctx context.Context, id int64) (workflow.File, error) {
	return readOne(ctx, s.read, "file", id, `SELECT `+fileColumns+` FROM file WHERE id = ?`, scanFile)
}

// FileFilter says which files of a workflow are wanted; nil fields do not
// matter.
type FileFilter struct {
	WorkflowID    int64
	ProducedByJob *int64
	Name          *string
	Path          *string // a part of it
	OutputsOnly   bool
}

// Files returns a page of the files of a workflow.
func (s *Store) Files(ctx context.Context, q FileFilter, page Page) ([]workflow.File, int64, error) {
	if err := s.requireWorkflow(ctx, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := where(`workflow_id = ?`, q.WorkflowID)
	equal(f, "name", q.Name)
	contains(f, "path", q.Path)
	if q.ProducedByJob != nil {
		f.add(`id IN (SELECT file_id FROM job_output_file WHERE job_id = ?)`, *q.ProducedByJob)
	}
	if q.OutputsOnly {
		f.add(`EXISTS (SELECT 1 FROM job_output_file o WHERE o.file_id = file.id)`)
	}
	return readList(ctx, s.read, list{
		columns: fileColumns, from: "file", filter: f, id: "id", page: page,
		sortable: map[string]string{"workflow_id": "workflow_id", "name": "name", "path": "path", "st_mtime": "st_mtime"},
	}, scanFile)
}

// UpdateFile replaces a file's name, path and time; its workflow must be the
// same.
func (s *Store) UpdateFile(_ context.Context, f workflow.File) (workflow.File, error) {
	if err := workflow.CheckName("file", f.Name); err != nil {
		return f, err
	}
	var updated workflow.File
	err := s.writer.do("update file", func(tx *Tx) (err error) {
		updated, err = getFile(tx, f.ID)
		if err != nil {
			return err
		}
		if err := sameWorkflow("file", f.ID, updated.WorkflowID, f.WorkflowID); err != nil {
			return err
		}
		updated.Name, updated.Path, updated.ModTime = f.Name, f.Path, f.ModTime
		return tx.execOne(`UPDATE file SET name = ?, path = ?, st_mtime = ? WHERE id = ?`, f.Name, f.Path, f.ModTime, f.ID)
	})
	return updated, err
}

// DeleteFile deletes a file with its links to jobs, and returns it.
func (s *Store) DeleteFile(_ context.Context, id int64) (workflow.File, error) {
	var deleted workflow.File
	err := s.writer.do("delete file", func(tx *Tx) (err error) {
		if deleted, err = getFile(tx, id); err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM job_input_file WHERE file_id = ?`,
			`DELETE FROM job_output_file WHERE file_id = ?`,
			`DELETE FROM file WHERE id = ?`,
		} {
			if _, err := tx.exec(query, id); err != nil {
				return fmt.Errorf("delete file %d: %w", id, err)
			}
		}
		return nil
	})
	return deleted, err
}

// DeleteFiles deletes all files of a workflow and returns how many there were.
func (s *Store) DeleteFiles(_ context.Context, workflowID int64) (n int64, err error) {
	err = s.writer.do("delete files", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM job_input_file WHERE file_id IN (SELECT id FROM file WHERE workflow_id = ?)`,
			`DELETE FROM job_output_file WHERE file_id IN (SELECT id FROM file WHERE workflow_id = ?)`,
			`DELETE FROM file WHERE workflow_id = ?`,
		} {
			if n, err = tx.exec(query, workflowID); err != nil {
				return fmt.Errorf("delete files of workflow %d: %w", workflowID, err)
			}
		}
		return nil
	})
	return n, err
}

func getFile(tx *Tx, id int64) (workflow.File, error) {
	return getOne(tx, "file", id, `SELECT `+fileColumns+` FROM file WHERE id = ?`, scanFile)
}
