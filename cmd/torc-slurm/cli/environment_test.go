package cli

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestHome(t *testing.T) {
	for _, tc := range []struct {
		name, loginHome string
		environ         []string
		want            string
		code            workflow.Code
	}{
		{"named", "/home/me", []string{"HOME=/h", "TORC_HOME=/t"}, "/t", ""},
		{"named from here", "", []string{"TORC_HOME=t"}, "/here/t", ""},
		{"HOME", "/home/me", []string{"HOME=/h"}, "/h/.local/state/torc-slurm", ""},
		{"no HOME", "/home/me", nil, "/home/me/.local/state/torc-slurm", ""},
		{"empty HOME", "/home/me", []string{"HOME="}, "/home/me/.local/state/torc-slurm", ""},
		{"relative HOME", "/home/me", []string{"HOME=h"}, "/home/me/.local/state/torc-slurm", ""},
		{"nobody knows", "", nil, "/.local/state/torc-slurm", workflow.CodeInvalid},
		{"nobody knows, but it is named", "", []string{"XDG_STATE_HOME=/x"}, "/x/torc-slurm", ""},
	} {
		e := Environment{Environ: tc.environ, Dir: "/here", LoginHome: tc.loginHome}
		if got := e.Home(); got != tc.want {
			t.Errorf("%s: home %s, want %s", tc.name, got, tc.want)
		}
		if err := e.CheckHome(); (err != nil) != (tc.code != "") || err != nil && workflow.CodeOf(err) != tc.code {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
