package cli

import (
	"io"

	"github.com/torc-slurm/torc-slurm/internal/terminal"
)

// FlushWriter is a writer that may buffer until it is flushed.
type FlushWriter interface {
	io.Writer
	Flush() error
}

// unfiltered is a FlushWriter that buffers nothing.
type unfiltered struct{ io.Writer }

func (unfiltered) Flush() error { return nil }

// OutputOfJobs returns the writer for the output of jobs. If it is filtered, as on a terminal,
// only text and colors get through.
func OutputOfJobs(to io.Writer, filtered bool) FlushWriter {
	if filtered {
		return terminal.NewWriter(to, terminal.Output)
	}
	return unfiltered{to}
}
