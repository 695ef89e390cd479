package client

import (
	"strconv"
	"strings"
)

// APIVersion is the version of the HTTP API that this client speaks.
const APIVersion = "0.23.0"

// Compatibility is how compatible two versions of the API are.
type Compatibility int

// The degrees of compatibility.
const (
	Compatible   Compatibility = iota // equal, other patch level, or not comparable
	OtherMinor                        // some calls may be missing
	Incompatible                      // another major version
)

// CompareAPIVersion compares a server's version of the API with ours. Versions that cannot
// be parsed count as compatible.
func CompareAPIVersion(server string) Compatibility {
	theirs, ok := majorMinor(server)
	ours, _ := majorMinor(APIVersion)
	switch {
	case !ok || theirs == ours:
		return Compatible
	case theirs[0] != ours[0]:
		return Incompatible
	}
	return OtherMinor
}

// majorMinor reads "v0.23.0-rc1 (abcdef)" as 0 and 23.
func majorMinor(version string) (n [2]int, ok bool) {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), " (")
	parts := strings.Split(version, ".")
	if len(parts) != 3 {
		return n, false
	}
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(parts[i]); err != nil {
			return n, false
		}
	}
	return n, true
}
