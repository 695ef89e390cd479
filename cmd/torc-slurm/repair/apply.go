package repair

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
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// failureGroups are all groups, in the order in which they are shown.
var failureGroups = []struct {
	group usage.FailureGroup
	title string
}{
	{usage.GroupMemory, "out of memory"},
	{usage.GroupRuntime, "out of time"},
	{usage.GroupOutside, "lost with their node or allocation"},
	{usage.GroupUnknown, "failed for other reasons"},
}

// ask asks the user about each group. It reports whether to continue.
func (r *recovery) ask() (bool, error) {
	for _, g := range failureGroups {
		jobs := r.inGroup(g.group)
		if len(jobs) == 0 {
			continue
		}
		r.app.Note("%s: %s", strings.ToUpper(g.title[:1])+g.title[1:], workflow.CountOf(int64(len(jobs)), "job", "jobs"))
		for _, j := range jobs[:min(len(jobs), 5)] {
			r.app.Note("  %s: %s", j.JobName, j.Text)
		}
		ok, err := r.askAbout(g.group)
		if err != nil || !ok {
			return false, err
		}
	}
	return r.app.Confirm(false, fmt.Sprintf("Repeat %s?", workflow.CountOf(int64(len(r.chosen())), "job", "jobs")))
}

// askAbout asks about a group until the answer is valid. It reports whether to continue.
func (r *recovery) askAbout(group usage.FailureGroup) (bool, error) {
	question, usual := "[r]etry, [s]kip", map[bool]string{true: "s", false: "r"}[r.skip[group]]
	var factor *float64
	switch group {
	case usage.GroupMemory:
		factor, question = &r.flags.memory, fmt.Sprintf("[r]etry with %gx memory, another <factor>, [s]kip", r.flags.memory)
	case usage.GroupRuntime:
		factor, question = &r.flags.runtime, fmt.Sprintf("[r]etry with %gx runtime, another <factor>, [s]kip", r.flags.runtime)
	}
	for {
		answer, err := r.app.Ask(fmt.Sprintf("%s [%s]: ", question, usual))
		if errors.Is(err, io.EOF) {
			r.app.Note("Nothing was done.")
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if err = r.decide(group, cli.FirstOf(strings.ToLower(answer), usual), factor); err == nil {
			return true, nil
		}
		message, _ := cli.ErrorText(err)
		r.app.Note("%s", message)
	}
}

func (r *recovery) decide(group usage.FailureGroup, answer string, factor *float64) error {
	switch n, err := strconv.ParseFloat(answer, 64); {
	case answer == "s", answer == "r":
		r.skip[group] = answer == "s"
	case err == nil && n >= 1 && factor != nil:
		r.skip[group], *factor = false, n
	default:
		return cli.UsageErrorf("%q is not a valid answer", answer)
	}
	return nil
}

func (r *recovery) inGroup(group usage.FailureGroup) (jobs []api.RecoverableJob) {
	for _, j := range r.proposal.Jobs {
		if j.Group == group {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// runHook runs the user's command, which repairs what the jobs need.
func (r *recovery) runHook(ctx context.Context) error {
	if r.flags.hook == "" {
		return nil
	}
	id := fmt.Sprint(r.workflowID)
	cmd := exec.CommandContext(ctx, "bash", "-c", r.flags.hook+` "$@"`, "recovery-hook", id)
	cmd.Dir, cmd.Env = r.app.Dir, append(cli.JobEnvironment(r.app, r.c), "TORC_WORKFLOW_ID="+id, "TORC_API_URL="+r.c.URL)
	cmd.Stdout, cmd.Stderr = r.app.RawStderr, r.app.RawStderr // the user's program may ask and draw
	if err := cmd.Run(); err != nil {
		return cli.FailedErrorf("the recovery hook failed: %v; the requirements are corrected, but no job is reset", err)
	}
	return nil
}

// note adds an event about the recovery.
func (r *recovery) note(ctx context.Context) error {
	data, err := json.Marshal(struct {
		Category string         `json:"category"`
		Type     string         `json:"event_type"`
		Result   recoveryResult `json:"result"`
	}{"recovery", "recovery", r.result()})
	if err != nil {
		return err
	}
	_, err = r.c.Events.Create(ctx, r.workflowID, data)
	return err
}

// recoveryResult is the outcome of a recovery in JSON.
type recoveryResult struct {
	OOMFixed       int              `json:"oom_fixed"`
	TimeoutFixed   int              `json:"timeout_fixed"`
	UnknownRetried int              `json:"unknown_retried"`
	OutsideRetried int              `json:"outside_retried"` // lost with their node or allocation
	OtherFailures  int              `json:"other_failures"`  // that are not repeated
	JobsToRetry    []int64          `json:"jobs_to_retry"`
	Adjustments    []api.Adjustment `json:"adjustments"`
	SlurmDryRun    any              `json:"slurm_dry_run,omitempty"`
	Slurm          any              `json:"slurm,omitempty"`
}

func (r *recovery) result() recoveryResult {
	out := recoveryResult{JobsToRetry: []int64{}, Adjustments: []api.Adjustment{}}
	count := map[usage.FailureGroup]*int{
		usage.GroupMemory: &out.OOMFixed, usage.GroupRuntime: &out.TimeoutFixed,
		usage.GroupOutside: &out.OutsideRetried, usage.GroupUnknown: &out.UnknownRetried,
	}
	for _, j := range r.proposal.Jobs {
		if r.skip[j.Group] {
			out.OtherFailures++
			continue
		}
		*count[j.Group]++
		out.JobsToRetry = append(out.JobsToRetry, j.JobID)
	}
	for _, change := range r.proposal.Changes {
		out.Adjustments = append(out.Adjustments, change.Adjustments...)
	}
	switch {
	case r.regeneration == nil:
	case r.flags.dryRun:
		out.SlurmDryRun = r.regeneration.JSON()
	default:
		out.Slurm = r.regeneration.JSON()
	}
	return out
}

// diagnosedJob is a failed job with its cause and the decision.
type diagnosedJob struct {
	JobID   int64              `json:"job_id"`
	JobName string             `json:"job_name"`
	Group   usage.FailureGroup `json:"group"`
	Cause   workflow.CauseKind `json:"cause"`
	Text    string             `json:"text"`
	Retry   bool               `json:"retry"`
}

func (r *recovery) json() any {
	diagnosis := make([]diagnosedJob, len(r.proposal.Jobs))
	for i, j := range r.proposal.Jobs {
		diagnosis[i] = diagnosedJob{j.JobID, j.JobName, j.Group, j.Cause, j.Text, !r.skip[j.Group]}
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

// write writes what was done, or would be done, as text.
func (r *recovery) write(w io.Writer) {
	for _, g := range failureGroups {
		jobs := r.inGroup(g.group)
		if len(jobs) == 0 {
			continue
		}
		what := map[bool]string{true: "left as they are", false: "retried"}[r.skip[g.group]]
		fmt.Fprintf(w, "%s %s: %s\n", workflow.CountOf(int64(len(jobs)), "job", "jobs"), g.title, what)
		for _, j := range jobs[:min(len(jobs), 10)] {
			fmt.Fprintf(w, "  %s (job %d): %s\n", cli.Printable(j.JobName), j.JobID, cli.Printable(j.Text))
		}
	}
	for _, c := range r.proposal.Changes {
		whose := "changed for all jobs that share it"
		if c.Clone {
			whose = fmt.Sprintf("for %s only, others are unchanged", workflow.CountOf(int64(len(c.JobIDs)), "job", "jobs"))
		}
		fmt.Fprintf(w, "Requirements %s: %s; %s\n", cli.Printable(c.Name), c.Text, whose)
	}
	if r.regeneration != nil {
		r.regeneration.Write(w)
	}
	switch {
	case r.flags.dryRun && !r.proposal.UsesSlurm:
		fmt.Fprintln(w, "Nothing was changed: this was a dry run.")
	case !r.flags.dryRun && !r.proposal.UsesSlurm:
		fmt.Fprintf(w, "The jobs are ready: `%s run %d` runs them.\n", cli.Prefix(r.app), r.workflowID)
	}
}
