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
	first int32 // index of its first instance
	count int   // number of instances

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
	// shared has the references of command and script, if both are without placeholders.
	shared *references
}

// jobExpander expands the jobs of a document.
type jobExpander struct {
	*expansion
	parts      *parts
	selector   *selector
	references *referrer
	policies   *policies

	plans []*jobPlan
	jobs  []workflow.JobDefinition
}

// expand expands the jobs: first all names, then the rest, which may refer to any name.
func (e *jobExpander) expand(items []*Job, sweeps map[*Sweep]*sweep) {
	for _, j := range items {
		s := sweeps[&j.Sweep]
		if s == nil || s.count == 0 {
			continue
		}
		p := &jobPlan{job: j, sweep: s, first: int32(len(e.jobs)), name: parseTemplate(j.Name, s.columns)}
		e.plans = append(e.plans, p)
		e.parts.jobs.grow(s.count)
		e.jobs = slices.Grow(e.jobs, s.count)
		row := make([]Value, len(s.columns))
		e.family = s.count > 1
		for i := range s.count {
			s.row(i, row)
			name := e.texts.fill(&p.name, row)
			e.parts.jobs.add(j.at, name)
			e.jobs = append(e.jobs, workflow.JobDefinition{Name: name})
			p.count++
			if !e.spend(j.at, 0) {
				break
			}
		}
		e.family = false
	}
	for _, p := range e.plans {
		e.prepare(p)
		e.fillJobs(p)
	}
}

// fillJobs makes the instances of a job.
func (e *jobExpander) fillJobs(p *jobPlan) {
	e.family = p.count > 1
	defer func() { e.family = false }()
	row := make([]Value, len(p.sweep.columns))
	for i := range p.count {
		p.sweep.row(i, row)
		d := &e.jobs[int(p.first)+i]
		e.fillJob(d, p, row)
		if !e.spend(p.job.at, p.cost(d)) {
			return
		}
	}
}

// cost returns about how many bytes an instance needs for itself.
func (p *jobPlan) cost(d *workflow.JobDefinition) int {
	cost := 0
	if p.shared == nil {
		cost = len(d.Command)
		if d.InvocationScript != nil {
			cost += len(*d.InvocationScript)
		}
	}
	lists := [5][]int32{d.DependsOn, d.InputFiles, d.OutputFiles, d.InputUserData, d.OutputUserData}
	for k, s := range [5]*selection{p.dependsOn, p.uses[0], p.uses[1], p.uses[2], p.uses[3]} {
		if list := lists[k]; len(list) > 0 && (len(s.all) == 0 || &list[0] != &s.all[0]) {
			cost += 4 * len(list)
		}
	}
	return cost
}

// prepare parses the templates of a job and prepares what all instances share.
func (e *jobExpander) prepare(p *jobPlan) {
	j, columns := p.job, p.sweep.columns
	checkWhatRuns(e.report, j)
	checkPlaceholders(e.report, j.at, columns)
	if c := j.at.child("undo"); j.Undo == "" && c != nil && c.kind == kindString {
		e.fail(c, "write a command, or leave it out", "the undo command is empty")
	}
	for _, key := range []string{"command", "invocation_script", "undo"} {
		if c := j.at.child(key); c != nil && strings.ContainsRune(c.text, 0) {
			e.fail(c, "", "a command cannot contain a NUL character")
		}
	}
	script := ""
	if j.InvocationScript != nil {
		script = *j.InvocationScript
	}
	p.command, p.script = parseTemplate(j.Command, columns), parseTemplate(script, columns)
	p.child = parseTemplate(j.Workflow, columns)
	p.undo = parseTemplate(j.Undo, columns)
	p.requirements, p.scheduler = parseTemplate(j.ResourceRequirements, columns), parseTemplate(j.Scheduler, columns)
	p.stdio = stdioConfig(j.Stdio)
	p.policy = e.policies.ofJob(j)
	if j.Timeouts != nil {
		p.runTimeout = j.Timeouts.Run.Enforced()
	}
	p.runIf = runIf(e.report, j)
	e.prepareEnv(p)
	e.prepareLabels(p)
	if j.FailureHandler != "" {
		e.parts.handlers.check(j.at.get("failure_handler"), j.FailureHandler)
	}
	if j.SupportsTermination != nil {
		e.warnKey(j.at.get("supports_termination"), "remove it; the termination signal is set under execution_config", "supports_termination has no effect")
	}
	p.dependsOn = e.selector.prepare(e.parts.jobs, j.at, columns, listing{key: "depends_on", names: j.DependsOn, regexKey: "depends_on_regexes", regexes: j.DependsOnRegexes})
	p.uses = [4]*selection{
		e.selector.prepare(e.parts.files, j.at, columns, listing{key: "input_files", names: j.InputFiles, regexKey: "input_file_regexes", regexes: j.InputFileRegexes}),
		e.selector.prepare(e.parts.files, j.at, columns, listing{key: "output_files", names: j.OutputFiles, regexKey: "output_file_regexes", regexes: j.OutputFileRegexes}),
		e.selector.prepare(e.parts.userData, j.at, columns, listing{key: "input_user_data", names: j.InputUserData, regexKey: "input_user_data_regexes", regexes: j.InputUserDataRegexes}),
		e.selector.prepare(e.parts.userData, j.at, columns, listing{key: "output_user_data", names: j.OutputUserData, regexKey: "output_user_data_regexes", regexes: j.OutputUserDataRegexes}),
	}
	if p.command.constant() && p.script.constant() {
		shared := *e.references.refer(p, j.Command, script)
		p.shared = &shared
		e.references.last = references{}
	}
}

// prepareEnv parses the templates of the environment.
func (e *jobExpander) prepareEnv(p *jobPlan) {
	if len(p.job.Env) == 0 {
		return
	}
	where := p.job.at.get("env")
	p.env = make(map[string]*template, len(p.job.Env))
	constant := true
	for name, value := range p.job.Env {
		checkEnv(e.report, where.get(name), name, value)
		t := parseTemplate(value, p.sweep.columns)
		p.env[name] = &t
		constant = constant && t.constant()
	}
	if constant {
		p.sharedEnv = p.job.Env
	}
}

// prepareLabels parses the templates of the labels.
func (e *jobExpander) prepareLabels(p *jobPlan) {
	if len(p.job.Labels) == 0 {
		return
	}
	if p.job.Scheduler != "" {
		e.fail(p.job.at.get("labels"), "a scheduler's allocations have no labels; remove one of the two", "a job cannot have labels and a scheduler")
	}
	constant := true
	for _, text := range p.job.Labels {
		t := parseTemplate(text, p.sweep.columns)
		p.labels = append(p.labels, t)
		constant = constant && t.constant()
	}
	if constant {
		p.sharedLabels = e.labels(p, nil)
	}
}

// labels returns the labels of an instance, sorted and unique.
func (e *jobExpander) labels(p *jobPlan, row []Value) []string {
	labels := make([]string, len(p.labels))
	for k := range p.labels {
		labels[k] = e.texts.fill(&p.labels[k], row)
		_, err := workflow.NormalizeLabels(labels[k : k+1])
		e.failDomain(p.job.at.get("labels").item(k), err)
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// fillJob makes one instance.
func (e *jobExpander) fillJob(d *workflow.JobDefinition, p *jobPlan, row []Value) {
	j := p.job
	if j.Priority != nil {
		d.Priority = *j.Priority
	}
	d.Env, d.Labels, d.Stdio, d.RunTimeout, d.Policy = p.sharedEnv, p.sharedLabels, p.stdio, p.runTimeout, p.policy
	if p.env != nil && d.Env == nil {
		d.Env = make(map[string]string, len(p.env))
		for name, t := range p.env {
			d.Env[name] = e.texts.fill(t, row)
		}
	}
	if p.labels != nil && d.Labels == nil {
		d.Labels = e.labels(p, row)
	}
	d.Requirements = e.requirementsName(p, e.texts.fill(&p.requirements, row))
	d.Scheduler = e.schedulerName(p, e.texts.fill(&p.scheduler, row))
	d.FailureHandler = j.FailureHandler
	d.RunIf = p.runIf
	d.DependsOn = e.selector.resolve(p.dependsOn, row)

	refs := p.shared
	if refs == nil {
		refs = e.references.refer(p, e.texts.fill(&p.command, row), e.texts.fill(&p.script, row))
	}
	d.Command, d.JobSettings, d.TorcJob = refs.command, j.JobSettings, j.TorcJob
	if d.InvocationScript = nil; p.shared != nil && p.shared.script != "" {
		d.InvocationScript = &p.shared.script
	} else if refs.script != "" {
		d.InvocationScript = new(refs.script)
	}
	if j.Undo != "" {
		p.undos = append(p.undos, e.undoCommand(p, row))
	}
	for k, list := range []*[]int32{&d.InputFiles, &d.OutputFiles, &d.InputUserData, &d.OutputUserData} {
		*list = e.selector.used(p.uses[k], refs.lists[k], row)
	}
	if d.RunIf == workflow.RunIfFailure && len(d.DependsOn)+len(d.InputFiles)+len(d.InputUserData) == 0 {
		e.fail(j.at.get("run_if"), "name the jobs in depends_on", "the job depends on nothing that could fail")
	}
}

// runIf returns when a job runs.
func runIf(r *report, j *Job) workflow.RunIf {
	when, err := workflow.ParseRunIf(j.RunIf)
	cancel := j.CancelOnBlockingJobFailure
	switch {
	case err != nil: // the decoder has reported it
	case cancel == nil:
	case j.RunIf == "":
		return workflow.RunIfOf(*cancel)
	case *cancel != when.CancelOnFailure():
		r.fail(j.at.get("cancel_on_blocking_job_failure"), "remove one of the two", "cancel_on_blocking_job_failure: %t and run_if: %s contradict each other", *cancel, when)
	}
	return when
}

// requirementsName checks the requirements of an instance. An empty name means the default
// ones, which need not be written down.
func (e *jobExpander) requirementsName(p *jobPlan, name string) string {
	if name == "" || name == workflow.DefaultRequirements {
		return ""
	}
	e.parts.requirements.check(p.job.at.get("resource_requirements"), name)
	return name
}

// schedulerName checks the scheduler of an instance.
func (e *jobExpander) schedulerName(p *jobPlan, name string) string {
	if name != "" {
		e.parts.schedulers.check(p.job.at.get("scheduler"), name)
	}
	return name
}

// undoCommand returns the undo command of an instance. It may refer to files and user data
// without depending on them.
func (e *jobExpander) undoCommand(p *jobPlan, row []Value) string {
	text := e.texts.fill(&p.undo, row)
	var lists [4]referenced
	return e.references.substitute(p.job.at.get("undo"), text, &lists, false)
}
