package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// source is a parsed Go file.
type source struct {
	in   string // the import path of its package
	path string
	src  []byte
	fset *token.FileSet
	file *ast.File
}

// parse parses a file of a package.
func parse(in, path string, src []byte) (*source, error) {
	s := &source{in: in, path: path, src: src, fset: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.fset, path, src, parser.SkipObjectResolution|parser.ParseComments)
	return s, err
}

// snippet returns a file of a package that declares a variable with a value, for tests of
// the rules.
func snippet(t *testing.T, in, path, value string) *source {
	t.Helper()
	s, err := parse(in, path, []byte("package a\n\nvar v = "+value+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// at returns the position of a node.
func (s *source) at(n ast.Node) token.Position { return s.fset.Position(n.Pos()) }

// parsed are the Go files of this module, each parsed once for all tests.
var parsed = sync.OnceValues(func() (all []*source, err error) {
	list, err := listed()
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles) {
			path := filepath.Join(p.Dir, name)
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			s, err := parse(p.ImportPath, path, src)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
})

// allSources returns the Go files of this module.
func allSources(t *testing.T) []*source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkProduct reports the problems that a rule finds in files that are not tests.
func checkProduct(t *testing.T, rule func(*source) []string) {
	t.Helper()
	for _, s := range allSources(t) {
		if s.isTest() {
			continue
		}
		for _, problem := range rule(s) {
			t.Error(problem)
		}
	}
}
