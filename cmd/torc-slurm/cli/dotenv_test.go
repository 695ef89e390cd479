package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseDotEnv(t *testing.T) {
	text := `# of the server
DATABASE_URL=sqlite:/data/torc.db
export RUST_LOG = info   # a comment

EMPTY=
SPACES=a b c
HASH=a#b
SINGLE='$HOME # not a comment'
DOUBLE="a \"b\" # $RUST_LOG \$HOME\n"
BROKEN="no end
REFERENCE=${DATABASE_URL}?x
FROM_OUTSIDE=$HOME/db
no equals sign
9=x
` + "WINDOWS=yes\r\n"
	getenv := func(name string) string { return map[string]string{"HOME": "/home/me"}[name] }
	got, bad := ParseDotEnv(text, getenv)
	want := []string{
		"DATABASE_URL=sqlite:/data/torc.db", "RUST_LOG=info", "EMPTY=", "SPACES=a b c", "HASH=a#b",
		"SINGLE=$HOME # not a comment", "DOUBLE=a \"b\" # info $HOME\n", "REFERENCE=sqlite:/data/torc.db?x",
		"FROM_OUTSIDE=/home/me/db", "WINDOWS=yes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{10, 13, 14}, bad); diff != "" {
		t.Errorf("lines that are not understood (-want +got):\n%s", diff)
	}
}
