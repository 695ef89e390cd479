package mcp

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/docs"
	"github.com/torc-slurm/torc-slurm/examples"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) addLibraryTools() {
	add(s, tool{name: "list_examples", title: "Examples of specifications",
		description: "List the example workflows of this version, with what each shows."}, listExamples)
	add(s, tool{name: "get_example", title: "An example",
		description: "Read an example workflow. Start from one when you write a specification."}, getExample)
	add(s, tool{name: "get_docs", title: "Documentation",
		description: "Read a page of the documentation of this version, such as failures-and-retries, sweeps or spec. Without a topic: the list of pages."}, getDocs)
}

// page is a page or an example of the library.
type libraryPage struct {
	name string // without folder and ending
	path string
	fs   fs.FS
}

// pagesOf returns the files with one of the endings, by name.
func pagesOf(files fs.FS, endings ...string) (pages []libraryPage) {
	_ = fs.WalkDir(files, ".", func(p string, entry fs.DirEntry, err error) error { // embedded files can be read
		if err != nil || entry.IsDir() || !slices.Contains(endings, path.Ext(p)) {
			return err
		}
		name := strings.TrimSuffix(path.Base(p), path.Ext(p))
		if name == "workflow" || name == "README" && path.Dir(p) != "." {
			name = path.Dir(p)
		}
		pages = append(pages, libraryPage{name, p, files})
		return nil
	})
	return pages
}

func docPages() []libraryPage { return pagesOf(docs.Files, ".md") }

func examplePages() []libraryPage { return pagesOf(examples.Files, ".yaml", ".json5", ".kdl") }

// text returns the text of a page.
func (p libraryPage) text() (string, error) {
	text, err := fs.ReadFile(p.fs, p.path)
	return string(text), err
}

// heading returns the first line of a text that says what it is about.
func heading(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title := strings.TrimLeft(line, "#/ "); title != "" && (strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//")) {
			return title
		}
	}
	return ""
}

type exampleRow struct {
	Name   string `json:"name"`
	Format string `json:"format" jsonschema:"yaml, json5 or kdl"`
	About  string `json:"about,omitempty"`
}

type examplesOut struct {
	Examples []exampleRow `json:"examples"`
}

func listExamples(context.Context, *call, struct{}) (out examplesOut, err error) {
	for _, p := range examplePages() {
		text, err := p.text()
		if err != nil {
			return out, err
		}
		out.Examples = append(out.Examples, exampleRow{p.name, strings.TrimPrefix(path.Ext(p.path), "."), heading(text)})
	}
	return out, nil
}

type exampleIn struct {
	Name   string `json:"name" jsonschema:"name of an example in list_examples"`
	Format string `json:"format,omitempty" jsonschema:"yaml, json5 or kdl, if there are several"`
}

type exampleOut struct {
	Name   string  `json:"name"`
	Format string  `json:"format"`
	Text   trusted `json:"text"`
}

func getExample(_ context.Context, c *call, in exampleIn) (out exampleOut, err error) {
	var names []string
	for _, p := range examplePages() {
		format := strings.TrimPrefix(path.Ext(p.path), ".")
		if names = append(names, p.name); p.name == in.Name && (in.Format == "" || in.Format == format) {
			text, err := p.text()
			return exampleOut{p.name, format, c.trusted(text)}, err
		}
	}
	return out, workflow.Errorf(workflow.CodeNotFound, "there is no example %q", strings.TrimSpace(in.Name+" "+in.Format)).WithHint("there are %s", strings.Join(names, ", "))
}

type docsIn struct {
	Topic  string `json:"topic,omitempty" jsonschema:"name of a page, such as failures-and-retries; without it the list of pages"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the previous answer, to read on"`
}

type docRow struct {
	Topic string `json:"topic"`
	About string `json:"about"`
}

type docsOut struct {
	Topic string   `json:"topic,omitempty"`
	Text  trusted  `json:"text,omitempty" jsonschema:"Markdown"`
	Pages []docRow `json:"pages,omitempty"`
	pageOut
}

// maxPage is how much of a page of the documentation is shown at once, in bytes.
const maxPage = 32 << 10

func getDocs(_ context.Context, c *call, in docsIn) (out docsOut, err error) {
	if in.Topic == "" {
		for _, p := range docPages() {
			text, err := p.text()
			if err != nil {
				return out, err
			}
			out.Pages = append(out.Pages, docRow{p.name, heading(text)})
		}
		return out, nil
	}
	p, err := findDoc(in.Topic)
	if err != nil {
		return out, err
	}
	text, err := p.text()
	if err != nil {
		return out, err
	}
	at, err := pageIn{Cursor: in.Cursor}.page()
	if err != nil || at.Offset > int64(len(text)) {
		return out, workflow.Errorf(workflow.CodeInvalid, "invalid cursor %q", in.Cursor)
	}
	text = text[at.Offset:]
	if len(text) > maxPage {
		text = text[:strings.LastIndexByte(text[:maxPage], '\n')+1]
		out.NextCursor = cursorAfter(at.Offset + int64(len(text)))
	}
	out.Topic, out.Text = p.name, c.trusted(text)
	return out, nil
}

// findDoc returns the page with a name, in which case and separators do not matter.
func findDoc(topic string) (libraryPage, error) {
	wanted := plainTopic(topic)
	var names, similar []string
	for _, p := range docPages() {
		name := plainTopic(p.name)
		if name == wanted {
			return p, nil
		}
		if names = append(names, p.name); wanted != "" && (strings.Contains(name, wanted) || strings.Contains(wanted, name)) {
			similar = append(similar, p.name)
		}
	}
	if len(similar) == 1 {
		return findDoc(similar[0])
	}
	if len(similar) == 0 {
		similar = names
	}
	return libraryPage{}, workflow.Errorf(workflow.CodeNotFound, "there is no page about %q", topic).WithHint("there are %s", strings.Join(similar, ", "))
}

func plainTopic(topic string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".md", "").Replace(strings.ToLower(topic))
}
