package spec

import "regexp"

// someJobs is what a specification has in any of its formats: a key or node for
// jobs.
var someJobs = regexp.MustCompile(`(?m)(?:^|[\s{,])["']?jobs?["']?\s*(?::|\s["'])`)

// isForeign reports a file that another one names as a specification and that is
// none: it has errors and no jobs. What it says may be anything, a password for
// one, so nothing of it is shown.
func (b *builder) isForeign(at *node, name string, data []byte, c *builder) bool {
	if len(c.errors) == 0 || someJobs.Match(data) {
		return false
	}
	b.fail(at, "a specification has the key jobs", "%s is no specification", name)
	return true
}
