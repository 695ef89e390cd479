package daemonlink

import (
	"path/filepath"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// InMemory is the name of a database in memory.
const InMemory = ":memory:"

// OwnDatabase returns the database file of the user's own daemon.
func OwnDatabase(a *cli.Factory) string { return filepath.Join(a.Home(), "torc.db") }

// ServeDatabase returns the database file of a server; named is the value of its flag. A
// database in memory is a usage error.
func ServeDatabase(a *cli.Factory, named string) (string, error) {
	switch name := DatabaseName(a, named); name {
	case "":
		return OwnDatabase(a), nil
	case InMemory:
		return "", cli.UsageErrorf("other programs cannot open a database in memory; name a file, for example a snapshot")
	default:
		return a.Path(name), nil
	}
}

// DatabaseName returns the name of the database from the flag, the variable or the
// configuration; empty if none is set.
func DatabaseName(a *cli.Factory, named string) string {
	name := cli.FirstOf(named, a.Getenv("DATABASE_URL"), a.Config.Server.Database)
	name = strings.TrimPrefix(name, "sqlite://")
	name = strings.TrimPrefix(name, "sqlite:")
	name, options, _ := strings.Cut(name, "?") // options of another program
	if name == "file::memory:" || strings.Contains(options, "mode=memory") {
		return InMemory
	}
	return name
}

// StandaloneDatabase returns the path of the database of --standalone.
func StandaloneDatabase(a *cli.Factory) string {
	return filepath.Clean(a.Path(cli.FirstOf(a.Flags.Database, cli.DefaultDatabase)))
}
