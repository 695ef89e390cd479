package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

// files handles requests about files.
type files struct{ *Deps }

func (h files) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/files", "Create a file", h.createFile),
		rest.Handle("POST", "/bulk_files", "Create files, all or none", h.createFiles, rest.Bulk),
		rest.Handle("GET", "/files", "List the files of a workflow", List(h.listFiles, fromFile)),
		rest.Handle("GET", "/files/{id}", "Get a file", ByID(h.Store.Files.Get, fromFile)),
		rest.Handle("PUT", "/files/{id}", "Replace a file's name, path and modification time", h.updateFile),
		rest.Handle("DELETE", "/files/{id}", "Delete a file", ByID(h.Store.Files.Delete, fromFile)),
		rest.Handle("DELETE", "/files", "Delete the files of a workflow", h.deleteFiles),
	}
}

func toFile(f api.File) artifact.File {
	return artifact.File{ID: Or(f.ID, 0), WorkflowID: f.WorkflowID, Name: f.Name, Path: f.Path, ModTime: f.ModTime}
}

func fromFile(f artifact.File) api.File {
	return api.File{ID: &f.ID, WorkflowID: f.WorkflowID, Name: f.Name, Path: f.Path, ModTime: f.ModTime}
}

func (h files) createFile(r *rest.Request[rest.None, api.File]) (api.File, error) {
	created, err := h.Store.Files.Create(r.Context(), []artifact.File{toFile(r.Body)})
	if err != nil {
		return api.File{}, err
	}
	return fromFile(created[0]), nil
}

func (h files) createFiles(r *rest.Request[rest.None, api.Files]) (api.Files, error) {
	err := checkBulk("files", r.Body.Files, func(f api.File) (int64, string) { return f.WorkflowID, f.Name })
	if err != nil {
		return api.Files{}, err
	}
	created, err := h.Store.Files.Create(r.Context(), Each(r.Body.Files, toFile))
	return api.Files{Files: Each(created, fromFile)}, err
}

type fileListParams struct {
	WorkflowPageParams
	ProducedByJobID *int64  `query:"produced_by_job_id"`
	Name            *string `query:"name" doc:"exactly this name"`
	Path            *string `query:"path" doc:"a part of the path, in any case"`
	IsOutput        *bool   `query:"is_output" doc:"true: only files that a job writes; false: all"`
}

func (h files) listFiles(r *rest.Request[fileListParams, rest.None], page store.Page) ([]artifact.File, int64, error) {
	return h.Store.Files.List(r.Context(), store.FileFilter{
		WorkflowID: r.Params.WorkflowID, ProducedByJob: r.Params.ProducedByJobID,
		Name: r.Params.Name, Path: r.Params.Path, OutputsOnly: Or(r.Params.IsOutput, false),
	}, page)
}

func (h files) updateFile(r *rest.Request[IDParams, api.File]) (api.File, error) {
	f := toFile(r.Body)
	f.ID = r.Params.ID
	f, err := h.Store.Files.Update(r.Context(), f)
	return fromFile(f), err
}

func (h files) deleteFiles(r *rest.Request[WorkflowParams, rest.None]) (api.DeletedFiles, error) {
	n, err := h.Store.Files.DeleteAll(r.Context(), r.Params.WorkflowID)
	return api.DeletedFiles{DeletedCount: n, Count: n}, err
}
