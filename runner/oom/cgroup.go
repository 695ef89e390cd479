package oom

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryGroups returns the directories that may hold this process's memory cgroup.
func MemoryGroups() []string {
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

// MemoryLimit returns the lowest memory limit of our cgroup and its ancestors, 0 if there
// is none.
func MemoryLimit() int64 {
	_, limit := lowestLimit(MemoryGroups())
	return limit
}

// maxDepth limits the walk from a cgroup to its ancestors.
const maxDepth = 32

// limitFiles are the names of the limit in both versions of cgroups.
var limitFiles = []string{"memory.max", "memory.limit_in_bytes"}

// lowestLimit returns the cgroup with the lowest memory limit among those given and their
// ancestors; limit is 0 if there is none.
func lowestLimit(groups []string) (group string, limit int64) {
	for _, dir := range groups {
		for depth := 0; depth < maxDepth && len(dir) > 1; depth++ {
			for _, name := range limitFiles {
				data, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					continue
				}
				if n := number(data); n > 0 && (limit == 0 || n < limit) {
					group, limit = dir, n
				}
			}
			dir = filepath.Dir(dir)
		}
	}
	return group, limit
}

// memoryGroups returns the directories that may hold this process's memory cgroup: v1's
// first, which has the controller on hybrid systems.
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

// number parses a decimal number, ignoring white space around it. It returns 0 for
// anything else.
func number(b []byte) int64 {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
