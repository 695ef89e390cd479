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

// LogPath returns the path of a file of an attempt. ending is .o, .e or .log.
func LogPath(outputDir string, workflowID, jobID, runID, attempt int64, ending string) string {
	name := fmt.Sprintf("job_wf%d_j%d_r%d_a%d%s", workflowID, jobID, runID, attempt, ending)
	return filepath.Join(outputDir, StdioDir, name)
}

// Files says where an attempt's output goes.
type Files struct {
	Stdout, Stderr string // paths; empty to discard
	DeleteIfOK     bool
	// SrunOnly says that stderr contains only messages of srun. That of the job is
	// discarded.
	SrunOnly bool
}

// StdioConfig returns how a job's output is kept: the job's own setting, else that of the
// workflow for this job, else for all jobs; nil for the default.
func StdioConfig(g *lease.Grant, config *workflow.ExecutionConfig) *workflow.StdioConfig {
	if g.Stdio != nil || config == nil {
		return g.Stdio
	}
	if own, ok := config.JobStdioOverrides[g.Name]; ok {
		return &own
	}
	return config.Stdio
}

// FilesOf returns the files of an attempt. base is a LogPath without ending.
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

// Remove deletes the files.
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

// Tail returns the last bytes of a file as valid UTF-8, empty if it cannot be read. It
// reads only the end of the file.
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
	n, _ := f.ReadAt(buf, start) // a part of it is better than nothing
	buf = buf[:n]
	return Clip(string(buf), int(size))
}

// Clip returns the end of text as valid UTF-8 of at most size bytes.
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
