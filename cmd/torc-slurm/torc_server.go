package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/mcpcmd"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/noderunner"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/setting"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// arguments returns the arguments of the program. If it was called by the name of a
// companion program, the subcommand that replaces that program comes first.
func arguments(a *cli.Factory) []string {
	name, args := filepath.Base(a.Args[0]), a.Args[1:]
	switch name {
	case "torc-server":
	case "torc-htpasswd":
		return append([]string{"htpasswd"}, args...)
	case mcpcmd.Name:
		return append([]string{"mcp"}, args...)
	case noderunner.TorcName:
		return append([]string{noderunner.TorcName}, args...)
	default:
		return args
	}
	readDotEnv(a)
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

// missingPrograms are torc's programs that this one does not replace, with what to use
// instead.
var missingPrograms = map[string]string{
	"torc-dash": "use torc-slurm status, why and watch",
}

// checkName rejects the names of programs that this one does not replace: who starts them
// does not expect a command line.
func checkName(a *cli.Factory) error {
	name := filepath.Base(a.Args[0])
	if instead, ok := missingPrograms[name]; ok {
		return &cli.ExitError{Status: cli.ExitUsage, Err: workflow.Errorf(workflow.CodeUnsupported, "torc-slurm has no %s", name).WithHint("%s", instead)}
	}
	return nil
}

// readDotEnv adds the variables of the file .env that are not set in the environment. In a
// folder that the user does not trust, it ignores variables that decide something. If nobody
// else could have written the file, a server does not start without them.
func readDotEnv(a *cli.Factory) {
	path := a.Path(".env")
	trusted := trusts(a, path)
	read := trustedfile.ReadAny
	if trusted {
		read = trustedfile.Read
	}
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		a.Note("warning: .env: %v", err)
		return
	}
	variables, bad := cli.ParseDotEnv(string(text), a.Getenv)
	for _, line := range bad {
		a.Note("warning: .env:%d is not NAME=value and is ignored", line)
	}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		if a.Getenv(name) != "" {
			continue
		}
		if ok, decides := setting.AllowsVariable(name, value); !ok && !trusted {
			refusal := workflow.Errorf(workflow.CodeForbidden, "%s sets %s, which decides %s, and you do not trust its folder", path, cli.Printable(name), decides).
				WithHint("if you know and trust what is in this folder: torc-slurm config trust %s; otherwise set %s in your environment, or leave it out", filepath.Dir(path), cli.Printable(name))
			if trustedfile.Check(path) == nil {
				a.DotEnvRefusal = refusal
			} else {
				a.Note("warning: %s is ignored: %s", cli.Printable(name), refusal.Message)
			}
			continue
		}
		a.Environ = append(a.Environ, v)
	}
}

// trusts reports whether a file is in a folder that the user's own configuration trusts;
// false if the configuration cannot be read, which the command reports later.
func trusts(a *cli.Factory, path string) bool {
	c := cli.DefaultConfig()
	for _, f := range cli.ConfigFiles(&a.Environment) {
		if f.Kind != cli.LocalConfig && c.Read(f.Path) != nil {
			return false
		}
	}
	c.Trust(&a.Environment)
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && trustedfile.IsTrusted(folder)
}
