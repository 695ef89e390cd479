package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// decisionCases is the file of decisions: the facts when a job continued or ended, and
// what the database contains afterwards.
type decisionCases struct {
	Policies map[string]retry.Policies `json:"policies"`
	Cases    []decisionCase            `json:"cases"`
}

type decisionCase struct {
	Name    string          `json:"name"`
	Facts   decisionFacts   `json:"facts"`
	Outcome decisionOutcome `json:"outcome"`
}

// decisionFacts are the facts of a decision. The id of the job is the number of the case,
// that of the run is 1.
type decisionFacts struct {
	Of       string `json:"of,omitempty"` // empty: an attempt; client, recovery, classification, silence, waiting
	Policies string `json:"policies"`

	Attempt         int64                         `json:"attempt"`
	CountedFails    int64                         `json:"counted_failures,omitempty"`
	Rules           map[string]workflow.RuleCount `json:"rules,omitempty"`
	WorkflowRetries int64                         `json:"workflow_retries,omitempty"`
	Avoided         []workflow.AvoidedNode        `json:"avoided,omitempty"`

	Evidence       workflow.Evidence `json:"evidence,omitzero"`
	ElapsedSeconds int64             `json:"elapsed_seconds,omitempty"`
	// What a torc client has reported.
	Status     workflow.JobStatus `json:"status,omitempty"`
	ReturnCode int64              `json:"return_code,omitempty"`

	Doom     string                 `json:"doom,omitempty"`
	Timeout  workflow.Timeout       `json:"timeout,omitempty"` // because of which it is ended
	Limit    workflow.TimeLimit     `json:"limit,omitzero"`
	Breakers []workflow.BreakerTrip `json:"breakers,omitempty"`

	Memory  string           `json:"memory,omitempty"` // that it requests
	Runtime string           `json:"runtime,omitempty"`
	Runners []decisionRunner `json:"runners,omitempty"` // the first has the job
	// The most memory that an allocation can have; 0: unknown.
	SiteMemory string `json:"site_memory,omitempty"`

	Order          *engine.RecoveryOrder `json:"order,omitempty"` // of a recovery script
	Error          string                `json:"error,omitempty"` // of it
	Author         string                `json:"author,omitempty"`
	AsksForMemory  string                `json:"asks_for_memory,omitempty"` // a classification
	AsksForRuntime string                `json:"asks_for_runtime,omitempty"`
	Force          bool                  `json:"force,omitempty"`
}

// decisionRunner is a runner on a node of its own.
type decisionRunner struct {
	Memory string `json:"memory"`
	ByHand bool   `json:"by_hand,omitempty"`
	Gone   bool   `json:"gone,omitempty"`
}

// decisionOutcome is the resulting state of the job.
type decisionOutcome struct {
	Refused      string                 `json:"refused,omitempty"`
	Status       string                 `json:"status,omitempty"`
	Action       workflow.Action        `json:"action,omitempty"`
	Reason       string                 `json:"reason,omitempty"`
	Rule         string                 `json:"rule,omitempty"`
	Counted      bool                   `json:"counted,omitempty"`
	PolicyHash   string                 `json:"policy_hash,omitempty"`
	Cause        workflow.CauseKind     `json:"cause,omitempty"`
	Attempt      int64                  `json:"attempt,omitempty"`
	Rules        json.RawMessage        `json:"rules,omitempty"`
	CountedFails int64                  `json:"counted_failures,omitempty"`
	WaitMS       int64                  `json:"wait_ms,omitempty"`
	SettledMS    *int64                 `json:"settled_ms,omitempty"` // the delay once the end is confirmed
	Avoid        []workflow.AvoidedNode `json:"avoid,omitempty"`
	Recovery     json.RawMessage        `json:"recovery,omitempty"`
	Hold         json.RawMessage        `json:"hold,omitempty"`
	Memory       string                 `json:"memory,omitempty"`
	Runtime      string                 `json:"runtime,omitempty"`
	GivenUp      string                 `json:"given_up,omitempty"`
	Event        json.RawMessage        `json:"event,omitempty"` // of a recovery script that ended
}

const decisionFile = "../workflow/retry/testdata/decisions.json"

// TestDecisions has jobs end in many ways. With -update it writes the outcomes to the
// file.
func TestDecisions(t *testing.T) {
	text, err := os.ReadFile(decisionFile)
	if err != nil {
		t.Fatal(err)
	}
	var file decisionCases
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if n := len(file.Cases); n < 150 {
		t.Errorf("%d cases", n)
	}
	r := newRig(t)
	for i := range file.Cases {
		c := &file.Cases[i]
		r.begin(rigJob{})
		if r.ids[0] != int64(i+1) {
			t.Fatalf("the job of case %d is %d", i+1, r.ids[0])
		}
		p, known := file.Policies[c.Facts.Policies]
		if !known {
			t.Fatalf("%s: no policies %q", c.Name, c.Facts.Policies)
		}
		got := r.decideCase(&c.Facts, p)
		if golden.Updating() {
			c.Outcome = got
			continue
		}
		if diff := cmp.Diff(outcomeText(t, c.Outcome), outcomeText(t, got)); diff != "" {
			t.Errorf("case %d, %s (-file +store):\n%s", i+1, c.Name, diff)
		}
	}
	if golden.Updating() {
		golden.Compare(t, decisionFile, file.String())
	}
}

func outcomeText(t *testing.T, o decisionOutcome) string {
	t.Helper()
	text, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// String returns the file: policies and cases, each on its own lines.
func (f *decisionCases) String() string {
	var b strings.Builder
	line := func(v any) string {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			panic(err)
		}
		return strings.TrimSpace(text.String())
	}
	b.WriteString("{\"policies\": {\n")
	names := slices.Sorted(maps.Keys(f.Policies))
	for i, name := range names {
		fmt.Fprintf(&b, " %q: %s%s\n", name, line(f.Policies[name]), map[bool]string{true: ",", false: ""}[i < len(names)-1])
	}
	b.WriteString("},\n\"cases\": [\n")
	for i, c := range f.Cases {
		fmt.Fprintf(&b, " {\"name\": %s,\n  \"facts\": %s,\n  \"outcome\": %s}%s\n", line(c.Name), line(c.Facts), line(c.Outcome),
			map[bool]string{true: ",", false: ""}[i < len(f.Cases)-1])
	}
	b.WriteString("]}\n")
	return b.String()
}

// decideCase sets up the facts for the job of the rig, has it end, and returns the
// outcome.
func (r *rig) decideCase(c *decisionFacts, p retry.Policies) decisionOutcome {
	r.tb.Helper()
	if c.Of == "classification" {
		r.setPolicy(workflow.RunPolicy{GlobalMaxRetries: p.GlobalMaxRetries})
	}
	runners := c.Runners
	if runners == nil {
		runners = []decisionRunner{{Memory: "64g"}}
	}
	ids := make([]int64, len(runners))
	for i, x := range runners {
		memory, err := workflow.ParseMemory(x.Memory)
		r.must(err)
		kind := compute.SchedulerSlurm
		if x.ByHand {
			kind = compute.SchedulerLocal
		}
		answer, err := r.Runners.Register(r.ctx, Registration{WorkflowID: r.workflow, RegisterRequest: lease.RegisterRequest{
			Key: fmt.Sprintf("%d/%d", r.workflow, i), Hostname: fmt.Sprintf("n%d", i+1), StartTime: "2026-11-21T10:00:00+00:00",
			NumCPUs: 4, MemoryBytes: memory, NumNodes: 1, NodeType: kind,
		}})
		r.must(err)
		ids[i] = answer.RunnerID
	}
	setPlaces(r, c.SiteMemory)
	if c.Evidence.NeverStarted { // it is returned instead, without a decision
		d := retry.Decide(retry.Facts{Policies: p, History: workflow.History{AttemptID: c.Attempt}, Failure: workflow.Failure{Cause: failure.Classify(c.Evidence, workflow.ReturnCodes{}, nil)}})
		return decisionOutcome{Action: d.Action, Reason: d.Reason, Rule: d.Rule, Counted: d.Counted, PolicyHash: d.PolicyHash}
	}
	var refused *workflow.Error
	r.do(func(tx *core.Tx) error {
		if err := r.arrange(tx, c, ids); err != nil {
			return err
		}
		for i, x := range runners {
			if x.Gone {
				if err := tx.ExecOne(`UPDATE compute_node SET is_active = 0 WHERE id = ?`, ids[i]); err != nil {
					return err
				}
			}
		}
		err := tx.Savepoint(func() error { return r.letEnd(tx, c, p) })
		if errors.As(err, &refused) {
			return nil
		}
		return err
	})
	if refused != nil {
		return decisionOutcome{Refused: refused.Error()}
	}
	return r.outcome(c)
}

// setPlaces sets how much memory an allocation can have.
func setPlaces(r *rig, most string) {
	limit, err := workflow.ParseMemory(most)
	if most != "" {
		r.must(err)
	}
	r.Scheduling.PublishPlaces(r.workflow, fakePlaces{unplaced: func(c placement.Class) string {
		if most != "" && c.MemoryBytes > limit {
			return fmt.Sprintf("needs %s, an allocation has at most %s", workflow.FormatBytes(c.MemoryBytes), workflow.FormatBytes(limit))
		}
		return ""
	}})
}

// status returns the status of the job before its end.
func (c *decisionFacts) status() workflow.JobStatus {
	switch {
	case c.Of == "recovery":
		return workflow.Pending
	case c.Of == "classification":
		return workflow.PendingFailed
	case c.Of == "waiting" && c.Status != 0:
		return c.Status
	case c.Of == "waiting":
		return workflow.Ready
	}
	return workflow.Running
}

const decisionStart = 1_795_255_100_000 // 100 s before the clock of a rig

// arrange writes the facts of a job.
func (r *rig) arrange(tx *core.Tx, c *decisionFacts, runners []int64) error {
	tx.Shared.Breakers = []workflow.BreakerTrip{}
	for _, b := range c.Breakers {
		b.WorkflowID, b.RunID, b.UntilMS = r.workflow, 1, tx.NowMS+1000
		tx.Shared.Breakers = append(tx.Shared.Breakers, b)
	}
	var err error
	if c.WorkflowRetries > 0 {
		_, err = tx.Exec(`INSERT INTO cause_count (workflow_id, run_id, cause, n, retried, counted) VALUES (?1, 1, 'disk_full', ?2, ?2, ?2)`, r.workflow, c.WorkflowRetries)
	}
	if err == nil && c.Memory != "" {
		memory, e := workflow.ParseMemory(c.Memory)
		seconds, e2 := workflow.ParseRuntime(c.Runtime)
		if err = errors.Join(e, e2); err == nil {
			err = tx.ExecOne(`UPDATE resource_requirements SET memory = ?, runtime = ?, memory_bytes = ?, runtime_s = ? WHERE workflow_id = ?`,
				c.Memory, c.Runtime, memory, seconds, r.workflow)
		}
	}
	var policy any
	if err == nil && c.Timeout != "" && c.Of == "" {
		t := workflow.Timeouts{Total: &c.Limit}
		if c.Timeout == workflow.TimeoutHeartbeat {
			t = workflow.Timeouts{Heartbeat: &c.Limit}
		}
		text, e := json.Marshal(workflow.JobPolicy{Timeouts: &t})
		if err = e; err == nil {
			policy, err = tx.Insert(`INSERT INTO job_policy (workflow_id, policy) VALUES (?, ?)`, r.workflow, string(text))
		}
	}
	if err != nil {
		return err
	}
	status, job := c.status(), r.ids[0]
	jsonOf := func(v any, none bool) any {
		if none {
			return nil
		}
		text, e := json.Marshal(v)
		err = errors.Join(err, e)
		return string(text)
	}
	var runner, order, started, cancelFor any = runners[0], jsonOf(c.Order, c.Order == nil), int64(decisionStart), nil
	if c.Of == "waiting" {
		runner, started = nil, nil
	}
	if c.Order != nil {
		started = nil
	}
	if policy != nil {
		cancelFor = string(c.Timeout)
	}
	tx.Move(r.workflow, workflow.Ready, status, 1)
	if c.Of == "classification" && c.ReturnCode != 0 {
		if _, e := tx.Exec(`INSERT INTO attempt (job_id, run_id, attempt_id, workflow_id, fence, end_ms, status, return_code, cause, confidence, cause_text, action, reason, rule, counted, policy_hash)
			VALUES (?, 1, ?, ?, 1, 1, 6, ?, 'exit', 'certain', 'exit code', 'hold', 'held', '', 0, '')`, job, c.Attempt, r.workflow, c.ReturnCode); e != nil {
			return e
		}
	}
	return errors.Join(err, tx.ExecOne(`UPDATE job SET status = ?2, phase = ?3, attempt_id = ?4, fence = 1, compute_node_id = ?5, start_ms = ?6, rule_counts = ?7,
			counted_failures = ?8, avoid_nodes = ?9, recovery = ?10, policy_id = ?11, cancel_fence = iif(?12 IS NULL, 0, 1), cancel_for = ?12 WHERE id = ?1`,
		job, int(status), c.Order != nil, c.Attempt, runner, started, jsonOf(c.Rules, c.Rules == nil), c.CountedFails, jsonOf(c.Avoided, c.Avoided == nil), order, policy, cancelFor))
}

// letEnd has the job continue or end.
func (r *rig) letEnd(tx *core.Tx, c *decisionFacts, p retry.Policies) error {
	job := r.ids[0]
	if c.Of == "classification" {
		w := hold.Classification{Status: workflow.Ready, Author: c.Author, Reason: "said so", Memory: c.AsksForMemory, Runtime: c.AsksForRuntime}
		_, err := classifyJob(tx, job, w, c.Force)
		return err
	}
	l, err := core.GetOne(tx, "job", job, `SELECT `+core.LeaseColumns+` FROM job WHERE id = ?`, core.ScanLease)
	if err != nil {
		return err
	}
	run, err := core.LoadRun(tx, r.workflow)
	if err != nil {
		return err
	}
	f := engine.NewFinisher(tx, run)
	rules := view.JobRules{Runner: l.RunnerID}
	var policy sql.NullInt64
	if err := tx.Row(`SELECT policy_id FROM job WHERE id = ?`, []any{job}, &policy); err != nil {
		return err
	}
	rules.Policy = policy
	f.Rules = map[view.JobRules]retry.Policies{rules: p}
	if c.Doom != "" {
		l.Doom.Reason = c.Doom
	}
	host, err := engine.LoadHolder(tx, l.RunnerID)
	if err != nil {
		return err
	}
	end := engine.Ending{EndMS: decisionStart + 1000*c.ElapsedSeconds, Host: host, Evidence: &c.Evidence}
	switch c.Of {
	case "recovery":
		err = f.AfterRecovery(&l, &lease.Recovered{
			LeaseRef: l.LeaseRef, ReturnCode: c.ReturnCode, Error: c.Error, StartedMS: decisionStart, EndedMS: end.EndMS, Evidence: scriptEvidence(c),
		})
	case "silence":
		err = f.ExpireHeartbeat(&l, &view.Heartbeat{JobID: job, Limit: c.Limit}, host)
	case "waiting":
		err = (&expiry{tx: tx, f: f, o: &view.Overdue{WorkflowID: r.workflow, Timeout: c.Timeout, Limit: c.Limit}}).end(&l)
	case "client":
		end.Cause, end.Evidence = failure.ClassifyReport(c.Status, c.ReturnCode, workflow.ReturnCodes{}), nil
		end.Client = &workflow.Result{Status: c.Status, ReturnCode: c.ReturnCode, CompletionTime: time.UnixMilli(end.EndMS).UTC().Format(time.RFC3339)}
		_, err = f.End(&l, end)
	default:
		end.Cause = failure.Classify(c.Evidence, workflow.ReturnCodes{}, nil)
		_, err = f.End(&l, end)
	}
	if err != nil {
		return err
	}
	_, err = f.Flush()
	return err
}

// scriptEvidence returns the evidence of the script's end; nil if nobody observed it.
func scriptEvidence(c *decisionFacts) *workflow.Evidence {
	if c.Error != "" {
		return nil
	}
	return &c.Evidence
}

// outcome reads the resulting state of the job.
func (r *rig) outcome(c *decisionFacts) (o decisionOutcome) {
	r.tb.Helper()
	job := r.ids[0]
	var status workflow.JobStatus
	var rules, avoid, recovery, hold, givenUp sql.NullString
	var notBefore int64
	var settled sql.NullInt64
	r.must(r.db.Read.QueryRowContext(r.ctx, `SELECT j.status, j.attempt_id, j.rule_counts, j.counted_failures, j.not_before_ms, j.settled_ms, j.avoid_nodes, j.recovery, j.hold,
			q.memory, q.runtime, w.given_up
		FROM job j JOIN claim_class c ON c.id = j.class_id JOIN resource_requirements q ON q.id = c.requirements_id JOIN workflow w ON w.id = j.workflow_id WHERE j.id = ?`, job).
		Scan(&status, &o.Attempt, &rules, &o.CountedFails, &notBefore, &settled, &avoid, &recovery, &hold, &o.Memory, &o.Runtime, &givenUp))
	o.Status, o.GivenUp = status.String(), givenUp.String
	o.Rules, o.Recovery = json.RawMessage(rules.String), json.RawMessage(recovery.String)
	now := r.now.UnixMilli()
	if hold.Valid {
		o.Hold = json.RawMessage(hold.String)
	}
	if avoid.Valid {
		r.must(json.Unmarshal([]byte(avoid.String), &o.Avoid))
	}
	if notBefore > 0 {
		o.WaitMS = notBefore - now
	}
	if settled.Valid {
		wait := max(settled.Int64-now, 0)
		o.SettledMS = &wait
	}
	err := r.db.Read.QueryRowContext(r.ctx, `SELECT action, reason, rule, counted, policy_hash, cause FROM attempt WHERE job_id = ? ORDER BY attempt_id DESC LIMIT 1`, job).
		Scan(&o.Action, &o.Reason, &o.Rule, &o.Counted, &o.PolicyHash, &o.Cause)
	if !errors.Is(err, sql.ErrNoRows) {
		r.must(err)
	}
	if c.Of == "recovery" {
		events, err := r.Events.After(r.ctx, r.workflow, 0, 1000)
		r.must(err)
		for _, e := range events {
			if e.Type == workflow.EventJobRecovered {
				o.Event = json.RawMessage(e.Data)
			}
		}
		err = r.db.Read.QueryRowContext(r.ctx, `SELECT action, reason, rule, policy_hash, cause FROM failed_recovery WHERE job_id = ?`, job).
			Scan(&o.Action, &o.Reason, &o.Rule, &o.PolicyHash, &o.Cause)
		if !errors.Is(err, sql.ErrNoRows) {
			r.must(err)
		}
	}
	return o
}
