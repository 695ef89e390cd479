package retry_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

func drawLimit(t *rapid.T, label string, most int64) *int64 {
	if !rapid.Bool().Draw(t, label+" given") {
		return nil
	}
	n := rapid.Int64Range(0, most).Draw(t, label)
	return &n
}

// drawRetryPolicies draws policies whose names begin with a word, so that no
// two lists of a job share a rule's key.
func drawRetryPolicies(t *rapid.T, word string) []RetryPolicy {
	n := rapid.IntRange(0, 2).Draw(t, word)
	policies := make([]RetryPolicy, n)
	for i := range policies {
		p := RetryPolicy{
			Name:          fmt.Sprintf("%s%d", word, i),
			RetryLimit:    drawLimit(t, "retry_limit", 6),
			DefaultAction: rapid.SampledFrom([]Action{"", ActionInherit, ActionFail, ActionRetry, ActionHold}).Draw(t, "default_action"),
		}
		for k := range rapid.IntRange(0, 3).Draw(t, "rules") {
			r := RetryRule{ID: fmt.Sprint(k), Action: rapid.SampledFrom([]Action{ActionRetry, ActionRetry, ActionFail, ActionHold}).Draw(t, "action")}
			r.When.Cause = rapid.SliceOfNDistinct(rapid.SampledFrom(CauseKinds()), 1, 4, rapid.ID[CauseKind]).Draw(t, "causes")
			if r.Action == ActionRetry {
				if counted := rapid.Bool().Draw(t, "counted"); counted {
					r.Limit = drawLimit(t, "limit", 5)
				} else {
					r.Counted, r.MaxFree = &counted, drawLimit(t, "max_free", 9)
				}
				r.RecoveryScript = rapid.SampledFrom([]string{"", "./fix"}).Draw(t, "script")
			}
			p.Rules = append(p.Rules, r)
		}
		policies[i] = p
	}
	return policies
}

func parsePolicy(t *testing.T, text string) *RetryPolicy {
	t.Helper()
	p := &RetryPolicy{}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func readPolicy(t *testing.T, text string) RetryPolicy {
	t.Helper()
	p := parsePolicy(t, text)
	if found := p.Validate(); len(found) > 0 {
		t.Fatalf("%+v", found)
	}
	return *p
}

// The rules that the design of this engine gives as its example.
const resourcesPolicy = `{"name": "resources", "retry_limit": 5, "default_action": "inherit",
	"backoff": {"initial": "10s", "factor": 2.0, "max": "10m", "jitter": "full", "kind": "exponential"},
	"avoid_nodes": {"mode": "none"},
	"rules": [
		{"id": "oom", "when": {"cause": ["oom"]}, "action": "retry", "limit": 3, "mutate": {"memory": {"factor": 1.5, "max": "512g", "from": "peak"}}},
		{"id": "walltime", "when": {"cause": ["walltime", "timeout"]}, "action": "retry", "mutate": {"runtime": {"factor": 1.5, "max": "P2D"}}},
		{"id": "infra", "when": {"cause": ["node_fail", "lost", "launch"]}, "action": "retry", "limit": 10, "avoid_nodes": {"mode": "last"}},
		{"id": "preempted", "when": {"cause": ["preempted"]}, "action": "retry", "counted": false, "max_free": 50},
		{"id": "io", "when": {"exit_code": {"in": [74]}, "stderr": "Input/output error|Stale file handle"}, "action": "retry",
			"recovery_script": "./scrub.sh", "on_recovery_error": "retry"}]}`

func TestRetryPolicyDecides(t *testing.T) {
	resources := readPolicy(t, resourcesPolicy)
	strict := readPolicy(t, `{"name": "strict", "default_action": "fail", "rules": [{"when": {"exit_code": {"in": [3]}}, "action": "hold"}]}`)
	again := readPolicy(t, `{"name": "again", "default_action": "retry", "retry_limit": 1, "backoff": {"kind": "fixed", "initial": "1s"}}`)
	counts := func(key string, counted, free int64) History {
		return History{AttemptID: counted + free + 1, CountedFails: counted, Rules: map[string]RuleCount{key: {Counted: counted, Free: free}}}
	}
	zero, two := int64(0), int64(2)
	tests := []struct {
		name string
		p    retry.Policies
		h    History
		f    Failure
		want Decision
	}{
		{"out of memory, first", retry.Policies{Job: []RetryPolicy{resources}}, History{AttemptID: 1}, Failure{Cause: cause(CauseOOM)},
			Decision{Action: ActionRetry, Rule: "resources/oom", Counted: true, Delay: 10 * time.Second, Jitter: JitterFull,
				Avoid: resources.AvoidNodes, Mutate: resources.Rules[0].Mutate, Reason: "rule resources/oom: oom, retry 1 of 3"}},
		{"out of memory, third", retry.Policies{Job: []RetryPolicy{resources}}, counts("resources/oom", 2, 0), Failure{Cause: cause(CauseOOM)},
			Decision{Action: ActionRetry, Rule: "resources/oom", Counted: true, Delay: 40 * time.Second, Jitter: JitterFull,
				Avoid: resources.AvoidNodes, Mutate: resources.Rules[0].Mutate, Reason: "rule resources/oom: oom, retry 3 of 3"}},
		{"out of memory once too often", retry.Policies{Job: []RetryPolicy{resources}}, counts("resources/oom", 3, 0), Failure{Cause: cause(CauseOOM)},
			Decision{Action: ActionFail, Rule: "resources/oom", Reason: "rule resources/oom: oom, all 3 retries used"}},
		{"ten preemptions use none of it", retry.Policies{Job: []RetryPolicy{resources}}, counts("resources/preempted", 0, 10), Failure{Cause: cause(CauseOOM)},
			Decision{Action: ActionRetry, Rule: "resources/oom", Counted: true, Delay: 10 * time.Second, Jitter: JitterFull,
				Avoid: resources.AvoidNodes, Mutate: resources.Rules[0].Mutate, Reason: "rule resources/oom: oom, retry 1 of 3"}},
		{"the policy's limit", retry.Policies{Job: []RetryPolicy{resources}}, counts("resources/walltime", 5, 0), Failure{Cause: cause(CauseTimeout)},
			Decision{Action: ActionFail, Rule: "resources/walltime", Reason: "rule resources/walltime: timeout, all 5 retries used (retry_limit)"}},
		{"pattern and code", retry.Policies{Job: []RetryPolicy{resources}}, History{AttemptID: 1},
			Failure{Cause: exit(74), Evidence: Evidence{StderrTail: "cp: Stale file handle\n"}},
			Decision{Action: ActionRecover, Rule: "resources/io", Counted: true, Delay: 10 * time.Second, Jitter: JitterFull, Avoid: resources.AvoidNodes,
				RecoveryScript: "./scrub.sh", OnRecoveryError: ActionRetry, Reason: "rule resources/io: exit, retry 1 of 5 (retry_limit)"}},
		{"code without pattern", retry.Policies{Job: []RetryPolicy{resources}}, History{AttemptID: 1}, Failure{Cause: exit(74)},
			Decision{Action: ActionFail, Reason: "no rule for cause exit"}},
		{"inherit leads to the server's policy", retry.Policies{Job: []RetryPolicy{{Name: "x", Rules: strict.Rules}}}, History{AttemptID: 1}, Failure{Cause: cause(CausePreempted)},
			Decision{Action: ActionRetry, Rule: "default/preempted", Reason: "rule default/preempted: preempted, free retry 1 of 50"}},
		{"a default action is in front of the server's policy", retry.Policies{Job: []RetryPolicy{strict}}, History{AttemptID: 1}, Failure{Cause: cause(CausePreempted)},
			Decision{Action: ActionFail, Rule: "strict/default_action", Reason: "rule strict/default_action: preempted"}},
		{"and behind the rules of all others", retry.Policies{Job: []RetryPolicy{strict}, Workflow: []RetryPolicy{resources}}, counts("resources/preempted", 0, 1), Failure{Cause: cause(CausePreempted)},
			Decision{Action: ActionRetry, Rule: "resources/preempted", Delay: 20 * time.Second, Jitter: JitterFull, Avoid: resources.AvoidNodes,
				Reason: "rule resources/preempted: preempted, free retry 2 of 50"}},
		{"a default action that retries", retry.Policies{Workflow: []RetryPolicy{again}}, History{AttemptID: 1}, Failure{Cause: exit(1)},
			Decision{Action: ActionRetry, Rule: "again/default_action", Counted: true, Delay: time.Second, Reason: "rule again/default_action: exit, retry 1 of 1 (retry_limit)"}},
		{"and has a limit", retry.Policies{Workflow: []RetryPolicy{again}}, counts("again/default_action", 1, 0), Failure{Cause: exit(1)},
			Decision{Action: ActionFail, Rule: "again/default_action", Reason: "rule again/default_action: exit, all 1 retry used (retry_limit)"}},
		{"hold", retry.Policies{Job: []RetryPolicy{strict}}, History{AttemptID: 1}, Failure{Cause: exit(3)},
			Decision{Action: ActionHold, Rule: strict.Key(&strict.Rules[0]), Reason: "rule " + strict.Key(&strict.Rules[0]) + ": exit"}},
		{"the site's rules are in front", retry.Policies{Site: []RetryPolicy{strict}, Job: []RetryPolicy{{Name: "j", Rules: []RetryRule{{ID: "all", Action: ActionRetry}}}}},
			History{AttemptID: 1}, Failure{Cause: exit(3)},
			Decision{Action: ActionHold, Rule: strict.Key(&strict.Rules[0]), Reason: "rule " + strict.Key(&strict.Rules[0]) + ": exit"}},
		{"the kill switch", retry.Policies{Job: []RetryPolicy{resources}, GlobalMaxRetries: &zero}, History{AttemptID: 1}, Failure{Cause: cause(CausePreempted)},
			Decision{Action: ActionFail, Rule: "resources/preempted", Reason: "rule resources/preempted: preempted, global_max_retries is 0"}},
		{"the limit over all rules", retry.Policies{Job: []RetryPolicy{resources}, GlobalMaxRetries: &two}, counts("resources/walltime", 2, 0), Failure{Cause: cause(CauseOOM)},
			Decision{Action: ActionFail, Rule: "resources/oom", Reason: "rule resources/oom: oom, but global_max_retries is 2 and 2 are used"}},
		{"the limit over all jobs", retry.Policies{Job: []RetryPolicy{resources}, MaxRetriesTotal: &two}, History{AttemptID: 1, WorkflowRetries: 2}, Failure{Cause: cause(CauseOOM)},
			Decision{Action: ActionFail, Rule: "resources/oom", Reason: "rule resources/oom: oom, but max_retries_total of the workflow is 2 and 2 are used"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.p.Default = retry.DefaultPolicy()
			tt.want.PolicyHash = tt.p.Hash()
			if diff := cmp.Diff(tt.want, decide(tt.p, tt.h, tt.f)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRuleMatch(t *testing.T) {
	code, signal := int64(3), Failure{Cause: Cause{Kind: CauseSignal, Status: Failed, ReturnCode: 139}, Evidence: Evidence{Signal: 11}}
	exited := Failure{Cause: exit(3), Evidence: Evidence{ExitCode: &code, TerminationMessage: "TRANSIENT: licence", Category: "gpu", Subcategory: "xid",
		StderrMatches: []string{"^far above$"}}, Node: "gpu07", Elapsed: time.Minute}
	lost := Failure{Cause: Cause{Kind: CauseLost, Status: Failed, ReturnCode: ReturnCodeLost}}
	tests := []struct {
		when string
		f    Failure
		want bool
	}{
		{`{}`, exited, true},
		{`{"exit_code": {"in": [2, 3]}}`, exited, true},
		{`{"exit_code": {"not_in": [2, 3]}}`, exited, false},
		{`{"exit_code": {"not_in": [2]}}`, exited, true},
		{`{"exit_code": {"not_in": [2]}}`, Failure{Cause: cause(CauseOK)}, false},
		{`{"exit_code": {"in": [139]}}`, signal, true},
		{`{"exit_code": {"in": [-128]}}`, lost, true},
		{`{"signal": [11]}`, signal, true},
		{`{"signal": [9]}`, signal, false},
		{`{"signal": [9]}`, exited, false},
		{`{"stderr": "^far above$"}`, exited, true},
		{`{"stderr": "near"}`, exited, false},
		{`{"termination_message": "TRANSIENT"}`, exited, true},
		{`{"termination_message": "FATAL"}`, exited, false},
		{`{"category": ["disk", "gpu"]}`, exited, true},
		{`{"category": ["gpu"], "subcategory": ["ecc"]}`, exited, false},
		{`{"category": ["gpu"]}`, signal, false},
		{`{"node": ["gpu*"]}`, exited, true},
		{`{"node": ["gpu?"]}`, exited, false},
		{`{"node": ["*"]}`, signal, false},
		{`{"attempt": {"gte": 2}}`, exited, true},
		{`{"attempt": {"lte": 1}}`, exited, false},
		{`{"elapsed": {"lt": "PT1M"}}`, exited, false},
		{`{"elapsed": {"gte": "60s", "lt": "61s"}}`, exited, true},
		{`{"component": "recovery"}`, exited, false},
		{`{"component": "recovery"}`, Failure{Cause: exit(3), Component: ComponentRecovery}, true},
		{`{"cause": ["exit"]}`, Failure{Cause: exit(3), Component: ComponentRecovery}, false},
		{`{"cause": ["walltime"], "by_drain": true}`, Failure{Cause: Cause{Kind: CauseWalltime, ByDrain: true}}, true},
		{`{"cause": ["launch"], "of_command": false}`, Failure{Cause: Cause{Kind: CauseLaunch, OfCommand: true}}, false},
		{`{"cause": ["oom"], "exit_code": {"in": [3]}}`, exited, false},
	}
	for _, tt := range tests {
		p := readPolicy(t, `{"name": "p", "rules": [{"id": "r", "when": `+tt.when+`, "action": "hold"}]}`)
		if tt.f.Cause.Status == 0 {
			tt.f.Cause.Status = Failed
		}
		d := decide(retry.Policies{Job: []RetryPolicy{p}}, History{AttemptID: 2}, tt.f)
		if got := d.Rule == "p/r"; got != tt.want {
			t.Errorf("%s of %s: %v", tt.when, tt.f.Cause.Kind, got)
		}
	}
}

func TestRetryPolicyProblems(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "a b", "default_action": "fail"}`:                             `name: invalid name "a b" of a policy`,
		`{"name": "` + strings.Repeat("x", 64) + `", "default_action": "fail"}`: `of a policy`,
		`{"name": "p"}`:                                                                                                                                                 `rules: the policy is empty`,
		`{"name": "p", "oom_partial": "fail"}`:                                                                                                                          `oom_partial: invalid value "fail" of oom_partial`,
		`{"name": "p", "default_action": "Fail"}`:                                                                                                                       `default_action: invalid value "Fail" of default_action`,
		`{"name": "p", "retry_limit": -1, "default_action": "retry"}`:                                                                                                   `retry_limit: invalid number of retries: -1`,
		`{"name": "p", "retry_limit": 9000000000, "default_action": "retry"}`:                                                                                           `retry_limit: invalid number of retries: 9000000000`,
		`{"name": "p", "rules": [{"when": {"cause": ["OOMKilled"]}, "action": "retry"}]}`:                                                                               `rules[0].when.cause[0]: invalid value "OOMKilled" of cause`,
		`{"name": "p", "rules": [{"when": {"cause": []}, "action": "retry"}]}`:                                                                                          `rules[0].when.cause: an empty list matches nothing`,
		`{"name": "p", "rules": [{"when": {"exit_code": {"in": [0]}}, "action": "retry"}]}`:                                                                             `rules[0].when.exit_code.in[0]: 0 never matches`,
		`{"name": "p", "rules": [{"when": {"exit_code": {"in": [1], "not_in": [2]}}, "action": "retry"}]}`:                                                              `in and not_in cannot be combined`,
		`{"name": "p", "rules": [{"when": {"exit_code": {"in": [-5]}}, "action": "retry"}]}`:                                                                            `rules[0].when.exit_code.in[0]: -5 never matches`,
		`{"name": "p", "rules": [{"when": {"exit_code": {"not_in": []}}, "action": "retry"}]}`:                                                                          `rules[0].when.exit_code.not_in: an empty list excludes nothing`,
		`{"name": "p", "rules": [{"when": {"elapsed": {"lt": "0s"}}, "action": "retry"}]}`:                                                                              `rules[0].when.elapsed.lt: no attempt takes less than 0s`,
		`{"name": "p", "rules": [{"when": {"cause": ["sub_workflow"]}, "action": "retry"}]}`:                                                                            `rules[0].when.cause[0]: invalid value "sub_workflow" of cause`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "mutate": {"memory": {"factor": 2, "max": "0"}}}]}`:                                                    `rules[0].mutate.memory.max: max must be more than 0`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "mutate": {"runtime": {"factor": 2, "max": "PT0S"}}}]}`:                                                `rules[0].mutate.runtime.max: max must be more than 0`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "backoff": {"factor": 3, "max": "1h"}}]}`:                                                              `rules[0].backoff: initial, the first delay, is missing`,
		`{"name": "p", "rules": [{"when": {"exit_code": {}}, "action": "retry"}]}`:                                                                                      `rules[0].when.exit_code: no codes are given`,
		`{"name": "p", "rules": [{"when": {"stderr": "(?=x)"}, "action": "retry"}]}`:                                                                                    `rules[0].when.stderr: error parsing regexp: invalid or unsupported Perl syntax`,
		`{"name": "p", "rules": [{"when": {"stderr": "(a{1000}){1000}"}, "action": "retry"}]}`:                                                                          `rules[0].when.stderr: error parsing regexp`,
		`{"name": "p", "rules": [{"when": {"signal": [0]}, "action": "retry"}]}`:                                                                                        `rules[0].when.signal[0]: unknown signal 0`,
		`{"name": "p", "rules": [{"when": {"cause": ["oom"], "by_drain": true}, "action": "retry"}]}`:                                                                   `rules[0].when.by_drain: by_drain applies only to the cause walltime`,
		`{"name": "p", "rules": [{"when": {"attempt": {"gte": 3, "lte": 2}}, "action": "fail"}]}`:                                                                       `no attempt is at least 3 and at most 2`,
		`{"name": "p", "rules": [{"when": {"elapsed": {"gte": "5m", "lt": "5m"}}, "action": "fail"}]}`:                                                                  `no attempt takes at least 5m and less than 5m`,
		`{"name": "p", "rules": [{"when": {"elapsed": {"lt": "-5m"}}, "action": "fail"}]}`:                                                                              `rules[0].when.elapsed.lt: duration "-5m": negative`,
		`{"name": "p", "rules": [{"when": {"node": ["[a"]}, "action": "fail"}]}`:                                                                                        `rules[0].when.node[0]: invalid node name "[a"`,
		`{"name": "p", "rules": [{"when": {}, "action": "restart"}]}`:                                                                                                   `rules[0].action: invalid value "restart" of action`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry"}, {"when": {"cause": ["oom"]}, "action": "fail"}]}`:                                                     `rules[1]: this rule never applies: rules[0] matches all failures`,
		`{"name": "p", "rules": [{"id": "a", "when": {"cause": ["oom"]}, "action": "fail"}, {"id": "a", "when": {}, "action": "fail"}]}`:                                `rules[1].id: duplicate rule a, the first is rules[0]`,
		`{"name": "p", "rules": [{"when": {"cause": ["oom"]}, "action": "fail", "limit": 2}]}`:                                                                          `rules[0].limit: limit applies only to retries`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "counted": false, "limit": 2}]}`:                                                                       `rules[0].limit: limit limits only retries that are counted`,
		`{"name": "p", "rules": [{"when": {"cause": ["oom"]}, "action": "retry", "max_free": 2}]}`:                                                                      `rules[0].max_free: max_free limits only retries that are not counted`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "on_recovery_error": "hold"}]}`:                                                                        `there is no recovery script`,
		`{"name": "p", "rules": [{"when": {}, "action": "fail", "classify_timeout": {"after": "2h"}}]}`:                                                                 `rules[0].classify_timeout: the rule holds no job`,
		`{"name": "p", "default_action": "fail", "classify_timeout": {"after": "2h"}}`:                                                                                  `classify_timeout: the policy holds no job`,
		`{"name": "p", "rules": [{"when": {}, "action": "hold", "classify_timeout": {"after": "2h", "on_timeout": "hold"}}]}`:                                           `rules[0].classify_timeout.on_timeout: invalid value "hold"`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "mutate": {}}]}`:                                                                                       `rules[0].mutate: an empty mutate changes nothing`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "mutate": {"memory": {"factor": 0.5}}}]}`:                                                              `invalid factor 0.5`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "mutate": {"memory": {"factor": 2, "max": "much"}}}]}`:                                                 `rules[0].mutate.memory.max: memory "much"`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "backoff": {"initial": "20m"}}]}`:                                                                      `initial (20m) is longer than max (10m)`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "backoff": {"initial": "1s", "factor": 0.5}}]}`:                                                        `delays must not shrink`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "avoid_nodes": {"mode": "last", "max": 3}}]}`:                                                          `rules[0].avoid_nodes.max: max applies only to mode all`,
		`{"name": "p", "rules": [{"when": {"cause": ["oom", "exit"]}, "action": "fail"}, {"when": {"cause": ["oom"], "exit_code": {"in": [137]}}, "action": "retry"}]}`: `rules[1]: this rule never applies: its failures are matched by rules[0]`,
		`{"name": "p", "rules": [{"when": {"stderr": "` + strings.Repeat("x", 4097) + `"}, "action": "retry"}]}`:                                                        `rules[0].when.stderr: the pattern has 4097 bytes`,
		`{"name": "p", "rules": [{"when": {"cause": ["launch", "lost"], "stderr": "x"}, "action": "retry"}]}`:                                                           `rules[0].when.stderr: attempts with these causes have no output`,
		`{"name": "p", "rules": [{"when": {"component": "recovery", "cause": ["preempted"]}, "action": "fail"}]}`:                                                       `rules[0].when.cause: recovery scripts do not fail with these causes`,
		`{"name": "p", "rules": [{"when": {"component": "recovery", "category": ["gpu"]}, "action": "fail"}]}`:                                                          `failures of recovery scripts have no categories`,
		`{"name": "p", "rules": [` + strings.Repeat(`{"when": {}, "action": "retry"}, `, 1000) + `{"when": {}, "action": "retry"}]}`:                                    `rules: too many rules: 1001`,
		`{"name": "p", "rules": [{"when": {}, "action": "retry", "avoid_nodes": {"mode": "node"}}]}`:                                                                    `invalid value "node" of mode`,
	} {
		var p RetryPolicy
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		err := ProblemsError("policy p", p.Validate())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\t%v\n\twant %s", text, err, want)
		}
	}
}

// What a rule is counted by does not change with its place, its limit or the
// rules beside it.
func TestRuleKeyIsStable(t *testing.T) {
	a := readPolicy(t, `{"name": "p", "rules": [{"when": {"cause": ["oom"]}, "action": "retry"}]}`)
	b := readPolicy(t, `{"name": "p", "rules": [{"when": {"cause": ["lost"]}, "action": "fail"}, {"when": {"cause": ["oom"]}, "action": "retry", "limit": 9}]}`)
	if a.Key(&a.Rules[0]) != b.Key(&b.Rules[1]) {
		t.Errorf("%s, %s", a.Key(&a.Rules[0]), b.Key(&b.Rules[1]))
	}
	if b.Key(&b.Rules[0]) == b.Key(&b.Rules[1]) {
		t.Error("two rules, one key")
	}
}
