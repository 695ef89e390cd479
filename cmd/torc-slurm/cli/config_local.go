package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/setting"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// withheldSetting is a setting in the torc.toml of the current folder that is ignored.
type withheldSetting struct {
	setting.Withheld
	path string
	ours bool // nobody else could have written the file
}

// hint returns how to make the setting apply.
func (w *withheldSetting) hint() string {
	return fmt.Sprintf("if you know and trust what is in this folder: torc-slurm config trust %s; otherwise set %s in your own configuration, or leave it out",
		filepath.Dir(w.path), w.Key)
}

// readLocal merges the file of the current folder into the configuration. In a folder that
// the user does not trust, it ignores settings that decide something.
func (c *Config) readLocal(path string) error {
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && trustedfile.IsTrusted(folder) {
		return c.Read(path)
	}
	text, err := trustedfile.ReadAny(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ours := trustedfile.Check(path) == nil
	if err == nil {
		err = DefaultConfig().lay(path, text) // its errors have the lines of the file
	} else {
		err = workflow.Errorf(workflow.CodeInvalid, "configuration file: %v", err)
	}
	if err != nil && !ours {
		c.warnings = append(c.warnings, fmt.Sprintf("%s is ignored: %v", path, err))
		return nil // another user's file must not stop our commands
	}
	if err != nil {
		return err
	}
	allowed, withheld, err := c.withhold(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, w := range withheld {
		s := withheldSetting{w, path, ours}
		c.withheld = append(c.withheld, s)
		c.warnings = append(c.warnings, fmt.Sprintf("%s: %s is ignored, since it decides %s (%s)", path, w.Key, w.Decides, s.hint()))
	}
	return c.lay(path, allowed)
}

// withhold returns the text of a configuration file without the settings that it may not
// set, and those settings.
func (c *Config) withhold(text []byte) ([]byte, []setting.Withheld, error) {
	var content, present map[string]any
	if err := toml.Unmarshal(text, &content); err != nil {
		return nil, nil, err
	}
	now, err := toml.Marshal(c)
	if err != nil {
		return nil, nil, err
	}
	if err := toml.Unmarshal(now, &present); err != nil {
		return nil, nil, err
	}
	withheld := setting.Withhold(content, present)
	var allowed bytes.Buffer
	err = toml.NewEncoder(&allowed).Encode(content)
	return allowed.Bytes(), withheld, err
}

// RefuseWithheld returns an error if a file that nobody else could have written sets an
// ignored key that begins with one of the prefixes: without it the command would not do
// what the user expects.
func (c *Config) RefuseWithheld(prefixes ...string) error {
	for i := range c.withheld {
		w := &c.withheld[i]
		for _, prefix := range prefixes {
			if w.ours && strings.HasPrefix(w.Key, prefix) {
				return workflow.Errorf(workflow.CodeForbidden, "%s sets %s, which decides %s, and you do not trust its folder", w.path, w.Key, w.Decides).
					WithHint("%s", w.hint())
			}
		}
	}
	return nil
}
