package process

import (
	"bytes"
	"os"
)

// NodeCPU returns the busy and the total CPU ticks since boot, 0 if unknown.
func NodeCPU() (busy, total int64) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	return parseNodeCPU(line)
}

// parseNodeCPU parses "cpu user nice system idle iowait irq softirq steal …".
func parseNodeCPU(line []byte) (busy, total int64) {
	fields := bytes.Fields(line)
	for i := 1; i < len(fields) && i <= 8; i++ {
		n := number(fields[i])
		total += n
		if i != 4 && i != 5 {
			busy += n
		}
	}
	return busy, total
}

// NodeMemoryUse returns the used and the total bytes of memory, 0 if unknown.
func NodeMemoryUse() (used, total int64) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	var available int64
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch string(fields[0]) {
		case "MemTotal:":
			total = number(fields[1]) << 10
		case "MemAvailable:":
			available = number(fields[1]) << 10
		}
	}
	return total - available, total
}
