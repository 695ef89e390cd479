package oom

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// counter reads the number of OOM kills in our cgroup, and how much of its memory limit is
// used. The zero counter counts nothing.
type counter struct {
	file  *os.File   // with the number of kills; nil if there is none
	procs string     // path of the list of processes in the cgroup
	text  [1024]byte // buffer

	limit int64    // the lowest one; 0 if there is none
	usage *os.File // of the cgroup that has the limit; nil if there is none
	stat  string   // path of its statistics
}

// openCounter opens the first counter of the cgroups: memory.events of v2, or
// memory.oom_control of v1. A cgroup of v2 without one is counted with its parent.
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

// unlimited is at most what cgroup v1 reports if there is no limit.
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

// kills returns the number of kills, 0 without a counter. It is not safe for concurrent
// use.
func (c *counter) kills() int64 {
	if c.file == nil {
		return 0
	}
	n, _ := c.file.ReadAt(c.text[:], 0)
	return parseKills(c.text[:n])
}

// parseKills parses the line "oom_kill N" of either file.
func parseKills(data []byte) int64 {
	for line := range bytes.Lines(data) {
		if value, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			return number(value)
		}
	}
	return 0
}

// used returns how much of the limit is used. Near the limit it excludes the page cache,
// which the kernel frees before it kills.
func (c *counter) used() int64 {
	if c.usage == nil {
		return 0
	}
	var buf [32]byte
	n, _ := c.usage.ReadAt(buf[:], 0)
	used := number(buf[:n])
	if used < nearLimit(c.limit) {
		return used
	}
	data, err := os.ReadFile(c.stat)
	if err != nil {
		return used
	}
	return max(0, used-parseFileCache(data))
}

// parseFileCache returns the size of the page cache in memory.stat, including child
// cgroups, for which v1 has names of their own.
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

// onlyUs reports whether this process is the only one in the cgroup.
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
