package slurmcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/logfile"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/logscan"
)

// slurmLogIssue is a line with a known error in the output of Slurm or of a job under it.
type slurmLogIssue struct {
	File        string           `json:"file"`
	SlurmJobID  string           `json:"slurm_job_id"`
	LineNumber  int              `json:"line_number"`
	Line        string           `json:"line"`
	Description string           `json:"pattern_description"`
	Severity    logscan.Severity `json:"severity"`
	Node        string           `json:"node"`
	Affected    []affectedJob    `json:"affected_jobs,omitempty"`
}

// affectedJob is a job that ran in the Slurm job.
type affectedJob struct {
	JobID   int64  `json:"job_id"`
	JobName string `json:"job_name"`
}

// SlurmLogReport is the JSON output of slurm parse-logs.
type SlurmLogReport struct {
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

var slurmIssueColumns = cli.List[slurmLogIssue]{Things: "issues", Columns: []cli.Column[slurmLogIssue]{
	{Title: "File", Cell: func(x slurmLogIssue) string { return x.File }},
	{Title: "Line", Cell: func(x slurmLogIssue) string { return fmt.Sprint(x.LineNumber) }},
	{Title: "Slurm Job", Cell: func(x slurmLogIssue) string { return x.SlurmJobID }},
	{Title: "Node", Cell: func(x slurmLogIssue) string { return x.Node }},
	{Title: "Severity", Cell: func(x slurmLogIssue) string { return string(x.Severity) }},
	{Title: "What", Cell: func(x slurmLogIssue) string { return x.Description }},
	{Title: "Text", Cell: func(x slurmLogIssue) string { return x.Line }},
	{Title: "Jobs", Cell: func(x slurmLogIssue) string {
		names := make([]string, len(x.Affected))
		for i, j := range x.Affected {
			names[i] = j.JobName
		}
		return cli.FirstNames(names)
	}},
}}

func newParseLogs(a *cli.Factory) *cobra.Command {
	var (
		workflowID int64
		errorsOnly bool
	)
	cmd := &cobra.Command{
		Use:   "parse-logs DIR",
		Short: "Search the output of Slurm and of jobs for known errors",
		Long: `Search Slurm's output for the allocations of a workflow, and the output of its jobs,
for lines of known errors: out of memory, time limits, preemption, failed nodes and
the like, with the jobs that ran there. DIR is the output directory of the workflow.

` + "`torc-slurm why`" + ` shows the cause of each attempt without such a search.`,
		Example: `  torc-slurm slurm parse-logs torc_output
  torc-slurm slurm parse-logs torc_output -w 12 --errors-only`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.WithCSV(cli.ServerExits("1 the logs belong to several workflows")),
		ValidArgsFunction: cli.CompletePaths,
	}
	cmd.Flags().Int64VarP(&workflowID, "workflow-id", "w", 0, "`ID` of the workflow (default: the only one with logs there)")
	cmd.Flags().BoolVar(&errorsOnly, "errors-only", false, "leave out warnings")
	cmd.RunE = a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
		dir := a.Path(args[0])
		id, err := workflowOfDir(dir, workflowID)
		if err != nil {
			return err
		}
		report, err := parseSlurmLogs(ctx, c, dir, id, errorsOnly)
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			return a.WriteJSON(report)
		}
		if report.Message != "" {
			a.Note("%s", report.Message)
		}
		return cli.ShowList(a, slurmIssueColumns, report.Issues)
	})
	return cmd
}

// workflowOfDir returns the named workflow, or the only one whose logs are in a directory.
func workflowOfDir(dir string, named int64) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, workflow.Errorf(workflow.CodeNotFound, "cannot read %s: %v", dir, err)
	}
	if named != 0 {
		return named, nil
	}
	var ids []int64
	for _, e := range entries {
		if id, ok := logfile.WorkflowOf(e.Name()); ok && !slices.Contains(ids, id) {
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
	return 0, cli.FailedErrorf("there are log files of several workflows in %s: %s; choose one with -w", dir, cli.Joined(ids))
}

// slurmLogs is a search through logs.
type slurmLogs struct {
	report     SlurmLogReport
	errorsOnly bool
	places     *logscan.Places
}

func parseSlurmLogs(ctx context.Context, c *cli.Connection, dir string, id int64, errorsOnly bool) (*SlurmLogReport, error) {
	known, err := slurmJobsOf(ctx, c, id)
	if err != nil {
		return nil, err
	}
	s := slurmLogs{
		report:     SlurmLogReport{WorkflowID: id, OutputDir: dir, SlurmJobs: len(known.ids), Issues: []slurmLogIssue{}},
		errorsOnly: errorsOnly,
	}
	if len(known.ids) == 0 {
		s.report.Message = fmt.Sprintf("workflow %d had no allocations", id)
		return &s.report, nil
	}
	ids := make([]string, len(known.ids))
	for i, job := range known.ids {
		ids[i] = job.String()
	}
	s.places = logscan.NewPlaces(ids...)
	if err := s.correlate(ctx, c); err != nil {
		return nil, err
	}
	files, err := logfile.Find([]string{dir}, id)
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

// correlate finds the Slurm jobs in which jobs and their attempts ran.
func (s *slurmLogs) correlate(ctx context.Context, c *cli.Connection) error {
	for x, err := range c.SlurmStats.JobCorrelations(ctx, s.report.WorkflowID) {
		if err != nil {
			return err
		}
		s.places.AddJob(x.SlurmJobID, logscan.Job{ID: x.JobID, Name: x.JobName})
	}
	slurmJobOf := make(map[int64]string) // by runner
	for n, err := range c.ComputeNodes.List(ctx, client.ComputeNodeFilter{WorkflowID: s.report.WorkflowID}) {
		if err != nil {
			return err
		}
		var place struct {
			SlurmJobID string `json:"slurm_job_id"`
		}
		if json.Unmarshal(n.Scheduler, &place) == nil { // others have none
			slurmJobOf[cli.OrZero(n.ID)] = place.SlurmJobID
		}
	}
	for r, err := range c.Results.List(ctx, client.ResultFilter{WorkflowID: s.report.WorkflowID, AllRuns: true}) {
		if err != nil {
			return err
		}
		s.places.AddAttempt(slurmJobOf[r.ComputeNodeID], logscan.Attempt{Job: r.JobID, Run: r.RunID, Number: max(1, cli.OrZero(r.AttemptID))})
	}
	return nil
}

// file searches the output of a Slurm job of the workflow, or of one of its
// jobs; the logs of runners are left out.
func (s *slurmLogs) file(f logfile.File) error {
	of, is := s.places.SourceOf(filepath.Base(f.Path))
	if !is {
		return nil
	}
	var affected []affectedJob
	for _, j := range of.Jobs {
		affected = append(affected, affectedJob{j.ID, j.Name})
	}
	s.report.FilesScanned++
	r, err := os.Open(filepath.Join(f.Dir, f.Path))
	if err != nil {
		return err
	}
	defer r.Close()
	err = logscan.Scan(r, func(found logscan.Finding) {
		s.add(found, slurmLogIssue{File: f.Path, SlurmJobID: of.SlurmJob, LineNumber: found.Number, Line: cli.Printable(found.Line), Affected: affected})
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	return nil
}

func (s *slurmLogs) add(f logscan.Finding, issue slurmLogIssue) {
	issue.Description, issue.Severity = f.Description, f.Severity
	issue.SlurmJobID = cli.FirstOf(s.places.SlurmJobOf(issue.Line), issue.SlurmJobID)
	issue.Node = logscan.Node(issue.Line)
	switch {
	case f.Severity == logscan.Error:
		s.report.Errors++
	case s.errorsOnly:
		return
	default:
		s.report.Warnings++
	}
	s.report.TotalIssues++
	s.report.Issues = append(s.report.Issues, issue)
}
