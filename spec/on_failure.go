package spec

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// onFailurePolicy returns the workflow's policy for its compensation, with an absolute
// path.
func (b *builder) onFailurePolicy() *workflow.CompensationPolicy {
	if b.doc.OnFailure == nil {
		return nil
	}
	p := b.doc.OnFailure.CompensationPolicy
	if p.Workflow != "" {
		if abs, err := filepath.Abs(b.opts.besides(b.source.name, p.Workflow)); err == nil {
			p.Workflow = abs
		}
	}
	return &p
}

// buildCompensation adds the undo jobs, and the cleanup jobs after them.
func (b *builder) buildCompensation() {
	switch {
	case b.opts.compensation:
		checkInCompensation(b.report, b.doc)
		return
	case b.opts.within.isChild():
		refuseCompensation(b.report, b.doc, "a sub-workflow", "write it in the workflow that runs it")
		return
	}
	if f := b.doc.OnFailure; f != nil {
		b.buildCleanup(f)
	}
	if len(b.errors) > 0 { // the graph may have cycles
		return
	}
	undos := map[int32]string{}
	for _, p := range b.plans {
		for i, command := range p.undos {
			undos[p.first+int32(i)] = command
		}
	}
	main := len(b.def.Jobs)
	stage.AddCompensation(b.def, undos)
	for i := main; i < len(b.def.Jobs); i++ {
		u := &b.def.Jobs[i]
		b.parts.take(b.parts.jobs.origin(u.Undoes-1).get("undo"), b.parts.jobs.noun, u.Name)
		if !b.expansion.spend(b.doc.at, len(u.Name)+4*len(u.DependsOn)) {
			return
		}
	}
}

// buildCleanup adds the jobs of on_failure to the stage of the compensation.
func (b *builder) buildCleanup(f *OnFailure) {
	var sub *workflow.Definition
	prefix := ""
	at := f.at.get("jobs")
	if f.Workflow != "" {
		at = f.at.get("workflow")
	}
	switch {
	case f.Workflow != "" && f.Jobs != nil:
		b.failKey(f.at.get("workflow"), "remove one of the two", "on_failure cannot have both a workflow and jobs")
	case f.Workflow != "":
		sub, prefix = b.readCleanup(at, b.opts.besides(b.source.name, f.Workflow)), workflow.CompensationStage+"/"
	case len(f.Jobs) > 0:
		sub = b.expandCleanup(f)
	default:
		onlyUndos(b.report, f, b.doc.Jobs)
	}
	if sub == nil || len(b.errors) > 0 {
		return
	}
	m := &merger{def: b.def, parts: b.parts}
	b.def.Stages = append(b.def.Stages, workflow.StageDefinition{
		Kind: workflow.StageCompensation, Name: workflow.CompensationStage, Policy: workflow.StagePolicy{Source: b.def.Policy.OnFailure.Workflow},
	})
	m.addCleanup(sub, at, int32(len(b.def.Stages)), prefix)
}

// onlyUndos checks an on_failure without jobs, which requires undo commands.
func onlyUndos(r *report, f *OnFailure, jobs []*Job) {
	if !slices.ContainsFunc(jobs, func(j *Job) bool { return j.Undo != "" }) {
		r.fail(f.at, "name a workflow, add jobs here, or add undo commands to jobs", "on_failure has nothing to do")
	}
}

// readCleanup reads the specification of the cleanup jobs; nil if it has errors.
func (b *builder) readCleanup(at *node, path string) *workflow.Definition {
	data, err := b.opts.ReadFile(path)
	if err != nil {
		reason := "it cannot be read: " + err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			reason = "there is no file " + path
		}
		b.fail(at, "the path is relative to the file that contains it", "%s", reason)
		return nil
	}
	opts := b.opts
	opts.compensation, opts.SkipChecks = true, true
	sub, _ := parse(path, data, opts)
	if b.isForeign(at, path, data, sub.report) {
		return nil
	}
	b.takeFrom(sub.report, true)
	if len(sub.errors) > 0 {
		return nil
	}
	if !b.takes(at, sub, len(workflow.CompensationStage)) {
		return nil
	}
	return sub.def
}

// expandCleanup expands the jobs in on_failure. They share the sections of the workflow,
// except files and user data.
func (b *builder) expandCleanup(f *OnFailure) *workflow.Definition {
	opts := b.opts
	opts.compensation = true
	sub := newBuilder(b.report, &Document{
		located: b.doc.located, Name: b.doc.Name, Jobs: f.Jobs, Parameters: b.doc.Parameters, ParametersFile: b.doc.ParametersFile,
		ResourceRequirements: b.doc.ResourceRequirements, FailureHandlers: b.doc.FailureHandlers, SlurmSchedulers: b.doc.SlurmSchedulers,
	}, opts)
	sweeps, ok := sub.sweeps.measure(sub.doc)
	if !ok {
		return nil
	}
	sub.readSections()
	sub.expandJobs(sweeps)
	if len(b.errors) == 0 {
		newWaitGraph(sub.def, sub.parts, sub.plans).checkCycles()
	}
	refuseCompensation(b.report, sub.doc, "a compensation", "jobs that clean up are not undone; remove it")
	checkCleanupJobs(b.report, sub.doc.Jobs)
	b.policies.addAll(f.at.get("jobs"), sub.policies)
	sub.def.Requirements, sub.def.FailureHandlers, sub.def.SlurmSchedulers = nil, nil, nil
	return sub.def
}

// checkInCompensation reports what is not allowed, or has no effect, in a specification for
// on_failure.
func checkInCompensation(r *report, doc *Document) {
	refuseCompensation(r, doc, "a compensation", "jobs that clean up are not undone; remove it")
	checkCleanupJobs(r, doc.Jobs)
	if e := doc.End; e != nil && e.Job != nil {
		r.failKey(doc.at.get("end").get("job"), "add a job that depends on the others", "a compensation cannot have an end job")
	}
	for _, key := range []string{"actions", "end", "cancel_siblings_on", "notify", "execution_config", "resource_monitor", "slurm_defaults",
		"use_pending_failed", "enforce_runtime", "dynamic_jobs", "global_max_retries", "max_retries_total", "slurm_schedulers",
		"failure_categories", "circuit_breakers", "max_failures", "deadline", "classify_timeout", "classifier", "auto_schedule"} {
		if c := doc.at.child(key); c != nil && c.kind != kindNull {
			r.warnKey(c, "write it in the workflow that is cleaned up", "%s has no effect in a compensation", key)
		}
	}
}

// refuseCompensation rejects on_failure and undo where they are not allowed.
func refuseCompensation(r *report, doc *Document, whose, hint string) {
	if f := doc.OnFailure; f != nil {
		r.failKey(f.at, hint, "%s cannot have on_failure", whose)
	}
	for _, j := range doc.Jobs {
		if j.Undo != "" {
			r.failKey(j.at.get("undo"), hint, "a job of %s cannot have undo", whose)
		}
	}
}

// checkCleanupJobs rejects what cleanup jobs cannot have.
func checkCleanupJobs(r *report, jobs []*Job) {
	for _, j := range jobs {
		if j.Workflow != "" {
			r.failKey(j.at.get("workflow"), "write a command", "a job of a compensation cannot be a workflow")
		}
	}
}

// expandJobs adds the jobs of a definition, those of its compensation where they came from.
func (d *Document) expandJobs(def *workflow.Definition) {
	d.Jobs = []*Job{}
	stage := stage.CompensationOf(def)
	var policy *workflow.CompensationPolicy
	if def.Policy != nil {
		policy = def.Policy.OnFailure
	}
	if policy != nil {
		d.OnFailure = &OnFailure{CompensationPolicy: *policy}
	}
	written := make([]*Job, len(def.Jobs))
	for i := range def.Jobs {
		j := &def.Jobs[i]
		if j.Stage == 0 {
			written[i] = expandedJob(def, j)
			d.Jobs = append(d.Jobs, written[i])
		}
	}
	for i := range def.Jobs {
		switch j := &def.Jobs[i]; {
		case stage == 0 || j.Stage != stage:
		case j.Undoes > 0:
			written[j.Undoes-1].Undo = j.Command
		case policy != nil && policy.Workflow == "":
			d.OnFailure.Jobs = append(d.OnFailure.Jobs, expandedCleanup(def, j))
		}
	}
}

// readAgain reports whether a name comes from the file of on_failure, to which the document
// refers.
func readAgain(def *workflow.Definition, name string) bool {
	return def.Policy != nil && def.Policy.OnFailure != nil && def.Policy.OnFailure.Workflow != "" &&
		strings.HasPrefix(name, workflow.CompensationStage+"/")
}

// expandedCleanup returns a job of on_failure without what was added to it.
func expandedCleanup(def *workflow.Definition, j *workflow.JobDefinition) *Job {
	job := expandedJob(def, j)
	job.Name = job.Name[len(workflow.CompensationStage)+1:]
	job.DependsOn = nil
	for _, i := range j.DependsOn {
		if before := &def.Jobs[i]; before.Undoes == 0 {
			job.DependsOn = append(job.DependsOn, before.Name[len(workflow.CompensationStage)+1:])
		}
	}
	if n := len(job.RetryPolicies); n > 0 {
		job.RetryPolicies = slices.Clone(job.RetryPolicies[:n-1])
	}
	if len(job.DependsOn) == 0 {
		job.RunIf = ""
	}
	return job
}
