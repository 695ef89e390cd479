package run

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/argument"
)

// execInput is what exec runs: commands for bash, and the values that each was made of.
type execInput struct {
	commands []string
	rows     []argument.Row // of the commands; nil without sources
}

// readInput returns the commands of the flags and words, one for each row of values after ::: or
// in files, or a usage error.
func readInput(a *cli.Factory, words []string, flags *execFlags) (*execInput, error) {
	words, sources, err := argument.Split(words, func(name string) ([]string, error) { return readValues(a, name, flags.null) })
	if err != nil {
		return nil, usage(err)
	}
	for _, name := range flags.argFiles {
		values, err := readValues(a, name, flags.null)
		if err != nil {
			return nil, err
		}
		sources = append(sources, argument.Source{Values: values})
	}
	if len(sources) == 0 {
		commands, err := execCommands(a, words, *flags)
		return &execInput{commands: commands}, err
	}
	if len(flags.params) > 0 {
		return nil, cli.UsageErrorf("use either --param, or ::: and files of values")
	}
	templates, err := execTemplates(a, words, sources, flags)
	if err != nil {
		return nil, err
	}
	in := &execInput{}
	for _, row := range argument.Rows(sources) {
		for _, t := range templates {
			command, err := t.Command(len(in.commands)+1, row)
			if err != nil {
				return nil, usage(err)
			}
			in.commands, in.rows = append(in.commands, command), append(in.rows, row)
		}
	}
	if len(in.commands) == 0 {
		return nil, cli.UsageErrorf("there are no values, so there is nothing to run")
	}
	return in, nil
}

// usage returns an error of package argument as a usage error; those of files are already.
func usage(err error) error {
	var exit *cli.ExitError
	if errors.As(err, &exit) {
		return err
	}
	return cli.UsageErrorf("%v", err)
}

// execTemplates returns the templates of the words and of the lines of -c and -C.
func execTemplates(a *cli.Factory, words []string, sources []argument.Source, flags *execFlags) ([]*argument.Template, error) {
	var lines [][]string
	if len(words) > 0 {
		lines = append(lines, words)
	}
	if len(flags.commands) > 0 || flags.commandsFile != "" {
		commands, err := execCommands(a, nil, *flags)
		if err != nil {
			return nil, err
		}
		for _, c := range commands {
			lines = append(lines, []string{c})
		}
	}
	if len(lines) == 0 {
		return nil, cli.UsageErrorf("there is no command for the values: write it before :::, or use -c or -C")
	}
	templates := make([]*argument.Template, len(lines))
	for i, line := range lines {
		t, err := argument.NewTemplate(line, len(sources))
		if err != nil {
			return nil, usage(err)
		}
		templates[i] = t
	}
	return templates, nil
}

// maxValues limits a file of values, in bytes.
const maxValues = 256 << 20

// readValues returns the lines of a file that are not empty, or what NUL characters separate.
// The file - is the standard input. The error is a usage error.
func readValues(a *cli.Factory, name string, null bool) ([]string, error) {
	in := a.Stdin
	switch {
	case name != "-":
		f, err := os.Open(a.Path(name))
		if err != nil {
			return nil, cli.UsageErrorf("cannot read the values: %v", err)
		}
		defer f.Close()
		in = f
	case a.StdinTerminal:
		a.Note("Reading values from the terminal, one per line; Ctrl-D ends them")
	}
	text, err := io.ReadAll(io.LimitReader(in, maxValues+1))
	if err != nil {
		return nil, cli.UsageErrorf("cannot read the values of %s: %v", name, err)
	}
	if len(text) > maxValues {
		return nil, cli.UsageErrorf("%s has more than %d bytes of values", name, maxValues)
	}
	var values []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	if null {
		lines.Split(splitNull)
	}
	for lines.Scan() {
		if v := lines.Text(); v != "" {
			values = append(values, v)
		}
	}
	return values, nil
}

// splitNull is a bufio.SplitFunc for what NUL characters end.
func splitNull(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// label returns the values of command i on one line, as --tag writes them before its output.
func (in *execInput) label(i int) string {
	text := in.commands[i]
	if in.rows != nil {
		text = strings.Join(in.rows[i], " ")
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' }), " ")
}

// jobName returns the name of command i, from 0.
func jobName(i int) string { return fmt.Sprintf("job%d", i+1) }
