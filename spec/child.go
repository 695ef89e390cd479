package spec

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// maxChildren limits the number of sub-workflows of a specification, including those in
// sub-workflows.
const maxChildren = 10_000

// nesting is the position of a file that is read as a sub-workflow.
type nesting struct {
	name  string // of the file
	info  fs.FileInfo
	up    *nesting          // the file that refers to it
	given map[string]string // values of its variables
	count *int              // of all sub-workflows
}

func (n *nesting) variables() map[string]string {
	if n == nil {
		return nil
	}
	return n.given
}

// isChild reports whether another file refers to this one. The top-level file has a nesting
// too, once one of its jobs is a workflow.
func (n *nesting) isChild() bool {
	return n != nil && n.up != nil
}

// is reports whether a file is this one, under any name.
func (n *nesting) is(name string, info fs.FileInfo) bool {
	return filepath.Clean(n.name) == filepath.Clean(name) || n.info != nil && info != nil && os.SameFile(n.info, info)
}

// cycle returns the files through which a file contains itself; nil if it does not.
func (n *nesting) cycle(name string, info fs.FileInfo) []string {
	files := []string{name}
	for ; n != nil; n = n.up {
		files = append(files, n.name)
		if n.is(name, info) {
			slices.Reverse(files)
			return files
		}
	}
	return nil
}

func (n *nesting) depth() (depth int) {
	for ; n != nil; n = n.up {
		depth++
	}
	return depth
}

// ofCommands are keys of jobs that have no meaning without a command.
var ofCommands = append(slices.Concat(schemaOf(reflect.TypeFor[workflow.JobSettings]()).keys, schemaOf(reflect.TypeFor[workflow.TorcJob]()).keys), "command", "env", "priority", "labels",
	"resource_requirements", "failure_handler", "retry_policies", "scheduler", "stdio", "timeouts", "undo")

// checkWhatRuns checks that a job has either a command or a workflow, and that a job with a
// workflow has no keys that need a command.
func checkWhatRuns(r *report, j *Job) {
	command, child := j.at.child("command"), j.at.child("workflow")
	if child == nil || child.kind == kindNull {
		if command == nil {
			r.failAt(j.at.get("command"), j.at.spot(), "a job needs a command, or the key workflow with the file of a sub-workflow", "the key %q is missing", "command")
		} else if command.kind == kindNull {
			r.fail(command, "", "%s cannot be null", "command")
		} else if j.Command == "" && command.kind == kindString {
			r.fail(command, "", "a job needs a command")
		}
		return
	}
	if j.Workflow == "" && child.kind == kindString {
		r.fail(child, "write the path of a specification, relative to this one", "the path of the sub-workflow is empty")
	}
	for _, key := range ofCommands {
		if c := j.at.child(key); c != nil && c.kind != kindNull {
			hint := "write it in the jobs of the sub-workflow"
			if key == "command" {
				hint = "remove one of the two"
			}
			r.failKey(c, hint, "a job with a workflow cannot have %s", key)
		}
	}
}

// addChildren reads the sub-workflows of the jobs and appends their parts to the definition.
func (b *builder) addChildren() {
	m := &merger{def: b.def, parts: b.parts}
	for _, p := range b.plans {
		if p.job.Workflow == "" {
			continue
		}
		shared := sharedParts{}
		row := make([]Value, len(p.sweep.columns))
		for i := range p.count {
			p.sweep.row(i, row)
			c := b.readChild(p, row, i == 0)
			if c == nil {
				break
			}
			if !b.takes(p.job.at.get("workflow"), c, len(b.def.Jobs[p.first+int32(i)].Name)) {
				return
			}
			if !m.attach(p.first+int32(i), c, shared) {
				break
			}
		}
	}
}

// takes adds the expansion of another file to that of this one; prefix is the number of bytes
// by which its names get longer. It returns false, with an error, if the total exceeds the
// limits.
func (b *builder) takes(at *node, c *builder, prefix int) bool {
	if !b.expansion.count(at, c.expansion.instances) {
		return false
	}
	b.policies.addAll(at, c.policies)
	return b.expansion.spend(at, c.expansion.size+c.expansion.texts.size+prefix*c.expansion.instances)
}

// readChild reads the sub-workflow of an instance; nil if it has errors.
func (b *builder) readChild(p *jobPlan, row []Value, isFirst bool) *builder {
	at := p.job.at.get("workflow")
	path := b.expansion.texts.fill(&p.child, row)
	name := b.opts.besides(b.source.name, path)
	info, _ := b.opts.Stat(name) // an error is reported when the file is read
	here := b.here()
	if files := here.cycle(name, info); files != nil {
		b.fail(at, "a sub-workflow cannot contain itself; leave one of them out", "the workflows contain each other: %s", strings.Join(files, " -> "))
		return nil
	}
	if here.depth() > workflow.MaxStageDepth {
		b.fail(at, "put some of them into one file", "sub-workflows are nested more than %d deep", workflow.MaxStageDepth)
		return nil
	}
	if *here.count++; *here.count > maxChildren {
		b.fail(at, "move the repetition into the sub-workflow, as parameters of its jobs", "there are more than %d sub-workflows", maxChildren)
		return nil
	}
	data, err := b.opts.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		b.fail(at, "the path is relative to the file that contains it", "there is no file %s", name)
		return nil
	case err != nil:
		b.fail(at, "", "cannot read the sub-workflow: %v", err)
		return nil
	case len(data) > maxFile:
		b.fail(at, "", "%s is larger than %d MiB", name, maxFile>>20)
		return nil
	}
	opts := b.opts
	opts.within = &nesting{name: name, info: info, up: here, count: here.count, given: map[string]string{}}
	for k, column := range p.sweep.columns {
		opts.within.given[column] = row[k].String()
	}
	c, _ := parse(name, data, opts)
	if b.isForeign(at, name, data, c.report) {
		return nil
	}
	ok := len(c.errors) == 0
	if ok && isFirst {
		b.warnOfUnused(at, name, p.sweep.columns, c)
	}
	if b.takeFrom(c.report, ok && isFirst); !ok {
		return nil
	}
	return c
}

// here returns the nesting of the file that is being built.
func (b *builder) here() *nesting {
	if b.opts.within == nil {
		info, _ := b.opts.Stat(b.source.name)
		b.opts.within = &nesting{name: b.source.name, info: info, count: new(int)}
	}
	return b.opts.within
}

// ofParents are keys that apply to whole workflows. They are used from the top-level file
// only.
var ofParents = append(slices.Clone(schemaOf(reflect.TypeFor[workflow.TorcWorkflow]()).keys), "slurm_schedulers", "actions", "slurm_defaults", "resource_monitor", "execution_config", "dynamic_jobs",
	"use_pending_failed", "enforce_runtime", "global_max_retries", "max_retries_total", "cancel_siblings_on",
	"notify", "failure_categories", "circuit_breakers", "max_failures", "deadline", "classify_timeout", "classifier", "auto_schedule",
	"compute_node_wait_for_new_jobs_seconds", "compute_node_ignore_workflow_completion",
	"compute_node_wait_for_healthy_database_minutes")

// warnOfUnused warns of keys of a sub-workflow that have no effect, and of parameters that it
// does not use.
func (r *report) warnOfUnused(at *node, name string, columns []string, c *builder) {
	var unused []string
	for _, key := range ofParents {
		if n := c.doc.at.child(key); n != nil && n.kind != kindNull {
			unused = append(unused, key)
		}
	}
	if len(unused) > 0 {
		r.warn(at, "write them in the top-level file", "these keys of %s have no effect in a sub-workflow: %s", name, strings.Join(unused, ", "))
	}
	if slices.ContainsFunc(c.def.Jobs, func(j workflow.JobDefinition) bool { return j.Scheduler != "" }) {
		r.warn(at, "only the top-level file requests allocations", "the schedulers of the jobs of %s have no effect", name)
	}
	for _, column := range columns {
		if _, known := c.doc.Variables[column]; !known {
			r.warn(at, "add variables: {"+column+": …} there, with a default value", "%s has no variable %s, so the parameter has no effect there", name, column)
		}
	}
}

// addEndJob adds the end job, in a separate stage.
func (b *builder) addEndJob() {
	end := b.doc.End
	if end == nil || end.Job == nil {
		return
	}
	at := b.doc.at.get("end").get("job")
	if i, taken := b.parts.jobs.byName[workflow.EndJobName]; taken {
		b.fail(b.parts.jobs.origin(i).get("name"), "rename the job", "the name %s is reserved for the end job", workflow.EndJobName)
		return
	}
	b.def.Stages = append(b.def.Stages, workflow.StageDefinition{Kind: workflow.StageEnd, Name: workflow.EndJobName})
	j, err := end.Job.Job(workflow.EndJobName, int32(len(b.def.Stages)))
	if err != nil {
		return // reported by the checks of the policy
	}
	if strings.Contains(j.Command, "${files.") || strings.Contains(j.Command, "${user_data.") {
		b.warn(at.get("command"), "write the path itself", "references to files and user data are not replaced in the end job")
	}
	b.def.Jobs = append(b.def.Jobs, j)
}
