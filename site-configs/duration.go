package siteconfigs

import (
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// ParseDuration reads 4h, 1h30m, and what Slurm writes: 2-00:00:00. No limit
// (UNLIMITED, 0) is 0.
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
