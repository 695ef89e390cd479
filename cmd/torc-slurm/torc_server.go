package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
