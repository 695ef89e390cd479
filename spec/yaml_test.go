package spec

import (
	"strings"
	"testing"
)

// tree writes a node with the kinds and places of all that is in it.
func tree(n *node) string {
	var b strings.Builder
	var walk func(n *node)
	walk = func(n *node) {
		switch n.kind {
		case kindList, kindMap:
			b.WriteString([]string{"[", "{"}[n.kind-kindList])
			for i, c := range n.items {
				if i > 0 {
					b.WriteString(", ")
				}
				if n.kind == kindMap {
					b.WriteString(c.key + ": ")
				}
				walk(c)
			}
			b.WriteString([]string{"]", "}"}[n.kind-kindList])
		default:
			b.WriteString("_bifs"[n.kind:n.kind+1] + "<" + n.text + ">")
		}
	}
	walk(n)
	return b.String()
}

func TestYAMLScalars(t *testing.T) {
	for text, want := range map[string]string{
		"~": "_<null>", "null": "_<null>", "Null": "_<null>", "nULL": "s<nULL>", "''": "s<>",
		"true": "b<true>", "True": "b<true>", "FALSE": "b<false>", "yes": "s<yes>", "on": "s<on>", "'true'": "s<true>",
		"0": "i<0>", "-5": "i<-5>", "+5": "i<5>", "0x1F": "i<31>", "0o17": "i<15>", "0b101": "i<5>", "-0x10": "i<-16>",
		"007": "s<007>", "1_000": "s<1_000>", "12:30": "s<12:30>", "1-2": "s<1-2>", "0x": "s<0x>", "0xG": "s<0xG>", "1a": "s<1a>",
		"99999999999999999999": "i<99999999999999999999>",
		"1.5":                  "f<1.5>", ".5": "f<0.5>", "5.": "f<5.0>", "1e3": "f<1000.0>", "1E-2": "f<0.01>", "-1.0": "f<-1.0>",
		"1e999": "s<1e999>", ".inf": "s<.inf>", "nan": "s<nan>", "inf": "s<inf>", "-": "_", "+": "s<+>", ".": "s<.>", "1.2.3": "s<1.2.3>",
		"!!str 5": "s<5>", `"a\tb\u00e9"`: "s<a\tbé>", "'it''s'": "s<it's>",
		"|\n  a\n  b\n": "s<a\nb\n>", ">-\n  a\n  b\n": "s<a b>", "a #c": "s<a>", "'a #c'": "s<a #c>", "2026-11-21": "s<2026-11-21>",
	} {
		n, err := readYAML([]byte("k: " + text))
		if want == "_" {
			if err == nil {
				t.Errorf("%q is %s", text, tree(n))
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := tree(n); got != "{k: "+want+"}" {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestYAMLStructures(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "_<>",
		"a:\n- 1\n- b: 2\n  c: 3\n":             "{a: [i<1>, {b: i<2>, c: i<3>}]}",
		"a: &x {p: 1}\nb: *x\n":                 "{a: {p: i<1>}, b: {p: i<1>}}",
		"d: &d {p: 1, q: 2}\ne: {<<: *d, q: 3}": "{d: {p: i<1>, q: i<2>}, e: {q: i<3>, p: i<1>}}",
		"x: {<<: [{a: 1}, {a: 2, b: 3}]}":       "{x: {a: i<1>, b: i<3>}}",
		"1: a\ntrue: b\n'c d': e":               "{1: s<a>, true: s<b>, c d: s<e>}",
		"? k\n: v":                              "{k: s<v>}",
		"a:\nb:":                                "{a: _<null>, b: _<null>}",
		"---\na: 1\n...\n":                      "{a: i<1>}",
		"# only a comment\n":                    "_<>",
		"a: {b: [1, {c: d}], e: }":              "{a: {b: [i<1>, {c: s<d>}], e: _<null>}}",
		"a:\r\n  b: 1\r\n":                      "{a: {b: i<1>}}",
	} {
		n, err := readYAML([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := tree(n); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestPlacesAndPaths(t *testing.T) {
	text := "é: 1\nlist:\n  - a: x\n    \"b c\": {d: [1, 2]}\n"
	n, err := readYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var walk func(n *node)
	walk = func(n *node) {
		got = append(got, n.path()+" "+(&syntaxError{n.at, "", ""}).Error())
		for _, c := range n.items {
			walk(c)
		}
	}
	walk(n)
	want := ` 1:1: 
"é" 1:4: 
list 3:3: 
list[0] 3:5: 
list[0].a 3:8: 
list[0]."b c" 4:12: 
list[0]."b c".d 4:16: 
list[0]."b c".d[0] 4:17: 
list[0]."b c".d[1] 4:20: `
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// TestYAMLLineEnds has places as an editor shows them, whatever else YAML takes
// for the end of a line.
func TestYAMLLineEnds(t *testing.T) {
	for text, want := range map[string]pos{
		"\u2028\u2028a: 1":                  {1, 6},
		"\u0085\u0085a: 1":                  {1, 6},
		"x: 1\ra: 1":                        {1, 9},
		"x: 1\r\na: 1":                      {2, 4},
		"\rx: 1\r\n\r\na: 1":                {3, 4},
		"x: |\n  b\u2028  c\na: 1":          {3, 4},
		"x: 'y\u0085\u0085y'\n\u2029\na: 1": {3, 4},
	} {
		n, err := readYAML([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := n.child("a").at; got != want {
			t.Errorf("%q: the value stands at %v, not %v", text, got, want)
		}
	}
}

func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"a: 1", "- [x, {y: z}]", "a: &x [*x]", "<<: {a: 1}", "? a\n: b", "a: |\n  b\n", "a: !!str 5", "\t", "a: 'b", "--- a\n--- b", "a: *b", "{a, b}", "? [a]\n: b", "!!x", "&a", "*a : b", "a: !!int\n", "\u2028\u2029a:\u0085\r b", "{a: 1,\r\n b\r: 2}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkReader(t, data, readYAML) })
}

// checkReader checks what must hold for any text.
func checkReader(t *testing.T, data []byte, read func([]byte) (*node, error)) {
	if checkText(data) != nil {
		return
	}
	n, err := read(data)
	if err != nil {
		checkSyntaxError(t, data, err)
		return
	}
	lines := int32(strings.Count(string(data), "\n") + 2) // a value may be missing behind the last one
	var walk func(n *node)
	walk = func(n *node) {
		if n.at.line < 1 || n.at.col < 1 || n.at.line > lines {
			t.Errorf("%s stands at %v", n.path(), n.at)
		}
		for _, c := range n.items {
			if c.parent != n {
				t.Errorf("%s has another parent", c.path())
			}
			walk(c)
		}
	}
	walk(n)
	again, err := readJSON(n.json(), true)
	if err != nil {
		t.Fatalf("as JSON %s: %v", n.json(), err)
	}
	if got, want := tree(again), tree(n); got != want && !strings.Contains(want, "_<>") {
		t.Errorf("as JSON it is %s, not %s", got, want)
	}
}

func checkSyntaxError(t *testing.T, data []byte, err error) {
	t.Helper()
	r := newReport(source{"f", data})
	r.syntax(err)
	for _, e := range r.errors {
		if e.Line < 1 || e.Column < 1 || e.Message == "" || e.Render() == "" {
			t.Errorf("no place: %#v", e)
		}
	}
	checkPlaces(t, data, r.errors)
}
