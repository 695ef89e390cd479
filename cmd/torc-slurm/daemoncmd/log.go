package daemoncmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const (
	followLog = 200 * time.Millisecond
	// logRead is how much of the log's end is read at most, in bytes.
	logRead = 16 << 20
)

func newLog(a *cli.Factory) *cobra.Command {
	var lines int
	var follow bool
	c := &cobra.Command{
		Use:   "log",
		Short: "Show the log of your daemon",
		Long: `Show the last lines of the log of a daemon that a command has started. The log of
` + "`torc-slurm serve`" + ` is where that command writes it.`,
		Example: `  torc-slurm daemon log
  torc-slurm daemon log -n 1000 --follow`,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits("3 there is no log", cli.ExitInterrupted),
	}
	c.Flags().IntVarP(&lines, "tail", "n", 50, "the last `N` lines")
	c.Flags().BoolVar(&follow, "follow", false, "show further lines as they are written, until Ctrl-C")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if lines < 0 {
			return cli.UsageErrorf("--tail %d: the minimum is 0", lines)
		}
		return showLog(c.Context(), a, lines, follow)
	}
	return c
}

func showLog(ctx context.Context, a *cli.Factory, lines int, follow bool) error {
	path := daemonlink.DaemonLog(a.Home())
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return workflow.Errorf(workflow.CodeNotFound, "there is no log %s: no command has started your daemon yet", path)
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := f.Seek(max(info.Size()-logRead, 0), io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if _, err := a.Stdout.Write(lastLines(text, lines)); err != nil {
		return err
	}
	for follow {
		if err := cli.Pause(ctx, followLog); err != nil {
			return err
		}
		if f, err = reopened(f, path); err != nil {
			return err
		}
		if text, err = io.ReadAll(f); err != nil {
			return err
		}
		if _, err := a.Stdout.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// reopened returns the log that has the path now: the old one, or another that took its place.
func reopened(f *os.File, path string) (*os.File, error) {
	now, err := os.Stat(path)
	if err != nil {
		return f, nil //nolint:nilerr // between two files there may be none
	}
	if before, err := f.Stat(); err == nil && os.SameFile(before, now) {
		return f, nil
	}
	next, err := os.Open(path)
	if err != nil {
		return f, nil //nolint:nilerr // the same
	}
	return next, f.Close()
}

// lastLines returns the last n lines of a text.
func lastLines(text []byte, n int) []byte {
	at := len(bytes.TrimSuffix(text, []byte("\n")))
	for ; n > 0 && at >= 0; n-- {
		at = bytes.LastIndexByte(text[:at], '\n')
	}
	if at < 0 {
		return text
	}
	if at == len(text) || text[at] != '\n' {
		return nil // n is 0
	}
	return text[at+1:]
}
