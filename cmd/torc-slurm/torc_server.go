package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// arguments are those after the program's name; under the name of a companion
// program the command that it stands for comes first.
func (a *app) arguments() []string {
	name, args := filepath.Base(a.Args[0]), a.Args[1:]
	switch name {
	case "torc-server":
	case torcRunnerName:
		return append([]string{torcRunnerName}, args...)
	default:
		return args
	}
	a.readDotEnv()
	if len(args) == 0 {
		return []string{"serve"}
	}
	switch args[0] {
	case "run":
		args = args[1:]
	case "--version", "-V":
		return []string{"--version"}
	}
	return append([]string{"serve"}, args...)
}

// missingPrograms are torc's programs that this one does not stand for, with what
// to use instead.
var missingPrograms = map[string]string{
	"torc-mcp-server": "hold failed jobs and decide about them with torc-slurm holds, or with the calls under /holds of the API",
	"torc-dash":       "use torc-slurm status, why and watch",
}

// checkName rejects the names of programs that this one does not stand for: whoever
// starts them expects something else than the command line.
func (a *app) checkName() error {
	name := filepath.Base(a.Args[0])
	if instead, ok := missingPrograms[name]; ok {
		return &exitError{exitUsage, workflow.Errorf(workflow.CodeUnsupported, "torc-slurm has no %s", name).WithHint("%s", instead)}
	}
	return nil
}

// readDotEnv adds the variables of the file .env that the environment does not
// have.
func (a *app) readDotEnv() {
	text, err := os.ReadFile(a.path(".env"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		a.note("warning: .env: %v", err)
		return
	}
	variables, bad := parseDotEnv(string(text), a.getenv)
	for _, line := range bad {
		a.note("warning: .env:%d is not NAME=value and is ignored", line)
	}
	for _, v := range variables {
		if name, _, _ := strings.Cut(v, "="); a.getenv(name) == "" {
			a.Environ = append(a.Environ, v)
		}
	}
}
