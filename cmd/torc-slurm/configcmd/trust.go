package configcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newTrust(a *cli.Factory) *cobra.Command {
	remove := false
	c := &cobra.Command{
		Use:   "trust [FOLDER]",
		Short: "Trust what lies in a folder, the current one by default",
		Long: `Trust what lies in a folder, and below it. A torc.toml or .env there may then set which
server gets your commands and what is run, and files there count even if others can
write them, so you trust all who can. The folder is added to trusted_folders in
~/.config/torc/config.toml.`,
		Example: `  torc-slurm config trust
  torc-slurm config trust /projects/ours
  torc-slurm config trust --remove /projects/ours`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: cli.Exits("4 there is no such folder", "5 your configuration cannot be written"),
		// What a torc.toml here says does not count yet.
		PersistentPreRunE: func(*cobra.Command, []string) error {
			a.Format = cli.FirstOf(a.Flags.Format, cli.FormatTable)
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			folder := a.Dir
			if len(args) > 0 {
				folder = a.Path(args[0])
			}
			return runConfigTrust(a, folder, remove)
		},
	}
	c.Flags().BoolVar(&remove, "remove", false, "trust it no more")
	return c
}

func runConfigTrust(a *cli.Factory, folder string, remove bool) error {
	real, err := filepath.EvalSymlinks(folder)
	if err == nil {
		folder = real
	} else if !remove {
		return workflow.Errorf(workflow.CodeNotFound, "there is no folder %s", folder)
	}
	var path string
	for _, f := range cli.ConfigFiles(&a.Environment) {
		if f.Kind == "user" {
			path = f.Path
		}
	}
	text, err := trustedfile.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	changed, folders, err := trustIn(string(text), folder, remove)
	if err != nil {
		return workflow.Errorf(workflow.CodeInvalid, "%s: %v", path, err).
			WithHint("write it yourself, above the first [section]: trusted_folders = [%q]", folder)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the file behind a link, not the link
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "%v", err)
	}
	if err := trustedfile.Write(path, []byte(changed), 0o644); err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "%v", err)
	}
	return a.ShowMessage(struct {
		Path           string   `json:"path"`
		TrustedFolders []string `json:"trusted_folders"`
	}{path, cli.NotNil(folders)}, "%s trusts %s", path, cli.FirstOf(strings.Join(folders, ", "), "no folder"))
}

// trustLine is the setting in a file as people and this program write it.
var trustLine = regexp.MustCompile(`(?m)^trusted_folders[ \t]*=[ \t]*\[[^\]]*\][ \t]*\n?`)

// trustIn adds a folder to the trusted ones in the text of a configuration file, or removes it,
// and leaves the rest of the text as it is.
func trustIn(text, folder string, remove bool) (changed string, folders []string, err error) {
	var is cli.Config
	if _, err := toml.Decode(text, &is); err != nil {
		return "", nil, err
	}
	folders = slices.DeleteFunc(is.TrustedFolders, func(f string) bool { return filepath.Clean(f) == folder })
	if !remove {
		folders = append(folders, folder)
	}
	line := ""
	if len(folders) > 0 {
		quoted := make([]string, len(folders))
		for i, f := range folders {
			quoted[i] = fmt.Sprintf("%q", f)
		}
		line = "trusted_folders = [" + strings.Join(quoted, ", ") + "]\n"
	}
	changed = line + trustLine.ReplaceAllLiteralString(text, "")
	var now cli.Config
	if _, err := toml.Decode(changed, &now); err != nil || !slices.Equal(now.TrustedFolders, folders) {
		return "", nil, errors.New("trusted_folders is written in a way that this command does not understand")
	}
	return changed, folders, nil
}
