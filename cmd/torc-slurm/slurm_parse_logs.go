package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// slurmLogIssue is a line of the output of Slurm, or of a job under it, that
// tells of trouble.
type slurmLogIssue struct {
	File        string        `json:"file"`
	SlurmJobID  string        `json:"slurm_job_id"`
	LineNumber  int           `json:"line_number"`
	Line        string        `json:"line"`
	Description string        `json:"pattern_description"`
	Severity    severity      `json:"severity"`
	Node        string        `json:"node"`
	Affected    []affectedJob `json:"affected_jobs,omitempty"`
}

// affectedJob is a job that ran in the Slurm job.
type affectedJob struct {
	JobID   int64  `json:"job_id"`
	JobName string `json:"job_name"`
}

// slurmLogReport is what slurm parse-logs says in JSON.
type slurmLogReport struct {
	WorkflowID   int64           `json:"workflow_id"`
	OutputDir    string          `json:"output_dir"`
	SlurmJobs    int             `json:"slurm_jobs_count"`
	FilesScanned int             `json:"files_scanned"`
	TotalIssues  int             `json:"total_issues"`
	Errors       int             `json:"errors"`
	Warnings     int             `json:"warnings"`
	Issues       []slurmLogIssue `json:"issues"`
	Message      string          `json:"message,omitempty"`
}

var slurmIssueColumns = list[slurmLogIssue]{things: "issues", columns: []column[slurmLogIssue]{
	{title: "File", cell: func(x slurmLogIssue) string { return x.File }},
	{title: "Line", cell: func(x slurmLogIssue) string { return fmt.Sprint(x.LineNumber) }},
	{title: "Slurm Job", cell: func(x slurmLogIssue) string { return x.SlurmJobID }},
	{title: "Node", cell: func(x slurmLogIssue) string { return x.Node }},
	{title: "Severity", cell: func(x slurmLogIssue) string { return string(x.Severity) }},
	{title: "What", cell: func(x slurmLogIssue) string { return x.Description }},
	{title: "Text", cell: func(x slurmLogIssue) string { return x.Line }},
	{title: "Jobs", cell: func(x slurmLogIssue) string {
		names := make([]string, len(x.Affected))
		for i, j := range x.Affected {
			names[i] = j.JobName
		}
		return firstNames(names)
	}},
}}

func newSlurmParseLogsCommand(a *app) *cobra.Command {
	var (
		workflowID int64
		errorsOnly bool
	)
	cmd := &cobra.Command{
		Use:   "parse-logs DIR",
		Short: "Look for known errors in the output of Slurm and of jobs",
		Long: `Look for lines that tell of known errors in what Slurm wrote for the allocations
of a workflow, and in the output of its jobs: out of memory, time limits,
preemption, failed nodes and the like, with the jobs that ran there. DIR is the
output directory of the workflow.

` + "`torc-slurm why`" + ` names the cause of each attempt without such a search.`,
		Example: `  torc-slurm slurm parse-logs torc_output
  torc-slurm slurm parse-logs torc_output -w 12 --errors-only`,
		Args:              cobra.ExactArgs(1),
		Annotations:       withCSV(serverExits("1 the logs are of several workflows")),
		ValidArgsFunction: completePaths,
	}
	cmd.Flags().Int64VarP(&workflowID, "workflow-id", "w", 0, "`ID` of the workflow (default: the only one that has logs there)")
	cmd.Flags().BoolVar(&errorsOnly, "errors-only", false, "leave out warnings")
	cmd.RunE = a.serverCommand(func(ctx context.Context, c *connection, args []string) error {
		dir := a.path(args[0])
		id, err := workflowOfDir(dir, workflowID)
		if err != nil {
			return err
		}
		report, err := a.parseSlurmLogs(ctx, c, dir, id, errorsOnly)
		if err != nil {
			return err
		}
		if a.format == formatJSON {
			return a.writeJSON(report)
		}
		if report.Message != "" {
			a.note("%s", report.Message)
		}
		return showList(a, slurmIssueColumns, report.Issues)
	})
	return cmd
}

// workflowOfDir is the workflow that was named, or the only one whose logs are
// in a directory.
func workflowOfDir(dir string, named int64) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, workflow.Errorf(workflow.CodeNotFound, "cannot look at %s: %v", dir, err)
	}
	if named != 0 {
		return named, nil
	}
	var ids []int64
	for _, e := range entries {
		if id, ok := workflowOfLog(e.Name()); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	switch len(ids) {
	case 0:
		return 0, workflow.Errorf(workflow.CodeNotFound, "there are no log files in %s", dir)
	case 1:
		return ids[0], nil
	}
	slices.Sort(ids)
	return 0, failedErrorf("there are log files of several workflows in %s: %s; choose one with -w", dir, joined(ids))
}

// slurmOutput finds the Slurm job in the name of a log file.
var slurmOutput = regexp.MustCompile(`^slurm_output_wf\d+_sl(\d+)`)

// Where a line names the Slurm job and the node that it is about.
var (
	slurmJobInLine = regexp.MustCompile(`(?i)\b(?:job|step|StepId=|JobId=)\s*(\d+)(?:[.\s]|$)`)
	nodeInLine     = regexp.MustCompile(`\*\*\* (?:JOB|STEP) \S+ ON (\S+) |^srun: error: ([^\s:]+): tasks? |^srun: error: Node failure on (\S+)|^slurmstepd-([^\s:]+): `)
)

// slurmLogs is a search through logs.
type slurmLogs struct {
	report     slurmLogReport
	errorsOnly bool
	slurmJobs  map[string]bool          // of the workflow
	jobsIn     map[string][]affectedJob // by Slurm job
	names      map[int64]string         // of jobs that ran
	latest     map[int64]string         // Slurm job, by job
	ranIn      map[attemptKey]string    // Slurm job, of attempts that have ended
}

func (a *app) parseSlurmLogs(ctx context.Context, c *connection, dir string, id int64, errorsOnly bool) (*slurmLogReport, error) {
	known, err := slurmJobsOf(ctx, c, id)
	if err != nil {
		return nil, err
	}
	s := slurmLogs{
		report:     slurmLogReport{WorkflowID: id, OutputDir: dir, SlurmJobs: len(known.ids), Issues: []slurmLogIssue{}},
		errorsOnly: errorsOnly, slurmJobs: make(map[string]bool),
	}
	if len(known.ids) == 0 {
		s.report.Message = fmt.Sprintf("workflow %d had no allocations", id)
		return &s.report, nil
	}
	for _, job := range known.ids {
		s.slurmJobs[job.String()] = true
	}
	if err := s.correlate(ctx, c); err != nil {
		return nil, err
	}
	files, err := findWorkflowLogs([]string{dir}, id)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := s.file(f); err != nil {
			return nil, err
		}
	}
	return &s.report, nil
}

// correlate finds out which jobs, and which of their attempts, ran in which
// Slurm jobs.
func (s *slurmLogs) correlate(ctx context.Context, c *connection) error {
	s.jobsIn, s.names, s.latest = make(map[string][]affectedJob), make(map[int64]string), make(map[int64]string)
	for x, err := range c.SlurmJobCorrelations(ctx, s.report.WorkflowID) {
		if err != nil {
			return err
		}
		s.jobsIn[x.SlurmJobID] = append(s.jobsIn[x.SlurmJobID], affectedJob{x.JobID, x.JobName})
		s.names[x.JobID], s.latest[x.JobID] = x.JobName, x.SlurmJobID
	}
	slurmJobOf := make(map[int64]string) // by runner
	for n, err := range c.ComputeNodes(ctx, client.ComputeNodeFilter{WorkflowID: s.report.WorkflowID}) {
		if err != nil {
			return err
		}
		var place struct {
			SlurmJobID string `json:"slurm_job_id"`
		}
		if json.Unmarshal(n.Scheduler, &place) == nil { // others have none
			slurmJobOf[idOf(n.ID)] = place.SlurmJobID
		}
	}
	s.ranIn = make(map[attemptKey]string)
	for r, err := range c.Results(ctx, client.ResultFilter{WorkflowID: s.report.WorkflowID, AllRuns: true}) {
		if err != nil {
			return err
		}
		s.ranIn[attemptKey{r.JobID, r.RunID, max(1, idOf(r.AttemptID))}] = slurmJobOf[r.ComputeNodeID]
	}
	return nil
}

// jobOutput finds job, run and attempt in the name of an output.
var jobOutput = regexp.MustCompile(`^job_wf\d+_j(\d+)_r(\d+)_a(\d+)`)

// file searches the output of a Slurm job of the workflow, or of one of its
// jobs; the logs of runners are left out.
func (s *slurmLogs) file(f logFile) error {
	name := filepath.Base(f.path)
	of := struct {
		slurmJob string
		affected []affectedJob
	}{}
	if match := jobOutput.FindStringSubmatch(name); match != nil {
		var attempt attemptKey
		_, _ = fmt.Sscan(strings.Join(match[1:], " "), &attempt.job, &attempt.run, &attempt.attempt) // they are numbers
		of.slurmJob = firstOf(s.ranIn[attempt], s.latest[attempt.job])
		if name, ok := s.names[attempt.job]; ok {
			of.affected = []affectedJob{{attempt.job, name}}
		}
	} else if match := slurmOutput.FindStringSubmatch(name); match != nil {
		of.slurmJob = match[1]
		of.affected = s.jobsIn[match[1]]
	}
	if !s.slurmJobs[of.slurmJob] {
		return nil
	}
	s.report.FilesScanned++
	r, err := os.Open(filepath.Join(f.dir, f.path))
	if err != nil {
		return err
	}
	defer r.Close()
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if p, ok := matchLine(line); ok {
			s.add(p, slurmLogIssue{File: f.path, SlurmJobID: of.slurmJob, LineNumber: n, Line: printable(line), Affected: of.affected})
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", f.path, err)
		}
	}
}

func (s *slurmLogs) add(p logPattern, issue slurmLogIssue) {
	issue.Description, issue.Severity = p.description, p.severity
	if match := slurmJobInLine.FindStringSubmatch(issue.Line); match != nil && s.slurmJobs[match[1]] {
		issue.SlurmJobID = match[1]
	}
	if match := nodeInLine.FindStringSubmatch(issue.Line); match != nil {
		issue.Node = firstOf(match[1:]...)
	}
	switch {
	case p.severity == severityError:
		s.report.Errors++
	case s.errorsOnly:
		return
	default:
		s.report.Warnings++
	}
	s.report.TotalIssues++
	s.report.Issues = append(s.report.Issues, issue)
}
