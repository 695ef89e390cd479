// Package examples has the example workflows of this version as files.
package examples

import "embed"

// Files are the examples, by their paths in this folder.
//
//go:embed *.md *.yaml *.json5 *.kdl *.sh outbreak/*.yaml outbreak/*.md
var Files embed.FS
