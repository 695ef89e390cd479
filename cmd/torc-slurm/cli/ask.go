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

// AddNoPrompts adds --no-prompts, which may be written --yes.
func AddNoPrompts(f *pflag.FlagSet, noPrompts *bool) {
	f.BoolVar(noPrompts, "no-prompts", false, "do not ask (also --yes)")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "yes" {
			name = "no-prompts"
		}
		return pflag.NormalizedName(name)
	})
}

// Ask asks for a line on standard error. Without an answer the error is io.EOF,
// or, after Ctrl-C, errInterrupted.
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

// awaitInput waits until there is something to read, or until ctx is done: a
// read itself cannot be interrupted. Should it fail, the read has to do.
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

// Confirm asks a question that is answered with y or N. Machines are not
// asked: JSON output confirms.
func (a *Factory) Confirm(noPrompts bool, question string) (bool, error) {
	if noPrompts || a.Format == FormatJSON {
		return true, nil
	}
	answer, err := a.Ask(question + " [y/N] ")
	switch {
	case errors.Is(err, io.EOF) && !a.StdinTerminal:
		return false, UsageErrorf("there is nobody to ask; confirm with --no-prompts")
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
