package mcp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) addJobTools() {
	add(s, tool{name: "get_job_details", title: "Details of a job",
		description: "Everything about one job: command, status, dependencies, resource requirements, each attempt with its cause, evidence and decision, and why the job is in its state."}, getJobDetails)
	add(s, tool{name: "list_jobs_by_status", title: "Jobs with a status",
		description: "List the jobs of a workflow that have a status: " + strings.Join(statusNames(), ", ") + "."}, listJobsByStatus)
	add(s, tool{name: "list_failed_jobs", title: "Failed jobs",
		description: "List the jobs of a workflow that did not succeed (failed and terminated), each with its cause, return code and the last lines of its stderr. Jobs that wait for a decision are in list_pending_failed_jobs."}, listFailedJobs)
}

func statusNames() (names []string) {
	for s := workflow.Uninitialized; s <= workflow.PendingFailed; s++ {
		names = append(names, s.String())
	}
	return names
}

// jobIn names a job.
type jobIn struct {
	JobID int64 `json:"job_id" jsonschema:"id of the job"`
}

type requirementsOut struct {
	Name     string `json:"name"`
	NumCPUs  int64  `json:"num_cpus"`
	NumGPUs  int64  `json:"num_gpus"`
	NumNodes int64  `json:"num_nodes"`
	Memory   string `json:"memory"`
	Runtime  string `json:"runtime" jsonschema:"ISO 8601"`
}

type attemptOut struct {
	RunID      int64     `json:"run_id"`
	AttemptID  int64     `json:"attempt_id"`
	Node       string    `json:"node,omitempty"`
	Status     string    `json:"status"`
	ReturnCode *int64    `json:"return_code,omitempty"`
	StartedMS  *int64    `json:"started_ms,omitempty"`
	EndedMS    *int64    `json:"ended_ms,omitempty"`
	Cause      string    `json:"cause,omitempty"`
	Confidence string    `json:"confidence,omitempty" jsonschema:"of the cause: certain, likely or guess"`
	CauseText  string    `json:"cause_text,omitempty"`
	Decision   string    `json:"decision,omitempty" jsonschema:"retry, recover, hold or fail"`
	Reason     string    `json:"reason,omitempty" jsonschema:"of the decision"`
	Rule       string    `json:"rule,omitempty"`
	Stderr     untrusted `json:"stderr_tail,omitempty"`
}

type jobDetailsOut struct {
	JobID        int64            `json:"job_id"`
	WorkflowID   int64            `json:"workflow_id"`
	Name         string           `json:"name"`
	Command      untrusted        `json:"command"`
	Status       string           `json:"status"`
	AttemptID    int64            `json:"attempt_id"`
	Priority     int64            `json:"priority"`
	Labels       []string         `json:"labels,omitempty"`
	DependsOn    []int64          `json:"depends_on_job_ids,omitempty" jsonschema:"the first 200"`
	Requirements *requirementsOut `json:"resource_requirements,omitempty"`
	AvoidNodes   []string         `json:"avoid_nodes,omitempty"`
	State        string           `json:"state" jsonschema:"the state in words"`
	Next         string           `json:"next,omitempty"`
	Why          []section        `json:"why" jsonschema:"the facts behind the state"`
	Attempts     []attemptOut     `json:"attempts" jsonschema:"the latest 20, the latest last"`
}

// shownAttempts is how many attempts of a job are shown.
const shownAttempts = 20

func getJobDetails(ctx context.Context, c *call, in jobIn) (out jobDetailsOut, err error) {
	j, err := c.Jobs.Get(ctx, in.JobID)
	if err != nil {
		return out, err
	}
	why, err := c.Jobs.Why(ctx, in.JobID)
	if err != nil {
		return out, err
	}
	attempts, err := c.Jobs.Attempts(ctx, in.JobID)
	if err != nil {
		return out, err
	}
	out = jobDetailsOut{
		JobID: in.JobID, WorkflowID: j.WorkflowID, Name: j.Name, Command: c.fence(cut(j.Command, maxText)), Status: value(j.Status).String(),
		AttemptID: value(j.AttemptID), Priority: value(j.Priority), Labels: j.Labels, DependsOn: j.DependsOnJobIDs[:min(len(j.DependsOnJobIDs), mostItems)],
		State: why.State, Next: why.Next, Why: sectionsOf(why), Attempts: []attemptOut{},
	}
	for _, n := range j.AvoidNodes {
		out.AvoidNodes = append(out.AvoidNodes, n.Node)
	}
	if id := j.ResourceRequirementsID; id != nil {
		r, err := c.ResourceRequirements.Get(ctx, *id)
		if err != nil {
			return out, err
		}
		out.Requirements = &requirementsOut{Name: r.Name, NumCPUs: value(r.NumCPUs), NumGPUs: value(r.NumGPUs), NumNodes: value(r.NumNodes), Memory: value(r.Memory), Runtime: value(r.Runtime)}
	}
	for i := max(0, len(attempts)-shownAttempts); i < len(attempts); i++ {
		out.Attempts = append(out.Attempts, c.attempt(&attempts[i]))
	}
	return out, nil
}

func (c *call) attempt(a *api.Attempt) attemptOut {
	return attemptOut{
		RunID: a.RunID, AttemptID: a.AttemptID, Node: a.Node, Status: a.Status.String(), ReturnCode: a.ReturnCode, StartedMS: a.StartedMS, EndedMS: a.EndedMS,
		Cause: a.Cause, Confidence: a.Confidence, CauseText: a.CauseText, Decision: a.Decision, Reason: a.Reason, Rule: a.Rule, Stderr: c.stderrTail(a, 50),
	}
}

// stderrTail returns the last lines of what is known of an attempt's stderr.
func (c *call) stderrTail(a *api.Attempt, lines int) untrusted {
	if a.Evidence == nil {
		return ""
	}
	return c.fence(lastLines(a.Evidence.StderrTail, lines))
}

// lastLines returns the last lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

type jobsByStatusIn struct {
	workflowIn
	pageIn
	Status string `json:"status" jsonschema:"a status, such as running"`
}

type jobRow struct {
	JobID     int64     `json:"job_id"`
	Name      string    `json:"name"`
	Status    string    `json:"status"`
	AttemptID int64     `json:"attempt_id"`
	Command   untrusted `json:"command"`
	Labels    []string  `json:"labels,omitempty"`
}

type jobsOut struct {
	WorkflowID int64    `json:"workflow_id"`
	Total      int64    `json:"total" jsonschema:"how many jobs have the status"`
	Jobs       []jobRow `json:"jobs"`
	pageOut
}

func listJobsByStatus(ctx context.Context, c *call, in jobsByStatusIn) (out jobsOut, err error) {
	page, err := in.page()
	if err != nil {
		return out, err
	}
	at := slices.Index(statusNames(), in.Status)
	if at < 0 {
		return out, workflow.Errorf(workflow.CodeInvalid, "unknown status %q", in.Status).WithHint("use one of %s", strings.Join(statusNames(), ", "))
	}
	filter := client.JobFilter{Page: page, WorkflowID: in.WorkflowID, Status: new(workflow.JobStatus(at))}
	out.WorkflowID = in.WorkflowID
	if out.Total, err = c.Jobs.Count(ctx, client.JobFilter{WorkflowID: in.WorkflowID, Status: filter.Status}); err != nil {
		return out, err
	}
	out.Jobs, out.pageOut, err = collect(page, c.Jobs.List(ctx, filter), c.jobRow)
	return out, err
}

func (c *call) jobRow(j api.Job) jobRow {
	return jobRow{
		JobID: value(j.ID), Name: j.Name, Status: value(j.Status).String(), AttemptID: value(j.AttemptID),
		Command: c.fence(cut(firstLine(j.Command), 200)), Labels: j.Labels,
	}
}

func firstLine(text string) string {
	line, rest, _ := strings.Cut(text, "\n")
	if rest != "" {
		line += " …"
	}
	return line
}

type failedJobsIn struct {
	workflowIn
	pageIn
}

type failedJobRow struct {
	jobRow
	RunID      int64     `json:"run_id,omitempty"`
	ReturnCode *int64    `json:"return_code,omitempty"`
	Cause      string    `json:"cause,omitempty"`
	Confidence string    `json:"confidence,omitempty"`
	CauseText  string    `json:"cause_text,omitempty"`
	Reason     string    `json:"reason,omitempty" jsonschema:"why it was not retried"`
	Node       string    `json:"node,omitempty"`
	Stderr     untrusted `json:"stderr_tail,omitempty" jsonschema:"the last 10 lines"`
}

type failedJobsOut struct {
	WorkflowID int64          `json:"workflow_id"`
	Total      int64          `json:"total" jsonschema:"how many jobs failed"`
	Jobs       []failedJobRow `json:"jobs"`
	pageOut
}

// mostFailed is how many failed jobs are shown at once by default: each costs a call.
const mostFailed = 20

func listFailedJobs(ctx context.Context, c *call, in failedJobsIn) (out failedJobsOut, err error) {
	in.Limit = cmp.Or(in.Limit, mostFailed)
	page, err := in.page()
	if err != nil {
		return out, err
	}
	out.WorkflowID = in.WorkflowID
	var failed []api.Job
	for _, status := range []workflow.JobStatus{workflow.Failed, workflow.Terminated} {
		filter := client.JobFilter{WorkflowID: in.WorkflowID, Status: &status}
		n, err := c.Jobs.Count(ctx, filter)
		if err != nil {
			return out, err
		}
		if skip := page.Offset - out.Total; n > skip && int64(len(failed)) < page.Limit {
			filter.Page = client.Page{Offset: max(0, skip), Limit: page.Limit - int64(len(failed))}
			some, err := client.Collect(c.Jobs.List(ctx, filter))
			if err != nil {
				return out, err
			}
			failed = append(failed, some...)
		}
		out.Total += n
	}
	rows, next := pageOf(client.Page{Limit: page.Limit}, failed)
	if next.NextCursor != "" {
		out.NextCursor = cursorAfter(page.Offset + int64(len(rows)))
	}
	out.Jobs = []failedJobRow{}
	for _, j := range rows {
		row := failedJobRow{jobRow: c.jobRow(j)}
		attempts, err := c.Jobs.Attempts(ctx, row.JobID)
		if err != nil {
			return out, err
		}
		if n := len(attempts); n > 0 {
			a := &attempts[n-1]
			row.RunID, row.ReturnCode, row.Cause, row.Confidence, row.CauseText = a.RunID, a.ReturnCode, a.Cause, a.Confidence, a.CauseText
			row.Reason, row.Node, row.Stderr = a.Reason, a.Node, c.stderrTail(a, 10)
		}
		out.Jobs = append(out.Jobs, row)
	}
	return out, nil
}
