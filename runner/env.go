package runner

import (
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// The variables that the runner sets for jobs. They override the user's.
const (
	envWorkflowID      = "TORC_WORKFLOW_ID"
	envRunID           = "TORC_RUN_ID"
	envJobID           = "TORC_JOB_ID"
	envJobName         = "TORC_JOB_NAME"
	envAttemptID       = "TORC_ATTEMPT_ID"
	envOutputDir       = "TORC_OUTPUT_DIR"
	envAPIURL          = "TORC_API_URL"
	envSubmissionDir   = "TORC_WORKFLOW_SUBMISSION_DIR"
	envTerminationFile = "TORC_TERMINATION_FILE"
	envReturnCode      = "TORC_RETURN_CODE" // recovery scripts only
	envCause           = "TORC_CAUSE"       // recovery scripts only
)

// reserved are the names that only the runner sets.
var reserved = []string{
	envWorkflowID, envRunID, envJobID, envJobName, envAttemptID, envOutputDir, envAPIURL,
	envSubmissionDir, envTerminationFile, envReturnCode, envCause, process.AttemptKeyVariable, stage.FailedWorkflowEnv,
}

// inheritedEnvironment returns what a child process inherits by default.
func inheritedEnvironment() []string { return (&exec.Cmd{}).Environ() }

// environment is the part of jobs' environments that they share: what the
// runner inherited, the workflow's variables, and the runner's own.
type environment struct {
	shared []string // without duplicates
	runner []string // set by the runner
}

// newEnvironment returns the inherited variables, overridden by the workflow's, and
// both by the runner's own.
func newEnvironment(inherited []string, ofWorkflow map[string]string, own [][2]string) environment {
	values := make(map[string]string, len(inherited)+len(ofWorkflow))
	var order []string
	set := func(name, value string) {
		if _, ok := values[name]; !ok {
			order = append(order, name)
		}
		values[name] = value
	}
	for _, entry := range inherited {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			set(name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ofWorkflow)) {
		set(name, ofWorkflow[name])
	}
	var e environment
	for _, name := range order {
		if !slices.Contains(reserved, name) {
			e.shared = append(e.shared, name+"="+values[name])
		}
	}
	for _, pair := range own {
		e.runner = append(e.runner, pair[0]+"="+pair[1])
	}
	return e
}

// with returns the environment of one process. job has the job's variables, set
// those of the runner for this process.
func (e environment) with(job map[string]string, set [][2]string) []string {
	env := make([]string, 0, len(e.shared)+len(e.runner)+len(job)+len(set))
	hidden := func(name string) bool {
		if _, ok := job[name]; ok {
			return true
		}
		for _, pair := range set {
			if pair[0] == name {
				return true
			}
		}
		return false
	}
	if len(job) == 0 && !hasUserVisible(set) {
		env = append(env, e.shared...)
	} else {
		for _, entry := range e.shared {
			if name, _, _ := strings.Cut(entry, "="); !hidden(name) {
				env = append(env, entry)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(job)) {
		if !slices.Contains(reserved, name) && !isSet(set, name) {
			env = append(env, name+"="+job[name])
		}
	}
	env = append(env, e.runner...)
	for _, pair := range set {
		env = append(env, pair[0]+"="+pair[1])
	}
	return env
}

// hasUserVisible reports whether set has names that a user may have set too.
func hasUserVisible(set [][2]string) bool {
	return slices.ContainsFunc(set, func(pair [2]string) bool { return !slices.Contains(reserved, pair[0]) })
}

func isSet(set [][2]string, name string) bool {
	return slices.ContainsFunc(set, func(pair [2]string) bool { return pair[0] == name })
}

// jobVariables returns the runner's variables for one attempt.
func jobVariables(g *lease.Grant, key, terminationFile string, gpus []string) [][2]string {
	set := [][2]string{
		{envJobID, strconv.FormatInt(g.JobID, 10)},
		{envJobName, g.Name},
		{envAttemptID, strconv.FormatInt(g.Attempt, 10)},
		{envTerminationFile, terminationFile},
		{process.AttemptKeyVariable, key},
	}
	if len(gpus) > 0 {
		list := strings.Join(gpus, ",")
		for _, name := range gpuVariables {
			set = append(set, [2]string{name, list})
		}
	}
	return set
}

// shellCommand joins a job's invocation script and command: a script of one
// line is a prefix of the command, a longer one comes before it, a blank one
// is ignored.
func shellCommand(script, command string) string {
	trimmed := strings.TrimSpace(script)
	switch {
	case trimmed == "":
		return command
	case strings.Contains(trimmed, "\n"):
		return strings.TrimRight(script, "\n") + "\n" + command
	default:
		return trimmed + " " + command
	}
}

// sharedVariables returns the runner's variables for all its jobs.
func (r *Runner) sharedVariables() [][2]string {
	set := [][2]string{
		{envWorkflowID, strconv.FormatInt(r.opts.WorkflowID, 10)},
		{envRunID, strconv.FormatInt(r.about.RunID, 10)},
		{envOutputDir, r.opts.OutputDir},
	}
	if r.opts.APIURL != "" {
		set = append(set, [2]string{envAPIURL, r.opts.APIURL})
	}
	if r.about.SubmissionDirectory != "" {
		set = append(set, [2]string{envSubmissionDir, r.about.SubmissionDirectory})
	}
	return set
}
