package agent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// How often the process table is read: processes may start while it is, so that one reading
// without a result proves little.
const (
	emptyScans = 2
	maxScans   = 200
	scanPause  = 20 * time.Millisecond
)

// EndLeft kills all processes with one of the keys in their environment, and their children,
// which inherit it. It returns an error if some do not end.
func EndLeft(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	var found []int
	for scans, empty := 0, 0; empty < emptyScans; scans++ {
		var err error
		if found, err = processesOf(keys); err != nil {
			return err
		}
		if len(found) == 0 {
			empty++
			continue
		}
		if empty = 0; scans >= maxScans {
			return fmt.Errorf("processes %v do not end", found)
		}
		for _, pid := range found {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end process %d: %w", pid, err)
			}
		}
		time.Sleep(scanPause)
	}
	return nil
}

// processesOf returns the processes with one of the keys in their environment, without this
// one. Zombies have none.
func processesOf(keys []string) (found []int, err error) {
	entries, err := filepath.Glob("/proc/[1-9]*/environ")
	if err != nil {
		return nil, err
	}
	for _, path := range entries {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(path)
		if err != nil {
			continue // it is gone, or another user's
		}
		for entry := range bytes.SplitSeq(environ, []byte{0}) {
			value, ok := bytes.CutPrefix(entry, []byte(KeyVariable+"="))
			if ok && slices.Contains(keys, string(value)) {
				found = append(found, pid)
				break
			}
		}
	}
	return found, nil
}

// endTree kills a process, its group and its descendants, also those that have removed the key
// from their environment. Descendants whose parents have ended are found by the key only.
func endTree(root int) error {
	tree := []int{root}
	parents := parentsOfAll()
	for at := 0; at < len(tree); at++ {
		for pid, parent := range parents {
			if parent == tree[at] {
				tree = append(tree, pid)
			}
		}
	}
	err := syscall.Kill(-root, syscall.SIGKILL)
	for _, pid := range tree[1:] {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended with the group
	}
	return err
}

// parentsOfAll returns the parent of each process.
func parentsOfAll() map[int]int {
	parents := map[int]int{}
	entries, _ := filepath.Glob("/proc/[1-9]*/stat") // the pattern is valid
	for _, path := range entries {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it is gone
		}
		// The name, in parentheses, may contain anything. State and parent follow.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		if parents[pid], err = strconv.Atoi(string(fields[1])); err != nil {
			delete(parents, pid)
		}
	}
	return parents
}
