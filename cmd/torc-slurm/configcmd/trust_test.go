package configcmd

import "testing"

// TestTrustIn: the rest of a configuration stays as it is written.
func TestTrustIn(t *testing.T) {
	const rest = "# mine\n[client]\nformat = \"json\" # as I like it\n"
	text := rest
	for _, tc := range []struct {
		folder string
		remove bool
		want   string
	}{
		{"/a", false, "trusted_folders = [\"/a\"]\n" + rest},
		{"/b c", false, "trusted_folders = [\"/a\", \"/b c\"]\n" + rest},
		{"/a", false, "trusted_folders = [\"/b c\", \"/a\"]\n" + rest},
		{"/b c", true, "trusted_folders = [\"/a\"]\n" + rest},
		{"/a", true, rest},
		{"/a", true, rest},
	} {
		changed, _, err := trustIn(text, tc.folder, tc.remove)
		if err != nil || changed != tc.want {
			t.Fatalf("%s, %v:\n%s\nwant:\n%s", tc.folder, err, changed, tc.want)
		}
		text = changed
	}
	if _, _, err := trustIn("\"trusted_folders\" = ['/x']\n", "/a", false); err == nil {
		t.Error("a way of writing that the command does not understand is overwritten")
	}
	if changed, _, err := trustIn("# x\ntrusted_folders = [\n  \"/x\",\n]\n[server]\n", "/a", false); err != nil || changed != "trusted_folders = [\"/x\", \"/a\"]\n# x\n[server]\n" {
		t.Errorf("of several lines: %q, %v", changed, err)
	}
}
