// Package configcmd has the commands about configuration files and the folders that
// are trusted.
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

// New groups the commands about the configuration.
func New(a *cli.Factory) *cobra.Command {
	c := cli.NewGroup(a, cli.GroupUtility, "config", "Show and make configuration files",
		newShow(a), newPaths(a), newInit(a), newTrust(a), newValidate(a))
	c.Long = `Show and make configuration files. They are read in this order, a later one wins:
/etc/torc/config.toml, ~/.config/torc/config.toml, ./torc.toml, variables such as
TORC_CLIENT__RUN__OUTPUT_DIR, flags. What decides who gets your commands, or what is
run, ./torc.toml sets only in folders that you trust (config trust).`
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
			return cli.UsageErrorf("unknown format %q: it is toml or json", format)
		},
	}
	// It hides the flag of all commands, which has other formats.
	c.Flags().StringVarP(&format, "format", "f", "", "`FORMAT`: toml or json")
	return c
}

func newPaths(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "paths",
		Short:       "List the files that are read",
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
			return cli.ShowList(a, cli.List[path]{Things: "places", Columns: []cli.Column[path]{
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
		Annotations: cli.Exits("5 the file is there already, or cannot be written"),
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
	c.Flags().BoolVar(&system, "system", false, "for everybody on this machine")
	c.Flags().BoolVar(&user, "user", false, "for you")
	c.Flags().BoolVar(&local, "local", false, "for the current directory (the default)")
	cli.FreeLetterF(a, c)
	c.Flags().BoolVarP(&force, "force", "f", false, "replace a file that is there")
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
	f, err := os.OpenFile(path, flags, 0o644) // whatever the umask: what others can write is not read
	if errors.Is(err, fs.ErrExist) {
		return workflow.Errorf(workflow.CodeConflict, "%s is there already", path).WithHint("--force replaces it")
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
		// The files are read here, so that the outcome is an answer.
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
