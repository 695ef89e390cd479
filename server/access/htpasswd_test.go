package access

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

func hashed(t *testing.T, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(hash)
}

func TestPasswords(t *testing.T) {
	text := "# who may\n\nbob:" + hashed(t, "right") + "\nann:" + strings.Replace(hashed(t, "other"), "$2a$", "$2y$", 1) + "\n"
	p, err := ParsePasswords([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(p.Text()); got != text {
		t.Errorf("written as %q, was %q", got, text)
	}
	for _, tc := range []struct {
		user, password string
		right          bool
	}{
		{"bob", "right", true}, {"ann", "other", true}, {"bob", "other", false}, {"bob", "", false},
		{"eve", "right", false}, {"", "right", false}, {"bob", strings.Repeat("x", 100), false},
	} {
		if got := p.Verify(tc.user, tc.password); got != tc.right {
			t.Errorf("%s with %q: %v", tc.user, tc.password, got)
		}
	}
	p.Set("bob", hashed(t, "new"))
	p.Set("zoe", hashed(t, "zoe"))
	if !p.Verify("bob", "new") || p.Verify("bob", "right") || !p.Remove("ann") || p.Remove("ann") {
		t.Error("changes have no effect")
	}
	if got := p.Users(); !slices.Equal(got, []string{"bob", "zoe"}) {
		t.Errorf("users %v", got)
	}
	if !strings.HasPrefix(string(p.Text()), "# who may\n\nbob:") {
		t.Errorf("the comment is lost: %q", p.Text())
	}
}

func TestWrongPasswordFiles(t *testing.T) {
	good := "bob:" + hashed(t, "x")
	for text, want := range map[string]string{
		"bob:plain":             "line 1: the text after bob: is not a bcrypt hash",
		"bob:$1$abc$def":        "not a bcrypt hash",
		good + "\n" + good:      "line 2: duplicate user bob",
		good + "\n:x\nno colon": "line 2: \"\" is not a valid user name",
	} {
		_, err := ParsePasswords([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "htpasswd")
	for mode, want := range map[os.FileMode]string{0o600: "", 0o644: "warning", 0o602: "forbidden"} {
		if err := os.WriteFile(path, []byte(good), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, warning, err := ReadPasswords(path)
		got := ""
		switch {
		case err != nil:
			got = "forbidden"
		case warning != "":
			got = "warning"
		}
		if got != want {
			t.Errorf("mode %#o: %s, want %s (%v)", mode, got, want, err)
		}
	}
	if err := os.Chown(path, 65534, -1); err == nil {
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadPasswords(path); err == nil {
			t.Errorf("a file of another user: %v", err)
		}
	}
}

func TestCheckerRemembersForAWhile(t *testing.T) {
	p := &Passwords{}
	p.Set("bob", hashed(t, "right"))
	c := NewChecker(p, time.Minute)
	c.unknown = func() []byte { return []byte(hashed(t, "nobody's")) } // in less time
	now := time.Now()
	if !c.Check("bob", "right", now) || c.Check("bob", "wrong", now) || c.Check("eve", "right", now) {
		t.Fatal("wrong answers")
	}
	p.Remove("bob")
	if !c.Check("bob", "right", now.Add(59*time.Second)) {
		t.Error("not cached")
	}
	if c.Check("bob", "right", now.Add(61*time.Second)) {
		t.Error("cached for too long")
	}
	if len(c.right) != 0 {
		t.Errorf("%d are still cached", len(c.right))
	}
}

// TestCheckerForgets: when the passwords are replaced, correct old ones are forgotten.
func TestCheckerForgets(t *testing.T) {
	before, after := &Passwords{}, &Passwords{}
	before.Set("bob", hashed(t, "former"))
	after.Set("bob", hashed(t, "new"))
	c := NewChecker(before, time.Minute)
	now := time.Now()
	if !c.Check("bob", "former", now) {
		t.Fatal("the old password is wrong")
	}
	c.Replace(after)
	if c.Check("bob", "former", now) || !c.Check("bob", "new", now) {
		t.Error("the old password still counts, or the new one does not")
	}
}
