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
		Short: "Trust the files in a folder (default: the current one)",
		Long: `Trust the files in a folder and below it. A torc.toml or .env there may then set which
server receives your commands and what is run. Files there are used even if others can
write to them, so you trust everybody who can. The folder is added to trusted_folders in
~/.config/torc/config.toml.`,
		Example: `  torc-slurm config trust
  torc-slurm config trust /projects/ours
  torc-slurm config trust --remove /projects/ours`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: cli.Exits("4 there is no such folder", "5 your configuration cannot be written"),
		// The settings of a torc.toml in this folder do not apply yet.
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
	c.Flags().BoolVar(&remove, "remove", false, "stop trusting the folder")
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
			WithHint("add it by hand above the first [section]: trusted_folders = [%q]", folder)
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
	}{path, cli.NotNil(folders)}, "Trusted folders in %s: %s", path, cli.FirstOf(strings.Join(folders, ", "), "none"))
}

// trustLine matches the setting in a configuration file, as this program and most people
// write it.
var trustLine = regexp.MustCompile(`(?m)^trusted_folders[ \t]*=[ \t]*\[[^\]]*\][ \t]*\n?`)

// trustIn adds a folder to the trusted ones in the text of a configuration file, or removes
// it. It returns the new text, which is otherwise the same, and the trusted folders. It
// returns an error if the text is invalid, or has the setting in a form that trustLine does
// not match.
func trustIn(text, folder string, remove bool) (changed string, folders []string, err error) {
	var before cli.Config
	if _, err := toml.Decode(text, &before); err != nil {
		return "", nil, err
	}
	folders = slices.DeleteFunc(before.TrustedFolders, func(f string) bool { return filepath.Clean(f) == folder })
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
	var after cli.Config
	if _, err := toml.Decode(changed, &after); err != nil || !slices.Equal(after.TrustedFolders, folders) {
		return "", nil, errors.New("this command cannot edit trusted_folders in the form in which it is written")
	}
	return changed, folders, nil
}
