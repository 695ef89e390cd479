package spec

import (
	"errors"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Defaults of the format, where it differs from the API's.
const (
	defaultRuntime        = "PT1H"
	defaultWalltime       = "01:00:00"
	defaultMaxRetries     = 3
	defaultIdleSeconds    = 90
	defaultSampleInterval = 10
	defaultFlushInterval  = 300
)

// buildRequirements reads the resource requirements.
func (b *builder) buildRequirements() {
	b.requirements = newNames("resource_requirements")
	for _, r := range b.doc.ResourceRequirements {
		b.addTo(b.requirements, len(b.def.Requirements), r.at, r.Name)
		if r.Name == workflow.DefaultRequirements {
			b.fail(r.at.get("name"), "choose another name", "every workflow has requirements named %s already", r.Name)
		}
		d := workflow.ResourceRequirements{Name: r.Name, NumCPUs: r.NumCPUs, NumGPUs: r.NumGPUs, NumNodes: 1, Memory: r.Memory, Runtime: defaultRuntime}
		if r.NumNodes != nil {
			d.NumNodes = *r.NumNodes
		}
		if r.Runtime != "" {
			d.Runtime = r.Runtime
		}
		if r.Memory != "" || r.at.child("memory") != nil && r.at.child("memory").kind == kindString {
			bytes, err := workflow.ParseMemory(r.Memory)
			b.failDomain(r.at.get("memory"), err)
			b.checkMemory(r.at.get("memory"), r.Memory, bytes)
		}
		_, err := workflow.ParseRuntime(d.Runtime)
		b.failDomain(r.at.get("runtime"), err)
		b.def.Requirements = append(b.def.Requirements, d)
	}
}

// checkMemory warns about a number without a unit that is too small to be meant
// in bytes.
func (b *builder) checkMemory(n *node, text string, bytes int64) {
	const leastMeant = 1 << 20
	if text = strings.TrimSpace(text); bytes > 0 && bytes < leastMeant && text == strconv.FormatInt(bytes, 10) {
		b.warn(n, "write "+text+"m for MiB, or "+text+"k for KiB", "memory %s is %s bytes", clip(text), text)
	}
}

// failDomain reports an error of the domain, if there is one.
func (b *builder) failDomain(n *node, err error) {
	var e *workflow.Error
	switch {
	case errors.As(err, &e):
		b.fail(n, e.Hint, "%s", e.Message)
	case err != nil:
		b.fail(n, "", "%v", err)
	}
}

// requirementsName checks the requirements of an instance. The default ones
// exist without being written down and are what an empty name means.
func (b *builder) requirementsName(p *jobPlan, name string) string {
	if name == "" || name == workflow.DefaultRequirements {
		return ""
	}
	b.check(b.requirements, p.job.at.get("resource_requirements"), name)
	return name
}

// schedulerName checks the scheduler of an instance.
func (b *builder) schedulerName(p *jobPlan, name string) string {
	if name != "" {
		b.check(b.schedulers, p.job.at.get("scheduler"), name)
	}
	return name
}

// checkHandlerName checks the failure handler of a job.
func (b *builder) checkHandlerName(j *Job) {
	if j.FailureHandler != "" {
		b.check(b.handlers, j.at.get("failure_handler"), j.FailureHandler)
	}
}

// buildHandlers reads the failure handlers.
func (b *builder) buildHandlers() {
	b.handlers = newNames("failure_handler")
	for _, h := range b.doc.FailureHandlers {
		b.addTo(b.handlers, len(b.def.FailureHandlers), h.at, h.Name)
		d := workflow.FailureHandlerDefinition{Name: h.Name}
		for _, r := range h.Rules {
			rule := workflow.FailureRule{
				ExitCodes: r.ExitCodes, MatchAllExitCodes: r.MatchAllExitCodes, RecoveryScript: r.RecoveryScript, MaxRetries: defaultMaxRetries,
			}
			if r.MaxRetries != nil {
				rule.MaxRetries = *r.MaxRetries
			}
			if len(r.ExitCodes) == 0 && !r.MatchAllExitCodes {
				b.warn(r.at, "give it exit_codes or match_all_exit_codes: true", "this rule never matches")
			}
			for i, code := range r.ExitCodes {
				switch at := r.at.get("exit_codes").item(i); {
				case code == 0:
					b.warn(at, "remove it", "exit code 0 is a success and never matches")
				case code < 0 || code > 255:
					b.warn(at, "exit codes of failures are 1 to 255; 128 + n stands for signal n", "no process ends with exit code %d", code)
				}
			}
			d.Rules = append(d.Rules, rule)
		}
		b.def.FailureHandlers = append(b.def.FailureHandlers, d)
	}
}

// stdio reads a stdio block; nil if there is none.
func (b *builder) stdio(s *Stdio) *workflow.StdioConfig {
	if s == nil {
		return nil
	}
	c := &workflow.StdioConfig{Mode: workflow.StdioMode(s.Mode), DeleteOnSuccess: s.DeleteOnSuccess}
	if c.Mode == "" {
		c.Mode = workflow.StdioSeparate
	}
	return c
}

// checkEnv checks a variable of an environment.
func (b *builder) checkEnv(n *node, name, value string) {
	if !workflow.ValidEnvName(name) {
		b.failKey(n, "use letters, digits and _, not starting with a digit", "%s is not a name for an environment variable", clip(name))
	}
	if strings.ContainsRune(value, 0) {
		b.fail(n, "", "an environment variable cannot contain a NUL character")
	}
}

// isIdentifier reports whether s is letters, digits and _, not starting with a digit.
func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return s != ""
}
