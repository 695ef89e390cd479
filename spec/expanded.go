package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// JSON returns the document as a specification for Parse.
func (d *Document) JSON() ([]byte, error) {
	c := *d
	if c.Jobs == nil {
		c.Jobs = []*Job{}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(&c); err != nil {
		return nil, fmt.Errorf("write the specification of workflow %q: %w", d.Name, err)
	}
	return b.Bytes(), nil
}

// Expanded returns a definition as a document without sweeps, regexes and references.
// Reading it gives an equal definition.
func Expanded(def *workflow.Definition) *Document {
	d := &Document{
		Name: def.Name, User: def.User, Description: def.Description, Project: def.Project, Metadata: def.Metadata, Env: def.Env,
		SlurmDefaults: def.SlurmDefaults, UsePendingFailed: def.UsePendingFailed,
		EnforceRuntime: def.EnforceRuntime, TorcWorkflow: def.TorcWorkflow,
		ComputeNodeWaitForNewJobsSeconds:         def.ComputeNodeWaitForNewJobsSeconds,
		ComputeNodeIgnoreWorkflowCompletion:      def.ComputeNodeIgnoreWorkflowCompletion,
		ComputeNodeWaitForHealthyDatabaseMinutes: def.ComputeNodeWaitForHealthyDatabaseMinutes,
		ResourceMonitor:                          expandedMonitor(def.ResourceMonitor),
		ExecutionConfig:                          expandedExecution(def.ExecutionConfig),
	}
	if p := def.Policy; p != nil {
		d.RetryPolicies, d.GlobalMaxRetries, d.MaxRetriesTotal = p.RetryPolicies, p.GlobalMaxRetries, p.MaxRetriesTotal
		d.FailureCategories, d.MaxFailures, d.CircuitBreakers = p.FailureCategories, p.MaxFailures, p.CircuitBreakers
		d.CancelSiblingsOn, d.End, d.Notify = p.CancelSiblingsOn, p.End, p.Notify
		d.Deadline, d.ClassifyTimeout, d.AutoSchedule = p.Deadline, p.ClassifyTimeout, p.AutoSchedule
		d.Classifier = p.Classifier
	}
	if def.DynamicJobs != nil {
		d.DynamicJobs = &DynamicJobs{MaxIterations: def.DynamicJobs.MaxIterations}
	}
	d.expandJobs(def)
	staged := stagedNames(def)
	for _, f := range def.Files {
		if staged(f.Name) {
			continue
		}
		file := &File{Name: f.Name, Path: f.Path, ModTime: f.ModTime}
		if f.Identifier != "" {
			file.Identifier = &f.Identifier
		}
		d.Files = append(d.Files, file)
	}
	for _, u := range def.UserData {
		if staged(u.Name) {
			continue
		}
		d.UserData = append(d.UserData, &UserData{Name: u.Name, Data: u.Data, IsEphemeral: u.IsEphemeral})
	}
	for _, r := range def.Requirements {
		if staged(r.Name) {
			continue
		}
		d.ResourceRequirements = append(d.ResourceRequirements, &ResourceRequirements{
			Name: r.Name, NumCPUs: r.NumCPUs, Memory: r.Memory, NumGPUs: r.NumGPUs, NumNodes: &r.NumNodes, Runtime: r.Runtime,
		})
	}
	for i := range def.FailureHandlers {
		if staged(def.FailureHandlers[i].Name) {
			continue
		}
		d.FailureHandlers = append(d.FailureHandlers, expandedHandler(&def.FailureHandlers[i]))
	}
	for _, s := range def.SlurmSchedulers {
		if readAgain(def, s.Name) {
			continue
		}
		d.SlurmSchedulers = append(d.SlurmSchedulers, &SlurmScheduler{
			Name: s.Name, Account: s.Account, Nodes: &s.Nodes, Walltime: s.Walltime, Partition: s.Partition, QOS: s.QOS, Gres: s.Gres,
			Mem: s.Mem, Tmp: s.Tmp, Extra: s.Extra, NtasksPerNode: s.NtasksPerNode, SerializeAllocations: s.SerializeAllocations,
		})
	}
	for i := range def.Actions {
		d.Actions = append(d.Actions, expandedAction(def, &def.Actions[i]))
	}
	return d
}

// stagedNames returns whether a name comes from a sub-workflow, whose file is read again.
func stagedNames(def *workflow.Definition) func(string) bool {
	var prefixes []string
	for i := range def.Jobs {
		if def.Jobs[i].Child > 0 && def.Jobs[i].Stage == 0 {
			prefixes = append(prefixes, def.Jobs[i].Name+"/")
		}
	}
	return func(name string) bool {
		return readAgain(def, name) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	}
}

func expandedJob(def *workflow.Definition, j *workflow.JobDefinition) *Job {
	job := &Job{
		Name: j.Name, Command: j.Command, JobSettings: j.JobSettings, TorcJob: j.TorcJob, Env: j.Env, Labels: j.Labels,
		ResourceRequirements: j.Requirements, FailureHandler: j.FailureHandler, Scheduler: j.Scheduler, Stdio: expandedStdio(j.Stdio),
	}
	if j.Child > 0 {
		job.Command, job.Workflow = "", def.Stages[j.Child-1].Policy.Source
	}
	if j.Priority != 0 {
		job.Priority = &j.Priority
	}
	if j.RunIf != workflow.RunIfSuccess {
		job.RunIf = j.RunIf.String()
	}
	if t := j.RunTimeout; t != nil {
		job.Timeouts = &workflow.Timeouts{Run: &workflow.RunLimit{After: workflow.FormatRuntime(t.AfterSeconds), Grace: workflow.FormatRuntime(t.GraceSeconds)}}
	}
	if p := j.Policy; p != nil {
		job.RetryPolicies = p.RetryPolicies
		if p.Timeouts != nil {
			run := p.Timeouts.Run
			if run == nil && job.Timeouts != nil {
				run = job.Timeouts.Run
			}
			job.Timeouts = &workflow.Timeouts{Queue: p.Timeouts.Queue, Run: run, Heartbeat: p.Timeouts.Heartbeat, Total: p.Timeouts.Total}
		}
	}
	for _, i := range j.DependsOn {
		job.DependsOn = append(job.DependsOn, def.Jobs[i].Name)
	}
	for _, i := range j.InputFiles {
		job.InputFiles = append(job.InputFiles, def.Files[i].Name)
	}
	for _, i := range j.OutputFiles {
		job.OutputFiles = append(job.OutputFiles, def.Files[i].Name)
	}
	for _, i := range j.InputUserData {
		job.InputUserData = append(job.InputUserData, def.UserData[i].Name)
	}
	for _, i := range j.OutputUserData {
		job.OutputUserData = append(job.OutputUserData, def.UserData[i].Name)
	}
	return job
}

func expandedStdio(s *workflow.StdioConfig) *Stdio {
	if s == nil {
		return nil
	}
	return &Stdio{Mode: string(s.Mode), DeleteOnSuccess: s.DeleteOnSuccess}
}

func expandedHandler(h *workflow.FailureHandlerDefinition) *FailureHandler {
	handler := &FailureHandler{Name: h.Name, Rules: []*FailureRule{}}
	for _, r := range h.Rules {
		handler.Rules = append(handler.Rules, &FailureRule{
			ExitCodes: r.ExitCodes, MatchAllExitCodes: r.MatchAllExitCodes, RecoveryScript: r.RecoveryScript, MaxRetries: &r.MaxRetries,
		})
	}
	return handler
}

func expandedAction(def *workflow.Definition, a *workflow.ActionDefinition) *Action {
	action := &Action{
		TriggerType: a.TriggerType, ActionType: a.ActionType, Commands: a.Commands, Scheduler: a.Scheduler, SchedulerType: a.SchedulerType,
		StartOneWorkerPerNode: a.StartOneWorkerPerNode, MaxParallelJobs: a.MaxParallelJobs, Persistent: a.Persistent,
	}
	if a.NumAllocations != 1 {
		action.NumAllocations = &a.NumAllocations
	}
	for _, i := range a.Jobs {
		action.Jobs = append(action.Jobs, def.Jobs[i].Name)
	}
	if l := a.AutoSchedule; l != nil {
		action.MaxReadyAge, action.IdleTimeout, action.Prefer = l.MaxReadyAge, l.IdleTimeout, l.Prefer
		action.MinReadyJobs, action.MaxAllocations = unlessZero(l.MinReadyJobs), unlessZero(l.MaxAllocations)
		action.MaxSubmitPerMinute, action.GiveUpAfter = unlessZero(l.MaxSubmitPerMinute), unlessZero(l.GiveUpAfter)
	}
	return action
}

func unlessZero(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func expandedMonitor(m *workflow.ResourceMonitorConfig) *ResourceMonitor {
	if m == nil {
		return nil
	}
	monitor := &ResourceMonitor{
		Enabled: m.Enabled, Granularity: m.Granularity, SampleIntervalSeconds: &m.SampleIntervalSeconds,
		FlushIntervalSeconds: &m.FlushIntervalSeconds, GeneratePlots: m.GeneratePlots,
	}
	if m.Jobs != nil {
		monitor.Jobs = &JobMonitor{Enabled: m.Jobs.Enabled, Granularity: m.Jobs.Granularity}
	}
	if n := m.ComputeNode; n != nil {
		monitor.ComputeNode = &NodeMonitor{Enabled: n.Enabled, Granularity: n.Granularity, CPU: &n.CPU, Memory: &n.Memory}
	}
	return monitor
}

func expandedExecution(e *workflow.ExecutionConfig) *ExecutionConfig {
	if e == nil {
		return nil
	}
	return &ExecutionConfig{
		Mode: e.Mode, SigkillHeadroomSeconds: e.SigkillHeadroomSecs, TimeoutExitCode: e.TimeoutExitCode, StaggeredStart: e.StaggeredStart,
		LimitResources: e.LimitResources, TerminationSignal: e.TerminationSignal, SigtermLeadSeconds: e.SigtermLeadSecs,
		OOMExitCode: e.OOMExitCode, SrunTerminationSignal: e.SrunTerminationSignal, SrunMPI: e.SrunMPI, EnableCPUBind: e.EnableCPUBind,
		Stdio: expandedStdio(e.Stdio),
	}
}
