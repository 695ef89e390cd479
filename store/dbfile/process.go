package dbfile

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Life tells a process of this machine from later ones with its number: its
// namespace of process numbers, and when it began. It is empty if the system does
// not say it.
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

// startOf reads from /proc/PID/stat when a process began, in ticks since the
// machine was started. A process that has ended and waits for its parent has none.
func startOf(stat []byte) string {
	end := bytes.LastIndexByte(stat, ')') // the name before it may hold anything
	if end < 0 {
		return ""
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// namespace is the one in which this process sees numbers of processes.
func namespace() string {
	space, _ := os.Readlink("/proc/self/ns/pid") // empty where there is none
	return space
}

// Lives says whether the process of a number that once had a life has it still.
// Known is false where that cannot be told: the life was not recorded, is of another
// namespace, or the process is hidden from this user.
func Lives(pid int64, life string) (lives, known bool) {
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
