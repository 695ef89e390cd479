package sbatchtemplates

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// forbiddenDefaults are options that belong in a scheduler, not in slurm_defaults.
var forbiddenDefaults = []string{"partition", "nodes", "walltime", "time", "mem", "gres", "name", "job-name"}

// ParseDefaults returns the slurm_defaults of a workflow, a JSON object of sbatch options,
// sorted by name: long names without dashes (underscores are dashes) with a string, a
// number, or true; false omits an option. Values of other types are ignored, since sbatch
// has none. Its errors have CodeInvalid.
func ParseDefaults(text []byte) ([]Option, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	var values map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		return nil, &workflow.Error{Code: workflow.CodeInvalid, Message: "slurm_defaults is not a JSON object", Err: err}
	}
	var options []Option
	for key, value := range values {
		o := Option{Name: strings.ReplaceAll(key, "_", "-")}
		switch v := value.(type) {
		case string:
			o.Value = v
		case json.Number:
			o.Value = v.String()
		case bool:
			if !v {
				continue
			}
			o.Bare = true
		default:
			continue
		}
		if slices.Contains(forbiddenDefaults, strings.ToLower(o.Name)) {
			return nil, workflow.Errorf(workflow.CodeInvalid, "%s is not allowed in slurm_defaults", key).WithHint("remove it there")
		}
		if no := forbiddenLong(o.Name); no != nil {
			return nil, workflow.Errorf(workflow.CodeInvalid, "%s is not allowed in slurm_defaults", key).WithHint("%s", no.hint)
		}
		options = append(options, o)
	}
	slices.SortFunc(options, func(a, b Option) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(options); i++ {
		if options[i].Name == options[i-1].Name {
			return nil, workflow.Errorf(workflow.CodeInvalid, "slurm_defaults has duplicate %s, with a dash and with an underscore", options[i].Name)
		}
	}
	return options, nil
}
