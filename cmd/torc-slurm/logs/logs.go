// Package logs has the commands that show, follow, bundle and search the logs of
// workflows and jobs.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// New returns the group of commands about logs.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupAnalysis, "logs", "Show, collect and analyze the output of jobs",
		newShow(a), newFollow(a), newBundle(a), newAnalyze(a))
}

// logFlags are the flags of the commands that show output.
type logFlags struct {
	workflow   string
	outputDir  string
	stdoutOnly bool
	stderrOnly bool
	recovery   bool
	raw        bool
	tail       int // lines of each file; negative: all
}

func addLogFlags(a *cli.Factory, c *cobra.Command, f *logFlags) {
	cli.AddWorkflowFlag(a, c, &f.workflow)
	c.Flags().StringVarP(&f.outputDir, "output-dir", "o", "", "output `DIR` of the workflow (default: where its runner wrote)")
	c.Flags().IntVarP(&f.tail, "tail", "n", -1, "only the last `N` lines of each file")
	c.Flags().BoolVar(&f.stdoutOnly, "stdout", false, "only standard output")
	c.Flags().BoolVar(&f.stderrOnly, "stderr", false, "only standard error")
	c.Flags().BoolVar(&f.recovery, "recovery", false, "show the output of the attempt's recovery script instead")
	c.Flags().BoolVar(&f.raw, "raw", false, "write all control sequences to the terminal (default: text and colors only)")
	c.MarkFlagsMutuallyExclusive("stdout", "stderr")
}

func newShow(a *cli.Factory) *cobra.Command {
	var flags logFlags
	c := &cobra.Command{
		Use:   "show JOB[:ATTEMPT]...",
		Short: "Show the output of jobs",
		Long: `Show the output of the latest attempt of a job, or of another attempt, even while it
runs. JOB is the id or the name of the job. The output is found from any folder.`,
		Example: `  torc-slurm logs show simulate_042
  torc-slurm logs show --tail 20 simulate_042 simulate_043
  torc-slurm logs show simulate_042:1 --stderr
  torc-slurm logs show 17 --recovery`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cli.CompleteJobs(a, &flags.workflow),
		Annotations:       cli.ServerExits("3 there is no such job, or its output is not on this machine"),
		RunE: func(c *cobra.Command, args []string) error {
			return runLogsShow(c.Context(), a, args, flags)
		},
	}
	addLogFlags(a, c, &flags)
	return c
}

func runLogsShow(ctx context.Context, a *cli.Factory, refs []string, flags logFlags) error {
	conn, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	var all []shownLogs
	for _, ref := range refs {
		l, err := findLogs(ctx, a, conn, ref, flags)
		if err != nil {
			return err
		}
		found, err := l.shown(a, flags)
		if err != nil {
			return err
		}
		all = append(all, found)
	}
	if a.Format != cli.FormatTable {
		if len(all) == 1 {
			return a.ShowRecord(all[0], nil)
		}
		return a.ShowRecord(map[string]any{"items": all}, nil)
	}
	var files []string
	for _, l := range all {
		written := slices.DeleteFunc(l.Files, func(path string) bool {
			info, err := os.Stat(path)
			return err == nil && info.Size() == 0
		})
		if len(written) == 0 {
			a.Note("Attempt %d of job %d has written nothing.", l.AttemptID, l.JobID)
		}
		files = append(files, written...)
	}
	for i, path := range files {
		if err := showFile(a, path, i, len(files), &flags); err != nil {
			return err
		}
	}
	return nil
}

// shownLogs are the files of an attempt.
type shownLogs struct {
	JobID     int64    `json:"job_id"`
	JobName   string   `json:"job_name"`
	RunID     int64    `json:"run_id"`
	AttemptID int64    `json:"attempt_id"`
	Files     []string `json:"files"`
}

// shown returns the files of an attempt, or a not-found error.
func (l *jobLogs) shown(a *cli.Factory, flags logFlags) (shownLogs, error) {
	id, attempt := *l.job.ID, l.attempt.AttemptID
	if attempt == 0 {
		return shownLogs{}, workflow.Errorf(workflow.CodeNotFound, "job %d has not been started yet", id).
			WithHint("`%s why %d` says what it waits for", cli.Prefix(a), id)
	}
	files := l.files(flags)
	if len(files) == 0 {
		return shownLogs{}, workflow.Errorf(workflow.CodeNotFound, "there is no output of attempt %d of job %d in %s", attempt, id, l.dirs[0]).
			WithHint("was the workflow run on another machine, or with stdio none? --output-dir names another folder")
	}
	return shownLogs{id, l.job.Name, l.attempt.RunID, attempt, files}, nil
}

// showFile writes file i of n to standard output. If there are several, a line with the
// path comes first.
func showFile(a *cli.Factory, path string, i, n int, flags *logFlags) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("show output: %w", err)
	}
	defer f.Close()
	if n > 1 {
		gap := ""
		if i > 0 {
			gap = "\n"
		}
		fmt.Fprintf(a.Stdout, "%s==> %s <==\n", gap, path)
	}
	if err := skipToTail(f, flags.tail); err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}
	out := cli.OutputOfJobs(a.RawStdout, a.StdoutTerminal && !flags.raw)
	_, err = io.Copy(out, f)
	if err := errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}
	return nil
}

// skipToTail moves a file to its last n lines; a negative n moves nothing.
func skipToTail(f *os.File, n int) error {
	if n < 0 {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at, err := tailOffset(f, info.Size(), n)
	if err != nil {
		return err
	}
	_, err = f.Seek(at, io.SeekStart)
	return err
}

// jobLogs is an attempt and the directories in which its output may be.
type jobLogs struct {
	dirs    []string
	job     *api.Job
	attempt api.Attempt // its AttemptID is 0 if the job has not been started
}

// findLogs returns the attempt that ref, JOB[:ATTEMPT], stands for. It returns a not-found
// error if there is no such job or attempt.
func findLogs(ctx context.Context, a *cli.Factory, c *cli.Connection, ref string, flags logFlags) (*jobLogs, error) {
	job, wanted, err := jobAndAttempt(ctx, a, c, ref, flags.workflow)
	if err != nil {
		return nil, err
	}
	l := &jobLogs{job: job}
	attempts, err := c.Jobs.Attempts(ctx, *job.ID)
	if err != nil {
		return nil, err
	}
	for _, attempt := range attempts {
		if wanted == 0 || attempt.AttemptID == wanted {
			l.attempt = attempt // that of the latest run
		}
	}
	if wanted != 0 && l.attempt.AttemptID == 0 {
		return nil, workflow.Errorf(workflow.CodeNotFound, "job %d has no attempt %d", *job.ID, wanted)
	}
	// Where the runner wrote counts, unless the files are somewhere else by now.
	l.dirs, err = outputdir.List(ctx, a, c, cli.FirstOf(flags.outputDir, l.attempt.OutputDir))
	if err == nil && flags.outputDir == "" && l.attempt.OutputDir != "" && len(l.files(flags)) == 0 {
		var usual []string
		usual, err = outputdir.List(ctx, a, c, "")
		l.dirs = append(l.dirs, usual...)
	}
	return l, err
}

// jobAndAttempt returns the job and the attempt of ref, JOB[:ATTEMPT]; the attempt is 0 if
// none was given. The name of a job may contain a colon, so all of ref is tried first.
func jobAndAttempt(ctx context.Context, a *cli.Factory, c *cli.Connection, ref, workflowText string) (*api.Job, int64, error) {
	attempt := int64(0)
	id, err := a.JobID(ctx, c, ref, workflowText)
	if name, number, ok := cli.CutLast(ref, ":"); ok && workflow.CodeOf(err) == workflow.CodeNotFound {
		if n, numberErr := strconv.ParseInt(number, 10, 64); numberErr == nil && n > 0 {
			attempt = n
			id, err = a.JobID(ctx, c, name, workflowText)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	job, err := c.Jobs.Get(ctx, id)
	return job, attempt, err
}

// paths returns the files in which output of the attempt may be, standard output first.
func (l *jobLogs) paths(flags logFlags) []string {
	endings := []string{".o", ".log", ".e"}
	switch {
	case flags.stdoutOnly:
		endings = []string{".o", ".log"}
	case flags.stderrOnly:
		endings = []string{".e", ".log"}
	}
	var paths []string
	for _, ending := range endings {
		if flags.recovery {
			ending = "_recovery" + ending
		}
		for _, dir := range l.dirs {
			paths = append(paths, output.LogPath(dir, l.job.WorkflowID, *l.job.ID, l.attempt.RunID, l.attempt.AttemptID, ending))
		}
	}
	return paths
}

// files returns the paths that exist.
func (l *jobLogs) files(flags logFlags) []string {
	var found []string
	for _, path := range l.paths(flags) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			found = append(found, path)
		}
	}
	return found
}
