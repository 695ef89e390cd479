package dryrun

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/terminal"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// SyntaxError is a command that bash cannot read.
type SyntaxError struct {
	Job     string `json:"job"`
	Message string `json:"message"` // of bash, with the line in the command
}

// maxChecked is how many commands of an item are checked: the first ones. They differ only in the
// values of parameters.
const maxChecked = 3

// syntaxErrors has bash read commands without running them: some of each item. It returns
// CodeInvalid if there is no bash.
func syntaxErrors(ctx context.Context, a *cli.Factory, loaded *spec.Result) ([]SyntaxError, error) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalid, "bash is not on the PATH").WithHint("jobs are run with bash -c; install bash")
	}
	all := []SyntaxError{}
	checked := map[int32]int{}
	for i, item := range itemsOf(loaded) {
		j := &loaded.Definition.Jobs[i]
		if checked[item]++; checked[item] > maxChecked || j.Command == "" {
			continue
		}
		message, err := syntaxError(ctx, a, shell, j.Command)
		if err != nil {
			return nil, err
		}
		if message != "" {
			all = append(all, SyntaxError{Job: j.Name, Message: message})
			checked[item] = maxChecked // one example is enough
		}
	}
	return all, nil
}

// syntaxError returns what bash says of a command; empty if it is right.
func syntaxError(ctx context.Context, a *cli.Factory, shell, command string) (string, error) {
	cmd := exec.CommandContext(ctx, shell, "-n", "-c", command)
	cmd.Dir, cmd.Env = a.Dir, append(a.Environ, "LC_ALL=C", "BASH_ENV=")
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return "", err
	}
	if err == nil {
		return "", ctx.Err()
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimPrefix(strings.TrimSpace(terminal.Strip(line)), shell+": ")
		lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(line, "bash: "), "-c: "))
	}
	return strings.Join(lines, "; "), nil
}
