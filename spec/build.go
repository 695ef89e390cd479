package spec

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// build makes the definition. The order is that of the dependencies between
// the sections; errors do not stop it.
func (b *builder) build() {
	b.checkShared()
	if !b.measure() {
		return
	}
	b.buildRequirements()
	b.buildHandlers()
	b.buildSchedulers()
	b.expandFiles()
	b.expandUserData()
	b.expandJobs()
	b.buildWorkflow()
	b.buildActions()
	b.checkFiles()
	b.checkNodes()
	b.checkRoom()
	if !b.ambiguous { // of two jobs with one name the wrong one may be in a cycle
		b.checkCycles()
	}
	b.addChildren()
	b.addEndJob()
	b.buildCompensation()
}

// checkShared checks the sweep axes of the workflow.
func (b *builder) checkShared() {
	doc := b.doc
	if doc.ParametersFile != "" && doc.at.child("parameters") != nil && doc.at.child("parameters").kind != kindNull {
		b.failKey(doc.at.get("parameters_file"), "remove one of the two", "parameters_file and parameters exclude each other")
	}
	for i := range doc.Parameters {
		b.axis(&doc.Parameters[i])
	}
}

// buildWorkflow fills in what concerns the workflow as a whole.
func (b *builder) buildWorkflow() {
	doc, d := b.doc, b.def
	if n := doc.at.child("name"); doc.Name == "" && n != nil && n.kind == kindString {
		b.fail(n, "", "a workflow needs a name")
	}
	b.failDomain(doc.at.get("name"), workflow.CheckName("workflow", doc.Name))
	d.Name, d.User, d.Description, d.Project = doc.Name, b.opts.User, doc.Description, doc.Project
	d.Metadata = b.metadata()
	d.Env = b.workflowEnv()
	d.SubmissionDirectory = b.opts.Dir
	if abs, err := filepath.Abs(b.opts.Dir); err == nil {
		d.SubmissionDirectory = abs
	}
	d.AccessGroups = doc.AccessGroups
	for i, g := range doc.AccessGroups {
		if slices.Contains(doc.AccessGroups[:i], g) {
			b.fail(doc.at.get("access_groups").item(i), "", "the group %s is already there", clip(g))
		}
	}
	b.warnWithoutEffect()
	b.buildComputeNode()
	d.UsePendingFailed, d.EnableROCrate, d.EnforceRuntime = doc.UsePendingFailed, doc.EnableROCrate, doc.EnforceRuntime
	d.ExecutionConfig = b.buildExecution()
	d.ResourceMonitor = b.buildMonitor()
	d.SlurmDefaults = b.slurmDefaults()
	d.Policy = b.runPolicy()
	if doc.DynamicJobs != nil && doc.DynamicJobs.MaxIterations != nil {
		d.DynamicJobs = &workflow.DynamicJobsConfig{MaxIterations: doc.DynamicJobs.MaxIterations}
	}
}

// warnWithoutEffect says which keys are only kept, so that nobody relies on them.
func (b *builder) warnWithoutEffect() {
	if b.doc.EnableROCrate {
		b.warnKey(b.doc.at.get("enable_ro_crate"), "remove it", "enable_ro_crate has no effect yet: no RO-Crate entities are recorded")
	}
	if len(b.doc.AccessGroups) > 0 {
		b.warnKey(b.doc.at.get("access_groups"), "protect the server by its token", "access_groups has no effect yet: nobody is kept out")
	}
	if m := b.doc.ResourceMonitor; m != nil && m.GeneratePlots {
		b.warnKey(m.at.get("generate_plots"), "plot the database in resource_utilization/ yourself", "generate_plots has no effect yet")
	}
}

// buildComputeNode fills in what concerns the runners.
func (b *builder) buildComputeNode() {
	doc, d := b.doc, b.def
	idle := int64(defaultIdleSeconds)
	d.ComputeNodeWaitForNewJobsSeconds = &idle
	if doc.ComputeNodeWaitForNewJobsSeconds != nil {
		d.ComputeNodeWaitForNewJobsSeconds = doc.ComputeNodeWaitForNewJobsSeconds
	}
	d.ComputeNodeIgnoreWorkflowCompletion = doc.ComputeNodeIgnoreWorkflowCompletion
	d.ComputeNodeWaitForHealthyDatabaseMinutes = doc.ComputeNodeWaitForHealthyDatabaseMinutes
	if doc.ComputeNodeExpirationBufferSeconds != nil {
		b.warnKey(doc.at.get("compute_node_expiration_buffer_seconds"), "use execution_config: sigkill_headroom_seconds",
			"compute_node_expiration_buffer_seconds has no effect")
		d.ComputeNodeExpirationBufferSeconds = doc.ComputeNodeExpirationBufferSeconds
	}
}

// metadata returns the free object. Older versions took a string with JSON in it.
func (b *builder) metadata() json.RawMessage {
	at := b.doc.at.child("metadata")
	if at == nil || at.kind == kindNull || at.kind == kindMap {
		return b.doc.Metadata
	}
	if at.kind == kindString {
		if n, err := readJSON([]byte(at.text), true); err == nil && n.kind == kindMap {
			b.warn(at, "write the map itself", "metadata is a map now; the JSON in this string is taken")
			return n.json()
		}
	}
	b.fail(at, "write a map, for example {owner: me}", "expected a map, found %s", at.kind.article())
	return nil
}
