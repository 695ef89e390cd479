package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// joblog writes a line for each job that has ended, in the columns of GNU parallel. An exit by a
// signal has the exit status of a shell, 128 and the signal.
type joblog struct {
	file *os.File
	w    *bufio.Writer
	host string
	in   *execInput
}

func newJoblog(path, host string, in *execInput) (*joblog, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	l := &joblog{file: f, w: bufio.NewWriter(f), host: host, in: in}
	_, err = l.w.WriteString("Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n")
	return l, errors.Join(err, l.w.Flush())
}

func (l *joblog) take(j *ended) error {
	signal := int64(0)
	if j.code > 128 && j.code < 128+65 {
		signal = j.code - 128
	}
	var received int64
	if info, err := os.Stat(j.attempt.Stdout); err == nil {
		received = info.Size()
	}
	begin := j.end.Add(-j.duration)
	_, err := fmt.Fprintf(l.w, "%d\t%s\t%.3f\t%.3f\t0\t%d\t%d\t%d\t%s\n", j.seq, l.host,
		float64(begin.UnixMilli())/1000, j.duration.Seconds(), received, j.code, signal, oneLine.Replace(l.in.commands[j.seq-1]))
	return l.wrap(err)
}

// oneLine keeps a command on its line of the log.
var oneLine = strings.NewReplacer("\n", `\n`, "\t", `\t`)

func (l *joblog) watch(over bool) error {
	err := l.w.Flush()
	if over {
		err = errors.Join(err, l.file.Close())
	}
	return l.wrap(err)
}

func (l *joblog) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write --joblog: %w", err)
}

// results keeps the output of each job in folders named after its values, as GNU parallel does:
// DIR/1/VALUE of the first source/2/…, with the files seq, stdout and stderr.
type results struct {
	dir string
	in  *execInput
}

// folder returns the folder of a job.
func (r *results) folder(seq int) string {
	if r.in.rows == nil {
		return filepath.Join(r.dir, strconv.Itoa(seq))
	}
	parts := []string{r.dir}
	for i, v := range r.in.rows[seq-1] {
		parts = append(parts, strconv.Itoa(i+1), fileName(v))
	}
	return filepath.Join(parts...)
}

// fileName returns a value as the name of a file.
func fileName(value string) string {
	switch value = inName.Replace(value); value {
	case ".", "..":
		return `\` + value
	}
	if len(value) > maxName {
		value = value[:maxName]
	}
	return value
}

// maxName is the longest name of a file, in bytes.
const maxName = 255

var inName = strings.NewReplacer(`\`, `\\`, "/", `\_`, "\t", `\t`, "\x00", `\0`)

func (r *results) take(j *ended) error {
	dir := r.folder(j.seq)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return r.wrap(err)
	}
	err := os.WriteFile(filepath.Join(dir, "seq"), fmt.Appendln(nil, j.seq), 0o666) //nolint:gosec // for whom the umask says
	return r.wrap(errors.Join(err, copyOutput(j.attempt.Stdout, filepath.Join(dir, "stdout")), copyOutput(j.attempt.Stderr, filepath.Join(dir, "stderr"))))
}

func (r *results) watch(bool) error { return nil }

func (r *results) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write --results: %w", err)
}

// copyOutput copies a file, which is empty if there is none.
func copyOutput(from, to string) (err error) {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if from == "" {
		return nil
	}
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(out, in)
	return err
}
