package spec

import (
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// jobPlan is a job of the document, prepared for its instances.
type jobPlan struct {
	job   *Job
	sweep *sweep
	first int32 // its first instance
	count int   // of instances

	name, command, script   template
	undo                    template
	undos                   []string // of the instances, if there are any
	requirements, scheduler template
	child                   template // the file of a sub-workflow
	env                     map[string]*template
	labels                  []template
	sharedEnv               map[string]string // if no value has placeholders
	sharedLabels            []string
	stdio                   *workflow.StdioConfig
	runTimeout              *workflow.RunTimeout
	policy                  *workflow.JobPolicy
	runIf                   workflow.RunIf

	dependsOn *selection
	// uses are input files, output files, input user data, output user data.
	uses [4]*selection
	// shared is what command and script refer to, if both have no placeholders.
	shared *references
}

// expandJobs expands the jobs of the document: first all names, then, as they
// may refer to any of them, the rest.
func (b *builder) expandJobs() {
	for _, j := range b.doc.Jobs {
		s := b.sweeps[&j.Sweep]
		if s == nil || s.count == 0 {
			continue
		}
		p := &jobPlan{job: j, sweep: s, first: int32(len(b.def.Jobs)), name: parseTemplate(j.Name, s.columns)}
		b.plans = append(b.plans, p)
		b.jobs.grow(s.count)
		b.def.Jobs = slices.Grow(b.def.Jobs, s.count)
		row := make([]Value, len(s.columns))
		b.family = s.count > 1
		for i := range s.count {
			s.row(i, row)
			name := b.texts.fill(&p.name, row)
			b.addName(b.jobs, j.at, name)
			b.def.Jobs = append(b.def.Jobs, workflow.JobDefinition{Name: name})
			p.count++
			if !b.spend(j.at, 0) {
				break
			}
		}
		b.family = false
	}
	for _, p := range b.plans {
		b.preparePlan(p)
		b.fillJobs(p)
	}
}

// fillJobs makes the instances of a job.
func (b *builder) fillJobs(p *jobPlan) {
	b.family = p.count > 1
	defer func() { b.family = false }()
	row := make([]Value, len(p.sweep.columns))
	for i := range p.count {
		p.sweep.row(i, row)
		d := &b.def.Jobs[int(p.first)+i]
		b.fillJob(d, p, row)
		if !b.spend(p.job.at, p.cost(d)) {
			return
		}
	}
}

// cost is about how many bytes an instance takes that it does not share.
func (p *jobPlan) cost(d *workflow.JobDefinition) int {
	cost := 0
	if p.shared == nil {
		cost = len(d.Command) + len(d.InvocationScript)
	}
	lists := [5][]int32{d.DependsOn, d.InputFiles, d.OutputFiles, d.InputUserData, d.OutputUserData}
	for k, s := range [5]*selection{p.dependsOn, p.uses[0], p.uses[1], p.uses[2], p.uses[3]} {
		if list := lists[k]; len(list) > 0 && (len(s.all) == 0 || &list[0] != &s.all[0]) {
			cost += 4 * len(list)
		}
	}
	return cost
}

// preparePlan cuts the templates of a job and does once what all instances share.
func (b *builder) preparePlan(p *jobPlan) {
	j, columns := p.job, p.sweep.columns
	b.checkWhatRuns(j)
	b.checkPlaceholders(j.at, columns)
	if c := j.at.child("undo"); j.Undo == "" && c != nil && c.kind == kindString {
		b.fail(c, "write a command, or leave it out", "there is nothing to undo with")
	}
	for _, key := range []string{"command", "invocation_script", "undo"} {
		if c := j.at.child(key); c != nil && strings.ContainsRune(c.text, 0) {
			b.fail(c, "", "a command cannot contain a NUL character")
		}
	}
	p.command, p.script = parseTemplate(j.Command, columns), parseTemplate(j.InvocationScript, columns)
	p.child = parseTemplate(j.Workflow, columns)
	p.undo = parseTemplate(j.Undo, columns)
	p.requirements, p.scheduler = parseTemplate(j.ResourceRequirements, columns), parseTemplate(j.Scheduler, columns)
	p.stdio = b.stdio(j.Stdio)
	p.policy = b.jobPolicy(j)
	if j.Timeouts != nil {
		p.runTimeout = j.Timeouts.Run.Enforced()
	}
	p.runIf = b.runIf(j)
	p.prepareEnv(b, columns)
	p.prepareLabels(b, columns)
	b.checkHandlerName(j)
	if j.SupportsTermination != nil {
		b.warnKey(j.at.get("supports_termination"), "remove it; the termination signal is set under execution_config", "supports_termination has no effect")
	}
	p.dependsOn = b.selectionOf(b.jobs, j.at, columns, listing{key: "depends_on", names: j.DependsOn, regexKey: "depends_on_regexes", regexes: j.DependsOnRegexes})
	p.uses = [4]*selection{
		b.selectionOf(b.files, j.at, columns, listing{key: "input_files", names: j.InputFiles, regexKey: "input_file_regexes", regexes: j.InputFileRegexes}),
		b.selectionOf(b.files, j.at, columns, listing{key: "output_files", names: j.OutputFiles, regexKey: "output_file_regexes", regexes: j.OutputFileRegexes}),
		b.selectionOf(b.userData, j.at, columns, listing{key: "input_user_data", names: j.InputUserData, regexKey: "input_user_data_regexes", regexes: j.InputUserDataRegexes}),
		b.selectionOf(b.userData, j.at, columns, listing{key: "output_user_data", names: j.OutputUserData, regexKey: "output_user_data_regexes", regexes: j.OutputUserDataRegexes}),
	}
	if p.command.constant() && p.script.constant() {
		shared := *b.refer(p, j.Command, j.InvocationScript)
		p.shared = &shared
		b.refs = references{}
	}
}

func (p *jobPlan) prepareEnv(b *builder, columns []string) {
	if len(p.job.Env) == 0 {
		return
	}
	where := p.job.at.get("env")
	p.env = make(map[string]*template, len(p.job.Env))
	constant := true
	for name, value := range p.job.Env {
		b.checkEnv(where.get(name), name, value)
		t := parseTemplate(value, columns)
		p.env[name] = &t
		constant = constant && t.constant()
	}
	if constant {
		p.sharedEnv = p.job.Env
	}
}

func (p *jobPlan) prepareLabels(b *builder, columns []string) {
	if len(p.job.Labels) == 0 {
		return
	}
	if p.job.Scheduler != "" {
		b.fail(p.job.at.get("labels"), "a scheduler's allocations have no labels; remove one of the two", "a job cannot have labels and a scheduler")
	}
	constant := true
	for _, text := range p.job.Labels {
		t := parseTemplate(text, columns)
		p.labels = append(p.labels, t)
		constant = constant && t.constant()
	}
	if constant {
		p.sharedLabels = b.jobLabels(p, nil)
	}
}

// jobLabels are the labels of an instance, sorted and without repeats.
func (b *builder) jobLabels(p *jobPlan, row []Value) []string {
	labels := make([]string, len(p.labels))
	for k := range p.labels {
		labels[k] = b.texts.fill(&p.labels[k], row)
		_, err := workflow.NormalizeLabels(labels[k : k+1])
		b.failDomain(p.job.at.get("labels").item(k), err)
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// fillJob makes one instance.
func (b *builder) fillJob(d *workflow.JobDefinition, p *jobPlan, row []Value) {
	j := p.job
	if j.Priority != nil {
		d.Priority = *j.Priority
	}
	d.Env, d.Labels, d.Stdio, d.RunTimeout, d.Policy = p.sharedEnv, p.sharedLabels, p.stdio, p.runTimeout, p.policy
	if p.env != nil && d.Env == nil {
		d.Env = make(map[string]string, len(p.env))
		for name, t := range p.env {
			d.Env[name] = b.texts.fill(t, row)
		}
	}
	if p.labels != nil && d.Labels == nil {
		d.Labels = b.jobLabels(p, row)
	}
	d.Requirements = b.requirementsName(p, b.texts.fill(&p.requirements, row))
	d.Scheduler = b.schedulerName(p, b.texts.fill(&p.scheduler, row))
	d.FailureHandler = j.FailureHandler
	d.RunIf = p.runIf
	d.DependsOn = b.resolve(p.dependsOn, row)

	refs := p.shared
	if refs == nil {
		refs = b.refer(p, b.texts.fill(&p.command, row), b.texts.fill(&p.script, row))
	}
	d.Command, d.InvocationScript = refs.command, refs.script
	if j.Undo != "" {
		p.undos = append(p.undos, b.undoCommand(p, row))
	}
	for k, list := range []*[]int32{&d.InputFiles, &d.OutputFiles, &d.InputUserData, &d.OutputUserData} {
		*list = b.used(p.uses[k], refs.lists[k], row)
	}
	if d.RunIf == workflow.RunIfFailure && len(d.DependsOn)+len(d.InputFiles)+len(d.InputUserData) == 0 {
		b.fail(j.at.get("run_if"), "name the jobs in depends_on", "the job depends on nothing that could fail")
	}
}

// runIf reads after what a job runs.
func (b *builder) runIf(j *Job) workflow.RunIf {
	runIf, err := workflow.ParseRunIf(j.RunIf)
	cancel := j.CancelOnBlockingJobFailure
	switch {
	case err != nil: // the decoder has said so
	case cancel == nil:
	case j.RunIf == "":
		return workflow.RunIfOf(*cancel)
	case *cancel != runIf.CancelOnFailure():
		b.fail(j.at.get("cancel_on_blocking_job_failure"), "remove one of the two", "cancel_on_blocking_job_failure: %t and run_if: %s contradict each other", *cancel, runIf)
	}
	return runIf
}
