package row

import (
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// jobSettings are the columns of the table job with workflow.JobSettings. All that
// read or write settings of jobs go by this list.
var jobSettings = []struct {
	column string
	field  func(*workflow.JobSettings) any // its address
}{
	{"invocation_script", func(s *workflow.JobSettings) any { return &s.InvocationScript }},
}

// JobSettingColumns returns the names of the columns with settings of jobs.
func JobSettingColumns() []string {
	names := make([]string, len(jobSettings))
	for i, s := range jobSettings {
		names[i] = s.column
	}
	return names
}

// SelectJobSettings returns these columns of the table job j for a SELECT, separated
// by commas.
func SelectJobSettings() string {
	return "j." + strings.Join(JobSettingColumns(), ", j.")
}

// JobSettings returns where the settings of a job are, in the order of their columns:
// to scan them, or as parameters of a statement.
func JobSettings(s *workflow.JobSettings) []any {
	fields := make([]any, len(jobSettings))
	for i := range jobSettings {
		fields[i] = jobSettings[i].field(s)
	}
	return fields
}
