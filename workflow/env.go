package workflow

import (
	"maps"
	"slices"
)

// ValidEnvName reports whether a name is valid for an environment variable:
// [A-Za-z_][A-Za-z0-9_]*.
func ValidEnvName(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// ValidateEnv returns an error of CodeInvalid if a shell could not use the name of a
// variable, or a process could not be given its value.
func ValidateEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !ValidEnvName(name) {
			return Errorf(CodeInvalid, "invalid environment variable name %q", name).
				WithHint("use letters, digits and _, and do not begin with a digit")
		}
		for i := 0; i < len(env[name]); i++ {
			if env[name][i] == 0 {
				return Errorf(CodeInvalid, "environment variable %s contains a NUL byte", name)
			}
		}
	}
	return nil
}

// MergeEnv returns the workflow's environment, overridden by the job's; nil if both are
// empty.
func MergeEnv(workflow, job map[string]string) map[string]string {
	if len(workflow)+len(job) == 0 {
		return nil
	}
	merged := make(map[string]string, len(workflow)+len(job))
	maps.Copy(merged, workflow)
	maps.Copy(merged, job)
	return merged
}
