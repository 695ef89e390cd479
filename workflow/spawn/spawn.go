// Package spawn says which jobs a running job adds to its workflow.
package spawn

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// LineagePrefix begins the names of the user data records that keep the state
// of a lineage of spawned jobs.
const LineagePrefix = "__torc_lineage__"

// EnvLineage is the variable that tells a spawned job its lineage.
const EnvLineage = "TORC_ORCHESTRATOR_LINEAGE_ID"

// LineageRecord is the name of the record of a lineage's iteration.
func LineageRecord(lineage string, iteration int64) string {
	return fmt.Sprintf("%s%s__g%06d", LineagePrefix, lineage, iteration)
}

// LineageFinalRecord is the name of the record of a lineage's end.
func LineageFinalRecord(lineage string) string { return LineagePrefix + lineage + "__final" }

// LineageIteration reads the iteration from the name of a record of a lineage;
// ok is false if it is none.
func LineageIteration(lineage, record string) (iteration int64, ok bool) {
	digits, found := strings.CutPrefix(record, LineagePrefix+lineage+"__g")
	if !found || digits == "" {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' || iteration > 1<<40 {
			return 0, false
		}
		iteration = iteration*10 + int64(c-'0')
	}
	return iteration, true
}

// SpawnJob is a job that a running job wants to add.
type SpawnJob struct {
	Name                       string
	Command                    string
	ResourceRequirements       string // by name; empty for the default
	Priority                   int64
	CancelOnBlockingJobFailure *bool
	DependsOn                  []string // names, of siblings or of the workflow's jobs
	Labels                     []string
}

// SpawnRequest is the request of a running job to add jobs.
type SpawnRequest struct {
	Lineage string // empty: the caller's name
	Jobs    []SpawnJob
	State   json.RawMessage // nil: none
}

// LineageOf returns the lineage of a request.
func (r SpawnRequest) LineageOf(callerName string) string {
	if r.Lineage == "" {
		return callerName
	}
	return r.Lineage
}

// Facts is everything that a plan depends on.
type Facts struct {
	Request      SpawnRequest
	CallerID     int64
	CallerName   string
	CallerStatus workflow.JobStatus
	MaxIteration int64 // of the workflow; 0: the default
	Env          map[string]string
	// Existing holds the ids of the workflow's jobs that the request names, as
	// a job or as a dependency.
	Existing map[string]int64
	// SameName has the number of jobs, and of requirements, with the same name, for names
	// that are not unique. References to such names are rejected, because they are
	// ambiguous.
	SameName struct{ Jobs, Requirements map[string]int64 }
	// Iteration is the highest one recorded for the lineage, 0 if none.
	Iteration int64
	// Requirements holds the ids of the workflow's requirements by name.
	Requirements map[string]int64
}

// Plan is what to store and to answer.
type Plan struct {
	// Replay says that the request was carried out before: the answer is IDs, and nothing is
	// stored.
	Replay    bool
	IDs       []int64
	Iteration int64 // to answer
	Jobs      []PlannedJob
	Env       map[string]string // of each spawned job
	// Record is the user data record to write, nil if none. Final ones replace
	// an earlier one.
	Record *LineageState
}

// PlannedJob is a job to insert, in the status blocked.
type PlannedJob struct {
	Name              string
	Command           string
	RequirementsID    int64
	Priority          int64
	RunIf             workflow.RunIf
	Labels            []string
	DependsOn         []int64 // existing jobs, the caller first
	DependsOnSiblings []int   // indexes of the plan's jobs
}

// LineageState is a record of a lineage.
type LineageState struct {
	Name string
	Data json.RawMessage
	// Final records replace an earlier one; others never do.
	Final bool
}

// Decide returns the plan for a running job's request to add jobs, or an error of CodeInvalid
// if the request is not valid. Requesting the same jobs again changes nothing. Requests are
// checked in the same order as in torc.
func Decide(f Facts) (Plan, error) {
	jobs, err := checkSpawnJobs(f.Request.Jobs)
	if err != nil {
		return Plan{}, err
	}
	// A job may call before the report of its start arrives.
	if f.CallerStatus != workflow.Running && f.CallerStatus != workflow.Pending {
		return Plan{}, workflow.Errorf(workflow.CodeInvalid, "job %d cannot spawn jobs: its status is %s, it must be Running", f.CallerID, f.CallerStatus)
	}
	lineage := f.Request.LineageOf(f.CallerName)
	if len(jobs) == 0 {
		return planSpawnEnd(f, lineage)
	}
	if ids, replay, err := spawnReplay(f); replay || err != nil {
		return Plan{Replay: replay, IDs: ids, Iteration: f.Iteration}, err
	}
	limit := f.MaxIteration
	if limit == 0 {
		limit = workflow.DefaultSpawnIterations
	}
	if f.Iteration >= limit {
		return Plan{}, workflow.Errorf(workflow.CodeInvalid, "lineage %q has reached its cap of %d iterations", lineage, limit).
			WithHint("raise dynamic_jobs.max_iterations of the workflow")
	}
	plan := Plan{Iteration: f.Iteration + 1, Jobs: jobs, Env: workflow.MergeEnv(f.Env, map[string]string{EnvLineage: lineage})}
	if err := resolveRequirements(f, plan.Jobs); err != nil {
		return Plan{}, err
	}
	if err := resolveDependencies(f, plan.Jobs); err != nil {
		return Plan{}, err
	}
	plan.Record, err = lineageState(LineageRecord(lineage, plan.Iteration), plan.Iteration, len(jobs), f.Request.State, false)
	return plan, err
}

// checkSpawnJobs checks what can be checked without the workflow.
func checkSpawnJobs(wanted []SpawnJob) ([]PlannedJob, error) {
	names := make(map[string]bool, len(wanted))
	jobs := make([]PlannedJob, len(wanted))
	for i, w := range wanted {
		if err := workflow.CheckName("job", w.Name); err != nil {
			return nil, err
		}
		if names[w.Name] {
			return nil, workflow.Errorf(workflow.CodeInvalid, "duplicate job name %q in the request", w.Name)
		}
		names[w.Name] = true
		if w.Priority < 0 {
			return nil, workflow.Errorf(workflow.CodeInvalid, "job %q: priority %d is negative", w.Name, w.Priority)
		}
		labels, err := workflow.NormalizeLabels(w.Labels)
		if err != nil {
			return nil, fmt.Errorf("job %q: %w", w.Name, err)
		}
		jobs[i] = PlannedJob{Name: w.Name, Command: w.Command, Priority: w.Priority, Labels: labels,
			RunIf: workflow.RunIfOf(w.CancelOnBlockingJobFailure == nil || *w.CancelOnBlockingJobFailure)}
	}
	return jobs, nil
}

// planSpawnEnd returns the plan for a request with a state but no jobs, which ends the
// lineage.
func planSpawnEnd(f Facts, lineage string) (Plan, error) {
	plan := Plan{Iteration: f.Iteration}
	if f.Request.State == nil {
		return plan, nil
	}
	var err error
	plan.Record, err = lineageState(LineageFinalRecord(lineage), f.Iteration, 0, f.Request.State, true)
	return plan, err
}

// spawnReplay returns whether the request was carried out before, and the ids of its jobs. It
// returns an error of CodeInvalid if only some of the jobs exist, or a name is ambiguous.
func spawnReplay(f Facts) (ids []int64, replay bool, err error) {
	for _, w := range f.Request.Jobs {
		if id, there := f.Existing[w.Name]; there {
			if n := f.SameName.Jobs[w.Name]; n > 0 {
				return nil, false, ambiguousName(n, "jobs", w.Name).WithHint("give the job that is to be spawned a new name")
			}
			ids = append(ids, id)
		}
	}
	switch len(ids) {
	case 0:
		return nil, false, nil
	case len(f.Request.Jobs):
		return ids, true, nil
	}
	return nil, false, workflow.Errorf(workflow.CodeInvalid, "Inconsistent replay: %d of %d job names exist already", len(ids), len(f.Request.Jobs)).
		WithHint("repeat a request with exactly the same jobs, or use new names for all of them")
}

// ambiguousName returns the error for a name that is not unique in a workflow.
func ambiguousName(n int64, what, name string) *workflow.Error {
	return workflow.Errorf(workflow.CodeInvalid, "the name %[3]q is ambiguous: %[1]d %[2]s of the workflow have it", n, what, name)
}

func resolveRequirements(f Facts, jobs []PlannedJob) error {
	for i := range jobs {
		name := f.Request.Jobs[i].ResourceRequirements
		if name == "" {
			name = workflow.DefaultRequirements
		}
		id, found := f.Requirements[name]
		if !found {
			return workflow.Errorf(workflow.CodeInvalid, "job %q: unknown resource requirements %q", jobs[i].Name, name)
		}
		if n := f.SameName.Requirements[name]; n > 0 {
			return ambiguousName(n, "resource requirements", name).
				WithHint("rename all but one: torc-slurm resource-requirements update ID --name NAME")
		}
		jobs[i].RequirementsID = id
	}
	return nil
}

// resolveDependencies replaces names by jobs, siblings first. Every spawned job also depends
// on the job that spawned it. It returns an error of CodeInvalid for unknown or ambiguous
// names and for a cycle.
func resolveDependencies(f Facts, jobs []PlannedJob) error {
	siblings := make(map[string]int, len(jobs))
	for i := range jobs {
		siblings[jobs[i].Name] = i
	}
	edges := make([][]int32, len(jobs))
	for i := range jobs {
		jobs[i].DependsOn = []int64{f.CallerID}
		seen := map[string]bool{f.CallerName: true}
		for _, name := range f.Request.Jobs[i].DependsOn {
			if seen[name] {
				continue
			}
			seen[name] = true
			if s, ok := siblings[name]; ok {
				jobs[i].DependsOnSiblings = append(jobs[i].DependsOnSiblings, s)
				edges[i] = append(edges[i], int32(s))
			} else if n := f.SameName.Jobs[name]; n > 0 {
				return ambiguousName(n, "jobs", name).WithHint("job %q cannot depend on it by its name", jobs[i].Name)
			} else if id, ok := f.Existing[name]; ok {
				jobs[i].DependsOn = append(jobs[i].DependsOn, id)
			} else {
				return workflow.Errorf(workflow.CodeInvalid, "job %q depends on unknown job %q", jobs[i].Name, name)
			}
		}
	}
	if cycle := graph.FindCycle(len(jobs), func(i int) []int32 { return edges[i] }); cycle != nil {
		return workflow.Errorf(workflow.CodeInvalid, "cycle among the spawned jobs: %s", graph.CycleText(cycle, func(i int) string { return jobs[i].Name }))
	}
	return nil
}

// lineageState returns the record of a lineage, in torc's format.
func lineageState(name string, generation int64, count int, state json.RawMessage, final bool) (*LineageState, error) {
	if state == nil {
		state = json.RawMessage("null")
	}
	data, err := json.Marshal(struct {
		Generation int64           `json:"generation"`
		SpawnCount int             `json:"spawn_count"`
		Final      bool            `json:"final,omitempty"`
		State      json.RawMessage `json:"state"`
	}{generation, count, final, state})
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalid, "the state is not JSON: %v", err)
	}
	return &LineageState{Name: name, Data: data, Final: final}, nil
}
