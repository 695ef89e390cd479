package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Keyboard reads single keys and lines from the standard input, in a dialogue. Without a
// terminal, each character that is not a space is a key, and may be alone on its line.
type Keyboard struct {
	app *Factory
	in  *bufio.Reader
}

// NewKeyboard returns the keyboard of the standard input, which nothing else may read then.
func NewKeyboard(a *Factory) *Keyboard { return &Keyboard{a, bufio.NewReader(a.Stdin)} }

// Key returns the next key in lower case. The error is io.EOF at the end of the input,
// ErrInterrupted after Ctrl-C.
func (k *Keyboard) Key() (rune, error) {
	file, ok := k.app.Stdin.(*os.File)
	if ok && k.app.StdinTerminal {
		// Characters arrive at once, and Ctrl-C and Ctrl-D arrive as characters.
		before, err := term.MakeRaw(int(file.Fd()))
		if err != nil {
			return 0, fmt.Errorf("read keys from the terminal: %w", err)
		}
		defer term.Restore(int(file.Fd()), before) //nolint:errcheck // the terminal is gone then
	}
	for {
		if err := k.wait(); err != nil {
			return 0, err
		}
		key, _, err := k.in.ReadRune()
		switch {
		case err != nil:
			return 0, err
		case key == 3:
			return 0, ErrInterrupted
		case key == 4:
			return 0, io.EOF
		case !unicode.IsSpace(key):
			if next, err := k.peek(); err == nil && next == '\n' {
				_, _ = k.in.Discard(1)
			}
			return unicode.ToLower(key), nil
		}
	}
}

// Line writes a question on standard error and returns the line that answers it.
func (k *Keyboard) Line(question string) (string, error) {
	fmt.Fprint(k.app.Stderr, question)
	if err := k.wait(); err != nil {
		return "", err
	}
	line, err := k.in.ReadString('\n')
	if line != "" && errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

// peek returns the next character of a file; that of a terminal is not known yet.
func (k *Keyboard) peek() (byte, error) {
	if k.app.StdinTerminal {
		return 0, io.EOF
	}
	next, err := k.in.Peek(1)
	if err != nil {
		return 0, err
	}
	return next[0], nil
}

// wait waits for input, or returns why there will be none.
func (k *Keyboard) wait() error {
	ctx := k.app.Interrupts.Context()
	if file, ok := k.app.Stdin.(*os.File); ok && k.app.StdinTerminal && k.in.Buffered() == 0 {
		awaitInput(ctx, file)
	}
	return context.Cause(ctx)
}
