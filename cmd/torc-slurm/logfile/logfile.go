// Package logfile finds the logs of workflows in output directories, and the workflow that a
// log belongs to.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// BundleMetadata is the metadata in a bundle of logs.
type BundleMetadata struct {
	WorkflowID          int64   `json:"workflow_id"`
	WorkflowName        string  `json:"workflow_name"`
	WorkflowDescription *string `json:"workflow_description"`
	WorkflowUser        string  `json:"workflow_user"`
	CollectedAt         string  `json:"collected_at"`
	FilesCollected      int     `json:"files_collected"`
	TotalSizeBytes      int64   `json:"total_size_bytes"`
}

// BundleMetadataName is the name of the file with the metadata in a bundle.
const BundleMetadataName = "bundle_metadata.json"

// logOfWorkflow matches the names of log files, with the id of their workflow: job_wf12_j3…,
// job_runner_host_wf12_r1.log, slurm_output_wf12_sl77.o and the like.
var logOfWorkflow = regexp.MustCompile(`^(?:job|slurm|watch).*_?wf(\d+)(?:[_.]|$)`)

// WorkflowOf returns the workflow that a log file belongs to; false if the name is not that of
// a log file.
func WorkflowOf(name string) (id int64, ok bool) {
	match := logOfWorkflow.FindStringSubmatch(name)
	if match == nil {
		return 0, false
	}
	id, err := strconv.ParseInt(match[1], 10, 64)
	return id, err == nil
}

// File is a log file by its path within an output directory.
type File struct {
	Dir, Path string
	Info      fs.FileInfo
}

// Find returns the log files of a workflow in output directories, except those that were put
// aside. It returns a not-found error if none of the directories exists.
func Find(dirs []string, id int64) ([]File, error) {
	var all []File
	missing := 0
	for _, dir := range dirs {
		found, err := findIn(dir, id)
		if errors.Is(err, fs.ErrNotExist) {
			missing++
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find log files: %w", err)
		}
		all = append(all, found...)
	}
	if missing == len(dirs) {
		return nil, workflow.Errorf(workflow.CodeNotFound, "there is no directory %s", dirs[0]).
			WithHint("give the output directory of the workflow with -o")
	}
	return all, nil
}

func findIn(dir string, id int64) ([]File, error) {
	var found []File
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = outputdir.SkipAside(dir, path, entry)
		}
		if err != nil {
			return err
		}
		if of, ok := WorkflowOf(entry.Name()); !ok || of != id || !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it has just been removed
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		found = append(found, File{dir, relative, info})
		return err
	})
	return found, err
}
