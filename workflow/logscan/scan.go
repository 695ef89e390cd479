package logscan

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// Finding is a line that reports a problem.
type Finding struct {
	Number int // of the line, from 1
	Line   string
	Kind
}

// maxLine is the maximum number of bytes of a line that are matched and returned.
const maxLine = 4096

// Scan reads a log to its end and calls found for each line that reports a problem. It
// returns the error of the reader.
func Scan(r io.Reader, found func(Finding)) error {
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if kind, ok := Match(line); ok {
			found(Finding{Number: n, Line: line, Kind: kind})
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line and returns only its beginning, because a line may be very long.
func readLine(r *bufio.Reader) (string, error) {
	var kept []byte
	for {
		part, err := r.ReadSlice('\n')
		kept = append(kept, part[:min(len(part), maxLine-len(kept))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return strings.TrimRight(string(kept), "\r\n"), err
		}
	}
}
