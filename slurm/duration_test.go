package slurm

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5":               5 * time.Minute,
		"5:30":            5*time.Minute + 30*time.Second,
		"00:05":           5 * time.Second,
		"10:00":           10 * time.Minute,
		"02:03:04":        2*time.Hour + 3*time.Minute + 4*time.Second,
		"1-02":            26 * time.Hour,
		"1-02:03":         26*time.Hour + 3*time.Minute,
		"1-02:03:04":      26*time.Hour + 3*time.Minute + 4*time.Second,
		"10-00:00:00":     240 * time.Hour,
		"365-00:00:00":    365 * 24 * time.Hour,
		"00:00.001":       time.Millisecond,
		"01:02.5":         62500 * time.Millisecond,
		" 1:00 ":          time.Minute,
		"-0:12":           0, // past its limit
		"-1-00:00:00":     0,
		"UNLIMITED":       Unlimited,
		"unlimited":       Unlimited,
		"infinite":        Unlimited,
		"-1":              Unlimited,
		"INVALID":         NoDuration,
		"NOT_SET":         NoDuration,
		"Partition_Limit": NoDuration,
		"N/A":             NoDuration,
		"NONE":            NoDuration,
		"":                NoDuration,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"soon", "1:2:3:4", "1-", "-", "--1", "1-2-3", ":", "1:", "5m", "PT5M", "1.5.5", "99999999999999999999", "5:-3"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"00:00:00":   0,
		"00:00:01":   time.Nanosecond,
		"00:05:00":   5 * time.Minute,
		"23:59:59":   24*time.Hour - time.Second,
		"1-00:00:00": 24 * time.Hour,
		"10-01:02:03": 10*24*time.Hour + time.Hour + 2*time.Minute +
			3*time.Second,
		"UNLIMITED": Unlimited,
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	if got := FormatDuration(-time.Hour); got != "00:00:00" {
		t.Errorf("less than nothing is %q", got)
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"1-02:03:04", "UNLIMITED", "00:00.001", "-0:12", "5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		switch {
		case err != nil && d != NoDuration:
			t.Errorf("%q is both %v and an error", text, d)
		case d < 0 && d != NoDuration:
			t.Errorf("%q is %v", text, d)
		case err == nil && d >= 0 && d != Unlimited:
			again, err := ParseDuration(FormatDuration(d))
			if err != nil || again < d || again-d >= time.Second {
				t.Errorf("%q is %v, written and read %v, %v", text, d, again, err)
			}
		}
	})
}
