package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Few limits the examples in an explanation.
const Few = 5

// Facts returns the facts for the explanation of a job.
func (s Jobs) Facts(ctx context.Context, id int64) (explain.JobFacts, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return explain.JobFacts{}, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	f, err := l.job(id)
	if err != nil {
		return f, OrNotFound(err, "job", id)
	}
	return f, nil
}

// Facts returns the facts for the explanation of a workflow.
func (s Workflows) Facts(ctx context.Context, id int64) (explain.WorkflowFacts, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return explain.WorkflowFacts{}, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	f, err := l.workflow(id)
	if err != nil {
		return f, OrNotFound(err, "workflow", id)
	}
	return f, nil
}

// factReader reads facts within one snapshot.
type factReader struct {
	ctx   context.Context
	tx    *sql.Tx
	nowMS int64
}

func (l *factReader) row(query string, args []any, dest ...any) error {
	return l.tx.QueryRowContext(l.ctx, query, args...).Scan(dest...)
}

// selectFacts returns the rows of a query, read by scan.
func selectFacts[T any](l *factReader, query string, args []any, scan func(sqlite.Scanner) (T, error)) ([]T, error) {
	return sqlite.SelectContext(l.ctx, l.tx, scan, query, args...)
}

func (l *factReader) job(id int64) (f explain.JobFacts, err error) {
	var class, notBefore int64
	var phase bool
	var hold, host, userHold sql.NullString
	j := &f.Job
	f.NowMS = l.nowMS
	err = l.row(`SELECT j.id, j.workflow_id, j.name, j.status, j.attempt_id, j.run_if, j.gate_id, j.not_before_ms,
			j.phase, j.hold, j.skipped_by, j.class_id, j.stage_id, j.child_id, w.is_canceled, COALESCE(w.given_up, ''), n.hostname, COALESCE(n.id, 0), j.user_hold
		FROM job j JOIN workflow w ON w.id = j.workflow_id LEFT JOIN compute_node n ON n.id = j.compute_node_id
		WHERE j.id = ? AND w.is_hidden = 0`, []any{id},
		&j.ID, &j.WorkflowID, &j.Name, &j.Status, &j.AttemptID, &j.RunIf, &j.GateID, &notBefore,
		&phase, &hold, &j.SkippedBy, &class, &j.StageID, &j.ChildID, &f.WorkflowCanceled, &f.GivenUp, &host, &f.RunnerID, &userHold)
	if err != nil {
		return f, err
	}
	f.RunnerHost = host.String
	if notBefore != 0 {
		j.NotBeforeMS = &notBefore
	}
	if phase {
		j.Phase = workflow.PhaseRecovery
	}
	if hold.Valid {
		if err := json.Unmarshal([]byte(hold.String), &j.Hold); err != nil {
			return f, fmt.Errorf("read the hold of job %d: %w", id, err)
		}
	}
	if userHold.Valid {
		if err := json.Unmarshal([]byte(userHold.String), &j.UserHold); err != nil {
			return f, fmt.Errorf("read by whom job %d is held: %w", id, err)
		}
	}
	if f.EndedBy, err = l.endedBy(j); err != nil {
		return f, err
	}
	if notNeeded(j); j.SkippedBy != nil {
		if err := l.row(`SELECT COALESCE((SELECT name FROM job WHERE id = ?), '')`, []any{*j.SkippedBy}, &f.SkippedByName); err != nil {
			return f, err
		}
	}
	for _, s := range []struct {
		id   *int64
		fact **stage.Stage
	}{{j.StageID, &f.Stage}, {j.ChildID, &f.Child}} {
		if s.id == nil {
			continue
		}
		stages, err := l.stages(`s.id = ?`, *s.id)
		if err != nil {
			return f, err
		}
		if len(stages) == 1 {
			*s.fact = &stages[0]
		}
	}
	if err := l.dependencies(&f); err != nil {
		return f, err
	}
	if f.Retries, err = l.retries(id); err != nil {
		return f, err
	}
	if err := l.decisions(&f); err != nil {
		return f, err
	}
	if f.ClaimHolds, err = l.claimHolds(j.WorkflowID); err != nil {
		return f, err
	}
	if f.Breakers, err = l.trips(j.WorkflowID); err != nil {
		return f, err
	}
	if f.Alerts, err = l.recentAlerts(`job_id = ?1 AND job_id != 0`, id); err != nil {
		return f, err
	}
	if f.Runners, err = l.runners(j.WorkflowID); err != nil {
		return f, err
	}
	if err := l.place(&f, class); err != nil {
		return f, err
	}
	f.Attempts, err = jobAttempts(l.ctx, l.tx, id)
	return f, err
}

// decisions fills in who decided about the job, and what agents were asked.
func (l *factReader) decisions(f *explain.JobFacts) (err error) {
	if f.Classifications, err = l.classifications(f.Job.ID); err != nil {
		return err
	}
	f.Agents, err = agentFacts(l, f.Job.WorkflowID, &f.Job)
	return err
}

// dependencies fills in the dependencies of the job.
func (l *factReader) dependencies(f *explain.JobFacts) error {
	if f.Job.GateID == nil {
		return nil
	}
	type group struct {
		status workflow.JobStatus
		n      int64
	}
	groups, err := selectFacts(l, `SELECT j.status, COUNT(*) FROM gate_dependency d JOIN job j ON j.id = d.job_id WHERE d.gate_id = ? GROUP BY j.status`,
		[]any{*f.Job.GateID}, func(r sqlite.Scanner) (g group, err error) { return g, r.Scan(&g.status, &g.n) })
	if err != nil {
		return err
	}
	for _, g := range groups {
		f.Dependencies += g.n
		switch {
		case !g.status.IsComplete():
			f.OpenCount += g.n
		case g.status.IsUnsuccessful():
			f.UnsuccessfulCount += g.n
		}
	}
	scan := func(r sqlite.Scanner) (d explain.DependencyFact, err error) { return d, r.Scan(&d.Name, &d.Status) }
	const query = `SELECT j.name, j.status FROM gate_dependency d JOIN job j ON j.id = d.job_id WHERE d.gate_id = ? AND j.status `
	if f.Open, err = selectFacts(l, query+`NOT BETWEEN 5 AND 9 ORDER BY j.id LIMIT ?`, []any{*f.Job.GateID, Few}, scan); err != nil {
		return err
	}
	f.Unsuccessful, err = selectFacts(l, query+`BETWEEN 6 AND 8 ORDER BY j.id LIMIT ?`, []any{*f.Job.GateID, Few}, scan)
	return err
}

// place fills in the job's class, and how many ready jobs are claimed before it.
func (l *factReader) place(f *explain.JobFacts, class int64) error {
	classes, err := l.classes(f.Job.WorkflowID, class)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(classes, func(c explain.ClassFact) bool { return c.Class.ID == class })
	if i < 0 {
		return nil // its requirements were deleted
	}
	f.Class = classes[i].Class
	if f.Job.Status != workflow.Ready {
		return nil
	}
	for _, c := range classes {
		ahead := c.Jobs
		switch order := placement.CompareClasses(c.Class, f.Class); {
		case order > 0:
			continue
		case order == 0:
			err := l.row(`SELECT COUNT(*) FROM job WHERE class_id = ? AND status = {ready} AND not_before_ms <= ? AND id < ?`,
				[]any{c.Class.ID, l.nowMS, f.Job.ID}, &ahead)
			if err != nil {
				return err
			}
		}
		f.ReadyAhead += ahead
	}
	return nil
}

// classes returns the classes of a workflow that have claimable jobs, and the class also.
func (l *factReader) classes(workflowID, also int64) ([]explain.ClassFact, error) {
	return selectFacts(l, `SELECT * FROM (
			SELECT c.id, c.priority, c.scheduler_id, c.labels, c.login, c.held, q.num_cpus, q.num_gpus, q.num_nodes, q.memory_bytes, q.runtime_s,
				(SELECT COUNT(*) FROM job WHERE class_id = c.id AND status = {ready} AND not_before_ms <= ?2) AS jobs,
				COALESCE((SELECT name FROM job WHERE class_id = c.id AND status = {ready} AND not_before_ms <= ?2 LIMIT 1), '')
			FROM claim_class c JOIN resource_requirements q ON q.id = c.requirements_id WHERE c.workflow_id = ?1)
		WHERE jobs > 0 AND held = 0 OR id = ?3 ORDER BY id`, []any{workflowID, l.nowMS, also},
		func(r sqlite.Scanner) (c explain.ClassFact, err error) {
			var scheduler int64
			var labels string
			err = r.Scan(&c.Class.ID, &c.Class.Priority, &scheduler, &labels, &c.Class.Login, &c.Class.Held, &c.Class.CPUs, &c.Class.GPUs, &c.Class.Nodes,
				&c.Class.MemoryBytes, &c.Class.RuntimeSeconds, &c.Jobs, &c.Example)
			if err != nil {
				return c, err
			}
			if scheduler != 0 {
				c.Class.SchedulerID = &scheduler
			}
			c.Class.Labels, err = workflow.ParseLabels(labels)
			return c, err
		})
}

// runners returns the resources of the live runners of a workflow, and how much of them is
// free.
func (l *factReader) runners(workflowID int64) ([]placement.RunnerFacts, error) {
	runners, err := selectFacts(l, SelectRunnerFacts, []any{workflowID}, func(r sqlite.Scanner) (placement.RunnerFacts, error) { return ScanRunnerFacts(r, l.nowMS) })
	if err != nil || len(runners) == 0 {
		return runners, err
	}
	neighbours, err := selectFacts(l, selectHostNeighbours, []any{workflowID}, ScanNeighbour)
	besides(runners, neighbours)
	return runners, err
}

// SelectRunnerFacts selects the live runners of a workflow for ScanRunnerFacts, and
// SelectPastRunnerFacts those that have ended, the latest first.
const (
	SelectRunnerFacts     = selectRunners + `1 GROUP BY n.id ORDER BY n.id LIMIT 1000`
	SelectPastRunnerFacts = selectRunners + `0 GROUP BY n.id ORDER BY n.id DESC LIMIT 100`
)

const selectRunners = `SELECT n.id, n.hostname, n.num_cpus, n.memory_gb, n.num_gpus, n.num_nodes, n.labels, n.scheduler_config_id, n.strict_scheduler, n.login,
			COALESCE(n.max_parallel_jobs, 0), COALESCE(n.end_time, ''),
			COUNT(j.id), CAST(TOTAL(q.num_cpus * q.num_nodes) AS INTEGER), CAST(TOTAL(q.memory_bytes * q.num_nodes) AS INTEGER),
			CAST(TOTAL(q.num_gpus * q.num_nodes) AS INTEGER), l.asked_ms,
			n.start_time, COALESCE(json_extract(l.request, '$.walltime_s'), 0)
		FROM compute_node n LEFT JOIN allocation l ON l.id = n.allocation_id
			LEFT JOIN job j ON j.compute_node_id = n.id AND j.status IN {live}
			LEFT JOIN claim_class c ON c.id = j.class_id
			LEFT JOIN resource_requirements q ON q.id = c.requirements_id
		WHERE n.workflow_id = ? AND n.is_active = `

// ScanRunnerFacts reads a row of SelectRunnerFacts.
func ScanRunnerFacts(r sqlite.Scanner, nowMS int64) (f placement.RunnerFacts, err error) {
	var node, used placement.FreeNode
	var memoryGB float64
	var nodes, slots, jobs int64
	var labels sql.NullString
	var start, end string
	var walltimeS int64
	o := &f.Total
	defer func() { f.Jobs = jobs }()
	err = r.Scan(&f.ID, &f.Host, &node.CPUs, &memoryGB, &node.GPUs, &nodes, &labels, &o.SchedulerConfigID, &o.StrictScheduler, &o.Login,
		&slots, &end, &jobs, &used.CPUs, &used.MemoryBytes, &used.GPUs, &f.AskedMS, &start, &walltimeS)
	if err != nil {
		return f, err
	}
	if o.Labels, err = workflow.ParseLabels(labels.String); err != nil {
		return f, err
	}
	node.MemoryBytes = int64(memoryGB * (1 << 30))
	o.Nodes = slices.Repeat([]placement.FreeNode{node}, int(min(max(nodes, 1), 10_000)))
	if o.IgnoreResources = slots > 0; !o.IgnoreResources {
		slots = math.MaxInt32
	}
	o.Slots = slots
	if t, err := time.Parse(time.RFC3339, end); err == nil {
		o.TimeLeftSeconds = new(max(0, (t.UnixMilli()-nowMS)/1000))
		o.WholeSeconds = WholeSeconds(WalltimeOf(walltimeS, start, end), end, nowMS)
	}
	f.Free = *o
	f.Free.Slots = slots - jobs
	f.Free.Nodes = lessUsed(o.Nodes, used)
	return f, nil
}

// lessUsed subtracts what jobs use from the nodes, one node after the other, since the node
// of a job is not recorded.
func lessUsed(nodes []placement.FreeNode, used placement.FreeNode) []placement.FreeNode {
	free := slices.Clone(nodes)
	take := func(have, want *int64) bool {
		n := min(*have, *want)
		*have, *want = *have-n, *want-n
		return n > 0
	}
	for i := range free {
		cpus := take(&free[i].CPUs, &used.CPUs)
		memory := take(&free[i].MemoryBytes, &used.MemoryBytes)
		gpus := take(&free[i].GPUs, &used.GPUs)
		free[i].Busy = cpus || memory || gpus
	}
	return free
}

func (l *factReader) workflow(id int64) (f explain.WorkflowFacts, err error) {
	f.NowMS = l.nowMS
	err = l.row(`SELECT id, name, run_id, is_archived, is_canceled, COALESCE(given_up, '') FROM workflow WHERE id = ? AND is_hidden = 0`, []any{id},
		&f.ID, &f.Name, &f.RunID, &f.IsArchived, &f.Counts.WorkflowCanceled, &f.Counts.GivenUp)
	if err != nil {
		return f, err
	}
	if err := l.counts(&f); err != nil {
		return f, err
	}
	if f.Verdict, err = l.verdict(id); err != nil {
		return f, err
	}
	if f.Agents, err = agentFacts(l, id, nil); err != nil {
		return f, err
	}
	if f.ClaimHolds, err = l.claimHolds(id); err != nil {
		return f, err
	}
	if f.Breakers, err = l.trips(id); err != nil {
		return f, err
	}
	each := func(query string, scan func(sqlite.Scanner) error, args ...any) error {
		_, err := selectFacts(l, query, args, func(r sqlite.Scanner) (struct{}, error) { return struct{}{}, scan(r) })
		return err
	}
	if f.Counts.ByCategory, err = CategoryCounts(each, id, f.RunID); err != nil {
		return f, err
	}
	if f.Compensation, err = l.compensationOf(id, f.RunID); err != nil {
		return f, err
	}
	if f.CanceledBy, err = l.canceledBy(id, f.Counts.ByStatus[workflow.Canceled]); err != nil {
		return f, err
	}
	if f.PoliciesOff, err = l.policiesOff(id, f.RunID, f.FailedCount+f.Counts.ByStatus[workflow.PendingFailed]); err != nil {
		return f, err
	}
	if f.Alerts, err = l.recentAlerts(`workflow_id = ?1`, id); err != nil {
		return f, err
	}
	if f.Ready, err = l.classes(id, 0); err != nil {
		return f, err
	}
	var first int64
	err = l.row(`SELECT COUNT(*), COALESCE(MIN(j.not_before_ms), 0) FROM claim_class c JOIN job j ON j.class_id = c.id
		WHERE c.workflow_id = ? AND c.held = 0 AND j.status = {ready} AND j.not_before_ms > ?`, []any{id, l.nowMS}, &f.Waiting, &first)
	if err != nil {
		return f, err
	}
	if f.Waiting > 0 {
		f.WaitingMS = first - l.nowMS
	}
	if f.UserHeld, f.UserHeldFew, err = l.userHeld(id); err != nil {
		return f, err
	}
	if f.Runners, err = l.runners(id); err != nil {
		return f, err
	}
	f.Held, err = selectFacts(l, `SELECT name FROM job WHERE workflow_id = ? AND status = {pending_failed} ORDER BY id LIMIT ?`, []any{id, Few}, sqlite.ScanString)
	if err != nil {
		return f, err
	}
	if f.FailedCount+f.Counts.ByStatus[workflow.PendingFailed] > 1 {
		if f.Alike, f.AlikeCount, _, err = l.failureGroups(id, Few); err != nil {
			return f, err
		}
	}
	f.Failures, err = selectFacts(l, `SELECT j.name, a.attempt_id, a.cause, a.confidence, a.status, a.return_code, a.cause_text
		FROM job j JOIN attempt a ON a.job_id = j.id AND a.run_id = ? AND a.attempt_id = j.attempt_id
		WHERE j.workflow_id = ? AND j.status IN ({failed}, {terminated}) ORDER BY a.end_ms DESC, j.id DESC LIMIT ?`, []any{f.RunID, id, Few},
		func(r sqlite.Scanner) (x explain.FailureFact, err error) {
			return x, r.Scan(&x.Name, &x.Attempt, &x.Cause.Kind, &x.Cause.Confidence, &x.Cause.Status, &x.Cause.ReturnCode, &x.Cause.Text)
		})
	return f, err
}

// verdict returns how the run ended; nil before its end.
func (l *factReader) verdict(id int64) (*stage.EndPayload, error) {
	verdicts, err := selectFacts(l, `SELECT v.payload FROM workflow w
		JOIN verdict v ON v.workflow_id = w.id AND v.run_id = w.run_id AND v.generation = w.end_generation WHERE w.id = ? AND w.has_ended = 1`,
		[]any{id}, sqlite.ScanString)
	if err != nil || len(verdicts) == 0 {
		return nil, err
	}
	v := &stage.EndPayload{}
	if err := json.Unmarshal([]byte(verdicts[0]), v); err != nil {
		return nil, fmt.Errorf("read the verdict of workflow %d: %w", id, err)
	}
	return v, nil
}

// counts fills in the numbers of jobs and attempts.
func (l *factReader) counts(f *explain.WorkflowFacts) error {
	type group struct {
		status workflow.JobStatus
		n      int64
	}
	groups, err := selectFacts(l, `SELECT status, n FROM job_count WHERE workflow_id = ?`, []any{f.ID},
		func(r sqlite.Scanner) (g group, err error) { return g, r.Scan(&g.status, &g.n) })
	if err != nil {
		return err
	}
	for _, g := range groups {
		f.Counts.ByStatus[g.status] = g.n
	}
	compensating, err := l.compensationCounts(f.ID)
	if err != nil {
		return err
	}
	for status, n := range compensating {
		f.Counts.ByStatus[status] -= n
	}
	staged, err := l.stagedJobs(f.ID)
	if err != nil {
		return err
	}
	f.Staged, f.RunningStages, f.Stages = staged.counts, staged.running, staged.summaries
	f.FailedCount = f.Counts.ByStatus[workflow.Failed] + f.Counts.ByStatus[workflow.Terminated]
	type ended struct {
		cause   workflow.CauseKind
		n       int64
		retried int64
	}
	causes, err := selectFacts(l, `SELECT cause, n, retried FROM cause_count WHERE workflow_id = ? AND run_id = ? AND n > 0`, []any{f.ID, f.RunID},
		func(r sqlite.Scanner) (e ended, err error) { return e, r.Scan(&e.cause, &e.n, &e.retried) })
	if err != nil {
		return err
	}
	f.Counts.ByCause = map[workflow.CauseKind]int64{}
	for _, e := range causes {
		f.Counts.Retried += e.retried
		if e.cause != workflow.CauseOK {
			f.Counts.ByCause[e.cause] = e.n
		}
	}
	return nil
}

// classifications returns the classifications of a job that ended its holds, oldest first.
func (l *factReader) classifications(job int64) ([]hold.PastClassification, error) {
	return selectFacts(l, `SELECT run_id, attempt_id, at_ms, status, author, reason, confidence, memory, runtime, num_cpus FROM classification WHERE job_id = ? ORDER BY id`,
		[]any{job}, func(r sqlite.Scanner) (c hold.PastClassification, err error) {
			return c, r.Scan(&c.RunID, &c.Attempt, &c.AtMS, &c.Status, &c.Author, &c.Reason, &c.Confidence, &c.Memory, &c.Runtime, &c.NumCPUs)
		})
}

// HostUserColumns are the columns of the runners of one user on one host that ScanNeighbour
// reads.
const HostUserColumns = `n.id, n.workflow_id, n.num_cpus, n.memory_gb, n.num_gpus,
	CAST(TOTAL(q.num_cpus) AS INTEGER), CAST(TOTAL(q.memory_bytes) AS INTEGER), CAST(TOTAL(q.num_gpus) AS INTEGER), COUNT(j.id) `

// LeasesOfHostUser joins the leases of the runners n. Recovery scripts use no resources.
const LeasesOfHostUser = `LEFT JOIN job j ON j.compute_node_id = n.id AND j.status IN {live} AND j.phase = 0
	LEFT JOIN claim_class c ON c.id = j.class_id LEFT JOIN resource_requirements q ON q.id = c.requirements_id `

// selectHostNeighbours selects the runners with which the runners m of a workflow share
// their hosts.
const selectHostNeighbours = `SELECT m.id, ` + HostUserColumns + `FROM compute_node m
	JOIN compute_node n ON n.hostname = m.hostname AND n.boot_id = m.boot_id AND n.is_active = 1 AND n.shares_host = 1 AND n.id != m.id ` +
	LeasesOfHostUser + `WHERE m.workflow_id = ? AND m.is_active = 1 AND m.shares_host = 1 GROUP BY m.id, n.id ORDER BY m.id, n.id`

// Neighbour is a runner on the host of another.
type Neighbour struct {
	of int64
	placement.HostUser
}

// ScanNeighbour reads a row of HostUserColumns.
func ScanNeighbour(r sqlite.Scanner) (n Neighbour, err error) {
	u := &n.HostUser
	var memoryGB float64
	err = r.Scan(&n.of, &u.RunnerID, &u.WorkflowID, &u.Total.CPUs, &memoryGB, &u.Total.GPUs, &u.Held.CPUs, &u.Held.MemoryBytes, &u.Held.GPUs, &u.Leases)
	u.Total.MemoryBytes = int64(memoryGB * (1 << 30))
	return n, err
}

// besides adds to runners what their neighbours use.
func besides(runners []placement.RunnerFacts, neighbours []Neighbour) {
	for i := range runners {
		for _, n := range neighbours {
			if n.of == runners[i].ID {
				runners[i].Beside = append(runners[i].Beside, n.HostUser)
			}
		}
	}
}
