package workflow

import (
	"maps"
	"slices"
)

// ValidEnvName reports whether a name may be an environment variable's:
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

// ValidateEnv refuses names that a shell could not read and values that a
// process cannot be given.
func ValidateEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !ValidEnvName(name) {
			return Errorf(CodeInvalid, "invalid environment variable name %q", name).
				WithHint("use letters, digits and _, not beginning with a digit")
		}
		for i := 0; i < len(env[name]); i++ {
			if env[name][i] == 0 {
				return Errorf(CodeInvalid, "environment variable %s contains a zero byte", name)
			}
		}
	}
	return nil
}

// MergeEnv overlays a workflow's environment by a job's; nil if both are empty.
func MergeEnv(workflow, job map[string]string) map[string]string {
	if len(workflow)+len(job) == 0 {
		return nil
	}
	merged := make(map[string]string, len(workflow)+len(job))
	maps.Copy(merged, workflow)
	maps.Copy(merged, job)
	return merged
}
