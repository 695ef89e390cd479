package workflow

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"PT1H30M": 90 * time.Minute, "p2d": 48 * time.Hour, "PT30S": 30 * time.Second, "pt1h": time.Hour,
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "250ms": 250 * time.Millisecond, " 5m ": 5 * time.Minute, "0s": 0,
		"2d": 48 * time.Hour, "1w": 7 * 24 * time.Hour, "1w2d3h4m5s": (9*24+3)*time.Hour + 4*time.Minute + 5*time.Second, "1.5d": 36 * time.Hour, "2d12h": 60 * time.Hour,
		"01:30:00": 90 * time.Minute, "0:0:7": 7 * time.Second, "100:00:00": 100 * time.Hour,
		"1-00:00:00": 24 * time.Hour, "2-12:30:05": 60*time.Hour + 30*time.Minute + 5*time.Second, "1-12": 36 * time.Hour, "1-12:30": 36*time.Hour + 30*time.Minute,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "P", "30", "10", "1y", "900000h", "five minutes", "1.5", "10:30", "1:60:00", "00:00:61", "-5m", "1d-5m", "2d2d", "d", "1h 30m", "1x", "PT", "1-", "-1-00:00:00", "999999d", "999999-00:00:00", "999999999999999999h", "1d1w",
	} {
		if got, err := ParseDuration(text); CodeOf(err) != CodeInvalid {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestCanonicalRuntime(t *testing.T) {
	for text, want := range map[string]string{"30m": "PT30M", "1-00:00:00": "P1D", "1500ms": "PT2S", "P1DT2H": "P1DT2H"} {
		if got, err := CanonicalRuntime(text); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	if got, err := CanonicalRuntime("0s"); err == nil {
		t.Errorf("no time: %q", got)
	}
}
