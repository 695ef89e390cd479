package kdl

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// dump writes nodes with the types of their values.
func dump(nodes []*Node) string {
	var parts []string
	for _, n := range nodes {
		text := n.Name
		for _, v := range n.Args {
			text += " " + dumpValue(v)
		}
		for _, p := range n.Props {
			text += " " + p.Name + "=" + dumpValue(p.Value)
		}
		if n.Block {
			text += " {" + dump(n.Children) + "}"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func dumpValue(v Value) string {
	return "_bifs"[v.Kind:v.Kind+1] + "<" + v.Text + ">"
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"a":                                      "a",
		"a;b\nc":                                 "a; b; c",
		"a 1 2.5 \"x\" y":                        "a i<1> f<2.5> s<x> s<y>",
		"a b=1 \"c d\"=\"e\" f=g":                "a b=i<1> c d=s<e> f=s<g>",
		"a b = 1":                                "a b=i<1>",
		"a { b; c 1 }":                           "a {b; c i<1>}",
		"a {}":                                   "a {}",
		"a { b { c } } d":                        "",
		"\"a b\" 1":                              "a b i<1>",
		"a #true #false #null":                   "a b<true> b<false> _<null>",
		"a true false null":                      "a b<true> b<false> _<null>",
		"a 0x1F 0o17 0b101 1_000":                "a i<31> i<15> i<5> i<1000>",
		"a -5 +5 -0x10 007 0":                    "a i<-5> i<5> i<-16> i<7> i<0>",
		"a 1e3 1.5e-3 1_0.2_5":                   "a f<1000.0> f<0.0015> f<10.25>",
		"a - -- -a + .a":                         "a s<-> s<--> s<-a> s<+> s<.a>",
		"a (u8)1 (t)\"x\" k=(v)2":                "a i<1> s<x> k=i<2>",
		"(t)a 1":                                 "a i<1>",
		"// c\na /* x /* y */ */ 1":              "a i<1>",
		"a 1 // c\nb":                            "a i<1>; b",
		"a \\\n  1 \\ // c\n 2":                  "a i<1> i<2>",
		"/-a 1\nb":                               "b",
		"a /-1 2 /-k=3 /-{ x } { y }":            "a i<2> {y}",
		"/- a { b }\nc":                          "c",
		`a "\n\t\"\\\u{e9}\s|\/"`:                "a s<\n\t\"\\é |/>",
		"a \"x \\\n   y\"":                       "a s<x y>",
		`a #"x "y" \n"# ##"a"#b"##`:              `a s<x "y" \n> s<a"#b>`,
		`a r"x\n" r#"a "b""#`:                    `a s<x\n> s<a "b">`,
		"a r#\"x\ny\"#":                          "a s<x\ny>",
		"a \"\"\"\n    x\n      y\n\n    \"\"\"": "a s<x\n  y\n>",
		"a \"\"\"\n  \\tx \\\n     y\n  \"\"\"":  "a s<\tx y>",
		"a #\"\"\"\n  x\\n\n  \"\"\"#":           "a s<x\\n>",
		"a \"\"\"\n\"\"\"":                       "a s<>",
		"r 1":                                    "r i<1>",
		"\uFEFFa":                                "a",
		"a\u00a01\u20282":                        "",
		"node\r\n  b\r\n":                        "node; b",
		"α β=\"γ\"":                              "α β=s<γ>",
	} {
		nodes, err := Parse([]byte(text))
		if want == "" && text != "" {
			if err == nil {
				t.Errorf("%q is %s", text, dump(nodes))
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := dump(nodes); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1:1", "a {": "1:3", "}": "1:1", "a }": "1:3", "a \"x": "1:3", "a \"x\ny\"": "1:3", "a #\"x": "1:3", "a #\"x\ny\"#": "1:3",
		"a #yes": "1:3", "a #inf": "1:3", "a 1x": "1:3", "a 0x": "1:3", "a 0x_1": "1:3", "a 1.": "1:3", "a 1._2": "1:3", "a .5": "1:3", "a 1.e3": "1:3", "a 1e999": "1:3", "a 0x-1": "1:3",
		"a b=": "1:5", "a =b": "1:3", "a 1=b": "1:3", "a [1]": "1:3", "a (t": "1:5", "a ()1": "1:4",
		`a "\q"`: "1:3", `a "\u{110000}"`: "1:3", `a "\u{}"`: "1:3", `a "\u12"`: "1:3", `a "\u{12"`: "1:3", `a "\u{d800}"`: "1:3",
		"a /* x": "1:3", "a \\ b": "1:3", "a\"b\"": "1:2", "a \"b\"c": "1:6", "a {} {}": "1:6", "a {} b": "1:6", "/": "1:1", "/-": "1:3",
		"a \"\"\"x\"\"\"": "1:3", "a \"\"\"\n x\n  \"\"\"": "1:3", "a \"\"\"\n x": "1:3", "a \"\"\"\n x\"\"\"": "1:3",
		"x\ny\n  z \"": "3:5",
	} {
		nodes, err := Parse([]byte(text))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q is %s, %v", text, dump(nodes), err)
			continue
		}
		if got := fmt.Sprintf("%d:%d", e.Pos.Line, e.Pos.Col); got != want {
			t.Errorf("%q: %v, want it at %s", text, err, want)
		}
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	for _, text := range []string{strings.Repeat("a {\n", 100_000), strings.Repeat("/- a {", 100_000), strings.Repeat("(", 100_000)} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%.20q… is taken", text)
		}
	}
	if _, err := Parse([]byte(strings.Repeat("/*", 100_000) + strings.Repeat("*/", 100_000))); err != nil {
		t.Errorf("nested comments: %v", err)
	}
}

func TestPlaces(t *testing.T) {
	nodes, err := Parse([]byte("é 1 k=2\n  a {\n\tb \"\"\"\n  x\n  \"\"\" 3\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	b := nodes[1].Children[0]
	for name, c := range map[string]struct{ got, want Pos }{
		"argument": {nodes[0].Args[0].Pos, Pos{1, 3}},
		"property": {nodes[0].Props[0].Pos, Pos{1, 5}},
		"value":    {nodes[0].Props[0].Value.Pos, Pos{1, 7}},
		"node":     {nodes[1].Pos, Pos{2, 3}},
		"child":    {b.Pos, Pos{3, 2}},
		"string":   {b.Args[0].Pos, Pos{3, 4}},
		"after":    {b.Args[1].Pos, Pos{5, 7}},
	} {
		if c.got != c.want {
			t.Errorf("the %s stands at %v, want %v", name, c.got, c.want)
		}
	}
}

// quote writes a string as KDL.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r == '"' || r == '\\' || r < ' ' || isNewline(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String() + `"`
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a 1 \"x\" k=#true { b; c }", "/-a\n(t)b /* c */ 0x1f // d", "a r#\"x\"# #\"y\"# \"\"\"\n z\n \"\"\"", "a \\\n 1", "a \"\\u{1F600}\\s\"", "a 1.5e3 1_0", "a { /-{ b } }",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, err := Parse(data)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Pos.Line < 1 || e.Pos.Col < 1 || e.Message == "" {
				t.Fatalf("%q: %#v", data, err)
			}
			return
		}
		if !utf8.Valid(data) {
			return
		}
		again, err := Parse([]byte(write(nodes)))
		if err != nil {
			t.Fatalf("%q, written %q: %v", data, write(nodes), err)
		}
		if got, want := dump(again), dump(nodes); got != want {
			t.Errorf("%q, written %q, is %s, not %s", data, write(nodes), got, want)
		}
	})
}

// write writes nodes so that Parse reads the same.
func write(nodes []*Node) string {
	var b strings.Builder
	value := func(v Value) string {
		switch v.Kind {
		case String:
			return quote(v.Text)
		case Bool, Null:
			return "#" + v.Text
		}
		return v.Text
	}
	for _, n := range nodes {
		b.WriteString(quote(n.Name))
		for _, v := range n.Args {
			b.WriteString(" " + value(v))
		}
		for _, p := range n.Props {
			b.WriteString(" " + quote(p.Name) + "=" + value(p.Value))
		}
		if n.Block {
			b.WriteString(" {\n" + write(n.Children) + "}")
		}
		b.WriteString("\n")
	}
	return b.String()
}
