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

// Limits of bcrypt's work: about 5 ms, 200 ms (torc's) and 13 s for one password.
const (
	MinCost     = 10
	DefaultCost = 12
	MaxCost     = 18
)

// maxPassword is how much of a password bcrypt uses, in bytes.
const maxPassword = 72

// ParsePasswords reads the text of an authentication file: lines of user:hash with
// hashes of bcrypt, as htpasswd -B and torc-htpasswd write them; # begins a comment.
// The error names each line that is wrong.
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
			problems = append(problems, fmt.Sprintf("line %d: %q is no name of a user", n, user))
		case err != nil:
			problems = append(problems, fmt.Sprintf("line %d: what follows %s: is no hash of bcrypt", n, user))
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

// ReadPasswords reads an authentication file that nobody else can have written.
// warning says so if others can read it.
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

// ValidUser reports whether a name can stand in an authentication file.
func ValidUser(user string) bool {
	return user != "" && len(user) <= 255 && !strings.ContainsFunc(user, func(r rune) bool { return r <= ' ' || r == ':' || r == '#' || r == 0x7f })
}

// Users are the names of the file, in its order.
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

// Set gives a user a password, as HashPassword has made it.
func (p *Passwords) Set(user, hash string) {
	for i := range p.lines {
		if p.lines[i].user == user {
			p.lines[i].text = user + ":" + hash
			return
		}
	}
	p.lines = append(p.lines, passwordLine{user: user, text: user + ":" + hash})
}

// Remove takes a user away; false if there was none.
func (p *Passwords) Remove(user string) bool {
	for i, l := range p.lines {
		if l.user == user && user != "" {
			p.lines = append(p.lines[:i], p.lines[i+1:]...)
			return true
		}
	}
	return false
}

// Text is the file.
func (p *Passwords) Text() []byte {
	var b bytes.Buffer
	for _, l := range p.lines {
		b.WriteString(l.text + "\n")
	}
	return b.Bytes()
}

// HashPassword returns the hash of a password for an authentication file.
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

// cost is what the most expensive password of the file costs.
func (p *Passwords) cost() (most int) {
	for _, l := range p.lines {
		if cost, err := bcrypt.Cost([]byte(p.hash(l.user))); err == nil {
			most = max(most, cost)
		}
	}
	return cmp.Or(most, DefaultCost)
}

// Verify reports whether a password is a user's.
func (p *Passwords) Verify(user, password string) bool {
	return len(password) <= maxPassword && bcrypt.CompareHashAndPassword([]byte(p.hash(user)), []byte(password)) == nil
}

// Checker checks passwords again and again. A hash takes long by design, so that
// right ones are remembered for a while, and one is checked at a time: whoever
// tries many slows down only those who have not been let in yet.
type Checker struct {
	keep time.Duration
	salt [16]byte

	work      sync.Mutex // held while a password is hashed
	passwords *Passwords
	unknown   func() []byte // what the password of a user who is not there is compared with

	mu    sync.Mutex
	right map[[sha256.Size]byte]time.Time // until when
}

// DefaultKeep is how long a password that was right is remembered.
const DefaultKeep = time.Minute

// NewChecker returns a checker that remembers passwords that were right for so long.
func NewChecker(p *Passwords, keep time.Duration) *Checker {
	c := &Checker{keep: keep}
	_, _ = rand.Read(c.salt[:]) // never fails
	c.Replace(p)
	return c
}

// Replace has other passwords count from now on; none is remembered.
func (c *Checker) Replace(p *Passwords) {
	c.work.Lock() // a check that began with the others must not remember one of them
	defer c.work.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passwords, c.right = p, map[[sha256.Size]byte]time.Time{}
	c.unknown = sync.OnceValue(func() []byte {
		hash, err := bcrypt.GenerateFromPassword(c.salt[:], p.cost())
		if err != nil {
			return nil // it fails for lengths and costs that are not these
		}
		return hash
	})
}

// Check reports whether a password is a user's. It takes as long if there is no such
// user.
func (c *Checker) Check(user, password string, now time.Time) bool {
	sum := sha256.New()
	sum.Write(c.salt[:])
	fmt.Fprintf(sum, "%d:%s:%s", len(user), user, password)
	key := [sha256.Size]byte(sum.Sum(nil))
	if c.known(key, now) {
		return true
	}
	c.work.Lock()
	defer c.work.Unlock()
	switch {
	case c.known(key, now): // meanwhile
		return true
	case !c.passwords.Has(user):
		_ = bcrypt.CompareHashAndPassword(c.unknown(), []byte(password)) // for the time that it takes
		return false
	case !c.passwords.Verify(user, password):
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.right[key] = now.Add(c.keep)
	return true
}

// known reports whether a password was right a moment ago.
func (c *Checker) known(key [sha256.Size]byte, now time.Time) bool {
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
