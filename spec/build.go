package spec

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// builder makes the definition of a document: it expands, resolves names and checks. It
// continues after errors, so that all are reported at once.
type builder struct {
	*report
	doc  *Document
	opts Options
	def  *workflow.Definition

	expansion *expansion
	sweeps    *sweeper
	parts     *parts
	selector  *selector
	policies  *policies
	plans     []*jobPlan
}

func newBuilder(r *report, doc *Document, opts Options) *builder {
	e := &expansion{report: r}
	return &builder{
		report: r, doc: doc, opts: opts, def: &workflow.Definition{},
		expansion: e, sweeps: newSweeper(e, doc, opts.read), parts: newParts(r), selector: &selector{},
		policies: &policies{report: r, shared: doc.RetryPolicies, patterns: map[string]bool{}},
	}
}

// build makes the definition. Its order follows the dependencies between the sections;
// errors do not stop it.
func (b *builder) build() {
	b.sweeps.checkShared()
	sweeps, ok := b.sweeps.measure(b.doc)
	if !ok {
		return
	}
	b.readSections()
	b.def.Files = b.expansion.files(b.doc.Files, sweeps, b.parts.files)
	b.def.UserData = b.expansion.userData(b.doc.UserData, sweeps, b.parts.userData)
	b.expandJobs(sweeps)
	b.buildWorkflow()
	actions := actionReader{report: b.report, jobs: b.parts.jobs, schedulers: b.parts.schedulers, selector: b.selector, auto: b.doc.AutoSchedule}
	b.def.Actions = actions.read(b.doc.Actions)
	b.checkFiles()
	if !b.opts.SkipChecks {
		check := placementCheck{report: b.report, def: b.def, parts: b.parts}
		check.checkNodes(b.doc.Actions)
		check.checkRoom()
	}
	if !b.parts.ambiguous() { // with duplicate names the wrong job may be in a cycle
		newWaitGraph(b.def, b.parts, b.plans).checkCycles()
	}
	b.addChildren()
	b.addEndJob()
	b.buildCompensation()
}

// readSections reads the sections that jobs refer to and that are not expanded.
func (b *builder) readSections() {
	b.def.Requirements = readRequirements(b.parts.requirements, b.doc.ResourceRequirements)
	b.def.FailureHandlers = readHandlers(b.parts.handlers, b.doc.FailureHandlers)
	b.def.SlurmSchedulers = readSchedulers(b.parts.schedulers, b.doc.SlurmSchedulers)
}

// expandJobs expands the jobs. It needs the files and the user data.
func (b *builder) expandJobs(sweeps map[*Sweep]*sweep) {
	e := jobExpander{
		expansion: b.expansion, parts: b.parts, selector: b.selector, policies: b.policies,
		references: &referrer{report: b.report, files: b.parts.files, userData: b.parts.userData, fileDefs: b.def.Files, data: b.def.UserData},
	}
	e.expand(b.doc.Jobs, sweeps)
	b.def.Jobs, b.plans = e.jobs, e.plans
}

// buildWorkflow sets the properties of the workflow as a whole.
func (b *builder) buildWorkflow() {
	doc, d := b.doc, b.def
	if n := doc.at.child("name"); doc.Name == "" && n != nil && n.kind == kindString {
		b.fail(n, "", "a workflow needs a name")
	}
	b.failDomain(doc.at.get("name"), workflow.CheckName("workflow", doc.Name))
	d.Name, d.User, d.Description, d.Project = doc.Name, b.opts.User, doc.Description, doc.Project
	d.Metadata = metadata(b.report, doc)
	d.Env = b.workflowEnv()
	d.SubmissionDirectory = b.opts.Dir
	if abs, err := filepath.Abs(b.opts.Dir); err == nil {
		d.SubmissionDirectory = abs
	}
	d.TorcWorkflow = doc.TorcWorkflow
	for i, g := range doc.AccessGroups {
		if slices.Contains(doc.AccessGroups[:i], g) {
			b.fail(doc.at.get("access_groups").item(i), "", "duplicate group %s", clip(g))
		}
	}
	warnWithoutEffect(b.report, doc)
	setComputeNode(b.report, doc, d)
	d.UsePendingFailed, d.EnforceRuntime = doc.UsePendingFailed, doc.EnforceRuntime
	d.ExecutionConfig = readExecution(b.report, doc)
	b.overrideStdio()
	d.ResourceMonitor = readMonitor(b.report, doc.ResourceMonitor, b.opts.NoResourceMonitoring)
	d.SlurmDefaults = slurmDefaults(b.report, doc)
	d.Policy = b.runPolicy()
	if doc.DynamicJobs != nil && doc.DynamicJobs.MaxIterations != nil {
		d.DynamicJobs = &workflow.DynamicJobsConfig{MaxIterations: doc.DynamicJobs.MaxIterations}
	}
}

// warnWithoutEffect warns of keys that are stored without effect.
func warnWithoutEffect(r *report, doc *Document) {
	if doc.EnableROCrate != nil && *doc.EnableROCrate {
		r.warnKey(doc.at.get("enable_ro_crate"), "remove it", "enable_ro_crate has no effect yet: no RO-Crate entities are recorded")
	}
	if len(doc.AccessGroups) > 0 {
		r.warnKey(doc.at.get("access_groups"), "protect the server with its token", "access_groups has no effect yet: access is not restricted")
	}
	if m := doc.ResourceMonitor; m != nil && m.GeneratePlots {
		r.warnKey(m.at.get("generate_plots"), "plot the database in resource_utilization/ yourself", "generate_plots has no effect yet")
	}
}

// setComputeNode sets the properties of the runners.
func setComputeNode(r *report, doc *Document, d *workflow.Definition) {
	idle := int64(defaultIdleSeconds)
	d.ComputeNodeWaitForNewJobsSeconds = &idle
	if doc.ComputeNodeWaitForNewJobsSeconds != nil {
		d.ComputeNodeWaitForNewJobsSeconds = doc.ComputeNodeWaitForNewJobsSeconds
	}
	d.ComputeNodeIgnoreWorkflowCompletion = doc.ComputeNodeIgnoreWorkflowCompletion
	d.ComputeNodeWaitForHealthyDatabaseMinutes = doc.ComputeNodeWaitForHealthyDatabaseMinutes
	if doc.ComputeNodeExpirationBufferSeconds != nil {
		r.warnKey(doc.at.get("compute_node_expiration_buffer_seconds"), "use execution_config: sigkill_headroom_seconds",
			"compute_node_expiration_buffer_seconds has no effect")
	}
}

// metadata returns the free object. Older versions took a string with JSON in it.
func metadata(r *report, doc *Document) json.RawMessage {
	at := doc.at.child("metadata")
	if at == nil || at.kind == kindNull || at.kind == kindMap {
		return doc.Metadata
	}
	if at.kind == kindString {
		if n, err := readJSON([]byte(at.text), true); err == nil && n.kind == kindMap {
			r.warn(at, "write the map itself", "metadata should be a map; the JSON in this string is used")
			return n.json()
		}
	}
	r.fail(at, "write a map, for example {owner: me}", "expected a map, found %s", at.kind.article())
	return nil
}

// workflowEnv returns the env of the workflow. {p} of a shared parameter becomes its value
// if it has exactly one; otherwise it stays as written.
func (b *builder) workflowEnv() map[string]string {
	if len(b.doc.Env) == 0 {
		return nil
	}
	var columns []string
	var row []Value
	for i := range b.doc.Parameters {
		p := &b.doc.Parameters[i]
		value := StringValue(p.definition())
		if a := b.sweeps.axis(p); a != nil && a.len() == 1 {
			value = a.value(0)
		}
		columns, row = append(columns, p.Name), append(row, value)
	}
	env := maps.Clone(b.doc.Env)
	for name, value := range env {
		checkEnv(b.report, b.doc.at.get("env").get(name), name, value)
		t := parseTemplate(value, columns)
		env[name] = string(t.fill(nil, row))
	}
	return env
}
