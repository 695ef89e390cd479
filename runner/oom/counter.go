package oom

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// counter reads how often the kernel killed for lack of memory in the cgroup that we
// live in, and how much of its limit is used. The zero counter counts nothing.
type counter struct {
	file  *os.File   // of the kills; nil if there is none
	procs string     // path of the list of processes in the cgroup
	text  [1024]byte // of the file

	limit int64    // the lowest one; 0 if there is none
	usage *os.File // of the cgroup that has the limit; nil if there is none
	stat  string   // path of its statistics
}

// openCounter finds the counter of one of the cgroups: memory.events of v2, or
// memory.oom_control of v1. A cgroup of v2 that has none is counted with the one above.
func openCounter(groups []string) counter {
	var c counter
	for _, dir := range groups {
		for depth := 0; depth < maxDepth && len(dir) > 1; depth++ {
			for _, name := range []string{"memory.events", "memory.oom_control"} {
				f, err := os.Open(filepath.Join(dir, name))
				if err == nil {
					c.file, c.procs = f, filepath.Join(dir, "cgroup.procs")
					c.openUsage(groups)
					return c
				}
			}
			dir = filepath.Dir(dir)
		}
	}
	return c
}

// unlimited is what cgroup v1 says instead of no limit, or less.
const unlimited = 1 << 60

func (c *counter) openUsage(groups []string) {
	dir, limit := lowestLimit(groups)
	if limit == 0 || limit >= unlimited {
		return
	}
	for _, name := range []string{"memory.current", "memory.usage_in_bytes"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err == nil {
			c.limit, c.usage, c.stat = limit, f, filepath.Join(dir, "memory.stat")
			return
		}
	}
}

// kills returns the counter, 0 if there is none. One goroutine at a time may call it.
func (c *counter) kills() int64 {
	if c.file == nil {
		return 0
	}
	n, _ := c.file.ReadAt(c.text[:], 0)
	return parseKills(c.text[:n])
}

// parseKills reads the line "oom_kill N" of either file.
func parseKills(data []byte) int64 {
	for line := range bytes.Lines(data) {
		if value, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			return number(value)
		}
	}
	return 0
}

// used returns how much of the limit is used. What the kernel holds of files is left
// out once it matters: it is given up before anything is killed.
func (c *counter) used() int64 {
	if c.usage == nil {
		return 0
	}
	var buf [32]byte
	n, _ := c.usage.ReadAt(buf[:], 0)
	used := number(buf[:n])
	if used < nearly(c.limit) {
		return used
	}
	data, err := os.ReadFile(c.stat)
	if err != nil {
		return used
	}
	return max(0, used-parseFileCache(data))
}

// parseFileCache adds up what memory.stat says of pages of files, of the cgroups below
// as well, for which v1 has names of their own.
func parseFileCache(data []byte) int64 {
	var own, total int64
	for line := range bytes.Lines(data) {
		name, value, _ := bytes.Cut(line, []byte(" "))
		switch string(name) {
		case "active_file", "inactive_file":
			own += number(value)
		case "total_active_file", "total_inactive_file":
			total += number(value)
		}
	}
	return max(own, total)
}

// onlyUs reports whether no process but this one lives in the cgroup.
func (c *counter) onlyUs() bool {
	if c.file == nil {
		return false
	}
	data, err := os.ReadFile(c.procs)
	return err == nil && string(bytes.TrimSpace(data)) == strconv.Itoa(os.Getpid())
}

func (c *counter) close() {
	for _, f := range []*os.File{c.file, c.usage} {
		if f != nil {
			f.Close()
		}
	}
}
