package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
)

func numCPU() int { return runtime.NumCPU() }

// machine describes in one line what the numbers were measured on.
func machine(ctx context.Context, b *bench) string {
	first := func(argv ...string) string {
		out, _, err := output(ctx, b.dir, argv...)
		if err != nil {
			return "?"
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return strings.TrimSpace(lines[len(lines)-1])
	}
	return fmt.Sprintf("%s; %d × %s; Linux %s; %s; scratch on %s; %s; load average before: %s.",
		first("date", "-u", "+%Y-%m-%d"), numCPU(), cpuModel(), first("uname", "-r"),
		runtime.Version(), first("stat", "-f", "-c", "%T", b.dir), first(b.binary, "--version"), load())
}

// load returns the load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	value, _, _ := strings.Cut(string(text), " ")
	return value
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
