// Package docs has the documentation of this version as files.
package docs

import "embed"

// Files are the pages in Markdown, by their paths in this folder.
//
//go:embed *.md adr howto reference
var Files embed.FS
