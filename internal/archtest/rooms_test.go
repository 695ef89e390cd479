package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// maxFiles is the limit for the Go files of a package, without tests.
const maxFiles = 50

// maxMethods is the limit for the methods of a type, without those in tests.
const maxMethods = 40

// largePackages have more files than the limit allows, at most this many. If you move
// files out, lower the number, or move it to the new name; it never grows.
var largePackages = map[string]int{}

// largeTypes have more methods than the limit allows, at most this many. They never grow,
// either.
var largeTypes = map[string]int{}

// TestRoomsAreSmall checks that no package has too many files, and no type too many
// methods.
func TestRoomsAreSmall(t *testing.T) {
	files, methods := map[string]int{}, map[string]int{}
	for _, s := range allSources(t) {
		if s.isTest() {
			continue
		}
		in := strings.TrimPrefix(s.in, module+"/")
		files[in]++
		for of, n := range methodsOf(s.file) {
			methods[in+"."+of] += n
		}
	}
	checkSizes(t, "files", files, maxFiles, largePackages)
	checkSizes(t, "methods", methods, maxMethods, largeTypes)
}

// methodsOf counts the methods that a file declares, by the name of the type.
func methodsOf(file *ast.File) map[string]int {
	methods := map[string]int{}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil && len(f.Recv.List) == 1 {
			methods[receiver(f.Recv.List[0].Type)]++
		}
	}
	return methods
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return receiver(e.X)
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func checkSizes(t *testing.T, of string, counts map[string]int, limit int, large map[string]int) {
	t.Helper()
	for name, n := range counts {
		ceiling, known := large[name]
		switch {
		case n > max(ceiling, limit):
			t.Errorf("%s has %d %s, the limit is %d: divide it", name, n, of, max(ceiling, limit))
		case known && n <= limit:
			t.Logf("%s has %d %s: remove its exception", name, n, of)
		case n < ceiling:
			t.Logf("%s has %d %s: lower its limit from %d", name, n, of, ceiling)
		}
	}
	for name := range large {
		if _, is := counts[name]; !is {
			t.Logf("%s does not exist: remove its exception", name)
		}
	}
}

// TestMethodsOf checks that every way to write a receiver is counted.
func TestMethodsOf(t *testing.T) {
	src := "package a\n\nfunc (T) a() {}\nfunc (t *T) b() {}\nfunc (G[K]) a() {}\nfunc (g *G[K]) b() {}\nfunc (*H[K, V]) a() {}\nfunc f(T) {}\n"
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := methodsOf(file)
	if len(got) != 3 || got["T"] != 2 || got["G"] != 2 || got["H"] != 1 {
		t.Errorf("%v", got)
	}
}
