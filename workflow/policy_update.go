package workflow

import (
	"reflect"
	"slices"
	"strings"
)

// Merge replaces what a change says; what it leaves out stays.
func (p *RunPolicy) Merge(change *RunPolicy) {
	into, from := reflect.ValueOf(p).Elem(), reflect.ValueOf(change).Elem()
	end := p.End
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			into.Field(i).Set(from.Field(i))
		}
	}
	if change.End == nil || end == nil {
		return
	}
	merged := *end
	if change.End.SuccessIf != "" {
		merged.SuccessIf = change.End.SuccessIf
	}
	if change.End.Job != nil {
		merged.Job = change.End.Job
	}
	p.End = &merged
}

// Unset removes what keys say, such as max_failures and end.success_if.
func (p *RunPolicy) Unset(keys []string) error {
	into := reflect.ValueOf(p).Elem()
	for _, key := range keys {
		switch i := slices.Index(policyKeys, key); {
		case key == "end.success_if" && p.End != nil:
			end := *p.End // the stored one may be shared
			end.SuccessIf = ""
			if p.End = &end; end == (EndPolicy{}) {
				p.End = nil
			}
		case i >= 0 && i < into.NumField():
			into.Field(i).SetZero()
		case i < 0:
			err := Errorf(CodeInvalid, "a policy has no key %q", key)
			if near := Nearest(key, policyKeys); near != "" {
				return err.WithHint("did you mean %s?", near)
			}
			return err.WithHint("the keys are %s", strings.Join(policyKeys, ", "))
		}
	}
	return nil
}

// PolicyKeys are the keys of a policy that can be unset.
func PolicyKeys() []string { return slices.Clone(policyKeys) }

// policyKeys are those of the fields, in their order, and then those within them.
var policyKeys = func() (keys []string) {
	t := reflect.TypeFor[RunPolicy]()
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	return append(keys, "end.success_if")
}()
