package workflows

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// definition is the workflow as a specification would give it: with indexes
// and names for ids. Its state is left out.
func (d *workflowDocument) definition() (*workflow.Definition, error) {
	t := translation{
		files: make(map[int64]int32), userData: make(map[int64]int32), jobs: make(map[int64]int32), stages: make(map[int64]int32),
		requirements: make(map[int64]string), handlers: make(map[int64]string), schedulers: make(map[int64]string),
	}
	def := documentHeader(&d.Workflow)
	for i, f := range d.Files {
		t.files[cli.OrZero(f.ID)] = int32(i)
		def.Files = append(def.Files, workflow.FileDefinition{Name: f.Name, Path: f.Path, ModTime: f.ModTime})
	}
	for i, u := range d.UserData {
		t.userData[cli.OrZero(u.ID)] = int32(i)
		def.UserData = append(def.UserData, workflow.UserDataDefinition{
			Name: u.Name, IsEphemeral: u.IsEphemeral != nil && *u.IsEphemeral, Data: u.Data,
		})
	}
	for _, r := range d.ResourceRequirements {
		if r.Name == workflow.DefaultRequirements {
			continue // every workflow has them
		}
		rr := apidata.DomainRequirements(r)
		rr.ID, rr.WorkflowID = 0, 0
		t.requirements[cli.OrZero(r.ID)] = r.Name
		def.Requirements = append(def.Requirements, rr)
	}
	for _, s := range d.SlurmSchedulers {
		scheduler := documentScheduler(s)
		t.schedulers[cli.OrZero(s.ID)] = scheduler.Name
		def.SlurmSchedulers = append(def.SlurmSchedulers, scheduler)
	}
	for _, h := range d.FailureHandlers {
		handler := workflow.FailureHandlerDefinition{Name: h.Name}
		if err := json.Unmarshal([]byte(h.Rules), &handler.Rules); err != nil {
			return nil, workflow.Errorf(workflow.CodeInvalid, "rules of failure handler %q: %v", h.Name, err)
		}
		t.handlers[cli.OrZero(h.ID)] = h.Name
		def.FailureHandlers = append(def.FailureHandlers, handler)
	}
	for i, s := range d.Stages {
		def.Stages = append(def.Stages, workflow.StageDefinition{Kind: s.Kind, Name: s.Name, Parent: t.stage(s.ParentID), Policy: s.Policy})
		t.stages[s.ID] = int32(i + 1)
	}
	for i, j := range d.Jobs {
		t.jobs[cli.OrZero(j.ID)] = int32(i)
	}
	for _, j := range d.Jobs {
		def.Jobs = append(def.Jobs, t.job(j, def.Env))
	}
	for _, x := range d.Actions {
		action, err := t.action(x)
		if err != nil {
			return nil, err
		}
		def.Actions = append(def.Actions, action)
	}
	return def, t.err
}

func documentHeader(w *api.Workflow) *workflow.Definition {
	return &workflow.Definition{
		Name: w.Name, User: w.User, Description: cli.OrEmpty(w.Description), Project: cli.OrEmpty(w.Project),
		Metadata: json.RawMessage(w.Metadata), Env: w.Env, SubmissionDirectory: cli.OrEmpty(w.SubmissionDirectory), TorcWorkflow: w.TorcWorkflow,
		ComputeNodeWaitForNewJobsSeconds:         w.ComputeNodeWaitForNewJobsSeconds,
		ComputeNodeIgnoreWorkflowCompletion:      w.ComputeNodeIgnoreWorkflowCompletion,
		ComputeNodeWaitForHealthyDatabaseMinutes: w.ComputeNodeWaitForHealthyDatabaseMinutes,
		ComputeNodeMinTimeForNewJobsSeconds:      w.ComputeNodeMinTimeForNewJobsSeconds,
		UsePendingFailed:                         cli.IsSet(w.UsePendingFailed),
		EnforceRuntime:                           cli.IsSet(w.EnforceRuntime),
		ExecutionConfig:                          w.ExecutionConfig,
		ResourceMonitor:                          w.ResourceMonitorConfig,
		SlurmDefaults:                            json.RawMessage(w.SlurmDefaults),
		DynamicJobs:                              w.DynamicJobs,
		Policy:                                   w.Policy,
	}
}

func documentScheduler(s api.SlurmScheduler) workflow.SlurmSchedulerDefinition {
	return workflow.SlurmSchedulerDefinition{
		Name: cli.FirstOf(cli.OrEmpty(s.Name), fmt.Sprintf("scheduler_%d", cli.OrZero(s.ID))), Account: s.Account, Gres: cli.OrEmpty(s.Gres), Mem: cli.OrEmpty(s.Mem),
		Nodes: s.Nodes, NtasksPerNode: s.NtasksPerNode, Partition: cli.OrEmpty(s.Partition), QOS: cli.OrEmpty(s.QOS), Tmp: cli.OrEmpty(s.Tmp),
		Walltime: s.Walltime, Extra: cli.OrEmpty(s.Extra), SerializeAllocations: cli.IsSet(s.SerializeAllocations),
	}
}

// translation turns ids of a document into what a definition has for them.
type translation struct {
	files, userData, jobs              map[int64]int32
	stages                             map[int64]int32 // numbered from 1
	requirements, handlers, schedulers map[int64]string
	err                                error // the first id that means nothing
}

func (t *translation) job(j api.Job, common map[string]string) workflow.JobDefinition {
	env := make(map[string]string)
	for name, value := range j.Env {
		if own, ok := common[name]; !ok || own != value {
			env[name] = value
		}
	}
	if len(env) == 0 {
		env = nil
	}
	runIf := workflow.RunIfOf(j.CancelOnBlockingJobFailure == nil || *j.CancelOnBlockingJobFailure)
	if j.RunIf != nil {
		runIf = *j.RunIf
	}
	return workflow.JobDefinition{
		Name: j.Name, Command: j.Command, JobSettings: j.JobSettings, TorcJob: j.TorcJob, Env: env,
		Priority: cli.OrZero(j.Priority), Labels: j.Labels, JobOptions: j.JobOptions,
		Requirements:   t.requirements[cli.OrZero(j.ResourceRequirementsID)], // none for the default ones
		FailureHandler: t.name("failure handler", t.handlers, j.FailureHandlerID),
		Scheduler:      t.name("scheduler", t.schedulers, j.SchedulerID),
		RunIf:          runIf,
		Stage:          t.stage(j.StageID),
		Child:          t.stage(j.ChildStageID),
		Undoes:         t.undone(j.UndoesJobID),
		DependsOn:      t.indexes("job", t.jobs, j.DependsOnJobIDs),
		InputFiles:     t.indexes("file", t.files, j.InputFileIDs),
		OutputFiles:    t.indexes("file", t.files, j.OutputFileIDs),
		InputUserData:  t.indexes("user data record", t.userData, j.InputUserDataIDs),
		OutputUserData: t.indexes("user data record", t.userData, j.OutputUserDataIDs),
	}
}

// undone is the number of the job that another one undoes; 0 for none.
func (t *translation) undone(id *int64) int32 {
	if id == nil {
		return 0
	}
	return t.indexes("job", t.jobs, []int64{*id})[0] + 1
}

// stage is the number of a stage; 0 for none.
func (t *translation) stage(id *int64) int32 {
	if id == nil {
		return 0
	}
	number, ok := t.stages[*id]
	if !ok {
		t.fail("stage", *id)
	}
	return number
}

// name returns the name of a row; nothing if there is no id.
func (t *translation) name(thing string, names map[int64]string, id *int64) string {
	if id == nil {
		return ""
	}
	name, ok := names[*id]
	if !ok {
		t.fail(thing, *id)
	}
	return name
}

func (t *translation) indexes(thing string, of map[int64]int32, ids []int64) []int32 {
	var all []int32
	for _, id := range ids {
		i, ok := of[id]
		if !ok {
			t.fail(thing, id)
		}
		all = append(all, i)
	}
	return all
}

func (t *translation) fail(thing string, id int64) {
	if t.err == nil {
		t.err = workflow.Errorf(workflow.CodeInvalid, "the workflow refers to %s %d, which it does not have", thing, id)
	}
}

// actionConfig is the configuration of an action of either type.
type actionConfig struct {
	Commands              []string `json:"commands"`
	SchedulerID           *int64   `json:"scheduler_id"`
	SchedulerType         string   `json:"scheduler_type"`
	NumAllocations        *int64   `json:"num_allocations"`
	StartOneWorkerPerNode bool     `json:"start_one_worker_per_node"`
	MaxParallelJobs       *int64   `json:"max_parallel_jobs"`
}

func (t *translation) action(x api.Action) (workflow.ActionDefinition, error) {
	var config actionConfig
	if err := json.Unmarshal(x.ActionConfig, &config); err != nil {
		return workflow.ActionDefinition{}, workflow.Errorf(workflow.CodeInvalid, "configuration of action %d: %v", cli.OrZero(x.ID), err)
	}
	allocations := int64(1)
	if config.NumAllocations != nil {
		allocations = *config.NumAllocations
	}
	return workflow.ActionDefinition{
		TriggerType: x.TriggerType, ActionType: x.ActionType, Jobs: t.indexes("job", t.jobs, x.JobIDs), Commands: config.Commands,
		Scheduler: t.name("scheduler", t.schedulers, config.SchedulerID), SchedulerType: config.SchedulerType,
		NumAllocations: allocations, StartOneWorkerPerNode: config.StartOneWorkerPerNode, MaxParallelJobs: config.MaxParallelJobs,
		Persistent: cli.IsSet(x.Persistent),
	}, nil
}
