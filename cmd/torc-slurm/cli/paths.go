package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// Exists reports whether a file exists; true if that is unknown.
func Exists(a *Factory, path string) bool {
	_, err := os.Stat(a.Path(path))
	return !errors.Is(err, fs.ErrNotExist)
}

// PathIn returns a path relative to a folder.
func PathIn(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// AddFileFlag adds the flag for the file that a command reads.
func AddFileFlag(a *Factory, c *cobra.Command, file *string, what string) {
	FreeLetterF(a, c)
	c.Flags().StringVarP(file, "file", "f", "", "`FILE` with "+what+": YAML, JSON or JSON5; - is the standard input")
	_ = c.MarkFlagFilename("file", "yaml", "yml", "json", "json5")
}
