package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// How often files and server are polled.
const (
	followFiles  = 200 * time.Millisecond
	followServer = time.Second
)

func newFollow(a *cli.Factory) *cobra.Command {
	var flags logFlags
	c := &cobra.Command{
		Use:   "follow JOB[:ATTEMPT]",
		Short: "Show the output of a job while it is written",
		Long: `Show the output of a job while it is written, until the job has ended. The command
waits for a job that has not started, and also follows later attempts. If an attempt is
given, the command ends with that attempt.`,
		Example: `  torc-slurm logs follow simulate_042
  torc-slurm logs follow -w 12 train --stderr`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.CompleteJobs(a, &flags.workflow),
		Annotations:       cli.ServerExits(cli.ExitInterrupted),
		RunE: func(c *cobra.Command, args []string) error {
			if a.Format != cli.FormatTable {
				return cli.UsageErrorf("logs follow writes the output of the job and supports no other format")
			}
			return runLogsFollow(c.Context(), a, args[0], flags)
		},
	}
	addLogFlags(a, c, &flags)
	return c
}

func runLogsFollow(ctx context.Context, a *cli.Factory, ref string, flags logFlags) error {
	conn, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	_, wanted, err := jobAndAttempt(ctx, a, conn, ref, flags.workflow)
	if err != nil {
		return err
	}
	f := &follower{app: a, conn: conn, ref: ref, flags: flags, wanted: wanted, out: cli.OutputOfJobs(a.RawStdout, a.StdoutTerminal && !flags.raw)}
	defer f.close()
	err = f.run(ctx)
	return errors.Join(err, f.out.Flush())
}

// follower copies the files of a job's attempts while they grow.
type follower struct {
	app    *cli.Factory
	conn   *cli.Connection
	ref    string
	flags  logFlags
	wanted int64 // attempt; 0: the latest one and all that come after it

	runID, attempt int64 // of the attempt that is followed; 0 before the first
	files          []*followedFile
	last           *followedFile // the file whose content was written last
	out            cli.FlushWriter
}

type followedFile struct {
	path string
	tail int      // lines of what it has when it is opened; negative: all
	file *os.File // nil while it does not exist
}

func (f *follower) run(ctx context.Context) error {
	files, server := time.NewTicker(followFiles), time.NewTicker(followServer)
	defer files.Stop()
	defer server.Stop()
	for {
		over, err := f.poll(ctx)
		if err != nil {
			return err
		}
		if err := f.copy(); err != nil || over {
			return err
		}
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-files.C:
				if err := f.copy(); err != nil {
					return err
				}
			case <-server.C:
				waiting = false
			}
		}
	}
}

// poll asks the server for the attempt to follow, and reports whether it has ended and no
// other one follows it.
func (f *follower) poll(ctx context.Context) (over bool, err error) {
	l, err := findLogs(ctx, f.app, f.conn, f.ref, f.flags)
	if err != nil {
		return false, err
	}
	at := l.attempt
	if at.AttemptID == 0 {
		return l.job.Status != nil && l.job.Status.IsComplete(), nil
	}
	if at.AttemptID != f.attempt || at.RunID != f.runID {
		if err := f.copy(); err != nil { // the rest of the previous attempt
			return false, err
		}
		f.begin(l)
	}
	if at.EndedMS == nil {
		return false, nil
	}
	return f.wanted != 0 || l.job.Status != nil && l.job.Status.IsComplete(), nil
}

// begin switches to the files of another attempt.
func (f *follower) begin(l *jobLogs) {
	f.close()
	_ = f.out.Flush() // the next write returns the error, too
	if f.attempt != 0 {
		f.app.Note("--- attempt %d ---", l.attempt.AttemptID)
	}
	f.runID, f.attempt = l.attempt.RunID, l.attempt.AttemptID
	f.files, f.last = nil, nil
	for _, path := range l.paths(f.flags) {
		f.files = append(f.files, &followedFile{path: path, tail: f.flags.tail})
	}
	f.flags.tail = -1 // later attempts are followed from their beginning
}

// copy writes what was added to the files since the last call.
func (f *follower) copy() error {
	for _, file := range f.files {
		if file.file == nil {
			opened, err := os.Open(file.path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return fmt.Errorf("follow output: %w", err)
			}
			file.file = opened
			if err := skipToTail(opened, file.tail); err != nil {
				return fmt.Errorf("follow %s: %w", file.path, err)
			}
		}
		if err := f.copyFile(file); err != nil {
			return err
		}
	}
	for _, file := range f.files {
		file.tail = -1 // those that appear later are shown from their beginning
	}
	return nil
}

func (f *follower) copyFile(file *followedFile) error {
	info, err := file.file.Stat()
	if err != nil {
		return fmt.Errorf("follow %s: %w", file.path, err)
	}
	at, err := file.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("follow %s: %w", file.path, err)
	}
	if info.Size() <= at {
		return nil
	}
	if f.last != file && f.last != nil {
		_ = f.out.Flush() // the next write returns the error, too
		fmt.Fprintf(f.app.Stdout, "\n==> %s <==\n", file.path)
	}
	f.last = file
	if _, err := io.CopyN(f.out, file.file, info.Size()-at); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("follow %s: %w", file.path, err)
	}
	return nil
}

func (f *follower) close() {
	for _, file := range f.files {
		if file.file != nil {
			file.file.Close()
		}
	}
}
