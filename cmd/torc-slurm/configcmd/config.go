// Package configcmd has the commands about configuration files and trusted folders.
package configcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// New returns the group of commands about the configuration.
func New(a *cli.Factory) *cobra.Command {
	c := cli.NewGroup(a, cli.GroupUtility, "config", "Show and write configuration files",
		newShow(a), newPaths(a), newInit(a), newTrust(a), newValidate(a))
	c.Long = `Show and write configuration files. Settings are read in this order, and later ones take
precedence: /etc/torc/config.toml, ~/.config/torc/config.toml, ./torc.toml, environment
variables such as TORC_CLIENT__RUN__OUTPUT_DIR, flags. Settings that decide which server
receives your commands, or what is run, are read from ./torc.toml only in folders that
you trust (config trust).`
	return c
}

func newShow(a *cli.Factory) *cobra.Command {
	format := ""
	c := &cobra.Command{
		Use:   "show",
		Short: "Show the configuration that results from all files and variables",
		Example: `  torc-slurm config show
  torc-slurm config show -f json`,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits(),
		RunE: func(*cobra.Command, []string) error {
			switch {
			case format == cli.FormatJSON:
				return a.WriteJSON(a.Config)
			case format == "toml", format == "":
				return toml.NewEncoder(a.Stdout).Encode(a.Config)
			}
			return cli.UsageErrorf("unknown format %q: use toml or json", format)
		},
	}
	// This flag replaces the global one, which has other formats.
	c.Flags().StringVarP(&format, "format", "f", "", "`FORMAT`: toml or json")
	return c
}

func newPaths(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "paths",
		Short:       "List the configuration files that are read",
		Example:     `  torc-slurm config paths`,
		Args:        cobra.NoArgs,
		Annotations: cli.WithCSV(cli.Exits()),
		RunE: func(*cobra.Command, []string) error {
			type path struct {
				cli.ConfigFile
				Exists bool `json:"exists"`
			}
			var paths []path
			for _, f := range cli.ConfigFiles(&a.Environment) {
				paths = append(paths, path{f, cli.Exists(a, f.Path)})
			}
			return cli.ShowList(a, cli.List[path]{Things: "configuration files", Columns: []cli.Column[path]{
				{Title: "Kind", Cell: func(p path) string { return p.Kind }},
				{Title: "Path", Cell: func(p path) string { return p.Path }},
				{Title: "Exists", Cell: func(p path) string { return fmt.Sprint(p.Exists) }},
			}}, paths)
		},
	}
}

func newInit(a *cli.Factory) *cobra.Command {
	var system, user, local, force bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration file with the defaults",
		Example: `  torc-slurm config init           ./torc.toml
  torc-slurm config init --user`,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits("5 the file already exists, or cannot be written"),
		RunE: func(*cobra.Command, []string) error {
			kind := "local"
			switch {
			case system:
				kind = "system"
			case user:
				kind = "user"
			}
			return runConfigInit(a, kind, force)
		},
	}
	c.Flags().BoolVar(&system, "system", false, "write the file for all users of this machine")
	c.Flags().BoolVar(&user, "user", false, "write your own file")
	c.Flags().BoolVar(&local, "local", false, "write ./torc.toml (the default)")
	cli.FreeLetterF(a, c)
	c.Flags().BoolVarP(&force, "force", "f", false, "replace an existing file")
	c.MarkFlagsMutuallyExclusive("system", "user", "local")
	return c
}

func runConfigInit(a *cli.Factory, kind string, force bool) error {
	for _, f := range cli.ConfigFiles(&a.Environment) {
		if f.Kind == kind {
			if err := writeConfig(f.Path, force); err != nil {
				return err
			}
			return a.ShowMessage(f, "Wrote %s", f.Path)
		}
	}
	return nil
}

func writeConfig(path string, force bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "%v", err)
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_EXCL
	if force {
		flags = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644) // regardless of the umask: a file that others can write to is not read
	if errors.Is(err, fs.ErrExist) {
		return workflow.Errorf(workflow.CodeConflict, "%s already exists", path).WithHint("--force replaces it")
	}
	if err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "%v", err)
	}
	fmt.Fprintln(f, "# Configuration of torc-slurm. Delete what you do not change.")
	return errors.Join(toml.NewEncoder(f).Encode(cli.DefaultConfig()), f.Close())
}

func newValidate(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "validate",
		Short:       "Check the configuration files",
		Example:     `  torc-slurm config validate`,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits("1 a file has unknown keys", "2 wrong usage, or a file that cannot be read"),
		// The command reads the files itself, so that it can report what is wrong with them.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(*cobra.Command, []string) error {
			return runConfigValidate(a)
		},
	}
}

func runConfigValidate(a *cli.Factory) error {
	config, err := cli.LoadConfig(&a.Environment)
	if err != nil {
		return err
	}
	a.Format = cli.FirstOf(a.Flags.Format, config.Client.Format, cli.FormatTable)
	result := struct {
		Valid    bool     `json:"valid"`
		Warnings []string `json:"warnings"`
	}{len(config.Warnings()) == 0, append([]string{}, config.Warnings()...)}
	err = a.ShowRecord(result, func(w io.Writer) {
		for _, warning := range config.Warnings() {
			fmt.Fprintln(w, warning)
		}
		if result.Valid {
			fmt.Fprintln(w, "The configuration is valid.")
		}
	})
	if err == nil && !result.Valid {
		return cli.Silent(cli.ExitFailed)
	}
	return err
}
