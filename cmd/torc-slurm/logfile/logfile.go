// Package logfile finds the logs of workflows in output directories, and says which
// workflow a log is of.
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

// BundleMetadata stands in a bundle beside the logs.
type BundleMetadata struct {
	WorkflowID          int64   `json:"workflow_id"`
	WorkflowName        string  `json:"workflow_name"`
	WorkflowDescription *string `json:"workflow_description"`
	WorkflowUser        string  `json:"workflow_user"`
	CollectedAt         string  `json:"collected_at"`
	FilesCollected      int     `json:"files_collected"`
	TotalSizeBytes      int64   `json:"total_size_bytes"`
}

// BundleMetadataName is the file of a bundle that says where its logs are from.
const BundleMetadataName = "bundle_metadata.json"

// logOfWorkflow finds the workflow in the name of a log file: job_wf12_j3…,
// job_runner_host_wf12_r1.log, slurm_output_wf12_sl77.o and the like.
var logOfWorkflow = regexp.MustCompile(`^(?:job|slurm|watch).*_?wf(\d+)(?:[_.]|$)`)

// WorkflowOf returns the workflow that a log file is of.
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

// Find lists the log files of a workflow in output directories, of
// which one must be there.
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
			return nil, fmt.Errorf("look for log files: %w", err)
		}
		all = append(all, found...)
	}
	if missing == len(dirs) {
		return nil, workflow.Errorf(workflow.CodeNotFound, "there is no directory %s", dirs[0]).
			WithHint("name the output directory of the workflow with -o")
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
			return nil // the job removed it just now
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
