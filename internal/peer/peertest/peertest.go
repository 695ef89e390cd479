// Package peertest lets tests act as another user of this host.
package peertest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// User is the uid of the other user: nobody.
const User = 65534

const (
	envAct     = "PEERTEST_ACT"
	envAddress = "PEERTEST_ADDRESS"
)

// Main must be called first by TestMain, with os.Getenv. In a process of Start it acts as
// the other user and returns true.
func Main(getenv func(string) string) bool {
	act := getenv(envAct)
	if act == "" {
		return false
	}
	if err := do(act, getenv(envAddress)); err != nil && !errors.Is(err, io.EOF) {
		fmt.Println("error", err) //nolint:forbidigo // what this program says to the test that started it
	}
	return true
}

// T is the part of testing.T that is needed.
type T interface {
	Helper()
	Cleanup(f func())
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
}

// do listens or connects. Each line that it reads triggers the next step.
func do(act, address string) error {
	network, address, _ := strings.Cut(address, "!")
	steps := bufio.NewReader(os.Stdin)
	step := func() error {
		_, err := steps.ReadString('\n')
		return err
	}
	switch act {
	case "listen":
		l, err := net.Listen(network, address)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr()) //nolint:forbidigo // what this program says to the test that started it
		if err := step(); err != nil {
			return err
		}
		c, err := l.Accept()
		if err != nil {
			return err
		}
		fmt.Println("accepted") //nolint:forbidigo // what this program says to the test that started it
		if err := step(); err != nil {
			return err
		}
		err = c.Close()
		fmt.Println("closed") //nolint:forbidigo // what this program says to the test that started it
		return errors.Join(err, step())
	case "call":
		c, err := net.Dial(network, address)
		if err != nil {
			return err
		}
		fmt.Println("connected") //nolint:forbidigo // what this program says to the test that started it
		if err := step(); err != nil {
			return err
		}
		err = c.Close()
		fmt.Println("closed") //nolint:forbidigo // what this program says to the test that started it
		return errors.Join(err, step())
	case "collect": // whatever is sent to the address
		l, err := net.Listen(network, address)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr()) //nolint:forbidigo // what this program says to the test that started it
		var mu sync.Mutex
		var all []byte
		calls := 0
		go collect(l, func(call int, part []byte) {
			mu.Lock()
			defer mu.Unlock()
			calls += call
			all = append(all, part...)
		})
		for {
			if err := step(); err != nil {
				return err
			}
			mu.Lock()
			fmt.Printf("%d %q\n", calls, all) //nolint:forbidigo // what this program says to the test that started it
			mu.Unlock()
		}
	case "request": // with the headers of the lines that it reads
		for {
			line, err := steps.ReadString('\n')
			if err != nil {
				return err
			}
			fmt.Println(request(network, address, strings.TrimSpace(line))) //nolint:forbidigo // what this program says to the test that started it
		}
	}
	return fmt.Errorf("cannot %s", act)
}

// collect accepts connections and passes on their number and the data received. It ends
// with the process.
func collect(l net.Listener, sent func(call int, part []byte)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close() //nolint:errcheck // it is over
			part := make([]byte, 4096)
			for {
				n, err := c.Read(part)
				if sent(0, part[:n]); err != nil {
					sent(1, nil)
					return
				}
			}
		}()
	}
}

// Collected waits until a collecting process has got some connections, and returns their
// data, quoted.
func (p *Process) Collected(calls int) string {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		n, sent, _ := strings.Cut(p.Step(""), " ")
		if got, err := strconv.Atoi(n); err == nil && got >= calls || sent != `""` {
			return sent
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s calls by another user, want %d", n, calls)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// request sends a GET and returns the answer.
func request(network, address, authorization string) string {
	host, path, _ := strings.Cut(address, "|")
	c, err := net.Dial(network, host)
	if err != nil {
		return err.Error()
	}
	defer c.Close() //nolint:errcheck // it is over
	text := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
	if authorization != "" {
		text += "Authorization: " + authorization + "\r\n"
	}
	_, _ = io.WriteString(c, text+"\r\n") // a closed connection is seen below
	answer, err := io.ReadAll(c)
	if len(bytes.TrimSpace(answer)) == 0 {
		return fmt.Sprintf("closed without an answer: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
	if err != nil {
		return err.Error()
	}
	_ = resp.Body.Close()
	return resp.Status
}

// Process is a process of the other user.
type Process struct {
	t     T
	cmd   *exec.Cmd
	stdin io.Writer
	lines *bufio.Reader
}

// Start restarts the test's program as the other user. act is "listen", "call", "collect"
// (a step returns how many connections have ended and their data) or "request"; address is
// the network and the address, separated by an exclamation mark. It skips the test unless
// it runs as root.
func Start(t T, act, address string) *Process {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to start a process of another user")
	}
	exe, err := os.Open("/proc/self/exe") // its folder may be closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close() //nolint:errcheck // only read
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{exe}
	cmd.Env = []string{envAct + "=" + act, envAddress + "=" + address}
	cmd.Dir, cmd.Stderr = "/", os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: User, Gid: User}}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Process{t: t, cmd: cmd, stdin: stdin, lines: bufio.NewReader(stdout)}
	t.Cleanup(p.Kill)
	return p
}

// Kill ends the process.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}

// Line returns the next line that the process writes.
func (p *Process) Line() string {
	p.t.Helper()
	text, err := p.lines.ReadString('\n')
	if err != nil || strings.HasPrefix(text, "error") {
		p.t.Fatalf("process of the other user: %q, %v", text, err)
	}
	return strings.TrimSpace(text)
}

// Step sends a line and returns the answer.
func (p *Process) Step(line string) string {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
	return p.Line()
}
