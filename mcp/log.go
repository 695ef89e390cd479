package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/logscan"
)

func (s *Server) addLogTools() {
	add(s, tool{name: "get_job_logs", title: "Output of a job",
		description: "Read what an attempt of a job has written to stdout or stderr, also while it runs: the last 100 lines by default. With cursor, what comes before or after. If the files are not on this machine, the end of stderr that the daemon has."}, getJobLogs)
	add(s, tool{name: "analyze_workflow_logs", title: "Known errors in logs",
		description: "Search the log files of a workflow for known errors (out of memory, time limits, full disks, missing programs and modules, lost connections) and count them by kind, with samples."}, analyzeWorkflowLogs)
}

type jobLogsIn struct {
	workflowIn
	jobIn
	RunID     int64  `json:"run_id" jsonschema:"the run; get_job_details has it for each attempt"`
	AttemptID int64  `json:"attempt_id,omitempty" jsonschema:"the attempt; 1 by default"`
	LogType   string `json:"log_type" jsonschema:"stdout or stderr"`
	TailLines int64  `json:"tail_lines,omitempty" jsonschema:"how many of the last lines; 100 by default, 2000 at most. The text has at most 32 KiB."`
	Cursor    string `json:"cursor,omitempty" jsonschema:"earlier_cursor or later_cursor of a previous answer"`
	OutputDir string `json:"output_dir,omitempty" jsonschema:"output directory of the workflow, if it is not the configured one"`
}

type jobLogsOut struct {
	JobID     int64     `json:"job_id"`
	RunID     int64     `json:"run_id"`
	AttemptID int64     `json:"attempt_id"`
	LogType   string    `json:"log_type"`
	File      string    `json:"file,omitempty" jsonschema:"absent if the text is what the daemon has"`
	Size      int64     `json:"size_bytes" jsonschema:"of the whole file"`
	From      int64     `json:"from_byte"`
	To        int64     `json:"to_byte"`
	Text      untrusted `json:"text"`
	Earlier   string    `json:"earlier_cursor,omitempty" jsonschema:"to read what comes before; absent at the beginning"`
	Later     string    `json:"later_cursor,omitempty" jsonschema:"to read what comes after, also when the job has written more"`
}

const (
	usualLines = 100
	mostLines  = 2000
)

func getJobLogs(ctx context.Context, c *call, in jobLogsIn) (out jobLogsOut, err error) {
	in.AttemptID, in.TailLines = cmp.Or(in.AttemptID, 1), cmp.Or(in.TailLines, usualLines)
	if in.LogType != "stdout" && in.LogType != "stderr" {
		return out, workflow.Errorf(workflow.CodeInvalid, "unknown log_type %q", in.LogType).WithHint("use stdout or stderr")
	}
	if in.TailLines < 1 || in.TailLines > mostLines {
		return out, workflow.Errorf(workflow.CodeInvalid, "tail_lines %d is not between 1 and %d", in.TailLines, mostLines)
	}
	attempt, err := c.attemptOf(ctx, in)
	if err != nil {
		return out, err
	}
	out = jobLogsOut{JobID: in.JobID, RunID: in.RunID, AttemptID: in.AttemptID, LogType: in.LogType}
	f, err := c.openLog(ctx, in)
	if err != nil {
		return out, err
	}
	if f == nil {
		if in.LogType == "stdout" || attempt.Evidence == nil || attempt.Evidence.StderrTail == "" {
			return out, workflow.Errorf(workflow.CodeNotFound, "there is no %s of attempt %d of job %d on this machine", in.LogType, in.AttemptID, in.JobID).
				WithHint("was the workflow run with another output directory (output_dir) or on another machine, or with stdio none?")
		}
		tail := attempt.Evidence.StderrTail
		out.Size, out.To, out.Text = int64(len(tail)), int64(len(tail)), c.fence(lastLines(tail, int(in.TailLines)))
		return out, nil
	}
	defer f.Close()
	text, err := readPart(f, &out, in.Cursor, int(in.TailLines))
	out.Text = c.fence(text)
	return out, err
}

// attemptOf returns the attempt that is asked for; CodeNotFound if the workflow has no such
// job, or that no such attempt.
func (c *call) attemptOf(ctx context.Context, in jobLogsIn) (*api.Attempt, error) {
	job, err := c.Jobs.Get(ctx, in.JobID)
	if err != nil {
		return nil, err
	}
	if job.WorkflowID != in.WorkflowID {
		return nil, workflow.Errorf(workflow.CodeNotFound, "workflow %d has no job %d", in.WorkflowID, in.JobID)
	}
	attempts, err := c.Jobs.Attempts(ctx, in.JobID)
	if err != nil {
		return nil, err
	}
	for i := range attempts {
		if a := &attempts[i]; a.RunID == in.RunID && a.AttemptID == in.AttemptID {
			return a, nil
		}
	}
	e := workflow.Errorf(workflow.CodeNotFound, "job %d has no attempt %d in run %d", in.JobID, in.AttemptID, in.RunID)
	if n := len(attempts); n > 0 {
		return nil, e.WithHint("its latest is attempt %d of run %d", attempts[n-1].AttemptID, attempts[n-1].RunID)
	}
	return nil, e.WithHint("it has not been started")
}

// openLog opens the file of an attempt; nil if it is not on this machine.
func (c *call) openLog(ctx context.Context, in jobLogsIn) (*os.File, error) {
	dirs, err := c.server.OutputDirs(ctx, c.Client, in.OutputDir)
	if err != nil {
		return nil, err
	}
	endings := map[string][]string{"stdout": {".o", ".log"}, "stderr": {".e", ".log"}}[in.LogType]
	for _, dir := range dirs {
		for _, ending := range endings {
			path := output.LogPath(dir, in.WorkflowID, in.JobID, in.RunID, in.AttemptID, ending)
			if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
				continue // to open it may last for ever
			}
			f, err := os.Open(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, workflow.Errorf(workflow.CodeForbidden, "cannot read the output: %v", err)
			}
			return f, nil
		}
	}
	return nil, nil
}

// readPart reads a part of a file of at most maxOutput bytes: its last lines, or what a
// cursor says. It starts and ends at lines where it can.
func readPart(f *os.File, out *jobLogsOut, cursor string, lines int) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	out.File, out.Size = filepath.Base(f.Name()), info.Size()
	from, to := max(0, out.Size-maxOutput), out.Size
	kind, number, _ := strings.Cut(cursor, "-")
	at, err := strconv.ParseInt(number, 10, 64)
	switch {
	case cursor == "":
	case err != nil || at < 0 || kind != "before" && kind != "from":
		return "", workflow.Errorf(workflow.CodeInvalid, "invalid cursor %q", cursor).WithHint("pass earlier_cursor or later_cursor of a previous answer")
	case kind == "before":
		to = min(at, out.Size)
		from = max(0, to-maxOutput)
	default:
		from = min(at, out.Size)
		to = min(out.Size, from+maxOutput)
	}
	text := make([]byte, to-from)
	n, err := f.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	text = text[:n]
	if kind == "from" {
		text = headLines(text, lines, from+int64(n) < out.Size)
	} else {
		text = tailLines(text, lines, from > 0)
		from = to - int64(len(text)) - (to - from - int64(n))
	}
	out.From, out.To = from, from+int64(len(text))
	if out.From > 0 {
		out.Earlier = "before-" + strconv.FormatInt(out.From, 10)
	}
	out.Later = "from-" + strconv.FormatInt(out.To, 10)
	return string(text), nil
}

// tailLines returns the last lines of a text; a first line that is cut is dropped if others
// are left.
func tailLines(text []byte, lines int, isCut bool) []byte {
	end := len(bytes.TrimSuffix(text, []byte("\n")))
	for at := end; at > 0; at-- {
		if text[at-1] == '\n' {
			if lines--; lines == 0 {
				return text[at:]
			}
		}
	}
	if first := bytes.IndexByte(text, '\n'); isCut && first >= 0 && first+1 < len(text) {
		return text[first+1:]
	}
	return text
}

// headLines returns the first lines of a text; a last line that is cut is dropped if others
// are left.
func headLines(text []byte, lines int, isCut bool) []byte {
	for at, c := range text {
		if c == '\n' {
			if lines--; lines == 0 {
				return text[:at+1]
			}
		}
	}
	if last := bytes.LastIndexByte(text, '\n'); isCut && last >= 0 {
		return text[:last+1]
	}
	return text
}

type analyzeLogsIn struct {
	workflowIn
	OutputDir string `json:"output_dir,omitempty" jsonschema:"output directory of the workflow, if it is not the configured one"`
}

type logKind struct {
	Description string      `json:"description"`
	Severity    string      `json:"severity" jsonschema:"error or warning"`
	Count       int         `json:"count" jsonschema:"in how many lines it was found"`
	Files       int         `json:"files" jsonschema:"in how many files"`
	Samples     []logSample `json:"samples" jsonschema:"the first lines"`
}

type logSample struct {
	File       string    `json:"file"`
	LineNumber int       `json:"line_number"`
	Line       untrusted `json:"line"`
}

type analyzeLogsOut struct {
	WorkflowID   int64     `json:"workflow_id"`
	FilesScanned int       `json:"files_scanned"`
	Unread       int       `json:"files_unread,omitempty" jsonschema:"not read, since there are too many or they are too large"`
	Errors       int       `json:"errors"`
	Warnings     int       `json:"warnings"`
	Kinds        []logKind `json:"kinds" jsonschema:"the most frequent first"`
	Hint         string    `json:"hint,omitempty"`
}

// The limits of a search, and of what is shown of it.
const (
	mostScanned = 512 << 20 // bytes
	logSamples  = 3
)

func analyzeWorkflowLogs(ctx context.Context, c *call, in analyzeLogsIn) (out analyzeLogsOut, err error) {
	if _, err := c.Workflows.Get(ctx, in.WorkflowID); err != nil {
		return out, err
	}
	dirs, err := c.server.OutputDirs(ctx, c.Client, in.OutputDir)
	if err != nil {
		return out, err
	}
	out = analyzeLogsOut{WorkflowID: in.WorkflowID, Kinds: []logKind{}}
	files, err := c.server.LogFiles(dirs, in.WorkflowID)
	if err != nil {
		return out, err
	}
	kinds, left := map[string]*logKind{}, int64(mostScanned)
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if left -= file.Size; left < 0 {
			out.Unread++
			continue
		}
		if err := c.scan(file, kinds, &out); err != nil {
			return out, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		out.Kinds = append(out.Kinds, *kinds[name])
	}
	slices.SortStableFunc(out.Kinds, func(a, b logKind) int { return b.Count - a.Count })
	if out.Errors > 0 {
		out.Hint = "list_failed_jobs has the cause of each failed job; recover_workflow with dry_run shows what a recovery would change"
	}
	return out, nil
}

// scan searches a file. One that is gone or cannot be read counts as unread.
func (c *call) scan(file LogFile, kinds map[string]*logKind, out *analyzeLogsOut) error {
	f, err := os.Open(filepath.Join(file.Dir, file.Path))
	if err != nil {
		out.Unread++
		return nil //nolint:nilerr // the answer says so
	}
	defer f.Close()
	out.FilesScanned++
	seen := map[string]bool{}
	return logscan.Scan(f, func(found logscan.Finding) {
		k := kinds[found.Description]
		if k == nil {
			k = &logKind{Description: found.Description, Severity: string(found.Severity)}
			kinds[found.Description] = k
		}
		k.Count++
		if !seen[found.Description] {
			seen[found.Description] = true
			k.Files++
		}
		if found.Severity == logscan.Error {
			out.Errors++
		} else {
			out.Warnings++
		}
		if len(k.Samples) < logSamples {
			k.Samples = append(k.Samples, logSample{file.Path, found.Number, c.fence(cut(found.Line, 500))})
		}
	})
}
