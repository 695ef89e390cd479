package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// failureGroups are all groups, in the order in which they are shown.
var failureGroups = []struct {
	group workflow.FailureGroup
	title string
}{
	{workflow.GroupMemory, "out of memory"},
	{workflow.GroupRuntime, "out of time"},
	{workflow.GroupOutside, "lost with their node or allocation"},
	{workflow.GroupUnknown, "failed for other reasons"},
}

// ask lets the user decide about each group. It reports whether to go on.
func (r *recovery) ask() (bool, error) {
	for _, g := range failureGroups {
		jobs := r.inGroup(g.group)
		if len(jobs) == 0 {
			continue
		}
		r.app.note("%s: %s", strings.ToUpper(g.title[:1])+g.title[1:], workflow.CountOf(int64(len(jobs)), "job", "jobs"))
		for _, j := range jobs[:min(len(jobs), 5)] {
			r.app.note("  %s: %s", j.JobName, r.texts[j.JobID])
		}
		ok, err := r.askAbout(g.group)
		if err != nil || !ok {
			return false, err
		}
	}
	return r.app.confirm(false, fmt.Sprintf("Repeat %s?", workflow.CountOf(int64(len(r.chosen())), "job", "jobs")))
}

// askAbout asks about a group until the answer is one. It reports whether to go
// on.
func (r *recovery) askAbout(group workflow.FailureGroup) (bool, error) {
	question, usual := "[r]etry, [s]kip", map[bool]string{true: "s", false: "r"}[r.skip[group]]
	var factor *float64
	switch group {
	case workflow.GroupMemory:
		factor, question = &r.flags.memory, fmt.Sprintf("[r]etry with %gx memory, another <factor>, [s]kip", r.flags.memory)
	case workflow.GroupRuntime:
		factor, question = &r.flags.runtime, fmt.Sprintf("[r]etry with %gx runtime, another <factor>, [s]kip", r.flags.runtime)
	}
	for {
		answer, err := r.app.ask(fmt.Sprintf("%s [%s]: ", question, usual))
		if errors.Is(err, io.EOF) {
			r.app.note("Nothing was done.")
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if err = r.decide(group, firstOf(strings.ToLower(answer), usual), factor); err == nil {
			return true, nil
		}
		message, _ := errorText(err)
		r.app.note("%s", message)
	}
}

func (r *recovery) decide(group workflow.FailureGroup, answer string, factor *float64) error {
	switch n, err := strconv.ParseFloat(answer, 64); {
	case answer == "s", answer == "r":
		r.skip[group] = answer == "s"
	case err == nil && n >= 1 && factor != nil:
		r.skip[group], *factor = false, n
	default:
		return usageErrorf("%q is none of the answers", answer)
	}
	return nil
}

func (r *recovery) inGroup(group workflow.FailureGroup) (jobs []workflow.FailedJob) {
	for _, j := range r.jobs {
		if j.Group() == group {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// correct changes requirements, or gives jobs some of their own.
func (r *recovery) correct(ctx context.Context) error {
	byID, err := requirementsByID(ctx, r.c, r.workflowID)
	if err != nil {
		return err
	}
	for _, change := range r.changes {
		rr := byID[change.From.ID]
		rr.NumCPUs, rr.Memory, rr.Runtime = &change.To.NumCPUs, &change.To.Memory, &change.To.Runtime
		if !change.Clone {
			if _, err := r.c.UpdateResourceRequirement(ctx, change.From.ID, &rr); err != nil {
				return fmt.Errorf("change resource requirements %q: %w", rr.Name, err)
			}
			continue
		}
		rr.ID, rr.Name = nil, cloneName(rr.Name, r.runID, byID)
		made, err := r.c.CreateResourceRequirement(ctx, &rr)
		if err != nil {
			return fmt.Errorf("create resource requirements %q: %w", rr.Name, err)
		}
		byID[idOf(made.ID)] = *made
		for _, id := range change.JobIDs {
			job, err := r.c.Job(ctx, id)
			if err != nil {
				return err
			}
			update := &api.Job{WorkflowID: r.workflowID, Name: job.Name, Command: job.Command, ResourceRequirementsID: made.ID}
			if _, err := r.c.UpdateJob(ctx, id, update); err != nil {
				return fmt.Errorf("give resource requirements %q to job %d: %w", rr.Name, id, err)
			}
		}
	}
	return nil
}

// cloneName is a name for corrected requirements that none has yet.
func cloneName(name string, runID int64, known map[int64]api.ResourceRequirements) string {
	taken := make(map[string]bool, len(known))
	for _, rr := range known {
		taken[rr.Name] = true
	}
	clone := fmt.Sprintf("%s_after_run_%d", name, runID)
	for n := 2; taken[clone]; n++ {
		clone = fmt.Sprintf("%s_after_run_%d_%d", name, runID, n)
	}
	return clone
}

// runHook runs the user's command, which mends what the jobs need.
func (r *recovery) runHook(ctx context.Context) error {
	if r.flags.hook == "" {
		return nil
	}
	id := fmt.Sprint(r.workflowID)
	cmd := exec.CommandContext(ctx, "bash", "-c", r.flags.hook+` "$@"`, "recovery-hook", id)
	cmd.Dir, cmd.Env = r.app.Dir, append(r.app.jobEnvironment(r.c), "TORC_WORKFLOW_ID="+id, "TORC_API_URL="+r.c.URL)
	cmd.Stdout, cmd.Stderr = r.app.stderr, r.app.stderr // a program of the user's, which may ask and draw
	if err := cmd.Run(); err != nil {
		return failedErrorf("the recovery hook failed: %v; the requirements are corrected, no job is reset", err)
	}
	return nil
}

// note writes an event about the recovery.
func (r *recovery) note(ctx context.Context) error {
	data, err := json.Marshal(struct {
		Category string         `json:"category"`
		Type     string         `json:"event_type"`
		Result   recoveryResult `json:"result"`
	}{"recovery", "recovery", r.result()})
	if err != nil {
		return err
	}
	_, err = r.c.CreateEvent(ctx, r.workflowID, data)
	return err
}

// recoveryResult is the outcome of a recovery in JSON.
type recoveryResult struct {
	OOMFixed       int          `json:"oom_fixed"`
	TimeoutFixed   int          `json:"timeout_fixed"`
	UnknownRetried int          `json:"unknown_retried"`
	OutsideRetried int          `json:"outside_retried"` // lost with their node or allocation
	OtherFailures  int          `json:"other_failures"`  // that are not repeated
	JobsToRetry    []int64      `json:"jobs_to_retry"`
	Adjustments    []adjustment `json:"adjustments"`
	SlurmDryRun    any          `json:"slurm_dry_run,omitempty"`
	Slurm          any          `json:"slurm,omitempty"`
}

func (r *recovery) result() recoveryResult {
	out := recoveryResult{JobsToRetry: []int64{}, Adjustments: []adjustment{}}
	count := map[workflow.FailureGroup]*int{
		workflow.GroupMemory: &out.OOMFixed, workflow.GroupRuntime: &out.TimeoutFixed,
		workflow.GroupOutside: &out.OutsideRetried, workflow.GroupUnknown: &out.UnknownRetried,
	}
	for _, j := range r.jobs {
		if r.skip[j.Group()] {
			out.OtherFailures++
			continue
		}
		*count[j.Group()]++
		out.JobsToRetry = append(out.JobsToRetry, j.JobID)
	}
	for _, change := range r.changes {
		for _, c := range change.Corrections {
			out.Adjustments = append(out.Adjustments, adjustment{
				change.From.ID, change.From.Name, c.Resource, c.Old, c.New, false, c.JobIDs, c.Reason,
			})
		}
	}
	switch {
	case r.regeneration == nil:
	case r.flags.dryRun:
		out.SlurmDryRun = r.regeneration.json()
	default:
		out.Slurm = r.regeneration.json()
	}
	return out
}

// diagnosedJob says why a job failed, and what is done about it.
type diagnosedJob struct {
	JobID   int64                 `json:"job_id"`
	JobName string                `json:"job_name"`
	Group   workflow.FailureGroup `json:"group"`
	Cause   workflow.CauseKind    `json:"cause"`
	Text    string                `json:"text"`
	Retry   bool                  `json:"retry"`
}

func (r *recovery) json() any {
	diagnosis := make([]diagnosedJob, len(r.jobs))
	for i, j := range r.jobs {
		diagnosis[i] = diagnosedJob{j.JobID, j.JobName, j.Group(), j.Cause, r.texts[j.JobID], !r.skip[j.Group()]}
	}
	return struct {
		WorkflowID        int64          `json:"workflow_id"`
		DryRun            bool           `json:"dry_run"`
		MemoryMultiplier  float64        `json:"memory_multiplier"`
		RuntimeMultiplier float64        `json:"runtime_multiplier"`
		Result            recoveryResult `json:"result"`
		Diagnosis         []diagnosedJob `json:"diagnosis"`
	}{r.workflowID, r.flags.dryRun, r.flags.memory, r.flags.runtime, r.result(), diagnosis}
}

// write tells people what was done, or would be.
func (r *recovery) write(w io.Writer) {
	for _, g := range failureGroups {
		jobs := r.inGroup(g.group)
		if len(jobs) == 0 {
			continue
		}
		what := map[bool]string{true: "left as they are", false: "repeated"}[r.skip[g.group]]
		fmt.Fprintf(w, "%s %s: %s\n", workflow.CountOf(int64(len(jobs)), "job", "jobs"), g.title, what)
		for _, j := range jobs[:min(len(jobs), 10)] {
			fmt.Fprintf(w, "  %s (job %d): %s\n", printable(j.JobName), j.JobID, printable(r.texts[j.JobID]))
		}
	}
	for _, c := range r.changes {
		whose := "changed for all its jobs"
		if c.Clone {
			whose = fmt.Sprintf("for %s alone, others keep theirs", workflow.CountOf(int64(len(c.JobIDs)), "job", "jobs"))
		}
		fmt.Fprintf(w, "Requirements %s: %s; %s\n", printable(c.From.Name), c.String(), whose)
	}
	if r.regeneration != nil {
		r.regeneration.write(w)
	}
	switch {
	case r.flags.dryRun && !r.isSlurm:
		fmt.Fprintln(w, "Nothing was changed: this was a dry run.")
	case !r.flags.dryRun && !r.isSlurm:
		fmt.Fprintf(w, "The jobs are ready: `%s run %d` runs them.\n", r.app.prefix(), r.workflowID)
	}
}
