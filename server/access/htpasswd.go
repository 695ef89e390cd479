package access

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Passwords are the users of an authentication file and the hashes of their
// passwords, in the order of the file.
type Passwords struct {
	lines []passwordLine
}

// passwordLine is a line of the file. Comments and empty lines have no user.
type passwordLine struct{ user, text string }

// Limits of the cost of bcrypt: about 5 ms, 200 ms (torc's) and 13 s for one password.
const (
	MinCost     = 10
	DefaultCost = 12
	MaxCost     = 18
)

// maxPassword is how many bytes of a password bcrypt uses.
const maxPassword = 72

// ParsePasswords parses an authentication file: lines of user:hash with bcrypt hashes, as
// htpasswd -B and torc-htpasswd write them; # begins a comment. The error names each
// invalid line.
func ParsePasswords(text []byte) (*Passwords, error) {
	p := &Passwords{}
	var problems []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			p.lines = append(p.lines, passwordLine{text: lines.Text()})
			continue
		}
		user, hash, _ := strings.Cut(line, ":")
		_, err := bcrypt.Cost([]byte(hash))
		switch {
		case !ValidUser(user):
			problems = append(problems, fmt.Sprintf("line %d: %q is not a valid user name", n, user))
		case err != nil:
			problems = append(problems, fmt.Sprintf("line %d: the text after %s: is not a bcrypt hash", n, user))
		case p.Has(user):
			problems = append(problems, fmt.Sprintf("line %d: duplicate user %s", n, user))
		}
		p.lines = append(p.lines, passwordLine{user: user, text: line})
	}
	if err := lines.Err(); err != nil {
		problems = append(problems, err.Error())
	}
	if len(problems) > 0 {
		return nil, workflow.Errorf(workflow.CodeInvalid, "%s", strings.Join(problems, "; ")).
			WithHint("write the file with torc-htpasswd")
	}
	return p, nil
}

// ReadPasswords reads an authentication file that only its user could have written.
// warning says if others can read it.
func ReadPasswords(path string) (p *Passwords, warning string, err error) {
	text, err := trustedfile.Read(path)
	if err != nil {
		return nil, "", fmt.Errorf("authentication file: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o044 != 0 {
		warning = fmt.Sprintf("authentication file %s can be read by others (mode %#o), who may guess its passwords: chmod 600 %s", path, info.Mode().Perm(), path)
	}
	if p, err = ParsePasswords(text); err != nil {
		return nil, "", fmt.Errorf("authentication file %s: %w", path, err)
	}
	return p, warning, nil
}

// ValidUser reports whether a name is valid in an authentication file.
func ValidUser(user string) bool {
	return user != "" && len(user) <= 255 && !strings.ContainsFunc(user, func(r rune) bool { return r <= ' ' || r == ':' || r == '#' || r == 0x7f })
}

// Users returns the names in the order of the file.
func (p *Passwords) Users() (names []string) {
	for _, l := range p.lines {
		if l.user != "" {
			names = append(names, l.user)
		}
	}
	return names
}

// Has reports whether there is such a user.
func (p *Passwords) Has(user string) bool { return p.hash(user) != "" }

func (p *Passwords) hash(user string) string {
	for _, l := range p.lines {
		if l.user == user && user != "" {
			_, hash, _ := strings.Cut(l.text, ":")
			return hash
		}
	}
	return ""
}

// Set sets the hash of a user, as HashPassword returns it.
func (p *Passwords) Set(user, hash string) {
	for i := range p.lines {
		if p.lines[i].user == user {
			p.lines[i].text = user + ":" + hash
			return
		}
	}
	p.lines = append(p.lines, passwordLine{user: user, text: user + ":" + hash})
}

// Remove removes a user. It returns false if there was none.
func (p *Passwords) Remove(user string) bool {
	for i, l := range p.lines {
		if l.user == user && user != "" {
			p.lines = append(p.lines[:i], p.lines[i+1:]...)
			return true
		}
	}
	return false
}

// Text returns the contents of the file.
func (p *Passwords) Text() []byte {
	var b bytes.Buffer
	for _, l := range p.lines {
		b.WriteString(l.text + "\n")
	}
	return b.Bytes()
}

// HashPassword returns the hash of a password for an authentication file. Its error has
// CodeInvalid for an empty or too long password, or a cost out of range.
func HashPassword(password string, cost int) (string, error) {
	switch {
	case password == "":
		return "", workflow.Errorf(workflow.CodeInvalid, "the password is empty")
	case len(password) > maxPassword:
		return "", workflow.Errorf(workflow.CodeInvalid, "a password of %d bytes is longer than bcrypt's limit of %d", len(password), maxPassword)
	case cost < MinCost || cost > MaxCost:
		return "", workflow.Errorf(workflow.CodeInvalid, "a cost of %d is not between %d and %d", cost, MinCost, MaxCost)
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), cost)
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return string(hash), nil
}

// cost returns the highest cost in the file.
func (p *Passwords) cost() (most int) {
	for _, l := range p.lines {
		if cost, err := bcrypt.Cost([]byte(p.hash(l.user))); err == nil {
			most = max(most, cost)
		}
	}
	return cmp.Or(most, DefaultCost)
}

// Verify reports whether the password of a user is correct.
func (p *Passwords) Verify(user, password string) bool {
	return len(password) <= maxPassword && bcrypt.CompareHashAndPassword([]byte(p.hash(user)), []byte(password)) == nil
}

// Checker checks passwords repeatedly. Hashing is slow by design, so correct passwords are
// remembered for a while, and one is hashed at a time: many attempts only delay callers
// who have not been admitted yet.
type Checker struct {
	keep time.Duration
	salt [16]byte

	work      sync.Mutex // held while a password is hashed
	passwords *Passwords
	unknown   func() []byte // hash to compare the passwords of unknown users with

	mu    sync.Mutex
	right map[[sha256.Size]byte]time.Time // until when
}

// DefaultKeep is how long a correct password is remembered.
const DefaultKeep = time.Minute

// NewChecker returns a checker that remembers correct passwords for keep.
func NewChecker(p *Passwords, keep time.Duration) *Checker {
	c := &Checker{keep: keep}
	_, _ = rand.Read(c.salt[:]) // never fails
	c.Replace(p)
	return c
}

// Replace replaces the passwords and forgets the remembered ones.
func (c *Checker) Replace(p *Passwords) {
	c.work.Lock() // a check under way must not remember an old password
	defer c.work.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passwords, c.right = p, map[[sha256.Size]byte]time.Time{}
	c.unknown = sync.OnceValue(func() []byte {
		hash, err := bcrypt.GenerateFromPassword(c.salt[:], p.cost())
		if err != nil {
			return nil // it cannot fail for this length and cost
		}
		return hash
	})
}

// Check reports whether the password of a user is correct. It takes as long for an unknown
// user.
func (c *Checker) Check(user, password string, now time.Time) bool {
	sum := sha256.New()
	sum.Write(c.salt[:])
	fmt.Fprintf(sum, "%d:%s:%s", len(user), user, password)
	key := [sha256.Size]byte(sum.Sum(nil))
	if c.remembered(key, now) {
		return true
	}
	c.work.Lock()
	defer c.work.Unlock()
	switch {
	case c.remembered(key, now): // by another request meanwhile
		return true
	case !c.passwords.Has(user):
		_ = bcrypt.CompareHashAndPassword(c.unknown(), []byte(password)) // takes the same time
		return false
	case !c.passwords.Verify(user, password):
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.right[key] = now.Add(c.keep)
	return true
}

// remembered reports whether a password is remembered as correct.
func (c *Checker) remembered(key [sha256.Size]byte, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, until := range c.right { // one for each user, or few
		if !now.Before(until) {
			delete(c.right, k)
		}
	}
	_, ok := c.right[key]
	return ok
}
