package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// AddNoPrompts adds the flag --no-prompts, with the alias --yes.
func AddNoPrompts(f *pflag.FlagSet, noPrompts *bool) {
	f.BoolVar(noPrompts, "no-prompts", false, "do not ask (also --yes)")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "yes" {
			name = "no-prompts"
		}
		return pflag.NormalizedName(name)
	})
}

// Ask writes a question on standard error and returns the line that answers it. The error
// is io.EOF without an answer, ErrInterrupted after Ctrl-C.
func (a *Factory) Ask(question string) (string, error) {
	fmt.Fprint(a.Stderr, question)
	ctx := a.Interrupts.Context()
	if file, ok := a.Stdin.(*os.File); ok && a.StdinTerminal {
		awaitInput(ctx, file)
	}
	if err := context.Cause(ctx); err != nil {
		fmt.Fprintln(a.Stderr)
		return "", err
	}
	line, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if errors.Is(err, io.EOF) && line == "" {
		fmt.Fprintln(a.Stderr)
		return "", io.EOF
	}
	return strings.TrimSpace(line), nil
}

// awaitInput waits until the file can be read or ctx is done, since a read cannot be
// interrupted. If it fails, the read waits.
func awaitInput(ctx context.Context, file *os.File) {
	done, end, err := os.Pipe()
	if err != nil {
		return
	}
	defer done.Close()
	defer end.Close()
	defer context.AfterFunc(ctx, func() { end.Close() })()
	fds := []unix.PollFd{{Fd: int32(file.Fd()), Events: unix.POLLIN}, {Fd: int32(done.Fd()), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// Confirm asks a question and reports whether the answer is yes. With noPrompts or JSON
// output it does not ask and returns true. Without a terminal or an answer on the standard
// input it returns a usage error.
func (a *Factory) Confirm(noPrompts bool, question string) (bool, error) {
	if noPrompts || a.Format == FormatJSON {
		return true, nil
	}
	answer, err := a.Ask(question + " [y/N] ")
	switch {
	case errors.Is(err, io.EOF) && !a.StdinTerminal:
		return false, UsageErrorf("cannot ask without a terminal; confirm with --no-prompts")
	case err != nil && !errors.Is(err, io.EOF):
		return false, err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true, nil
	}
	a.Note("Nothing was done.")
	return false, nil
}
