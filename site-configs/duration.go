package siteconfigs

import (
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// ParseDuration parses 4h, 1h30m, and the formats of Slurm, as 2-00:00:00. It returns 0
// for no limit (UNLIMITED, 0).
func ParseDuration(text string) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil {
		return d, d >= 0
	}
	if text == "" || strings.HasPrefix(text, "-") {
		return 0, false
	}
	d, err := slurm.ParseDuration(text)
	switch {
	case err != nil || d == slurm.NoDuration:
		return 0, false
	case d == slurm.Unlimited:
		return 0, true
	}
	return d, true
}
