package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/setting"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// arguments are those after the program's name; under the name of a companion
// program the command that it stands for comes first.
func (a *app) arguments() []string {
	name, args := filepath.Base(a.Args[0]), a.Args[1:]
	switch name {
	case "torc-server":
	case "torc-htpasswd":
		return append([]string{"htpasswd"}, args...)
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
// have. In a folder that the user does not trust those that decide something are left
// out, and the server does not start without them if the file is ours.
func (a *app) readDotEnv() {
	path := a.path(".env")
	trusted := a.trusts(path)
	read := trustedfile.ReadAny
	if trusted {
		read = trustedfile.Read
	}
	text, err := read(path)
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
		name, value, _ := strings.Cut(v, "=")
		if a.getenv(name) != "" {
			continue
		}
		if ok, decides := setting.AllowsVariable(name, value); !ok && !trusted {
			refusal := workflow.Errorf(workflow.CodeForbidden, "%s sets %s, which decides %s, and its folder is not one that you trust", path, printable(name), decides).
				WithHint("if you know and trust what is in this folder: torc-slurm config trust %s; otherwise set %s in your environment, or leave it out", filepath.Dir(path), printable(name))
			if trustedfile.Check(path) == nil {
				a.dotEnvRefusal = refusal
			} else {
				a.note("warning: %s is ignored: %s", printable(name), refusal.Message)
			}
			continue
		}
		a.Environ = append(a.Environ, v)
	}
}

// trusts reports whether a file is in a folder that the user trusts by their own
// configuration. One that cannot be read trusts none; the command will say so.
func (a *app) trusts(path string) bool {
	c := defaultConfig()
	for _, f := range configFiles(&a.Environment) {
		if f.Kind != localConfig && c.read(f.Path) != nil {
			return false
		}
	}
	c.trust(&a.Environment)
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && trustedfile.IsTrusted(folder)
}
