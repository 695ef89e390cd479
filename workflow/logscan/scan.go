package logscan

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// Finding is a line that tells of trouble.
type Finding struct {
	Number int // of the line, from 1
	Line   string
	Kind
}

// maxLine is how much of a line is matched and kept, in bytes.
const maxLine = 4096

// Scan reads a log to its end and reports each line that tells of trouble. The error is
// that of the reader.
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

// readLine reads a line and keeps its beginning: a log may be one endless line.
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
