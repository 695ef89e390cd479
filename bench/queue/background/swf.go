package background

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
)

// The Standard Workload Format has 18 fields in a line, separated by blanks; -1 means that a
// value is not known, and a line that begins with a semicolon is a comment
// (https://www.cs.huji.ac.il/labs/parallel/workload/swf.html). Times are in seconds.
const (
	swfSubmit    = 1
	swfRuntime   = 3
	swfAllocated = 4 // processors
	swfRequested = 7 // processors
	swfLimit     = 8
	swfUser      = 11
	swfFields    = 18
)

// Record is what a line of a log says.
type Record struct {
	Submit, Runtime, Processors, Limit int64
	User                               int
}

// ParseRecord reads a line. ok is false for comments, blank lines, and jobs that never ran.
// The error says which field is bad.
func ParseRecord(line string) (r Record, ok bool, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == ';' {
		return r, false, nil
	}
	fields := strings.Fields(line)
	if len(fields) != swfFields {
		return r, false, fmt.Errorf("has %d fields, a line has %d", len(fields), swfFields)
	}
	number := func(i int) (n int64) {
		f, bad := strconv.ParseFloat(fields[i], 64)
		if bad != nil || f != f || f < -1 || f > 1e15 {
			err = errors.Join(err, fmt.Errorf("field %d is %q, not a number of at least -1", i+1, fields[i]))
		}
		return int64(f)
	}
	r = Record{Submit: number(swfSubmit), Runtime: number(swfRuntime), Processors: number(swfAllocated), Limit: number(swfLimit), User: int(max(number(swfUser), 0))}
	if requested := number(swfRequested); r.Processors <= 0 {
		r.Processors = requested
	}
	if err == nil && r.Submit < 0 {
		err = fmt.Errorf("field %d is %d: when the job was submitted is not known", swfSubmit+1, r.Submit)
	}
	if err != nil {
		return r, false, err
	}
	return r, r.Runtime > 0 && r.Processors > 0, nil
}

// Log is a log in the Standard Workload Format.
type Log struct {
	path string
	// What the first reading found.
	jobs       int64
	first      int64
	last       int64
	processors int64 // the most that a job has
	work       float64
	bad        []string
}

// Path returns the name of its file.
func (l *Log) Path() string { return l.path }

// mostBad is how many bad lines are reported.
const mostBad = 20

// OpenLog reads a log once. Bad lines are skipped and reported by Bad. An error says that the
// file cannot be read, or has no jobs.
func OpenLog(path string) (*Log, error) {
	l := &Log{path: path}
	count := 0
	err := l.scan(0, func(line string, n, _ int64) bool {
		r, ok, err := ParseRecord(line)
		if err != nil {
			if count++; count <= mostBad {
				l.bad = append(l.bad, fmt.Sprintf("%s:%d: %v", path, n, err))
			}
		}
		if !ok {
			return true
		}
		if l.jobs == 0 || r.Submit < l.first {
			l.first = r.Submit
		}
		l.jobs++
		l.last = max(l.last, r.Submit)
		l.processors = max(l.processors, r.Processors)
		l.work += float64(r.Runtime) * float64(r.Processors)
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case count > mostBad:
		l.bad = append(l.bad, fmt.Sprintf("%s: and %d more bad lines", path, count-mostBad))
	}
	if l.jobs == 0 || l.last == l.first {
		return nil, fmt.Errorf("%s has no jobs that ran at different times", path)
	}
	return l, nil
}

// Bad returns what is wrong with lines that are skipped, with file and line.
func (l *Log) Bad() []string { return l.bad }

// scan calls a function for each line from an offset on, with its number from there and the
// offset after it, until it returns false.
func (l *Log) scan(offset int64, each func(line string, n, after int64) bool) error {
	f, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReader(f)
	for n := int64(1); ; n++ {
		line, err := in.ReadString('\n')
		offset += int64(len(line))
		if line != "" && !each(line, n, offset) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read %s: %w", l.path, err)
		}
	}
}

// chunk is how many jobs of a log are in memory at a time.
const chunk = 4096

// Replay gives the jobs of a log again and again. Sizes are scaled so that the largest job
// has the largest size, and times so that the jobs are the load that is asked for.
type Replay struct {
	Settings
	log    *Log
	offset int64
	buffer []Record // shared with clones; not changed
	at     int      // in the buffer
	round  int64
	size   float64 // what to multiply processors with
	gap    float64 // what to multiply times with
	last   int64
}

// Replay returns a stream of its jobs that begins at time 0.
func (l *Log) Replay(s Settings) *Replay {
	r := &Replay{Settings: s, log: l, size: min(1, float64(s.Largest)/float64(l.processors))}
	work := 0.0
	_ = l.scan(0, func(line string, _, _ int64) bool { // it was read before
		if record, ok, _ := ParseRecord(line); ok {
			request := r.request(&record)
			work += float64(request.Runtime) * s.Work(&request)
		}
		return true
	})
	r.gap = work / (float64(s.CPUs) * s.Load) / float64(l.last-l.first)
	return r
}

// Clone returns a stream that gives the same jobs from here on.
func (r *Replay) Clone() cluster.Source {
	c := *r
	return &c
}

// Next returns the next job. It is false only if the file cannot be read any more.
func (r *Replay) Next() (cluster.Arrival, bool) {
	if r.at == len(r.buffer) && !r.fill() {
		return cluster.Arrival{}, false
	}
	record := r.buffer[r.at]
	r.at++
	span := float64(r.log.last - r.log.first)
	at := int64((float64(record.Submit-r.log.first) + float64(r.round)*span) * r.gap)
	r.last = max(r.last, at) // a log may be out of order
	request := r.request(&record)
	request.Partitions = []int{r.Partition}
	request.User = 1 + record.User%max(r.Users, 1)
	return cluster.Arrival{At: r.last, Request: request}, true
}

// request scales a job to the cluster.
func (r *Replay) request(record *Record) cluster.Request {
	size := min(max(int64(float64(record.Processors)*r.size), 1), int64(r.Largest))
	q := r.Request(size)
	q.Runtime = min(record.Runtime, r.MostLimit)
	q.Limit = min(max(record.Limit, record.Runtime, 60), r.MostLimit)
	return q
}

// fill reads the next jobs; after the end of the file the first ones.
func (r *Replay) fill() bool {
	for range 2 {
		var next []Record
		err := r.log.scan(r.offset, func(line string, _, after int64) bool {
			r.offset = after
			if record, ok, err := ParseRecord(line); ok && err == nil {
				next = append(next, record)
			}
			return len(next) < chunk
		})
		if err != nil {
			return false
		}
		if len(next) > 0 {
			r.buffer, r.at = next, 0
			return true
		}
		r.offset = 0
		r.round++
	}
	return false
}
