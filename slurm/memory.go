package slurm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Units of memory in bytes.
const (
	KiB int64 = 1 << 10
	MiB int64 = 1 << 20
	GiB int64 = 1 << 30
)

// Memory is an amount of memory as a job requests it.
type Memory struct {
	Bytes int64 // 0: none given, or all of the node's
	Per   Per
}

// Per says what an amount of memory applies to.
type Per string

// What an amount of memory may apply to.
const (
	PerUnsaid Per = ""
	PerNode   Per = "node"
	PerCPU    Per = "cpu"
	PerGPU    Per = "gpu"
)

// ParseMemory parses 4000M, 4G, 1.5G, 500Mc (per CPU), 4Gn (per node), 123456K,
// and a number without a unit, which is in the given unit. No value ("",
// "0", "16?", "N/A", "UNLIMITED") is 0.
func ParseMemory(text string, unit int64) (Memory, error) {
	number := strings.TrimSpace(text)
	var m Memory
	switch strings.ToUpper(number) {
	case "", "N/A", "NONE", "UNLIMITED", "(NULL)":
		return m, nil
	}
	if strings.HasSuffix(number, "?") { // sacct, for a record that is not complete yet: 16?
		return m, nil
	}
	switch number[len(number)-1] {
	case 'n':
		m.Per = PerNode
	case 'c':
		m.Per = PerCPU
	case 'g': // both a unit in lower case and, after a unit, "per GPU"
		if len(number) > 1 && strings.ContainsRune("KMGTP", rune(number[len(number)-2])) {
			m.Per = PerGPU
		}
	}
	if m.Per != PerUnsaid {
		number = number[:len(number)-1]
	}
	number = strings.TrimSuffix(strings.TrimSuffix(number, "B"), "i")
	if i := strings.IndexAny(number, "KMGTPkmgtp"); i >= 0 && i == len(number)-1 {
		unit = KiB << (10 * strings.Index("KMGTP", strings.ToUpper(number[i:])))
		number = number[:i]
	}
	bytes, err := scale(number, unit)
	if err != nil {
		return Memory{}, fmt.Errorf("%q is not an amount of memory", text)
	}
	m.Bytes = bytes
	return m, nil
}

// scale multiplies a decimal number that is not negative; a product that is too large
// saturates.
func scale(number string, unit int64) (int64, error) {
	if number == "" || strings.Trim(number, "0123456789.") != "" {
		return 0, fmt.Errorf("%q is not a number", number)
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, err
	}
	if f *= float64(unit); f >= math.MaxInt64 {
		return math.MaxInt64, nil
	}
	return int64(math.Round(f)), nil
}

// FormatMemory returns an amount for --mem: MiB, rounded up. (For sbatch 0 means all
// memory of a node.)
func FormatMemory(bytes int64) string {
	if bytes <= 0 {
		return "0M"
	}
	return strconv.FormatInt((bytes-1)/MiB+1, 10) + "M"
}
