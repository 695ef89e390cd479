package output

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// TailSize is how much of the end of stderr a report carries.
const TailSize = 4 << 10

// LogPath returns the path of an attempt's file: ending is .o, .e or .log.
func LogPath(outputDir string, workflowID, jobID, runID, attempt int64, ending string) string {
	name := fmt.Sprintf("job_wf%d_j%d_r%d_a%d%s", workflowID, jobID, runID, attempt, ending)
	return filepath.Join(outputDir, StdioDir, name)
}

// Files says where an attempt's output goes.
type Files struct {
	Stdout, Stderr string // paths; empty to discard
	DeleteIfOK     bool
	// SrunOnly says that stderr has what srun says alone: that of the job is
	// discarded.
	SrunOnly bool
}

// StdioConfig returns how a job's output is kept: as the job says, else as the
// workflow does, for the job or for all; nil for the default.
func StdioConfig(g *lease.Grant, config *workflow.ExecutionConfig) *workflow.StdioConfig {
	if g.Stdio != nil || config == nil {
		return g.Stdio
	}
	if own, ok := config.JobStdioOverrides[g.Name]; ok {
		return &own
	}
	return config.Stdio
}

// FilesOf lays out the files of one attempt; base is a LogPath without
// ending.
func FilesOf(config *workflow.StdioConfig, base string) Files {
	var s Files
	mode := workflow.StdioSeparate
	if config != nil {
		if config.Mode != "" {
			mode = config.Mode
		}
		s.DeleteIfOK = config.DeleteOnSuccess != nil && *config.DeleteOnSuccess
	}
	switch mode {
	case workflow.StdioCombined:
		s.Stdout, s.Stderr = base+".log", base+".log"
	case workflow.StdioNoStdout:
		s.Stderr = base + ".e"
	case workflow.StdioNoStderr:
		s.Stdout = base + ".o"
	case workflow.StdioNone:
	default:
		s.Stdout, s.Stderr = base+".o", base+".e"
	}
	return s
}

// Remove deletes the files of an attempt that went well.
func (s Files) Remove() error {
	for _, path := range []string{s.Stdout, s.Stderr} {
		if path == "" {
			continue
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// Tail returns the last bytes of a file as valid UTF-8, empty if there is no
// such file. Only the end is read, whatever the file's size.
func Tail(path string, size int64) string {
	if path == "" {
		return ""
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	start := max(0, info.Size()-size)
	buf := make([]byte, min(size, info.Size()))
	n, _ := f.ReadAt(buf, start) // what can be read of it is what we want
	buf = buf[:n]
	return Clip(string(buf), int(size))
}

// Clip makes text valid UTF-8 of at most size bytes, keeping its end.
func Clip(text string, size int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= size {
		return text
	}
	text = text[len(text)-size:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
