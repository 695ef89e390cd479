package spec

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// onFailurePolicy is what the workflow says about its compensation, with a path
// that means the same file everywhere.
func (b *builder) onFailurePolicy() *workflow.CompensationPolicy {
	if b.doc.OnFailure == nil {
		return nil
	}
	p := b.doc.OnFailure.CompensationPolicy
	if p.Workflow != "" {
		if abs, err := filepath.Abs(b.besides(p.Workflow)); err == nil {
			p.Workflow = abs
		}
	}
	return &p
}

// undoCommand is the undo of an instance. It may name files and user data of the
// job, without reading or writing them as the job does.
func (b *builder) undoCommand(p *jobPlan, row []Value) string {
	text := b.texts.fill(&p.undo, row)
	var lists [4]referenced
	return b.substitute(p.job.at.get("undo"), text, &lists, false)
}

// buildCompensation adds the undos of the jobs, and behind them the jobs that
// clean up.
func (b *builder) buildCompensation() {
	switch {
	case b.opts.compensation:
		b.checkInCompensation()
		return
	case b.opts.within.isChild():
		b.refuseCompensation("a sub-workflow", "write it in the workflow that runs it")
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
	b.def.AddCompensation(undos)
	for i := main; i < len(b.def.Jobs); i++ {
		u := &b.def.Jobs[i]
		b.takeName(b.jobs.origin(u.Undoes-1).get("undo"), b.jobs.noun, u.Name)
		if !b.spend(b.doc.at, len(u.Name)+4*len(u.DependsOn)) {
			return
		}
	}
}

// buildCleanup adds the jobs of on_failure to the stage of the compensation.
func (b *builder) buildCleanup(f *OnFailure) {
	var sub *workflow.Definition
	prefix := ""
	switch path := f.at.get("workflow"); {
	case f.Workflow != "" && f.Jobs != nil:
		b.failKey(path, "remove one of the two", "on_failure has a workflow and jobs")
	case f.Workflow != "":
		sub, prefix = b.readCleanup(path, b.besides(f.Workflow)), workflow.CompensationStage+"/"
	case len(f.Jobs) > 0:
		sub = b.expandCleanup(f)
	default:
		b.onlyUndos(f)
	}
	if sub == nil || len(b.errors) > 0 {
		return
	}
	b.def.Stages = append(b.def.Stages, workflow.StageDefinition{
		Kind: workflow.StageCompensation, Name: workflow.CompensationStage, Policy: workflow.StagePolicy{Source: b.def.Policy.OnFailure.Workflow},
	})
	b.takeIn(sub, int32(len(b.def.Stages)), prefix)
}

// onlyUndos checks an on_failure without jobs: it is about the undos.
func (b *builder) onlyUndos(f *OnFailure) {
	if !slices.ContainsFunc(b.doc.Jobs, func(j *Job) bool { return j.Undo != "" }) {
		b.fail(f.at, "name a workflow, or write jobs here, or give jobs an undo", "on_failure has nothing to do")
	}
}

// readCleanup reads the specification of the jobs that clean up; nil with errors.
func (b *builder) readCleanup(at *node, path string) *workflow.Definition {
	data, err := b.opts.ReadFile(path)
	if err != nil {
		reason := "it cannot be read: " + err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			reason = "there is no file " + path
		}
		b.fail(at, "name a specification beside this one", "%s", reason)
		return nil
	}
	opts := b.opts
	opts.compensation, opts.SkipChecks = true, true
	sub, _ := parse(path, data, opts)
	if b.isForeign(at, path, data, sub) {
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

// expandCleanup expands the jobs that are written in on_failure. They share the
// sections of the workflow but for its files and user data.
func (b *builder) expandCleanup(f *OnFailure) *workflow.Definition {
	opts := b.opts
	opts.compensation = true
	sub := newBuilder(b.report, &Document{
		located: b.doc.located, Name: b.doc.Name, Jobs: f.Jobs, Parameters: b.doc.Parameters, ParametersFile: b.doc.ParametersFile,
		ResourceRequirements: b.doc.ResourceRequirements, FailureHandlers: b.doc.FailureHandlers, SlurmSchedulers: b.doc.SlurmSchedulers,
	}, opts)
	if !sub.measure() {
		return nil
	}
	sub.buildRequirements()
	sub.buildHandlers()
	sub.buildSchedulers()
	sub.expandJobs()
	if len(b.errors) == 0 {
		sub.checkCycles()
	}
	sub.refuseCompensation("a compensation", "what cleans up is not undone itself; remove it")
	sub.checkCleanupJobs()
	for pattern := range sub.patterns {
		b.addPattern(f.at.get("jobs"), pattern)
	}
	sub.def.Requirements, sub.def.FailureHandlers, sub.def.SlurmSchedulers = nil, nil, nil
	return sub.def
}

// checkInCompensation says what a specification cannot have, or has in vain, that
// is read for an on_failure.
func (b *builder) checkInCompensation() {
	b.refuseCompensation("a compensation", "what cleans up is not undone itself; remove it")
	b.checkCleanupJobs()
	if e := b.doc.End; e != nil && e.Job != nil {
		b.failKey(b.doc.at.get("end").get("job"), "write a job behind the others", "a compensation has no end job")
	}
	for _, key := range []string{"actions", "end", "cancel_siblings_on", "notify", "execution_config", "resource_monitor", "slurm_defaults",
		"use_pending_failed", "enforce_runtime", "dynamic_jobs", "global_max_retries", "max_retries_total", "slurm_schedulers",
		"failure_categories", "circuit_breakers", "max_failures", "deadline", "classify_timeout", "auto_schedule"} {
		if c := b.doc.at.child(key); c != nil && c.kind != kindNull {
			b.warnKey(c, "write it in the workflow that it cleans up after", "%s has no effect in a compensation", key)
		}
	}
}

// refuseCompensation refuses an on_failure and undos where there cannot be any.
func (b *builder) refuseCompensation(whose, hint string) {
	if f := b.doc.OnFailure; f != nil {
		b.failKey(f.at, hint, "%s has no on_failure of its own", whose)
	}
	for _, j := range b.doc.Jobs {
		if j.Undo != "" {
			b.failKey(j.at.get("undo"), hint, "a job of %s has no undo", whose)
		}
	}
}

// checkCleanupJobs refuses what a job that cleans up cannot be.
func (b *builder) checkCleanupJobs() {
	for _, j := range b.doc.Jobs {
		if j.Workflow != "" {
			b.failKey(j.at.get("workflow"), "write a command", "a job of a compensation cannot be a workflow")
		}
	}
}

// takeIn adds the parts of another definition to a stage. The prefix is put in
// front of the names of what both could have.
func (b *builder) takeIn(sub *workflow.Definition, stage int32, prefix string) {
	d := b.def
	firstFile, firstData, firstJob := int32(len(d.Files)), int32(len(d.UserData)), int32(len(d.Jobs))
	rename := func(name string) string {
		if name == "" || name == workflow.DefaultRequirements {
			return name
		}
		return prefix + name
	}
	at := b.doc.OnFailure.at.get("jobs")
	if b.doc.OnFailure.Workflow != "" {
		at = b.doc.OnFailure.at.get("workflow")
	}
	names := &partNames{b: b, at: at, prefix: prefix}
	b.takeRecords(sub, names)
	for _, r := range sub.Requirements {
		if r.Name != workflow.DefaultRequirements {
			r.Name = names.of(b.requirements.noun, r.Name)
			d.Requirements = append(d.Requirements, r)
		}
	}
	for _, h := range sub.FailureHandlers {
		h.Name = names.of(b.handlers.noun, h.Name)
		d.FailureHandlers = append(d.FailureHandlers, h)
	}
	for _, s := range sub.SlurmSchedulers {
		s.Name = names.of(b.schedulers.noun, s.Name)
		d.SlurmSchedulers = append(d.SlurmSchedulers, s)
	}
	names.prefix = workflow.CompensationStage + "/"
	shared := map[*workflow.JobPolicy]*workflow.JobPolicy{}
	for _, j := range sub.Jobs {
		j.Name, j.Stage = names.of(b.jobs.noun, j.Name), stage
		j.Requirements, j.FailureHandler, j.Scheduler = rename(j.Requirements), rename(j.FailureHandler), rename(j.Scheduler)
		if len(sub.Env) > 0 {
			env := maps.Clone(sub.Env)
			maps.Copy(env, j.Env)
			j.Env = env
		}
		j.Policy = withPolicies(shared, j.Policy, sub.Policy)
		j.DependsOn = shifted(j.DependsOn, firstJob)
		j.InputFiles, j.OutputFiles = shifted(j.InputFiles, firstFile), shifted(j.OutputFiles, firstFile)
		j.InputUserData, j.OutputUserData = shifted(j.InputUserData, firstData), shifted(j.OutputUserData, firstData)
		d.Jobs = append(d.Jobs, j)
	}
}

// withPolicies adds the retry policies of a workflow to those of a job.
func withPolicies(known map[*workflow.JobPolicy]*workflow.JobPolicy, of *workflow.JobPolicy, p *workflow.RunPolicy) *workflow.JobPolicy {
	if p == nil || len(p.RetryPolicies) == 0 {
		return of
	}
	if known[of] == nil {
		all := &workflow.JobPolicy{}
		if of != nil {
			*all = *of
		}
		all.RetryPolicies = slices.Concat(all.RetryPolicies, p.RetryPolicies)
		known[of] = all
	}
	return known[of]
}

// expandJobs writes the jobs of a definition, those of its compensation where they
// are from.
func (d *Document) expandJobs(def *workflow.Definition) {
	d.Jobs = []*Job{}
	stage := def.CompensationStage()
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

// readAgain reports whether what has a name is from the file of on_failure, which
// the document names.
func readAgain(def *workflow.Definition, name string) bool {
	return def.Policy != nil && def.Policy.OnFailure != nil && def.Policy.OnFailure.Workflow != "" &&
		strings.HasPrefix(name, workflow.CompensationStage+"/")
}

// expandedCleanup is a job of an on_failure without what was added to it.
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
