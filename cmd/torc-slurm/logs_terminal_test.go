package main

import (
	"strings"
	"testing"
)

const drawing = `
name: drawing
jobs:
  - name: draw
    command: |
      printf '10%%\r20%%\n\033]0;owned\007\033[31mred\n'
      printf '\033[2J\n' >&2
`

// Output of jobs reaches a terminal as text with colors; files and pipes, and
// those who ask for it, get all.
func TestLogsOnATerminal(t *testing.T) {
	p := newPerson(t)
	p.write("drawing.yaml", drawing)
	p.run(0, "run", "drawing.yaml")
	const (
		wantOut = "10%\r20%\r\n" + `\x1b]0;owned\x07` + "\x1b[31mred\r\n\x1b[m" // the terminal makes \r\n of \n
		wantErr = `\x1b[2J` + "\r\n"
		raw     = "10%\r20%\n\x1b]0;owned\x07\x1b[31mred\n"
	)
	for _, command := range []string{"show", "follow"} {
		all := p.talk("logs", command, "draw").exits(0)
		if !strings.Contains(all, wantOut) || !strings.Contains(all, wantErr) {
			t.Errorf("logs %s: %q", command, all)
		}
		if all := p.talk("logs", command, "draw", "--stdout", "--raw").exits(0); all != strings.ReplaceAll(raw, "\n", "\r\n") {
			t.Errorf("logs %s --raw: %q", command, all)
		}
		if piped, _ := p.run(0, "logs", command, "draw", "--stdout"); piped != raw {
			t.Errorf("logs %s in a pipe: %q", command, piped)
		}
	}
}
