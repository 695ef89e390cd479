package mcp

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Mode says what an agent may do.
type Mode string

// The modes.
const (
	Read    Mode = "read"    // nothing changes
	Propose Mode = "propose" // changes are stored as proposals, which people apply
	Apply   Mode = "apply"   // changes are made
)

// Modes returns the names of the modes.
func Modes() []string { return []string{string(Read), string(Propose), string(Apply)} }

// ParseMode returns the mode with a name; CodeInvalid if there is none.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case Read, Propose, Apply:
		return m, nil
	}
	return "", workflow.Errorf(workflow.CodeInvalid, "unknown mode %q", name).WithHint("use read, propose or apply")
}

// meaning says to an agent what happens when it calls a tool that changes something.
func (m Mode) meaning() string {
	switch m {
	case Read:
		return "nothing can be changed; tools that change something only accept dry_run."
	case Apply:
		return "tools that change something do so at once, unless dry_run is true. Preview with dry_run first, and ask the person you work for."
	}
	return "tools that change something store a proposal instead, and return it. A person applies it (torc-slurm proposals apply ID). Tell them its id and what it does."
}

func (m Mode) instructions() string { return fmt.Sprintf(instructions, m, m.meaning()) }
