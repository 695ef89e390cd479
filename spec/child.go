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

// maxChildren bounds how many sub-workflows a specification has, those in
// sub-workflows among them.
const maxChildren = 10_000

// nesting is where a file stands that is read as a sub-workflow.
type nesting struct {
	name  string // of the file
	info  fs.FileInfo
	up    *nesting          // the file that names it
	given map[string]string // values of its variables
	count *int              // of all sub-workflows
}

func (n *nesting) variables() map[string]string {
	if n == nil {
		return nil
	}
	return n.given
}

// isChild reports whether the file is named by another one. That at the top has a
// place too, once a job of it is a workflow.
func (n *nesting) isChild() bool {
	return n != nil && n.up != nil
}

// is reports whether a file is this one, whatever it is called.
func (n *nesting) is(name string, info fs.FileInfo) bool {
	return filepath.Clean(n.name) == filepath.Clean(name) || n.info != nil && info != nil && os.SameFile(n.info, info)
}

// cycle returns the files that lead from a file back to itself, nil if none do.
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

// ofCommands are keys of jobs that mean nothing without a command.
var ofCommands = append(slices.Concat(schemaOf(reflect.TypeFor[workflow.JobSettings]()).keys, schemaOf(reflect.TypeFor[workflow.TorcJob]()).keys), "command", "env", "priority", "labels",
	"resource_requirements", "failure_handler", "retry_policies", "scheduler", "stdio", "timeouts", "undo")

// checkWhatRuns checks that a job has either a command or a workflow, and no keys
// that its kind does not know.
func checkWhatRuns(r *report, j *Job) {
	command, child := j.at.child("command"), j.at.child("workflow")
	if child == nil || child.kind == kindNull {
		if command == nil {
			r.failAt(j.at.get("command"), j.at.spot(), "or the key workflow, with the file of a sub-workflow", "the key %q is missing", "command")
		} else if command.kind == kindNull {
			r.fail(command, "", "%s is missing: null is not a value for it", "command")
		} else if j.Command == "" && command.kind == kindString {
			r.fail(command, "", "a job needs a command")
		}
		return
	}
	if j.Workflow == "" && child.kind == kindString {
		r.fail(child, "write the path of a specification, relative to this one", "a sub-workflow needs its file")
	}
	for _, key := range ofCommands {
		if c := j.at.child(key); c != nil && c.kind != kindNull {
			hint := "write it in the jobs of the sub-workflow"
			if key == "command" {
				hint = "remove one of the two"
			}
			r.failKey(c, hint, "a job with a workflow has no %s", key)
		}
	}
}

// addChildren reads the sub-workflows of the jobs and puts their parts behind
// those that are there.
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

// takes counts what another file expands to, with so many bytes in front of each
// name, as part of what this one does. It returns false, with an error, when that is
// too much to go on.
func (b *builder) takes(at *node, c *builder, prefix int) bool {
	if !b.expansion.count(at, c.expansion.instances) {
		return false
	}
	b.policies.addAll(at, c.policies)
	return b.expansion.spend(at, c.expansion.size+c.expansion.texts.size+prefix*c.expansion.instances)
}

// readChild reads the sub-workflow of an instance; nil if something is wrong
// with it.
func (b *builder) readChild(p *jobPlan, row []Value, isFirst bool) *builder {
	at := p.job.at.get("workflow")
	path := b.expansion.texts.fill(&p.child, row)
	name := b.opts.besides(b.source.name, path)
	info, _ := b.opts.Stat(name) // reading it tells what is wrong
	here := b.here()
	if files := here.cycle(name, info); files != nil {
		b.fail(at, "a sub-workflow cannot contain itself; leave one of them out", "the workflows contain each other: %s", strings.Join(files, " -> "))
		return nil
	}
	if here.depth() > workflow.MaxStageDepth {
		b.fail(at, "put some of them into one file", "sub-workflows lie more than %d deep in each other", workflow.MaxStageDepth)
		return nil
	}
	if *here.count++; *here.count > maxChildren {
		b.fail(at, "put what is repeated into the sub-workflow, as parameters of its jobs", "there are more than %d sub-workflows", maxChildren)
		return nil
	}
	data, err := b.opts.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		b.fail(at, "the path is relative to the file that it stands in", "there is no file %s", name)
		return nil
	case err != nil:
		b.fail(at, "", "cannot read the sub-workflow: %v", err)
		return nil
	case len(data) > maxFile:
		b.fail(at, "", "%s has more than %d MiB", name, maxFile>>20)
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

// here is the nesting of the file that is being built.
func (b *builder) here() *nesting {
	if b.opts.within == nil {
		info, _ := b.opts.Stat(b.source.name)
		b.opts.within = &nesting{name: b.source.name, info: info, count: new(int)}
	}
	return b.opts.within
}

// ofParents are keys whose meaning is about the whole workflow: that of the file
// at the top counts.
var ofParents = append(slices.Clone(schemaOf(reflect.TypeFor[workflow.TorcWorkflow]()).keys), "slurm_schedulers", "actions", "slurm_defaults", "resource_monitor", "execution_config", "dynamic_jobs",
	"use_pending_failed", "enforce_runtime", "global_max_retries", "max_retries_total", "cancel_siblings_on",
	"notify", "failure_categories", "circuit_breakers", "max_failures", "deadline", "classify_timeout", "auto_schedule",
	"compute_node_wait_for_new_jobs_seconds", "compute_node_ignore_workflow_completion",
	"compute_node_wait_for_healthy_database_minutes")

// warnOfUnused says what of a sub-workflow has no effect, and which parameters
// do not reach it.
func (r *report) warnOfUnused(at *node, name string, columns []string, c *builder) {
	var unused []string
	for _, key := range ofParents {
		if n := c.doc.at.child(key); n != nil && n.kind != kindNull {
			unused = append(unused, key)
		}
	}
	if len(unused) > 0 {
		r.warn(at, "write it in the file at the top if it is to count", "of %s this is not used, as it is about whole workflows: %s", name, strings.Join(unused, ", "))
	}
	if slices.ContainsFunc(c.def.Jobs, func(j workflow.JobDefinition) bool { return j.Scheduler != "" }) {
		r.warn(at, "the allocations are those of the file at the top", "the schedulers of the jobs of %s are not used", name)
	}
	for _, column := range columns {
		if _, known := c.doc.Variables[column]; !known {
			r.warn(at, "write variables: {"+column+": …} there, with a value for when it runs by itself", "%s has no variable %s: the parameter is not used there", name, column)
		}
	}
}

// addEndJob makes the end job, in a stage of its own.
func (b *builder) addEndJob() {
	end := b.doc.End
	if end == nil || end.Job == nil {
		return
	}
	at := b.doc.at.get("end").get("job")
	if i, taken := b.parts.jobs.byName[workflow.EndJobName]; taken {
		b.fail(b.parts.jobs.origin(i).get("name"), "rename the job", "the name %s is that of the end job", workflow.EndJobName)
		return
	}
	b.def.Stages = append(b.def.Stages, workflow.StageDefinition{Kind: workflow.StageEnd, Name: workflow.EndJobName})
	j, err := end.Job.Job(workflow.EndJobName, int32(len(b.def.Stages)))
	if err != nil {
		return // said by the checks of the policy
	}
	if strings.Contains(j.Command, "${files.") || strings.Contains(j.Command, "${user_data.") {
		b.warn(at.get("command"), "write the path itself", "references to files and user data are not replaced in the end job")
	}
	b.def.Jobs = append(b.def.Jobs, j)
}
