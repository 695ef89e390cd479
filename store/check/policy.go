package check

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// policySets are the policies of decisions by hash; nil if they do not match it.
type policySets map[string]*retry.Policies

func (c *checker) policySets() (policySets, error) {
	if c.sets != nil {
		return c.sets, nil
	}
	sets := policySets{}
	c.sets = sets
	return sets, c.Each(`SELECT hash, policies FROM policy_set`, func(r sqlite.Scanner) error {
		var hash, text string
		if err := r.Scan(&hash, &text); err != nil {
			return err
		}
		sets[hash] = nil
		p := &retry.Policies{}
		if err := json.Unmarshal([]byte(text), p); err != nil {
			c.found("P16", "policies "+hash, "they cannot be read: %v", err)
			return nil
		}
		if got := p.Hash(); got != hash {
			c.found("P16", "policies "+hash, "they have the hash %s", got)
			return nil
		}
		sets[hash] = p
		return nil
	})
}

// storedPolicies compares stored policies with their hashes and with the log of changes.
func (c *checker) storedPolicies() error {
	return c.Each(`SELECT p.name, p.policy, p.hash, p.version, COALESCE((SELECT x.new_hash || ' ' || x.version FROM retry_policy_change x
			WHERE x.name = p.name AND x.action IN ('created', 'updated') ORDER BY x.id DESC LIMIT 1), 'nothing')
		FROM retry_policy p`, func(r sqlite.Scanner) error {
		var name, text, hash, recorded string
		var version int64
		if err := r.Scan(&name, &text, &hash, &version, &recorded); err != nil {
			return err
		}
		subject := "retry policy " + name
		var p workflow.RetryPolicy
		switch err := json.Unmarshal([]byte(text), &p); {
		case err != nil:
			c.found("reference", subject, "it cannot be read: %v", err)
		case p.Name != name || p.Hash() != hash:
			c.found("reference", subject, "it is %s %s, but the row says %s", p.Name, p.Hash(), hash)
		case recorded != fmt.Sprintf("%s %d", hash, version):
			c.found("reference", subject, "it is at %s %d, but the log of changes says %s", hash, version, recorded)
		}
		return nil
	})
}
