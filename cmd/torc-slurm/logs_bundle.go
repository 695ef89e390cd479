package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// bundleMetadata stands in a bundle beside the logs.
type bundleMetadata struct {
	WorkflowID          int64   `json:"workflow_id"`
	WorkflowName        string  `json:"workflow_name"`
	WorkflowDescription *string `json:"workflow_description"`
	WorkflowUser        string  `json:"workflow_user"`
	CollectedAt         string  `json:"collected_at"`
	FilesCollected      int     `json:"files_collected"`
	TotalSizeBytes      int64   `json:"total_size_bytes"`
}

const bundleMetadataName = "bundle_metadata.json"

func newLogsBundleCommand(a *app) *cobra.Command {
	var outputDir, bundleDir string
	cmd := &cobra.Command{
		Use:   "bundle [WORKFLOW]",
		Short: "Collect the log files of a workflow in one archive",
		Long: `Collect the log files of a workflow from its output directory in wf<ID>.tar.gz, to
be sent to somebody or looked at with "logs analyze".`,
		Example: `  torc-slurm logs bundle 12
  torc-slurm logs bundle 12 -o /scratch/torc_output --bundle-dir /tmp`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: a.workflowView(func(ctx context.Context, c *connection, id int64) error {
			w, err := c.Workflow(ctx, id)
			if err != nil {
				return err
			}
			dirs, err := a.outputDirs(ctx, c, outputDir)
			if err != nil {
				return err
			}
			return a.bundle(ctx, w, dirs, a.path(bundleDir))
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&outputDir, "output-dir", "o", "", "`DIR` that the workflow was run with (default torc_output)")
	f.StringVar(&bundleDir, "bundle-dir", ".", "`DIR` for the archive")
	_ = cmd.MarkFlagDirname("output-dir")
	_ = cmd.MarkFlagDirname("bundle-dir")
	return cmd
}

// logOfWorkflow finds the workflow in the name of a log file: job_wf12_j3…,
// job_runner_host_wf12_r1.log, slurm_output_wf12_sl77.o and the like.
var logOfWorkflow = regexp.MustCompile(`^(?:job|slurm|watch).*_?wf(\d+)(?:[_.]|$)`)

// workflowOfLog returns the workflow that a log file is of.
func workflowOfLog(name string) (id int64, ok bool) {
	match := logOfWorkflow.FindStringSubmatch(name)
	if match == nil {
		return 0, false
	}
	id, err := strconv.ParseInt(match[1], 10, 64)
	return id, err == nil
}

// logFile is a log file by its path within an output directory.
type logFile struct {
	dir, path string
	info      fs.FileInfo
}

// findWorkflowLogs lists the log files of a workflow in output directories, of
// which one must be there.
func findWorkflowLogs(dirs []string, id int64) ([]logFile, error) {
	var all []logFile
	missing := 0
	for _, dir := range dirs {
		found, err := findLogsIn(dir, id)
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

func findLogsIn(dir string, id int64) ([]logFile, error) {
	var found []logFile
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = skipAside(dir, path, entry)
		}
		if err != nil {
			return err
		}
		if of, ok := workflowOfLog(entry.Name()); !ok || of != id || !entry.Type().IsRegular() {
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
		found = append(found, logFile{dir, relative, info})
		return err
	})
	return found, err
}

func (a *app) bundle(ctx context.Context, w *api.Workflow, dirs []string, bundleDir string) error {
	id := idOf(w.ID)
	files, err := findWorkflowLogs(dirs, id)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return workflow.Errorf(workflow.CodeNotFound, "there are no log files of workflow %d in %s", id, dirs[0]).
			WithHint("name the output directory of the workflow with -o")
	}
	meta := bundleMetadata{
		WorkflowID: id, WorkflowName: w.Name, WorkflowDescription: w.Description, WorkflowUser: w.User,
		CollectedAt: a.Now().UTC().Format(time.RFC3339),
	}
	name := fmt.Sprintf("wf%d.tar.gz", id)
	path := filepath.Join(bundleDir, name)
	part := path + ".part"
	out, err := trustedfile.OpenOwn(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return usageErrorf("cannot write the archive: %v", err)
	}
	defer os.Remove(part)
	err = writeBundle(ctx, out, fmt.Sprintf("wf%d", id), files, &meta)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return a.showMessage(struct {
		bundleMetadata
		Path string `json:"path"`
	}{meta, path}, "Collected %s (%s) in %s", workflow.CountOf(int64(meta.FilesCollected), "log file", "log files"), workflow.FormatBytes(meta.TotalSizeBytes), path)
}

// writeBundle writes the files below a directory of the archive's own, and
// what they are.
func writeBundle(ctx context.Context, w io.Writer, top string, files []logFile, meta *bundleMetadata) error {
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	for _, f := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := addLog(archive, filepath.Join(top, f.path), filepath.Join(f.dir, f.path), f.info)
		if err != nil {
			return err
		}
		meta.FilesCollected, meta.TotalSizeBytes = meta.FilesCollected+1, meta.TotalSizeBytes+n
	}
	text, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return err
	}
	header := tar.Header{Name: top + "/" + bundleMetadataName, Mode: 0o644, Size: int64(len(text))}
	if header.ModTime, err = time.Parse(time.RFC3339, meta.CollectedAt); err != nil {
		return err
	}
	if err := archive.WriteHeader(&header); err != nil {
		return err
	}
	if _, err := archive.Write(text); err != nil {
		return err
	}
	return errors.Join(archive.Close(), zipped.Close())
}

// addLog copies a file as long as it was when it was found: it may be growing.
func addLog(archive *tar.Writer, name, path string, info fs.FileInfo) (int64, error) {
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // somebody may have replaced it by a link
	if err != nil {
		return 0, err
	}
	defer in.Close()
	size := info.Size()
	header := tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: size, ModTime: info.ModTime()}
	if err := archive.WriteHeader(&header); err != nil {
		return 0, err
	}
	n, err := io.CopyN(archive, in, size)
	if errors.Is(err, io.EOF) { // it has become shorter
		_, err = io.CopyN(archive, zeros{}, size-n)
	}
	return n, err
}

// zeros is an endless file of them.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
