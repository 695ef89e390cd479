package workflow

import "strings"

// EndJob is a command that runs when all jobs of a workflow are complete, before
// its verdict. $TORC_END_JSON names a file that says how the run went.
type EndJob struct {
	// Command is run by bash -c.
	Command string `json:"command"`
	// Where it runs: in an allocation, as the jobs do (the default), or on the
	// login node, where the daemon is.
	Where EndPlace `json:"where,omitempty" jsonschema:"enum=allocation,enum=login"`
	// Timeout of one attempt; 10 minutes by default.
	Timeout string `json:"timeout,omitempty"`
	// Retries after a failure; none by default.
	Retries int64 `json:"retries,omitempty" jsonschema:"minimum=0"`
}

// EndPlace is where an end job runs.
type EndPlace string

// The places.
const (
	EndInAllocation EndPlace = "allocation" // with the runners of the workflow
	EndOnLogin      EndPlace = "login"      // on the daemon's host
)

// EndJobName is the name of end jobs, and of the stages that they are in; in a
// child behind its name.
const EndJobName = "end"

const (
	defaultEndTimeout = 600 // seconds
	endGrace          = 30  // seconds
	endInfraLimit     = 3
	maxEndTimeout     = 7 * 24 * 3600
	// endLoginQueue is how long an end job on the daemon's host waits at most for a
	// runner there: it must not keep the run from its end.
	endLoginQueue = "1h"
)

// endJob checks an end job.
func (p *problems) endJob(e *EndJob) {
	if strings.TrimSpace(e.Command) == "" {
		p.add("end.job.command", "write what bash is to run", "the end job needs a command")
	}
	p.oneOf("end.job.where", string(e.Where), "", string(EndInAllocation), string(EndOnLogin))
	_, err := e.timeoutSeconds()
	p.err("end.job.timeout", err)
	p.limit("end.job.retries", &e.Retries)
}

// timeoutSeconds is the timeout of an attempt.
func (e *EndJob) timeoutSeconds() (int64, error) {
	if e.Timeout == "" {
		return defaultEndTimeout, nil
	}
	d, err := ParseDuration(e.Timeout)
	if err != nil {
		return 0, err
	}
	seconds := wholeSeconds(d)
	if seconds < 1 || seconds > maxEndTimeout {
		return 0, Errorf(CodeInvalid, "the timeout of the end job cannot be %s", e.Timeout).WithHint("use 1s to P7D: the end job must not keep the run from its end")
	}
	return seconds, nil
}

// Job is the end job as a job of a stage. It has retry policies of its own, so
// that nothing holds it: what is done to it is repeated a few times, what it does
// itself as often as it says.
func (e *EndJob) Job(name string, stage int32) (JobDefinition, error) {
	seconds, err := e.timeoutSeconds()
	if err != nil {
		return JobDefinition{}, err
	}
	infra, yes, no := int64(endInfraLimit), true, false
	policy := RetryPolicy{
		Name: "end_job", RetryLimit: &e.Retries, DefaultAction: ActionFail,
		Rules: []RetryRule{
			{ID: "taken", When: RuleMatch{Cause: []CauseKind{CausePreempted}}, Action: ActionRetry, Counted: &no},
			{ID: "drained", When: RuleMatch{Cause: []CauseKind{CauseWalltime}, ByDrain: &yes}, Action: ActionRetry, Counted: &no},
			{ID: "infra", When: RuleMatch{Cause: []CauseKind{CauseNodeFail, CauseLost}}, Action: ActionRetry, Limit: &infra},
			{ID: "launch", When: RuleMatch{Cause: []CauseKind{CauseLaunch}, OfCommand: &no}, Action: ActionRetry, Limit: &infra},
		},
	}
	if e.Retries > 0 {
		policy.DefaultAction = ActionRetry
	}
	j := JobDefinition{
		Name: name, Command: e.Command, Stage: stage, JobOptions: JobOptions{RunTimeout: &RunTimeout{AfterSeconds: seconds, GraceSeconds: endGrace}, Policy: &JobPolicy{RetryPolicies: []PolicyRef{{Policy: &policy}}}},
	}
	if e.Where == EndOnLogin {
		j.Login = true
		j.Policy.Timeouts = &Timeouts{Queue: &TimeLimit{After: endLoginQueue, Policy: OnTimeoutFail}}
	}
	return j, nil
}
