package spec

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// builder makes the definition of a document: it expands, resolves names and
// checks. It reports and goes on, so that all errors come out in one go.
type builder struct {
	*report
	doc  *Document
	opts Options
	def  *workflow.Definition

	axes      map[*node]*axis
	tables    map[string]*table
	instances int

	requirements, handlers, schedulers *names

	jobs, files, userData *nameIndex
	plans                 []*jobPlan

	texts   textArena
	indexes indexArena
	scratch []byte
	found   []int32
	refs    references
}

func newBuilder(r *report, doc *Document, opts Options) *builder {
	return &builder{
		report: r, doc: doc, opts: opts, def: &workflow.Definition{},
		axes: map[*node]*axis{}, tables: map[string]*table{},
		jobs: newNameIndex("job"), files: newNameIndex("file"), userData: newNameIndex("user data record"),
	}
}

// expandFiles expands the files of the document.
func (b *builder) expandFiles() {
	for _, f := range b.doc.Files {
		s := b.sweepOf(f.at, &f.Sweep)
		if s == nil || s.count == 0 {
			continue
		}
		name, path := parseTemplate(f.Name, s.columns), parseTemplate(f.Path, s.columns)
		identifier := template{}
		if f.Identifier != nil {
			identifier = parseTemplate(*f.Identifier, s.columns)
		}
		b.files.grow(s.count)
		b.def.Files = slices.Grow(b.def.Files, s.count)
		row := make([]Value, len(s.columns))
		b.family = s.count > 1
		for i := range s.count {
			s.row(i, row)
			d := workflow.FileDefinition{
				Name: b.texts.fill(&name, row), Path: b.texts.fill(&path, row), Identifier: b.texts.fill(&identifier, row), ModTime: f.ModTime,
			}
			if path := f.at.child("path"); d.Path == "" && path != nil && path.kind == kindString {
				b.fail(path, "", "a file needs a path")
			}
			b.addName(b.files, f.at, d.Name)
			b.def.Files = append(b.def.Files, d)
		}
		b.family = false
	}
}

// expandUserData expands the user data of the document.
func (b *builder) expandUserData() {
	for _, u := range b.doc.UserData {
		if u.Name == "" {
			b.warn(u.at, "give it a name", "user data without a name is left out")
			continue
		}
		s := b.sweepOf(u.at, &u.Sweep)
		if s == nil || s.count == 0 {
			continue
		}
		name, data := parseTemplate(u.Name, s.columns), template{}
		if n := u.at.child("data"); n != nil && n.kind != kindNull {
			data = parseJSONTemplate(n, s.columns)
		}
		var shared json.RawMessage
		if data.text != "" {
			shared = json.RawMessage(data.text)
		}
		b.userData.grow(s.count)
		row := make([]Value, len(s.columns))
		b.family = s.count > 1
		for i := range s.count {
			s.row(i, row)
			d := workflow.UserDataDefinition{Name: b.texts.fill(&name, row), IsEphemeral: u.IsEphemeral, Data: shared}
			if !data.constant() {
				d.Data = data.fill(nil, row)
			}
			b.addName(b.userData, u.at, d.Name)
			b.def.UserData = append(b.def.UserData, d)
		}
		b.family = false
	}
}

// jobPlan is a job of the document, prepared for its instances.
type jobPlan struct {
	job   *Job
	sweep *sweep
	first int32 // its first instance

	name, command, script   template
	requirements, scheduler template
	env                     map[string]*template
	labels                  []template
	sharedEnv               map[string]string // if no value has placeholders
	sharedLabels            []string
	stdio                   *workflow.StdioConfig
	runTimeout              *workflow.RunTimeout

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
		s := b.sweepOf(j.at, &j.Sweep)
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
		}
		b.family = false
	}
	for _, p := range b.plans {
		b.preparePlan(p)
		row := make([]Value, len(p.sweep.columns))
		b.family = p.sweep.count > 1
		for i := range p.sweep.count {
			p.sweep.row(i, row)
			b.fillJob(&b.def.Jobs[int(p.first)+i], p, row)
		}
		b.family = false
	}
}

// preparePlan cuts the templates of a job and does once what all instances share.
func (b *builder) preparePlan(p *jobPlan) {
	j, columns := p.job, p.sweep.columns
	if c := j.at.child("command"); j.Command == "" && c != nil && c.kind == kindString {
		b.fail(j.at.get("command"), "", "a job needs a command")
	}
	for _, key := range []string{"command", "invocation_script"} {
		if c := j.at.child(key); c != nil && strings.ContainsRune(c.text, 0) {
			b.fail(c, "", "a command cannot contain a NUL character")
		}
	}
	p.command, p.script = parseTemplate(j.Command, columns), parseTemplate(j.InvocationScript, columns)
	p.requirements, p.scheduler = parseTemplate(j.ResourceRequirements, columns), parseTemplate(j.Scheduler, columns)
	p.stdio = b.stdio(j.Stdio)
	p.runTimeout = b.runTimeout(j)
	p.prepareEnv(b, columns)
	p.prepareLabels(b, columns)
	b.checkHandlerName(j)
	if j.SupportsTermination != nil {
		b.warnKey(j.at.get("supports_termination"), "remove it; the termination signal is set under execution_config", "supports_termination has no effect")
	}
	p.dependsOn = b.selectionOf(b.jobs, j.at, columns, "depends_on", j.DependsOn, "depends_on_regexes", j.DependsOnRegexes)
	p.uses = [4]*selection{
		b.selectionOf(b.files, j.at, columns, "input_files", j.InputFiles, "input_file_regexes", j.InputFileRegexes),
		b.selectionOf(b.files, j.at, columns, "output_files", j.OutputFiles, "output_file_regexes", j.OutputFileRegexes),
		b.selectionOf(b.userData, j.at, columns, "input_user_data", j.InputUserData, "input_user_data_regexes", j.InputUserDataRegexes),
		b.selectionOf(b.userData, j.at, columns, "output_user_data", j.OutputUserData, "output_user_data_regexes", j.OutputUserDataRegexes),
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
	d.Env, d.Labels, d.Stdio, d.RunTimeout = p.sharedEnv, p.sharedLabels, p.stdio, p.runTimeout
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
	d.RunOnFailure = j.CancelOnBlockingJobFailure != nil && !*j.CancelOnBlockingJobFailure
	d.DependsOn = b.resolve(p.dependsOn, row)

	refs := p.shared
	if refs == nil {
		refs = b.refer(p, b.texts.fill(&p.command, row), b.texts.fill(&p.script, row))
	}
	d.Command, d.InvocationScript = refs.command, refs.script
	for k, list := range []*[]int32{&d.InputFiles, &d.OutputFiles, &d.InputUserData, &d.OutputUserData} {
		*list = b.used(p.uses[k], refs.lists[k], row)
	}
}

// workflowEnv is the env of the workflow: {p} of a shared parameter becomes its
// value if it has one, else its text as written.
func (b *builder) workflowEnv() map[string]string {
	if len(b.doc.Env) == 0 {
		return nil
	}
	var columns []string
	var row []Value
	for i := range b.doc.Parameters {
		p := &b.doc.Parameters[i]
		value := StringValue(p.definition())
		if a := b.axis(p); a != nil && a.len() == 1 {
			value = a.value(0)
		}
		columns, row = append(columns, p.Name), append(row, value)
	}
	env := maps.Clone(b.doc.Env)
	for name, value := range env {
		b.checkEnv(b.doc.at.get("env").get(name), name, value)
		t := parseTemplate(value, columns)
		env[name] = string(t.fill(nil, row))
	}
	return env
}
