package workflow

import "strings"

// EndJob is a command that runs when all jobs of a workflow are complete, before the
// verdict of the run. $TORC_END_JSON names a file with the results of the run.
type EndJob struct {
	// Command is run by bash -c.
	Command string `json:"command"`
	// Where says where it runs: allocation (like the jobs, the default), or login (on the
	// daemon's host).
	Where EndPlace `json:"where,omitempty" jsonschema:"enum=allocation,enum=login"`
	// Timeout is the time limit of one attempt; 10 minutes by default.
	Timeout string `json:"timeout,omitempty"`
	// Retries is the number of retries after a failure; 0 by default.
	Retries int64 `json:"retries,omitempty" jsonschema:"minimum=0"`
}

// EndPlace is where an end job runs.
type EndPlace string

// The values of EndPlace.
const (
	EndInAllocation EndPlace = "allocation" // with the runners of the workflow
	EndOnLogin      EndPlace = "login"      // on the daemon's host
)

// EndJobName is the name of end jobs and of their stages. In a sub-workflow it follows
// the name of that.
const EndJobName = "end"

const (
	defaultEndTimeout = 600 // seconds
	endGrace          = 30  // seconds
	endInfraLimit     = 3
	maxEndTimeout     = 7 * 24 * 3600
	// endLoginQueue is the longest time that an end job on the daemon's host waits for a
	// runner, so that the run can end.
	endLoginQueue = "1h"
)

// endJob checks an end job.
func (p *problems) endJob(e *EndJob) {
	if strings.TrimSpace(e.Command) == "" {
		p.add("end.job.command", "write a command for bash", "the end job needs a command")
	}
	p.oneOf("end.job.where", string(e.Where), "", string(EndInAllocation), string(EndOnLogin))
	_, err := e.timeoutSeconds()
	p.err("end.job.timeout", err)
	p.limit("end.job.retries", &e.Retries)
}

// timeoutSeconds returns the time limit of an attempt, or an error of CodeInvalid if it
// cannot be read or is out of range.
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
		return 0, Errorf(CodeInvalid, "invalid timeout %s of the end job", e.Timeout).WithHint("write 1s to P7D")
	}
	return seconds, nil
}

// Job returns the end job as a job of a stage, or an error of CodeInvalid for its timeout.
// It has a retry policy of its own, so that it is never held: it is retried without limit
// by retries if preempted or drained, a few times after failures of the infrastructure, and
// Retries times after its own failures.
func (e *EndJob) Job(name string, stage int32) (JobDefinition, error) {
	seconds, err := e.timeoutSeconds()
	if err != nil {
		return JobDefinition{}, err
	}
	infra, yes, no := int64(endInfraLimit), true, false
	policy := RetryPolicy{
		Name: "end_job", RetryLimit: &e.Retries, DefaultAction: ActionFail,
		Rules: []RetryRule{
			{ID: "preempted", When: RuleMatch{Cause: []CauseKind{CausePreempted}}, Action: ActionRetry, Counted: &no},
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
