package logs

import (
	"bytes"
	"errors"
	"io"
)

// tailBlock is how much of a file is read at a time to find its last lines, in bytes.
const tailBlock = 64 << 10

// tailOffset returns where the last n lines of a file begin. It reads only the end of the file.
// An incomplete last line counts as one.
func tailOffset(f io.ReaderAt, size int64, n int) (int64, error) {
	if n == 0 {
		return size, nil
	}
	buf := make([]byte, tailBlock)
	for end := size; end > 0; {
		begin := max(0, end-tailBlock)
		part := buf[:end-begin]
		if _, err := f.ReadAt(part, begin); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if end == size && part[len(part)-1] == '\n' {
			part = part[:len(part)-1] // it ends the last line
		}
		for {
			i := bytes.LastIndexByte(part, '\n')
			if i < 0 {
				break
			}
			if n--; n == 0 {
				return begin + int64(i) + 1, nil
			}
			part = part[:i]
		}
		end = begin
	}
	return 0, nil
}
