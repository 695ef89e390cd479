package slurm

import (
	"math"
	"testing"
)

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]Memory{
		"4000M":     {Bytes: 4000 * MiB},
		"4G":        {Bytes: 4 * GiB},
		"1.5G":      {Bytes: GiB + 512*MiB},
		"4Gn":       {Bytes: 4 * GiB, Per: PerNode},
		"2Gc":       {Bytes: 2 * GiB, Per: PerCPU},
		"500Mc":     {Bytes: 500 * MiB, Per: PerCPU},
		"16Gg":      {Bytes: 16 * GiB, Per: PerGPU},
		"16g":       {Bytes: 16 * GiB},
		"0n":        {Per: PerNode},
		"3504K":     {Bytes: 3504 * KiB},
		"0.01M":     {Bytes: 10486},
		"2T":        {Bytes: 2048 * GiB},
		"1P":        {Bytes: 1 << 50},
		"256":       {Bytes: 256 * MiB},
		"0":         {},
		"":          {},
		"?":         {},
		"16?":       {},
		"N/A":       {},
		"UNLIMITED": {},
		"99999999P": {Bytes: math.MaxInt64},
	} {
		if got, err := ParseMemory(text, MiB); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	if got, err := ParseMemory("512", 1); err != nil || got.Bytes != 512 {
		t.Errorf("512 bytes are %+v, %v", got, err)
	}
	for _, text := range []string{"much", "-1G", "1GG", "G", "1.2.3M", "1e5", "0x10", "n", "Gc", "NaN", "Inf"} {
		if got, err := ParseMemory(text, MiB); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func TestFormatMemory(t *testing.T) {
	for want, bytes := range map[string]int64{"0M": -1, "1M": 1, "2M": MiB + 1, "4096M": 4 * GiB} {
		if got := FormatMemory(bytes); got != want {
			t.Errorf("%d bytes are %q, want %q", bytes, got, want)
		}
	}
	if got := FormatMemory(math.MaxInt64); got != "8796093022208M" {
		t.Errorf("the maximum is %q", got)
	}
}

func FuzzParseMemory(f *testing.F) {
	for _, seed := range []string{"4000M", "4Gn", "0.01M", "16Gg", "?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ParseMemory(text, MiB); m.Bytes < 0 || err != nil && m != (Memory{}) {
			t.Errorf("%q is %+v, %v", text, m, err)
		}
	})
}
