package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// merger appends the parts of other files' definitions to a definition.
type merger struct {
	def   *workflow.Definition
	parts *parts // of def
}

// sharedParts are the names of requirements and failure handlers that instances of a
// sub-workflow share, by content.
type sharedParts map[string]string

// name returns the name of a part of an instance, and whether it is new.
func (s sharedParts) name(names *partNames, noun, own string, part any) (name string, isNew bool) {
	text, err := json.Marshal(part)
	if err != nil { // plain structs of strings and numbers always encode
		panic(fmt.Sprintf("write a part of a sub-workflow: %v", err))
	}
	key := fmt.Sprintf("%T %s", part, text)
	if name, known := s[key]; known {
		return name, false
	}
	s[key] = names.of(noun, own)
	return s[key], true
}

// attach appends the parts of a sub-workflow, as the stage of a job. It returns false, with
// an error, for a duplicate name.
func (m *merger) attach(job int32, c *builder, shared sharedParts) bool {
	d, from := m.def, c.def
	parent := &d.Jobs[job]
	prefix := parent.Name + "/"
	names := &partNames{parts: m.parts, at: m.parts.jobs.origin(job).get("name"), prefix: prefix}
	policy := workflow.StagePolicy{Source: c.source.name}
	if from.Policy != nil && from.Policy.End != nil {
		policy.SuccessIf = from.Policy.End.SuccessIf
	}
	d.Stages = append(d.Stages, workflow.StageDefinition{Kind: workflow.StageChild, Name: parent.Name, Policy: policy})
	stage := int32(len(d.Stages))
	parent.Child, parent.Command = stage, "# workflow: "+c.source.name // never run
	for _, s := range from.Stages {
		s.Name, s.Parent = prefix+s.Name, s.Parent+stage
		d.Stages = append(d.Stages, s)
	}
	handlers, requirements := map[string]string{}, map[string]string{}
	for _, r := range from.Requirements {
		name, isNew := shared.name(names, m.parts.requirements.noun, r.Name, r)
		if requirements[r.Name] = name; isNew {
			r.Name = name
			d.Requirements = append(d.Requirements, r)
		}
	}
	for _, h := range from.FailureHandlers {
		name, isNew := shared.name(names, m.parts.handlers.noun, h.Name, h)
		if handlers[h.Name] = name; isNew {
			h.Name = name
			d.FailureHandlers = append(d.FailureHandlers, h)
		}
	}
	jobs, files, userData := int32(len(d.Jobs)), int32(len(d.Files)), int32(len(d.UserData))
	m.addRecords(from, names)
	for _, j := range from.Jobs {
		j.Name, j.Stage, j.Scheduler = names.of(m.parts.jobs.noun, j.Name), j.Stage+stage, ""
		if j.Child > 0 {
			j.Child += stage
		}
		j.Requirements, j.FailureHandler = requirements[j.Requirements], handlers[j.FailureHandler]
		if j.Child == 0 {
			j.Env, j.Policy = workflow.MergeEnv(from.Env, j.Env), childPolicy(j.Policy, from.Policy)
		}
		j.DependsOn = shifted(j.DependsOn, jobs)
		j.InputFiles, j.OutputFiles = shifted(j.InputFiles, files), shifted(j.OutputFiles, files)
		j.InputUserData, j.OutputUserData = shifted(j.InputUserData, userData), shifted(j.OutputUserData, userData)
		d.Jobs = append(d.Jobs, j)
	}
	return !names.clash
}

// childPolicy appends the retry policies of a sub-workflow to those of one of its jobs.
func childPolicy(p *workflow.JobPolicy, of *workflow.RunPolicy) *workflow.JobPolicy {
	if of == nil || len(of.RetryPolicies) == 0 {
		return p
	}
	merged := workflow.JobPolicy{}
	known := map[string]bool{}
	if p != nil {
		merged = *p
		merged.RetryPolicies = slices.Clone(p.RetryPolicies)
	}
	for _, r := range merged.RetryPolicies {
		known[refName(r)] = true
	}
	for _, r := range of.RetryPolicies {
		if !known[refName(r)] {
			merged.RetryPolicies = append(merged.RetryPolicies, r)
		}
	}
	return &merged
}

func refName(r workflow.PolicyRef) string {
	if r.Policy != nil {
		return r.Policy.Name
	}
	return r.Name
}

// addCleanup adds the parts of a definition of cleanup jobs to a stage. Names that could
// occur in both get the prefix.
func (m *merger) addCleanup(sub *workflow.Definition, at *node, stage int32, prefix string) {
	d := m.def
	firstFile, firstData, firstJob := int32(len(d.Files)), int32(len(d.UserData)), int32(len(d.Jobs))
	rename := func(name string) string {
		if name == "" || name == workflow.DefaultRequirements {
			return name
		}
		return prefix + name
	}
	names := &partNames{parts: m.parts, at: at, prefix: prefix}
	m.addRecords(sub, names)
	for _, r := range sub.Requirements {
		if r.Name != workflow.DefaultRequirements {
			r.Name = names.of(m.parts.requirements.noun, r.Name)
			d.Requirements = append(d.Requirements, r)
		}
	}
	for _, h := range sub.FailureHandlers {
		h.Name = names.of(m.parts.handlers.noun, h.Name)
		d.FailureHandlers = append(d.FailureHandlers, h)
	}
	for _, s := range sub.SlurmSchedulers {
		s.Name = names.of(m.parts.schedulers.noun, s.Name)
		d.SlurmSchedulers = append(d.SlurmSchedulers, s)
	}
	names.prefix = workflow.CompensationStage + "/"
	shared := map[*workflow.JobPolicy]*workflow.JobPolicy{}
	for _, j := range sub.Jobs {
		j.Name, j.Stage = names.of(m.parts.jobs.noun, j.Name), stage
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

// addRecords adds the files and the user data of another definition.
func (m *merger) addRecords(from *workflow.Definition, names *partNames) {
	for _, f := range from.Files {
		f.Name = names.of(m.parts.files.noun, f.Name)
		m.def.Files = append(m.def.Files, f)
	}
	for _, u := range from.UserData {
		u.Name = names.of(m.parts.userData.noun, u.Name)
		m.def.UserData = append(m.def.UserData, u)
	}
}

func shifted(list []int32, by int32) []int32 {
	if len(list) == 0 {
		return nil
	}
	moved := make([]int32, len(list))
	for i, n := range list {
		moved[i] = n + by
	}
	return moved
}
