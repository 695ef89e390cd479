package spec

import (
	"strings"
	"testing"
)

// TestKeysWithoutEffectAreWarnedAbout: who writes a key relies on it, so a key
// that is only kept is not taken in silence.
func TestKeysWithoutEffectAreWarnedAbout(t *testing.T) {
	for _, tc := range []struct{ text, warned string }{
		{"enable_ro_crate: true", "enable_ro_crate"},
		{"access_groups: [team]", "access_groups"},
		{"resource_monitor: {enabled: true, generate_plots: true}", "generate_plots"},
		{"enable_ro_crate: false", ""},
		{"access_groups: []", ""},
		{"resource_monitor: {enabled: true, generate_plots: false}", ""},
	} {
		r, err := Parse("w.yaml", []byte("name: w\njobs: []\n"+tc.text), Options{})
		if err != nil {
			t.Fatalf("%s: %s", tc.text, rendered(err))
		}
		switch got := warnings(r.Warnings); {
		case tc.warned == "" && got != "":
			t.Errorf("%s: %s", tc.text, got)
		case !strings.Contains(got, tc.warned) || tc.warned != "" && len(r.Warnings) != 1:
			t.Errorf("%s: %q, want one warning about %s", tc.text, got, tc.warned)
		}
	}
}
