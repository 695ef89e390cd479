package siteconfigs

import "regexp"

// Host is what identifies a machine.
type Host struct {
	Getenv   func(name string) string
	Hostname string
	Cluster  string // Slurm's name of the cluster; empty if unknown
}

// Recognize returns the first site whose detection rules match the machine, nil if none.
func Recognize(sites []*Site, host Host) *Site {
	for _, site := range sites {
		for _, sign := range site.Detection {
			if sign.holds(host) {
				return site
			}
		}
	}
	return nil
}

func (s DetectionRule) holds(host Host) bool {
	if s == (DetectionRule{}) {
		return false
	}
	if s.Env != "" {
		value := host.Getenv(s.Env)
		if value == "" || s.Value != "" && value != s.Value {
			return false
		}
	}
	if s.Hostname != "" {
		if whole, err := regexp.Compile("^(?:" + s.Hostname + ")$"); err != nil || !whole.MatchString(host.Hostname) {
			return false
		}
	}
	return s.Cluster == "" || s.Cluster == host.Cluster
}
