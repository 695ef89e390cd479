package runner

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// oomCounter reads how often the kernel killed for lack of memory in the
// cgroup that we live in.
type oomCounter struct {
	mu    sync.Mutex
	file  *os.File // nil if there is none
	procs string   // path of the list of processes in the cgroup
}

// openOOMCounter finds the counter: memory.events of cgroup v2, or
// memory.oom_control of v1. Without one it counts nothing.
func openOOMCounter(log *slog.Logger) *oomCounter {
	for _, dir := range ownMemoryGroups() {
		for _, name := range []string{"memory.events", "memory.oom_control"} {
			f, err := os.Open(filepath.Join(dir, name))
			if err == nil {
				return &oomCounter{file: f, procs: filepath.Join(dir, "cgroup.procs")}
			}
		}
	}
	log.Debug("no counter of OOM kills in this cgroup")
	return &oomCounter{}
}

// ownMemoryGroups returns the directories that may hold this process's memory
// cgroup.
func ownMemoryGroups() []string {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return memoryGroups(string(groups), string(mounts))
}

// cgroupMemoryLimit returns the lowest memory limit of our cgroup and those
// above it, 0 if there is none.
func cgroupMemoryLimit() int64 {
	var limit int64
	for _, dir := range ownMemoryGroups() {
		for depth := 0; depth < 32 && len(dir) > 1; depth++ {
			for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
				data, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					continue
				}
				if n := number(bytes.TrimSpace(data)); n > 0 && (limit == 0 || n < limit) {
					limit = n
				}
			}
			dir = filepath.Dir(dir)
		}
	}
	return limit
}

// memoryGroups returns the directories that may hold this process's memory
// cgroup: v1's first, as on hybrid systems the controller is there.
func memoryGroups(groups, mounts string) []string {
	var v1, v2 string
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if fields[0] == "0" && fields[1] == "" {
			v2 = fields[2]
		} else if hasWord(fields[1], "memory") {
			v1 = fields[2]
		}
	}
	var first, second []string
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		root, point := fields[3], fields[4]
		switch {
		case kind[0] == "cgroup" && v1 != "" && hasWord(kind[2], "memory"):
			first = append(first, under(point, root, v1))
		case kind[0] == "cgroup2" && v2 != "":
			second = append(second, under(point, root, v2))
		}
	}
	return append(first, second...)
}

// under maps a cgroup's path to where its hierarchy is mounted; root is the
// part of the hierarchy that the mount shows.
func under(point, root, group string) string {
	if rest, ok := strings.CutPrefix(group, root); ok && root != "/" {
		group = rest
	}
	return filepath.Join(point, group)
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// kills returns the counter, 0 if there is none.
func (c *oomCounter) kills() int64 {
	if c.file == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var buf [1024]byte
	n, _ := c.file.ReadAt(buf[:], 0)
	return parseOOMKills(buf[:n])
}

// parseOOMKills reads the line "oom_kill N" of either file.
func parseOOMKills(data []byte) int64 {
	for line := range bytes.Lines(data) {
		if value, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			return number(bytes.TrimSpace(value))
		}
	}
	return 0
}

// onlyUs reports whether no process but this one lives in the cgroup.
func (c *oomCounter) onlyUs() bool {
	if c.file == nil {
		return false
	}
	data, err := os.ReadFile(c.procs)
	return err == nil && string(bytes.TrimSpace(data)) == strconv.Itoa(os.Getpid())
}

func (c *oomCounter) close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}
