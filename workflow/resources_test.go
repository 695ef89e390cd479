package workflow_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestParseMemory(t *testing.T) {
	good := map[string]int64{
		"0": 0, "1024": 1024, "1k": 1 << 10, "512m": 512 << 20, "4G": 4 << 30, " 2t ": 2 << 40, "3 g": 3 << 30,
		"9223372036854775807": math.MaxInt64,
	}
	for text, want := range good {
		if got, err := ParseMemory(text); err != nil || got != want {
			t.Errorf("ParseMemory(%q) = %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " ", "g", "1.5g", "4gb", "-1", "-1g", "1e3", "9223372036854775808", "8388608t", "0x10", "1_000"} {
		if got, err := ParseMemory(text); CodeOf(err) != CodeInvalid {
			t.Errorf("ParseMemory(%q) = %d, %v", text, got, err)
		}
	}
}

func TestMemoryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64).Draw(t, "bytes") >> rapid.IntRange(0, 40).Draw(t, "down") << rapid.IntRange(0, 20).Draw(t, "up")
		if n < 0 {
			t.Skip("overflow")
		}
		if got, err := ParseMemory(FormatMemory(n)); err != nil || got != n {
			t.Fatalf("%d -> %q -> %d, %v", n, FormatMemory(n), got, err)
		}
	})
}

func TestParseRuntime(t *testing.T) {
	good := map[string]int64{
		"PT30M": 1800, "P1DT2H": 86400 + 7200, "P2W": 14 * 86400, "PT1H30M10S": 5410, "P1Y": 31_557_600, "P1M": 2_629_800,
		"PT0.5H": 1800, "PT1,5M": 90, "P100Y": 3_155_760_000, "PT1.9S": 1, "P0DT1M": 60, "pt5m": 300, "PT0S": 0,
	}
	for text, want := range good {
		if got, err := ParseRuntime(text); err != nil || got != want {
			t.Errorf("ParseRuntime(%q) = %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "P", "PT", "30", "30M", "PT30", "PTM", "P1H", "PT1D", "PT1.2.3S", "-PT1S", "PT-1S", "P1DT1HT1M", "P1D2", "PT1e9S", "P99999999999999Y", "P100YT1S", "P17000000000011D"} {
		if got, err := ParseRuntime(text); CodeOf(err) != CodeInvalid {
			t.Errorf("ParseRuntime(%q) = %d, %v", text, got, err)
		}
	}
}

func TestRuntimeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(-5, 100*31_557_600).Draw(t, "seconds")
		if got, err := ParseRuntime(FormatRuntime(n)); err != nil || got != max(n, 0) {
			t.Fatalf("%d -> %q -> %d, %v", n, FormatRuntime(n), got, err)
		}
	})
}

func TestEnforced(t *testing.T) {
	if (&ResourceRequirements{Name: DefaultRequirements}).Enforced() || !(&ResourceRequirements{Name: "mine"}).Enforced() {
		t.Error("all requirements but the default ones are enforced")
	}
}

func TestFormatBytes(t *testing.T) {
	tests := map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 1536: "1.50 KiB", 1<<20 - 1: "1.00 MiB", 512 << 20: "512.00 MiB",
		4 << 30: "4.00 GiB", 398 << 30 / 100: "3.98 GiB", 1 << 40: "1.00 TiB", math.MaxInt64: "8.00 EiB", -1: "-1 B",
		-(2 << 30): "-2.00 GiB",
	}
	for n, want := range tests {
		if got := FormatBytes(n); got != want {
			t.Errorf("FormatBytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestFormatSeconds(t *testing.T) {
	tests := map[int64]string{
		0: "0s", 1: "1s", 60: "1m", 90: "1m30s", 3600: "1h", 3661: "1h1m1s", 86400: "1d", 90061: "1d1h1m1s", -5: "-5s",
		math.MinInt64: "-106751991167300d15h30m8s",
	}
	for n, want := range tests {
		if got := FormatSeconds(n); got != want {
			t.Errorf("FormatSeconds(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	tests := map[time.Duration]string{
		0: "0.0s", 1234 * time.Millisecond: "1.2s", 9999 * time.Millisecond: "10.0s", 10 * time.Second: "10s",
		90400 * time.Millisecond: "1m30s", -time.Minute: "-1m",
	}
	for d, want := range tests {
		if got := FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%s) = %q, want %q", d, got, want)
		}
	}
}

// Whatever a user writes is refused or means an amount that can be written
// again.
func FuzzParseMemory(f *testing.F) {
	for _, seed := range []string{"512m", "4G", " 2 t ", "-1", "1.5g", "99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseMemory(text)
		if err != nil {
			if CodeOf(err) != CodeInvalid {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again, err := ParseMemory(FormatMemory(n)); n < 0 || err != nil || again != n {
			t.Fatalf("%q is %d, written as %q: %d, %v", text, n, FormatMemory(n), again, err)
		}
	})
}

func FuzzParseRuntime(f *testing.F) {
	for _, seed := range []string{"PT30M", "P1DT2H", "P1Y2M3W", "PT0.5H", "P", "PT-1S", "P9999999999999999999D"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseRuntime(text)
		if err != nil {
			if CodeOf(err) != CodeInvalid {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again, err := ParseRuntime(FormatRuntime(n)); n < 0 || err != nil || again != n {
			t.Fatalf("%q is %d, written as %q: %d, %v", text, n, FormatRuntime(n), again, err)
		}
	})
}
