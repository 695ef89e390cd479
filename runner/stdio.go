package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// stdioDir is where attempts' files are, under the output directory.
const stdioDir = "job_stdio"

// tailSize is how much of the end of stderr a report carries.
const tailSize = 4 << 10

// LogPath returns the path of an attempt's file: ending is .o, .e or .log.
func LogPath(outputDir string, workflowID, jobID, runID, attempt int64, ending string) string {
	name := fmt.Sprintf("job_wf%d_j%d_r%d_a%d%s", workflowID, jobID, runID, attempt, ending)
	return filepath.Join(outputDir, stdioDir, name)
}

// stdio says where an attempt's output goes.
type stdio struct {
	stdout, stderr string // paths; empty to discard
	deleteIfOK     bool
	// srunOnly says that stderr has what srun says alone: that of the job is
	// discarded.
	srunOnly bool
}

// stdioConfig returns how a job's output is kept: as the job says, else as the
// workflow does, for the job or for all; nil for the default.
func stdioConfig(g *api.Grant, config *workflow.ExecutionConfig) *workflow.StdioConfig {
	if g.Stdio != nil || config == nil {
		return g.Stdio
	}
	if own, ok := config.JobStdioOverrides[g.Name]; ok {
		return &own
	}
	return config.Stdio
}

// stdioPaths lays out the files of one attempt; base is a LogPath without
// ending.
func stdioPaths(config *workflow.StdioConfig, base string) stdio {
	var s stdio
	mode := workflow.StdioSeparate
	if config != nil {
		if config.Mode != "" {
			mode = config.Mode
		}
		s.deleteIfOK = config.DeleteOnSuccess != nil && *config.DeleteOnSuccess
	}
	switch mode {
	case workflow.StdioCombined:
		s.stdout, s.stderr = base+".log", base+".log"
	case workflow.StdioNoStdout:
		s.stderr = base + ".e"
	case workflow.StdioNoStderr:
		s.stdout = base + ".o"
	case workflow.StdioNone:
	default:
		s.stdout, s.stderr = base+".o", base+".e"
	}
	return s
}

// remove deletes the files of an attempt that went well.
func (s stdio) remove() error {
	for _, path := range []string{s.stdout, s.stderr} {
		if path == "" {
			continue
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// tail returns the last bytes of a file as valid UTF-8, empty if there is no
// such file. Only the end is read, whatever the file's size.
func tail(path string, size int64) string {
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
	return clip(string(buf), int(size))
}

// clip makes text valid UTF-8 of at most size bytes, keeping its end.
func clip(text string, size int) string {
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
