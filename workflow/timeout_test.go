package workflow_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

var allTimeouts = []Timeout{TimeoutQueue, TimeoutRun, TimeoutHeartbeat, TimeoutTotal}

func TestTimeoutLimit(t *testing.T) {
	all := func(policy TimeoutPolicy) *Timeouts {
		return &Timeouts{
			Queue: &TimeLimit{After: "1h", Policy: policy}, Run: &RunLimit{After: "2h", Policy: policy},
			Heartbeat: &TimeLimit{After: "3h", Policy: policy}, Total: &TimeLimit{After: "4h", Policy: policy},
		}
	}
	limit := func(after string, policy TimeoutPolicy) *TimeLimit { return &TimeLimit{After: after, Policy: policy} }
	for _, tc := range []struct {
		name string
		t    *Timeouts
		want map[Timeout]*TimeLimit
	}{
		{"none given", nil, nil},
		{"nothing said", &Timeouts{}, nil},
		{"each has its default; the runner sees to the attempt", all(""), map[Timeout]*TimeLimit{
			TimeoutQueue: limit("1h", OnTimeoutAlert), TimeoutHeartbeat: limit("3h", OnTimeoutRetry), TimeoutTotal: limit("4h", OnTimeoutFail)}},
		{"what is given stays", all(OnTimeoutFailWorkflow), map[Timeout]*TimeLimit{
			TimeoutQueue: limit("1h", OnTimeoutFailWorkflow), TimeoutHeartbeat: limit("3h", OnTimeoutFailWorkflow), TimeoutTotal: limit("4h", OnTimeoutFailWorkflow)}},
		{"an alert about an attempt is not for the runner", all(OnTimeoutAlert), map[Timeout]*TimeLimit{
			TimeoutQueue: limit("1h", OnTimeoutAlert), TimeoutRun: limit("2h", OnTimeoutAlert),
			TimeoutHeartbeat: limit("3h", OnTimeoutAlert), TimeoutTotal: limit("4h", OnTimeoutAlert)}},
		{"only the attempt", &Timeouts{Run: &RunLimit{After: "2h", Policy: OnTimeoutFail}}, nil},
	} {
		for _, which := range allTimeouts {
			if diff := cmp.Diff(tc.want[which], tc.t.Limit(which)); diff != "" {
				t.Errorf("%s: %s: -want +got:\n%s", tc.name, which, diff)
			}
		}
		if tc.t.NeedDaemon() != (len(tc.want) > 0) {
			t.Errorf("%s: watched %v", tc.name, tc.t.NeedDaemon())
		}
	}
}

// TestLimitKeepsTheSetting: the default is not written into what a user gave,
// which jobs share.
func TestLimitKeepsTheSetting(t *testing.T) {
	given := &Timeouts{Queue: &TimeLimit{After: "1h"}}
	if given.Limit(TimeoutQueue); given.Queue.Policy != "" {
		t.Errorf("the policy is %s now", given.Queue.Policy)
	}
}

func TestRunLimitEnforced(t *testing.T) {
	for _, tc := range []struct {
		l    *RunLimit
		want *RunTimeout
	}{
		{nil, nil},
		{&RunLimit{After: "PT4H"}, &RunTimeout{AfterSeconds: 14400, GraceSeconds: 30}},
		{&RunLimit{After: "90s", Grace: "2m", Policy: OnTimeoutFail}, &RunTimeout{AfterSeconds: 90, GraceSeconds: 120}},
		{&RunLimit{After: "90s", Grace: "0s"}, &RunTimeout{AfterSeconds: 90}},
		{&RunLimit{After: "90s", Policy: OnTimeoutAlert}, nil},
		{&RunLimit{After: "1500ms", Grace: "PT0.5S"}, &RunTimeout{AfterSeconds: 2, GraceSeconds: 1}},
	} {
		if diff := cmp.Diff(tc.want, tc.l.Enforced()); diff != "" {
			t.Errorf("%+v: -want +got:\n%s", tc.l, diff)
		}
	}
}

// TestTimeoutBits: the bits are in the database, so they stay what they are.
func TestTimeoutBits(t *testing.T) {
	for which, want := range map[Timeout]int64{TimeoutQueue: 1, TimeoutRun: 2, TimeoutHeartbeat: 4, TimeoutTotal: 8} {
		if got := which.Bit(); got != want {
			t.Errorf("%s: %d, want %d", which, got, want)
		}
	}
}

func TestTimeoutTexts(t *testing.T) {
	l := &TimeLimit{After: "PT90M"}
	for which, want := range map[Timeout]string{
		TimeoutQueue:     "timeouts.queue: it was ready for 1h30m and no runner claimed it",
		TimeoutRun:       "timeouts.run: its attempt has run for 1h30m",
		TimeoutHeartbeat: "timeouts.heartbeat: its runner has been silent for 1h30m",
		TimeoutTotal:     "timeouts.total: it was first ready 1h30m ago and is not complete",
	} {
		if got := l.Reason(which); got != want {
			t.Errorf("%s: %q", which, got)
		}
	}
	for _, tc := range []struct {
		names []string
		jobs  int64
		want  Alert
	}{
		{[]string{"a"}, 1, Alert{Kind: AlertTimeout, Subject: "timeouts.queue (PT90M) of a", Text: l.Reason(TimeoutQueue)}},
		{[]string{"a", "b"}, 7, Alert{Kind: AlertTimeout, Subject: "timeouts.queue (PT90M) of a, b and 5 more", Text: "Of 7 jobs: " + l.Reason(TimeoutQueue)}},
	} {
		if diff := cmp.Diff(tc.want, l.Alert(TimeoutQueue, tc.names, tc.jobs)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestExpiredCause: a job that waited for too long ends as one that ran for too
// long does, with the return code that the workflow chose.
func TestExpiredCause(t *testing.T) {
	l := &TimeLimit{After: "1h"}
	for codes, want := range map[ReturnCodes]int64{{}: DefaultTimeoutReturnCode, {Timeout: 99}: 99} {
		c := l.ExpiredCause(TimeoutTotal, codes)
		if c.Kind != CauseTimeout || c.Status != Terminated || c.ReturnCode != want || c.Text != l.Reason(TimeoutTotal) {
			t.Errorf("%+v", c)
		}
	}
}

func TestTimeoutsAreChecked(t *testing.T) {
	limit := func(after string, policy TimeoutPolicy) *TimeLimit { return &TimeLimit{After: after, Policy: policy} }
	for _, tc := range []struct {
		name string
		t    Timeouts
		want []string
	}{
		{"all", Timeouts{Queue: limit("1h", OnTimeoutAlert), Run: &RunLimit{After: "2h", Grace: "1m"}, Heartbeat: limit("PT1M", ""), Total: limit("2h", OnTimeoutFail)}, nil},
		{"nothing", Timeouts{}, []string{"timeouts: it is empty"}},
		{"no time", Timeouts{Queue: &TimeLimit{}, Run: &RunLimit{}}, []string{"timeouts.queue.after: it is missing", "timeouts.run.after: it is missing"}},
		{"too little time", Timeouts{Total: limit("0s", "")}, []string{"timeouts.total.after: it must be at least a second"}},
		{"not a time", Timeouts{Run: &RunLimit{After: "soon", Grace: "later"}},
			[]string{`timeouts.run.after: duration "soon": not a number with a unit`, `timeouts.run.grace: duration "later": not a number with a unit`}},
		{"what waits is not retried", Timeouts{Queue: limit("1h", OnTimeoutRetry)},
			[]string{"timeouts.queue.policy: timeouts.queue cannot have the policy retry: a waiting job has no attempt to repeat"}},
		{"what is over is not retried", Timeouts{Total: limit("1h", OnTimeoutRetry)},
			[]string{"timeouts.total.policy: timeouts.total cannot have the policy retry: no time is left for another attempt"}},
		{"a lost runner may be retried", Timeouts{Heartbeat: limit("1h", OnTimeoutRetry)}, nil},
		{"no policy", Timeouts{Heartbeat: limit("1h", "hold"), Run: &RunLimit{After: "1h", Policy: "hold"}},
			[]string{`timeouts.heartbeat.policy: invalid value "hold" of policy`, `timeouts.run.policy: invalid value "hold" of policy`}},
		{"grace without an end", Timeouts{Run: &RunLimit{After: "1h", Grace: "1m", Policy: OnTimeoutAlert}},
			[]string{"timeouts.run.grace: the policy alert does not end the attempt"}},
		{"silence that proves nothing", Timeouts{Heartbeat: limit("59s", "")},
			[]string{"timeouts.heartbeat.after: less than a minute is too short: runners send a turn every 15 seconds and may be late"}},
		{"all attempts are shorter than one", Timeouts{Run: &RunLimit{After: "2h"}, Total: limit("1h", "")},
			[]string{"timeouts.total.after: it is shorter than the limit of one attempt, 2h"}},
		{"an alert about an attempt bounds nothing", Timeouts{Run: &RunLimit{After: "2h", Policy: OnTimeoutAlert}, Total: limit("1h", "")}, nil},
	} {
		checkProblems(t, tc.name, (&JobPolicy{Timeouts: &tc.t}).Validate(), tc.want...)
	}
}

func TestOnlyRuns(t *testing.T) {
	for _, tc := range []struct {
		t    Timeouts
		want bool
	}{
		{Timeouts{Run: &RunLimit{After: "1h"}}, true},
		{Timeouts{Run: &RunLimit{After: "1h", Policy: OnTimeoutRetry}}, true},
		{Timeouts{Run: &RunLimit{After: "1h", Policy: OnTimeoutFail}}, false},
		{Timeouts{Run: &RunLimit{After: "1h"}, Total: &TimeLimit{After: "2h"}}, false},
		{Timeouts{Total: &TimeLimit{After: "2h"}}, false},
	} {
		if got := tc.t.OnlyRunLimit(); got != tc.want {
			t.Errorf("%+v: %v", tc.t, got)
		}
	}
	if d := (&TimeLimit{After: "PT2M"}).Duration(); d != 2*time.Minute {
		t.Errorf("PT2M lasts %s", d)
	}
}

// TestRunTimeoutPolicyGoesFirst: with fail no rule grants a job that took too long
// another attempt; other failures are left to the rules.
func TestRunTimeoutPolicyGoesFirst(t *testing.T) {
	again := []RetryPolicy{{Name: "again", DefaultAction: ActionRetry}}
	for policy, retries := range map[TimeoutPolicy]bool{"": true, OnTimeoutRetry: true, OnTimeoutFail: false, OnTimeoutFailWorkflow: false} {
		timeouts := &Timeouts{Run: &RunLimit{After: "1h", Policy: policy}}
		p := retry.Policies{Job: again, Default: retry.DefaultPolicy(), OnRunTimeout: timeouts.OnRunTimeout()}
		d := decided(p, History{AttemptID: 1}, Failure{Cause: Cause{Kind: CauseTimeout, Status: Terminated}})
		if d.Retries() != retries || !retries && d.Rule != RuleRunTimeout {
			t.Errorf("%q: %+v", policy, d)
		}
		if d := decided(p, History{AttemptID: 1}, Failure{Cause: Cause{Kind: CauseExit, Status: Failed}}); !d.Retries() {
			t.Errorf("%q, another failure: %+v", policy, d)
		}
	}
	if got := (*Timeouts)(nil).OnRunTimeout() + (&Timeouts{}).OnRunTimeout(); got != "" {
		t.Errorf("no timeout of attempts, policy %q", got)
	}
}
