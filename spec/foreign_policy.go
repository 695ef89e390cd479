package spec

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// foreignPolicy is a retry policy as a resource of a cluster scheduler for pods.
type foreignPolicy struct {
	APIVersion string          `json:"apiVersion,omitempty"`
	Kind       string          `json:"kind" jsonschema:"enum=RetryPolicy"`
	Metadata   foreignMetadata `json:"metadata"`
	Spec       foreignSpec     `json:"spec"`
}

type foreignMetadata struct {
	Name string `json:"name"`
}

type foreignSpec struct {
	RetryLimit    *int64               `json:"retryLimit,omitempty" jsonschema:"minimum=0"`
	DefaultAction string               `json:"defaultAction,omitempty" jsonschema:"enum=Fail,enum=Retry"`
	Backoff       *foreignBackoff      `json:"backoff,omitempty"`
	AntiAffinity  *foreignAntiAffinity `json:"antiAffinity,omitempty"`
	Rules         []*foreignRule       `json:"rules,omitempty"`
}

type foreignBackoff struct {
	InitialDelay string   `json:"initialDelay,omitempty"`
	MaxDelay     string   `json:"maxDelay,omitempty"`
	Multiplier   *float64 `json:"multiplier,omitempty"`
}

type foreignAntiAffinity struct {
	Mode string `json:"mode" jsonschema:"enum=none,enum=node"`
}

type foreignRule struct {
	located

	Action                string               `json:"action" jsonschema:"enum=Retry,enum=Fail"`
	OnExitCodes           *foreignExitCodes    `json:"onExitCodes,omitempty"`
	OnConditions          []string             `json:"onConditions,omitempty" jsonschema:"enum=OOMKilled,enum=Evicted,enum=Preempted,enum=DeadlineExceeded,enum=Unschedulable"`
	OnTerminationMessage  *foreignMessage      `json:"onTerminationMessage,omitempty"`
	OnFailureCategory     []string             `json:"onFailureCategory,omitempty"`
	ContainerName         string               `json:"containerName,omitempty"`
	IncludeInitContainers bool                 `json:"includeInitContainers,omitempty"`
	RetryLimit            *int64               `json:"retryLimit,omitempty" jsonschema:"minimum=0"`
	Backoff               *foreignBackoff      `json:"backoff,omitempty"`
	AntiAffinity          *foreignAntiAffinity `json:"antiAffinity,omitempty"`
}

type foreignExitCodes struct {
	Operator string  `json:"operator" jsonschema:"enum=In,enum=NotIn"`
	Values   []int64 `json:"values"`
}

type foreignMessage struct {
	Pattern string `json:"pattern"`
}

// conditions maps the conditions of pods to causes.
var conditions = map[string][]workflow.CauseKind{
	"OOMKilled":        {workflow.CauseOOM, workflow.CauseOOMPartial},
	"Evicted":          {workflow.CauseNodeFail, workflow.CauseLost},
	"Preempted":        {workflow.CausePreempted},
	"DeadlineExceeded": {workflow.CauseTimeout, workflow.CauseWalltime},
}

// foreignPolicy reads and converts such a resource.
func (d *policyDecoder) foreignPolicy(root *node) *workflow.RetryPolicy {
	var f foreignPolicy
	d.object(root, reflect.ValueOf(&f).Elem())
	p := &workflow.RetryPolicy{
		Name: f.Metadata.Name, RetryLimit: f.Spec.RetryLimit, DefaultAction: workflow.ActionFail,
		Backoff: f.Spec.Backoff.convert(), AvoidNodes: f.Spec.AntiAffinity.convert(),
	}
	if f.Spec.DefaultAction == "Retry" {
		p.DefaultAction = workflow.ActionRetry
	}
	var places []int // in the file, of the converted rules
	for i, r := range f.Spec.Rules {
		if rule := d.foreignRule(r); rule != nil {
			p.Rules, places = append(p.Rules, *rule), append(places, i)
		}
	}
	found := p.Validate()
	for i := range found {
		found[i].Path = foreignPath(found[i].Path, places)
	}
	d.failProblems(root, found)
	return p
}

// foreignRule converts a rule; nil if it can never apply here.
func (d *policyDecoder) foreignRule(f *foreignRule) *workflow.RetryRule {
	r := &workflow.RetryRule{
		Action: workflow.Action(strings.ToLower(f.Action)), Limit: f.RetryLimit, Backoff: f.Backoff.convert(), AvoidNodes: f.AntiAffinity.convert(),
	}
	if f.IncludeInitContainers {
		d.warnKey(f.at.get("includeInitContainers"), "remove it", "includeInitContainers has no effect: jobs have no init containers")
	}
	switch f.ContainerName {
	case "":
	case string(workflow.ComponentMain), string(workflow.ComponentRecovery):
		r.When.Component = workflow.Component(f.ContainerName)
		if r.When.Component == workflow.ComponentRecovery { // the retry was already counted
			r.MaxFree, r.Limit = f.RetryLimit, nil
		}
	default:
		d.warn(f.at.get("containerName"), "a job has the components main and recovery", "the rule is left out: jobs have no container %s", clip(f.ContainerName))
		return nil
	}
	for i, c := range f.OnConditions {
		if c == "Unschedulable" {
			d.warn(f.at.get("onConditions").item(i), "a job that fits nowhere is not an attempt; it waits, and `why` says so", "Unschedulable never happens to an attempt")
			continue
		}
		r.When.Cause = append(r.When.Cause, conditions[c]...)
	}
	if f.OnConditions != nil && r.When.Cause == nil {
		return nil
	}
	if slices.Contains(r.When.Cause, workflow.CausePreempted) && r.Action == workflow.ActionRetry && r.When.Component != workflow.ComponentRecovery {
		counted := true // there, preemptions count against the rule's limit
		r.Counted = &counted
	}
	if e := f.OnExitCodes; e != nil {
		r.When.ExitCode = &workflow.ExitCodeMatch{In: e.Values}
		if e.Operator == "NotIn" {
			r.When.ExitCode = &workflow.ExitCodeMatch{NotIn: e.Values}
		}
	}
	if f.OnTerminationMessage != nil {
		r.When.TerminationMessage = f.OnTerminationMessage.Pattern
	}
	r.When.Category = f.OnFailureCategory
	return r
}

func (f *foreignBackoff) convert() *workflow.Backoff {
	if f == nil {
		return nil
	}
	return &workflow.Backoff{Initial: f.InitialDelay, Max: f.MaxDelay, Factor: f.Multiplier}
}

func (f *foreignAntiAffinity) convert() *workflow.AvoidNodes {
	switch {
	case f == nil:
		return nil
	case f.Mode == "node":
		return &workflow.AvoidNodes{Mode: workflow.AvoidLast}
	}
	return &workflow.AvoidNodes{Mode: workflow.AvoidNone}
}

var ruleIndex = regexp.MustCompile(`^rules\[(\d+)\]`)

// foreignNames maps parts of a policy to the keys they came from; longer ones first.
var foreignNames = strings.NewReplacer(
	"when.exit_code.not_in", "onExitCodes.values", "when.exit_code.in", "onExitCodes.values", "when.exit_code", "onExitCodes",
	"when.cause", "onConditions", "when.termination_message", "onTerminationMessage.pattern", "when.category", "onFailureCategory",
	"when.component", "containerName", "retry_limit", "retryLimit", "limit", "retryLimit", "max_free", "retryLimit", "default_action", "defaultAction",
	"avoid_nodes", "antiAffinity", "backoff.initial", "backoff.initialDelay", "backoff.max", "backoff.maxDelay", "backoff.factor", "backoff.multiplier",
)

// foreignPath returns where in the resource a part of the converted policy came from.
func foreignPath(path string, places []int) string {
	if path == "name" {
		return "metadata.name"
	}
	path = ruleIndex.ReplaceAllStringFunc(path, func(m string) string {
		i, err := strconv.Atoi(strings.Trim(m, "rules[]"))
		if err != nil || i >= len(places) {
			return m
		}
		return "rules[" + strconv.Itoa(places[i]) + "]"
	})
	return "spec." + foreignNames.Replace(path)
}

// foreignRetrySettings is the retryPolicy section of a scheduler's configuration.
type foreignRetrySettings struct {
	Enabled           *bool           `json:"enabled,omitempty"`
	GlobalMaxRetries  *int64          `json:"globalMaxRetries,omitempty" jsonschema:"minimum=0"`
	DefaultPolicyName string          `json:"defaultPolicyName,omitempty"`
	DefaultBackoff    *foreignBackoff `json:"defaultBackoff,omitempty"`
}

func (d *policyDecoder) foreignSettings(n *node) *workflow.RetrySettings {
	settings := &workflow.RetrySettings{}
	var f foreignRetrySettings
	if !d.isMap(n) {
		return settings
	}
	d.object(n, reflect.ValueOf(&f).Elem())
	settings.Enabled, settings.GlobalMaxRetries, settings.DefaultPolicy = f.Enabled, f.GlobalMaxRetries, f.DefaultPolicyName
	settings.DefaultBackoff = f.DefaultBackoff.convert()
	found := settings.Validate()
	for i := range found {
		found[i].Path = strings.NewReplacer("default_policy", "defaultPolicyName", "default_backoff.initial", "defaultBackoff.initialDelay",
			"default_backoff.max", "defaultBackoff.maxDelay", "default_backoff.factor", "defaultBackoff.multiplier", "global_max_retries", "globalMaxRetries").Replace(found[i].Path)
	}
	d.failProblems(n, found)
	return settings
}
