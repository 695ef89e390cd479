package specfile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// ReadCommands returns the commands in a file, one per line, without empty lines and comments.
// It returns an error if the file cannot be read.
func ReadCommands(a *cli.Factory, name string) ([]string, error) {
	in := a.Stdin
	if name != "-" {
		f, err := os.Open(a.Path(name))
		if err != nil {
			return nil, cli.UsageErrorf("cannot read the commands: %v", err)
		}
		defer f.Close()
		in = f
	}
	var commands []string
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "#") {
			commands = append(commands, text)
		}
		if err == io.EOF {
			return commands, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read commands: %w", err)
		}
	}
}
