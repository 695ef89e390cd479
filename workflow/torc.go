package workflow

import "slices"

// TorcWorkflow holds keys of a workflow that torc's clients send and read, and that have no
// effect here. They are returned as they were given, and stored in one column of the table
// workflow: torc_extra.
type TorcWorkflow struct {
	// ComputeNodeExpirationBufferSeconds is accepted for compatibility and has no effect.
	ComputeNodeExpirationBufferSeconds *int64 `json:"compute_node_expiration_buffer_seconds,omitempty"`
	// EnableROCrate records files and jobs as RO-Crate entities; it is stored, but has no effect yet.
	EnableROCrate *bool `json:"enable_ro_crate,omitempty"`
	// AccessGroups are the groups that may see the workflow; they are stored, but not enforced yet.
	AccessGroups []string `json:"access_groups,omitempty"`
}

// NormalizeTorc sorts the groups. It returns an error of CodeInvalid for a duplicate group.
func (t *TorcWorkflow) NormalizeTorc() error {
	t.AccessGroups = slices.Sorted(slices.Values(t.AccessGroups))
	if n := len(t.AccessGroups); len(slices.Compact(slices.Clone(t.AccessGroups))) != n {
		return Errorf(CodeInvalid, "duplicate name in access_groups")
	}
	return nil
}

// UpdateTorc overwrites the keys that are set in u. The groups cannot change.
func (t *TorcWorkflow) UpdateTorc(u TorcWorkflow) {
	update(&t.ComputeNodeExpirationBufferSeconds, u.ComputeNodeExpirationBufferSeconds)
	update(&t.EnableROCrate, u.EnableROCrate)
}

// SameGroups reports whether u has no groups or those of t, in any order.
func (t *TorcWorkflow) SameGroups(u TorcWorkflow) bool {
	return u.AccessGroups == nil || slices.Equal(slices.Sorted(slices.Values(u.AccessGroups)), t.AccessGroups)
}

// TorcJob holds such keys of a job, stored in the column torc_extra of the table job.
type TorcJob struct {
	// SupportsTermination is accepted for compatibility and has no effect.
	SupportsTermination *bool `json:"supports_termination,omitempty"`
}

// UpdateTorc overwrites the keys that are set in u.
func (t *TorcJob) UpdateTorc(u TorcJob) {
	update(&t.SupportsTermination, u.SupportsTermination)
}
