package daemonlink

import (
	"path/filepath"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// InMemory is the name of a database in memory.
const InMemory = ":memory:"

// OwnDatabase is the file of the database of the user's own daemon.
func OwnDatabase(a *cli.Factory) string { return filepath.Join(a.Home(), "torc.db") }

// ServeDatabase is the file of the database that a server has; named is what its flag
// calls it.
func ServeDatabase(a *cli.Factory, named string) (string, error) {
	switch name := DatabaseName(a, named); name {
	case "":
		return OwnDatabase(a), nil
	case InMemory:
		return "", cli.UsageErrorf("a database in memory is not there for other programs; name a file, for example a snapshot")
	default:
		return a.Path(name), nil
	}
}

// DatabaseName is what flag, variable or configuration call the database; empty
// if they say nothing.
func DatabaseName(a *cli.Factory, named string) string {
	name := cli.FirstOf(named, a.Getenv("DATABASE_URL"), a.Config.Server.Database)
	name = strings.TrimPrefix(name, "sqlite://")
	name = strings.TrimPrefix(name, "sqlite:")
	name, options, _ := strings.Cut(name, "?") // of another program
	if name == "file::memory:" || strings.Contains(options, "mode=memory") {
		return InMemory
	}
	return name
}

// StandaloneDatabase is the path of the database of --standalone.
func StandaloneDatabase(a *cli.Factory) string {
	return filepath.Clean(a.Path(cli.FirstOf(a.Flags.Database, cli.DefaultDatabase)))
}
