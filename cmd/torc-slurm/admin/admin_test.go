package admin

import (
	"strings"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
	"github.com/torc-slurm/torc-slurm/server/access"
)

const reload = "POST /admin/reload-auth"

// users is the file of users of a server: ann with the password blue, bob with green.
var users = sync.OnceValue(func() string {
	p := &access.Passwords{}
	for _, user := range [][2]string{{"ann", "blue"}, {"bob", "green"}} {
		hash, err := access.HashPassword(user[1], access.MinCost)
		if err != nil {
			panic(err)
		}
		p.Set(user[0], hash)
	}
	return string(p.Text())
})

func TestReloadAuth(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{Args: "admin reload-auth", Routes: clitest.Routes{reload: {Body: `{"message":"2 users","user_count":2}`}}, Want: clitest.Result{Stdout: "Reloaded: 2 users\n", Requests: []string{reload}}},
		clitest.Case{Args: "admin reload-auth -f json", Routes: clitest.Routes{reload: {Body: `{"message":"2 users","user_count":2}`}}, Want: clitest.Result{
			Stdout: `{
  "message": "2 users",
  "user_count": 2
}
`,
			Requests: []string{reload},
		}},
		clitest.Case{Args: "admin reload-auth", Routes: clitest.Routes{reload: {Status: 422, Body: `{"error":{"message":"line 3 of users is no user","hint":"the users are unchanged"}}`}}, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: line 3 of users is no user
hint: the users are unchanged
`,
			Requests: []string{reload},
		}},
		clitest.Case{Args: "admin reload", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: unknown command \"reload\" for \"torc-slurm admin\"; usage: torc-slurm admin [flags]\n",
		}},
	)
}

func TestPing(t *testing.T) {
	clitest.Check(t, NewPing,
		clitest.Case{Args: "ping", Routes: clitest.Routes{"GET /ping": {Body: `{"status":"ok"}`}}, Want: clitest.Result{Stdout: "Server is running\n", Requests: []string{"GET /ping"}}},
		clitest.Case{Args: "ping -f json", Routes: clitest.Routes{"GET /ping": {Body: `{"status":"ok"}`}}, Want: clitest.Result{
			Stdout: `{
  "status": "ok"
}
`,
			Requests: []string{"GET /ping"},
		}},
		// A server that wants a password, or speaks another API, answers, too.
		clitest.Case{Args: "ping", Routes: clitest.Routes{"GET /ping": {Status: 401, Body: `{"error":{"message":"who are you?"}}`}}, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: "error: who are you?\n" +
				"hint: the server rejected the password: --password, --prompt-password or TORC_PASSWORD; with `serve --token-file` it is the content of that file\n",
			Requests: []string{"GET /ping"},
		}},
		clitest.Case{Args: "ping", Routes: clitest.Routes{"GET /version": {Body: `{"api_version":"99.0.0"}`}}, Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: `error: the server has version 99.0.0 of the API, this program 0.23.0
hint: use a program of the same major version, or --skip-version-check
`,
			Requests: []string{"GET /version"},
		}},
	)
}

// TestAddPassword: what is added can be verified, and the others stay.
func TestAddPassword(t *testing.T) {
	before := map[string]string{"users": users()}
	for _, tt := range []struct {
		name  string
		c     clitest.Case
		users string // afterwards, with their passwords
	}{
		{"a file of its own", clitest.Case{Args: "htpasswd add -f users eve -c 10 -p red"}, "eve:red"},
		{"another user", clitest.Case{Args: "htpasswd add -f users eve -c 10 -p red", Files: before}, "ann:blue bob:green eve:red"},
		{"another password", clitest.Case{Args: "htpasswd add -f users ann -c 10", Stdin: "red\n", Files: before}, "ann:red bob:green"},
		{"one less", clitest.Case{Args: "htpasswd remove -f users ann", Files: before}, "bob:green"},
	} {
		tt.c.Read = []string{"users"}
		got := clitest.Run(t, NewHtpasswd, tt.c)
		if got.Status != 0 || !strings.HasSuffix(got.Stderr, "A server that uses users reads it when it starts. To make a running one read it: torc-slurm admin reload-auth\n") {
			t.Errorf("%s: %+v", tt.name, got)
		}
		p, err := access.ParsePasswords([]byte(got.Files["users"]))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var names []string
		for entry := range strings.SplitSeq(tt.users, " ") {
			user, password, _ := strings.Cut(entry, ":")
			names = append(names, user)
			if !p.Verify(user, password) {
				t.Errorf("%s: the password of %s is another one", tt.name, user)
			}
		}
		if got := strings.Join(p.Users(), " "); got != strings.Join(names, " ") {
			t.Errorf("%s: the users are %s", tt.name, got)
		}
	}
}

func TestHtpasswd(t *testing.T) {
	files := map[string]string{"users": users(), "broken": "ann blue\n"}
	clitest.Check(t, NewHtpasswd,
		clitest.Case{Args: "htpasswd add ann", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: required flag(s) \"file\" not set\n"}},
		clitest.Case{Args: "htpasswd add -f users a:b -p x", Files: files, Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: \"a:b\" is not a valid user name: it must not be empty or have spaces, # or :\n",
		}},
		clitest.Case{Args: "htpasswd add -f users eve -c 10", Files: files, Stdin: "\n", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "Password for eve: error: the password is empty\n"}},
		clitest.Case{Args: "htpasswd add -f users eve -p x -c 99", Files: files, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: a cost of 99 is not between 10 and 18\n"}},
		clitest.Case{Args: "htpasswd add -f broken eve -p x", Files: files, Read: []string{"broken"}, Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: `error: authentication file $DIR/broken: line 1: "ann blue" is not a valid user name
hint: write the file with torc-htpasswd
`,
			Files: map[string]string{"broken": "ann blue\n"},
		}},
		clitest.Case{Args: "htpasswd remove -f users eve", Files: files, Want: clitest.Result{Status: 3, Stderr: "error: users has no user eve\n"}},
		clitest.Case{Args: "htpasswd remove -f none ann", Files: files, Want: clitest.Result{
			Status: 3,
			Stderr: "error: there is no password file none\n" +
				"hint: `torc-slurm htpasswd add` creates it\n",
		}},
		clitest.Case{Args: "htpasswd list -f users", Files: files, Want: clitest.Result{
			Stdout: `╭──────╮
│ User │
├──────┤
│ ann  │
│ bob  │
╰──────╯
Total: 2 users
`,
		}},
		clitest.Case{Args: "htpasswd list -f users --format csv", Files: files, Want: clitest.Result{
			Stdout: `User
ann
bob
`,
		}},
		clitest.Case{Args: "htpasswd list -f none --format json", Files: files, Want: clitest.Result{
			Status: 3,
			Stderr: "{\n" +
				"  \"status\": \"error\",\n" +
				"  \"message\": \"there is no password file none\",\n" +
				"  \"hint\": \"`torc-slurm htpasswd add` creates it\",\n" +
				"  \"exit_status\": 3\n" +
				"}\n",
		}},
		clitest.Case{Args: "htpasswd verify -f users ann -p blue", Files: files, Want: clitest.Result{Stdout: "This is the password of ann\n"}},
		clitest.Case{Args: "htpasswd verify -f users ann", Stdin: "green\n", Files: files, Want: clitest.Result{Status: cli.ExitFailed, Stderr: "Password for ann: error: this is not the password of ann\n"}},
		clitest.Case{Args: "htpasswd verify -f users eve -p blue", Files: files, Want: clitest.Result{Status: cli.ExitFailed, Stderr: "error: this is not the password of eve\n"}},
	)
	// The server of --url reads the file after the change.
	got := clitest.Run(t, NewHtpasswd, clitest.Case{
		Args: "htpasswd remove -f users ann --reload-auth --server-password secret", Files: files,
		Routes: clitest.Routes{reload: {Body: `{"message":"1 user","user_count":1}`}},
	})
	if got.Status != 0 || got.Stdout != "Reloaded: 1 user\n" || len(got.Requests) != 1 {
		t.Errorf("with --reload-auth: %+v", got)
	}
	got = clitest.Run(t, NewHtpasswd, clitest.Case{Args: "htpasswd hash ann -c 10 -p blue"})
	p, err := access.ParsePasswords([]byte(got.Stdout))
	if err != nil || !p.Verify("ann", "blue") {
		t.Errorf("the hash of a user: %v, %+v", err, got)
	}
	got = clitest.Run(t, NewHtpasswd, clitest.Case{Args: "htpasswd hash -c 10", Stdin: "blue\n"})
	if !strings.HasPrefix(got.Stdout, "$2") || got.Stderr != "Password for the new user: " {
		t.Errorf("a hash alone: %+v", got)
	}
}
