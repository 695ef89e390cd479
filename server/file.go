package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) fileRoutes() []route {
	return []route{
		handle("POST", "/files", "Create a file", s.createFile),
		handle("POST", "/bulk_files", "Create files, all or none", s.createFiles, bulk),
		handle("GET", "/files", "List the files of a workflow", s.listFiles),
		handle("GET", "/files/{id}", "Get a file", s.getFile),
		handle("PUT", "/files/{id}", "Replace a file's name, path and modification time", s.updateFile),
		handle("DELETE", "/files/{id}", "Delete a file", s.deleteFile),
		handle("DELETE", "/files", "Delete the files of a workflow", s.deleteFiles),
	}
}

func toFile(f api.File) workflow.File {
	return workflow.File{ID: or(f.ID, 0), WorkflowID: f.WorkflowID, Name: f.Name, Path: f.Path, ModTime: f.ModTime}
}

func fromFile(f workflow.File) api.File {
	return api.File{ID: &f.ID, WorkflowID: f.WorkflowID, Name: f.Name, Path: f.Path, ModTime: f.ModTime}
}

func (s *Server) createFile(r *request[none, api.File]) (api.File, error) {
	created, err := s.Store.CreateFiles(r.Context(), []workflow.File{toFile(r.Body)})
	if err != nil {
		return api.File{}, err
	}
	return fromFile(created[0]), nil
}

func (s *Server) createFiles(r *request[none, api.Files]) (api.Files, error) {
	err := checkBulk("files", r.Body.Files, func(f api.File) (int64, string) { return f.WorkflowID, f.Name })
	if err != nil {
		return api.Files{}, err
	}
	created, err := s.Store.CreateFiles(r.Context(), each(r.Body.Files, toFile))
	return api.Files{Files: each(created, fromFile)}, err
}

type fileListParams struct {
	workflowPageParams
	ProducedByJobID *int64  `query:"produced_by_job_id"`
	Name            *string `query:"name" doc:"exactly this name"`
	Path            *string `query:"path" doc:"a part of the path, in any case"`
	IsOutput        *bool   `query:"is_output" doc:"true: only files that a job writes; false: all"`
}

func (s *Server) listFiles(r *request[fileListParams, none]) (api.Page[api.File], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.File]{}, err
	}
	files, total, err := s.Store.Files(r.Context(), store.FileFilter{
		WorkflowID: r.Params.WorkflowID, ProducedByJob: r.Params.ProducedByJobID,
		Name: r.Params.Name, Path: r.Params.Path, OutputsOnly: or(r.Params.IsOutput, false),
	}, page)
	return pageOf(page, files, total, fromFile), err
}

func (s *Server) getFile(r *request[idParams, none]) (api.File, error) {
	f, err := s.Store.File(r.Context(), r.Params.ID)
	return fromFile(f), err
}

func (s *Server) updateFile(r *request[idParams, api.File]) (api.File, error) {
	f := toFile(r.Body)
	f.ID = r.Params.ID
	f, err := s.Store.UpdateFile(r.Context(), f)
	return fromFile(f), err
}

func (s *Server) deleteFile(r *request[idParams, none]) (api.File, error) {
	f, err := s.Store.DeleteFile(r.Context(), r.Params.ID)
	return fromFile(f), err
}

func (s *Server) deleteFiles(r *request[workflowParams, none]) (api.DeletedFiles, error) {
	n, err := s.Store.DeleteFiles(r.Context(), r.Params.WorkflowID)
	return api.DeletedFiles{DeletedCount: n, Count: n}, err
}
