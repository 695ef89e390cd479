package dbfile

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Life distinguishes a process of this machine from later ones with the same pid, by its
// pid namespace and start time. It is empty if the system does not tell.
func Life(pid int64) string {
	text, err := os.ReadFile("/proc/" + strconv.FormatInt(pid, 10) + "/stat")
	if err != nil {
		return ""
	}
	began, space := startOf(text), namespace()
	if began == "" || space == "" {
		return ""
	}
	return space + " " + began
}

// startOf returns when a process started, in ticks since boot, from /proc/PID/stat; empty
// for a zombie.
func startOf(stat []byte) string {
	end := bytes.LastIndexByte(stat, ')') // the name before it may contain any character
	if end < 0 {
		return ""
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// namespace returns the pid namespace of this process.
func namespace() string { // empty if there is none
	space, _ := os.Readlink("/proc/self/ns/pid") // empty where there is none
	return space
}

// IsAlive reports whether the process with this pid still has the given life. Known is false
// if that cannot be determined: the life was not recorded, belongs to another namespace, or
// the process is hidden from this user.
func IsAlive(pid int64, life string) (lives, known bool) {
	space, _, ok := strings.Cut(life, " ")
	if !ok || space != namespace() {
		return false, false
	}
	if now := Life(pid); now != "" {
		return now == life, true
	}
	_, err := os.Stat("/proc/" + strconv.FormatInt(pid, 10))
	return false, err == nil || errors.Is(syscall.Kill(int(pid), 0), syscall.ESRCH)
}
