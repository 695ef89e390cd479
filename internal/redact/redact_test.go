package redact

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	r, err := New([]string{`PROJ-\d{4}`})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"nothing to hide":                               "nothing to hide",
		"export AWS_KEY AKIAIOSFODNN7EXAMPLE now":       "export AWS_KEY [redacted] now",
		"remote: ghp_" + strings.Repeat("a1", 18):       "remote: [redacted]",
		"curl -H 'Authorization: Bearer abc.def' x":     "curl -H 'Authorization: Bearer [redacted]' x",
		"git clone https://me:hunter2@host/x.git":       "git clone https://me:[redacted]@host/x.git",
		"DB_PASSWORD=hunter2 ./run":                     "DB_PASSWORD=[redacted] ./run",
		`{"api_key": "abcd efgh", "n": 1}`:              `{"api_key": "[redacted]", "n": 1}`,
		"password: 'a b c'":                             "password: '[redacted]'",
		"mysql --password hunter2 --host db":            "mysql --password [redacted] --host db",
		"./x --api-key=abc":                             "./x --api-key=[redacted]",
		"login eyJhbGciOiJI.eyJzdWIiOiIx.sig-_x failed": "login [redacted] failed",
		"ticket PROJ-1234":                              "ticket [redacted]",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc":    "[redacted]",
		"OPENAI sk-proj-abcdefghijklmnop1234":           "OPENAI [redacted]",
		"SyntaxError: unexpected token '}' at line 3":   "SyntaxError: unexpected token '}' at line 3",
		"the password was wrong":                        "the password was wrong",
		"KeyError: 'token'":                             "KeyError: 'token'",
		"monkey=banana and bypass=on":                   "monkey=banana and bypass=on",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
		if again := r.Text(r.Text(text)); again != r.Text(text) {
			t.Errorf("%q: again %q", text, again)
		}
	}
}

func TestNewRejects(t *testing.T) {
	for _, p := range []string{"(", "x*"} {
		if _, err := New([]string{p}); err == nil {
			t.Errorf("%q is accepted", p)
		}
	}
}
