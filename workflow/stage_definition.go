package workflow

import "fmt"

// StageKind is what a stage is for.
type StageKind string

// The kinds of stages.
const (
	StageChild        StageKind = "child"
	StageEnd          StageKind = "end"
	StageCompensation StageKind = "compensation"
)

// MaxStageDepth is the maximum nesting depth of sub-workflows.
const MaxStageDepth = 16

// StagePolicy is the configuration of a stage.
type StagePolicy struct {
	// SuccessIf is the condition under which a sub-workflow is successful; see EndPolicy.
	SuccessIf string `json:"success_if,omitempty"`
	// Source is the file that a sub-workflow was read from.
	Source string `json:"source,omitempty"`
}

// StageDefinition is a stage of a Definition. Stages are numbered from 1 in their order; 0
// is the main stage. A parent precedes its stages.
type StageDefinition struct {
	Kind   StageKind   `json:"kind"`
	Name   string      `json:"name"`
	Parent int32       `json:"parent,omitempty"`
	Policy StagePolicy `json:"policy,omitzero"`
}

// Validate returns an error of CodeInvalid if the stage is not valid by itself. It does not
// check that the parent exists.
func (d *StageDefinition) Validate() error {
	if err := CheckName("stage", d.Name); err != nil {
		return err
	}
	switch {
	case d.Kind != StageChild && d.Kind != StageEnd && d.Kind != StageCompensation:
		return Errorf(CodeInvalid, "stage %q: unknown kind %q", d.Name, d.Kind).WithHint("use child, end or compensation")
	case d.Name == "":
		return Errorf(CodeInvalid, "a stage of kind %s has no name", d.Kind)
	case d.Parent < 0:
		return Errorf(CodeInvalid, "stage %q: invalid number %d of its parent stage", d.Name, d.Parent)
	}
	end := EndPolicy{SuccessIf: d.Policy.SuccessIf}
	var found problems
	found.end(&end)
	return ProblemsError(fmt.Sprintf("stage %q", d.Name), found)
}

// CompensationStage is the name of the stage of a compensation.
const CompensationStage = "on_failure"
