package argument

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lines are files for Split.
func lines(name string) ([]string, error) {
	files := map[string][]string{"-": {"in 1", "in 2"}, "list": {"x", "y", "z"}}
	if v, ok := files[name]; ok {
		return v, nil
	}
	return nil, errors.New("no file " + name)
}

func commands(words ...string) ([]string, error) {
	command, sources, err := Split(words, lines)
	if err != nil {
		return nil, err
	}
	t, err := NewTemplate(command, len(sources))
	if err != nil {
		return nil, err
	}
	var all []string
	for i, row := range Rows(sources) {
		c, err := t.Command(i+1, row)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func TestCommands(t *testing.T) {
	for name, tt := range map[string]struct {
		words []string
		want  []string
		err   string
	}{
		"appended":           {words: []string{"gzip", ":::", "a b", "c"}, want: []string{"gzip 'a b'", "gzip c"}},
		"appended to words":  {words: []string{"cp", "-t", "out dir", ":::", "a"}, want: []string{"cp -t 'out dir' a"}},
		"each part":          {words: []string{"echo {} {.} {/} {//} {/.} {#}", ":::", "d.x/f.tar.gz"}, want: []string{"echo d.x/f.tar.gz d.x/f.tar f.tar.gz d.x f.tar 1"}},
		"no extension":       {words: []string{"echo {.} {/.}", ":::", "d.x/f", ".bashrc"}, want: []string{"echo d.x/f f", "echo .bashrc .bashrc"}},
		"words are kept":     {words: []string{"echo", "$HOME >", "{.}.o", ":::", "a b.c"}, want: []string{"echo '$HOME >' 'a b.o'"}},
		"shell line":         {words: []string{"sort {} | uniq >{.}.u", ":::", "it's.txt"}, want: []string{`sort "it's.txt" | uniq >"it's".u`}},
		"all combinations":   {words: []string{"s", "{1}", "{2}", ":::", "a", "b", ":::", "1", "2"}, want: []string{"s a 1", "s a 2", "s b 1", "s b 2"}},
		"of one":             {words: []string{"s", "{2/.}", ":::", "a", ":::", "d/f.x"}, want: []string{"s f"}},
		"linked":             {words: []string{"s", ":::", "a", "b", "c", ":::+", "1", "2"}, want: []string{"s a 1", "s b 2", "s c 1"}},
		"linked and another": {words: []string{"s", ":::", "a", "b", ":::+", "1", "2", ":::", "x", "y"}, want: []string{"s a 1 x", "s a 1 y", "s b 2 x", "s b 2 y"}},
		"file":               {words: []string{"s", "::::", "list"}, want: []string{"s x", "s y", "s z"}},
		"two files":          {words: []string{"s", "::::", "-", "list", ":::", "1"}, want: []string{"s 'in 1' x 1", "s 'in 1' y 1", "s 'in 1' z 1", "s 'in 2' x 1", "s 'in 2' y 1", "s 'in 2' z 1"}},
		"linked file":        {words: []string{"s", ":::", "a", "b", "::::+", "-"}, want: []string{"s a 'in 1'", "s b 'in 2'"}},
		"no file":            {words: []string{"s", "::::", "away"}, err: "no file away"},
		"nothing after":      {words: []string{"s", ":::", "::::", "list"}, err: "there is nothing after :::"},
		"linked to nothing":  {words: []string{"s", ":::+", "a"}, err: "there is no source before :::+"},
		"no such source":     {words: []string{"s", "{3}", ":::", "a"}, err: "{3}: there is no source 3, only 1"},
		"source 0":           {words: []string{"s", "{0}", ":::", "a"}, err: "{0}: there is no source 0, only 1"},
		"other braces":       {words: []string{"awk '{print $1}' {}", ":::", "a"}, want: []string{"awk '{print $1}' a"}},
		"not for a shell":    {words: []string{"s", ":::", "a\x00b"}, err: "cannot be quoted"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := commands(tt.words...)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %s", err, tt.err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v\n-want +got:\n%s", err, diff)
			}
		})
	}
}

// TestValuesReachTheCommand: whatever a value is, bash passes it on as it is.
func TestValuesReachTheCommand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringOfN(rapid.RuneFrom([]rune("ab '\"$`\\!*?{}[]~#;&|<>()\n\t-é")), 1, 12, -1).Draw(t, "value")
		for _, command := range [][]string{{"printf '%s' {}"}, {"printf", "%s", "{}"}} {
			template, err := NewTemplate(command, 1)
			if err != nil {
				t.Fatal(err)
			}
			line, err := template.Command(1, Row{value})
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), "bash", "-c", line).Output()
			if err != nil || string(out) != value {
				t.Fatalf("%s printed %q, want %q: %v", line, out, value, err)
			}
		}
	})
}
