package logs

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
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/logfile"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newBundle(a *cli.Factory) *cobra.Command {
	var outputDir, bundleDir string
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "bundle [WORKFLOW]",
		Short: "Collect the log files of a workflow in one archive",
		Long: `Collect the log files of a workflow from its output directory in the archive
wf<ID>.tar.gz, to send it to somebody or to search it with "logs analyze".`,
		Example: `  torc-slurm logs bundle 12
  torc-slurm logs bundle 12 -o /scratch/torc_output --bundle-dir /tmp`,
		RunE: a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
			w, err := c.Workflows.Get(ctx, id)
			if err != nil {
				return err
			}
			dirs, err := outputdir.List(ctx, a, c, outputDir)
			if err != nil {
				return err
			}
			return bundle(ctx, a, w, dirs, a.Path(bundleDir))
		}),
	})
	f := cmd.Flags()
	f.StringVarP(&outputDir, "output-dir", "o", "", "output `DIR` of the workflow (default torc_output)")
	f.StringVar(&bundleDir, "bundle-dir", ".", "`DIR` for the archive")
	_ = cmd.MarkFlagDirname("output-dir")
	_ = cmd.MarkFlagDirname("bundle-dir")
	return cmd
}

func bundle(ctx context.Context, a *cli.Factory, w *api.Workflow, dirs []string, bundleDir string) error {
	id := cli.OrZero(w.ID)
	files, err := logfile.Find(dirs, id)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return workflow.Errorf(workflow.CodeNotFound, "there are no log files of workflow %d in %s", id, dirs[0]).
			WithHint("give the output directory of the workflow with -o")
	}
	meta := logfile.BundleMetadata{
		WorkflowID: id, WorkflowName: w.Name, WorkflowDescription: w.Description, WorkflowUser: w.User,
		CollectedAt: a.Now().UTC().Format(time.RFC3339),
	}
	name := fmt.Sprintf("wf%d.tar.gz", id)
	path := filepath.Join(bundleDir, name)
	part := path + ".part"
	out, err := trustedfile.OpenOwn(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return cli.UsageErrorf("cannot write the archive: %v", err)
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
	return a.ShowMessage(struct {
		logfile.BundleMetadata
		Path string `json:"path"`
	}{meta, path}, "Collected %s (%s) in %s", workflow.CountOf(int64(meta.FilesCollected), "log file", "log files"), workflow.FormatBytes(meta.TotalSizeBytes), path)
}

// writeBundle writes an archive with the files and their metadata, all below the directory
// top. It sets the counts in meta.
func writeBundle(ctx context.Context, w io.Writer, top string, files []logfile.File, meta *logfile.BundleMetadata) error {
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	for _, f := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := addLog(archive, filepath.Join(top, f.Path), filepath.Join(f.Dir, f.Path), f.Info)
		if err != nil {
			return err
		}
		meta.FilesCollected, meta.TotalSizeBytes = meta.FilesCollected+1, meta.TotalSizeBytes+n
	}
	text, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return err
	}
	header := tar.Header{Name: top + "/" + logfile.BundleMetadataName, Mode: 0o644, Size: int64(len(text))}
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

// addLog adds a file to the archive, with the size that it had when it was found: it may be
// growing. It returns the number of bytes.
func addLog(archive *tar.Writer, name, path string, info fs.FileInfo) (int64, error) {
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // somebody may have replaced it with a link
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
	if errors.Is(err, io.EOF) { // the file has shrunk
		_, err = io.CopyN(archive, zeros{}, size-n)
	}
	return n, err
}

// zeros is a reader of zero bytes without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
