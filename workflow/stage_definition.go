package workflow

import "fmt"

// StageKind is what a stage is for.
type StageKind string

// The kinds.
const (
	StageChild        StageKind = "child"
	StageEnd          StageKind = "end"
	StageCompensation StageKind = "compensation"
)

// MaxStageDepth is how deep sub-workflows may lie in each other.
const MaxStageDepth = 16

// StagePolicy is what a stage says about itself.
type StagePolicy struct {
	// SuccessIf is the condition under which a child is successful; see
	// EndPolicy.
	SuccessIf string `json:"success_if,omitempty"`
	// Source is the file that a child was read from.
	Source string `json:"source,omitempty"`
}

// StageDefinition is a stage of a Definition. Stages and their parents are
// numbered from 1 in their order; 0 is the main stage. A parent comes before
// what belongs to it.
type StageDefinition struct {
	Kind   StageKind   `json:"kind"`
	Name   string      `json:"name"`
	Parent int32       `json:"parent,omitempty"`
	Policy StagePolicy `json:"policy,omitzero"`
}

// Validate says what is wrong with the stage by itself.
func (d *StageDefinition) Validate() error {
	if err := CheckName("stage", d.Name); err != nil {
		return err
	}
	switch {
	case d.Kind != StageChild && d.Kind != StageEnd && d.Kind != StageCompensation:
		return Errorf(CodeInvalid, "stage %q: %q is not a kind of stage", d.Name, d.Kind).WithHint("use child, end or compensation")
	case d.Name == "":
		return Errorf(CodeInvalid, "a stage of kind %s has no name", d.Kind)
	case d.Parent < 0:
		return Errorf(CodeInvalid, "stage %q belongs to stage number %d, which there is not", d.Name, d.Parent)
	}
	end := EndPolicy{SuccessIf: d.Policy.SuccessIf}
	var found problems
	found.end(&end)
	return ProblemsError(fmt.Sprintf("stage %q", d.Name), found)
}

// CompensationStage is the name of the stage of a compensation.
const CompensationStage = "on_failure"
