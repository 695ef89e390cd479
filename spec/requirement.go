package spec

import (
	"cmp"
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

// readRequirements reads the resource requirements of a document, and records their names.
func readRequirements(x *names, items []*ResourceRequirements) []workflow.ResourceRequirements {
	var all []workflow.ResourceRequirements
	for _, r := range items {
		x.add(len(all), r.at, r.Name)
		if r.Name == workflow.DefaultRequirements {
			x.fail(r.at.get("name"), "choose another name", "the name %s is reserved for the default requirements", r.Name)
		}
		d := workflow.ResourceRequirements{Name: r.Name, NumCPUs: r.NumCPUs, NumGPUs: r.NumGPUs, NumNodes: 1, Memory: r.Memory, Runtime: defaultRuntime}
		if r.NumNodes != nil {
			d.NumNodes = *r.NumNodes
		}
		if r.Runtime != "" {
			d.Runtime = r.Runtime
			if !isISO(r.Runtime) {
				iso, err := workflow.CanonicalRuntime(r.Runtime)
				x.failDomain(r.at.get("runtime"), err)
				d.Runtime = cmp.Or(iso, defaultRuntime)
			}
		}
		if r.Memory != "" || r.at.child("memory") != nil && r.at.child("memory").kind == kindString {
			bytes, err := workflow.ParseMemory(r.Memory)
			x.failDomain(r.at.get("memory"), err)
			checkMemory(x.report, r.at.get("memory"), r.Memory, bytes)
		}
		_, err := workflow.ParseRuntime(d.Runtime)
		x.failDomain(r.at.get("runtime"), err)
		all = append(all, d)
	}
	return all
}

// isISO reports whether a duration is meant as one of ISO 8601.
func isISO(text string) bool {
	return strings.HasPrefix(strings.ToUpper(strings.TrimSpace(text)), "P")
}

// checkMemory warns of a number without unit that is too small to be bytes.
func checkMemory(r *report, n *node, text string, bytes int64) {
	const leastMeant = 1 << 20
	if text = strings.TrimSpace(text); bytes > 0 && bytes < leastMeant && text == strconv.FormatInt(bytes, 10) {
		r.warn(n, "write "+text+"m for MiB, or "+text+"k for KiB", "memory %s is %s bytes", clip(text), text)
	}
}

// readHandlers reads the failure handlers of a document, and records their names.
func readHandlers(x *names, items []*FailureHandler) []workflow.FailureHandlerDefinition {
	var all []workflow.FailureHandlerDefinition
	for _, h := range items {
		x.add(len(all), h.at, h.Name)
		d := workflow.FailureHandlerDefinition{Name: h.Name}
		for _, r := range h.Rules {
			rule := workflow.FailureRule{
				ExitCodes: r.ExitCodes, MatchAllExitCodes: r.MatchAllExitCodes, RecoveryScript: r.RecoveryScript, MaxRetries: defaultMaxRetries,
			}
			if r.MaxRetries != nil {
				rule.MaxRetries = *r.MaxRetries
			}
			if len(r.ExitCodes) == 0 && !r.MatchAllExitCodes {
				x.warn(r.at, "give it exit_codes or match_all_exit_codes: true", "this rule never matches")
			}
			for i, code := range r.ExitCodes {
				switch at := r.at.get("exit_codes").item(i); {
				case code == 0:
					x.warn(at, "remove it", "exit code 0 is a success and never matches")
				case code < 0 || code > 255:
					x.warn(at, "exit codes of failures are 1 to 255; 128 + n stands for signal n", "no process ends with exit code %d", code)
				}
			}
			d.Rules = append(d.Rules, rule)
		}
		all = append(all, d)
	}
	return all
}

// stdioConfig reads a stdio block; nil if there is none.
func stdioConfig(s *Stdio) *workflow.StdioConfig {
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
func checkEnv(r *report, n *node, name, value string) {
	if !workflow.ValidEnvName(name) {
		r.failKey(n, "use letters, digits and _, not starting with a digit", "%s is not a name for an environment variable", clip(name))
	}
	if strings.ContainsRune(value, 0) {
		r.fail(n, "", "an environment variable cannot contain a NUL character")
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
