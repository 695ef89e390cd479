package client

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrust calls a server whose certificate nobody has signed.
func TestTrust(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"status":"ok"}`)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug) // rejected handshakes
	server.StartTLS()
	t.Cleanup(server.Close)
	certificate := server.Certificate().Raw
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sum := sha256.Sum256(certificate)
	fingerprint := strings.ToUpper(hex.EncodeToString(sum[:]))
	fingerprint = fingerprint[:2] + ":" + fingerprint[2:]
	for name, tc := range map[string]struct {
		options Options
		ok      bool
	}{
		"the system's authorities":         {Options{}, false},
		"its own certificate as authority": {Options{CACert: file("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))}, true},
		"any":                              {Options{Insecure: true}, true},
		"pinned":                           {Options{CAFingerprint: fingerprint}, true},
		"another one pinned":               {Options{CAFingerprint: strings.Repeat("00", 32)}, false},
		"pinned, not any":                  {Options{CAFingerprint: strings.Repeat("00", 32), Insecure: true}, false},
	} {
		tc.options.URL, tc.options.Retries = server.URL, -1
		c, err := New(tc.options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Ping(t.Context()); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
	}
	for name, path := range map[string]string{"no file": filepath.Join(dir, "none"), "no certificate": file("text", []byte("text"))} {
		if _, err := New(Options{URL: server.URL, CACert: path}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a client without a URL")
	}
}

// TestLog: the client logs a line per retry, which explains a pause.
func TestLog(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := impatient(serve(t, Options{Retries: 1, Log: log}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	if _, err := c.Ping(t.Context()); err == nil {
		t.Error("no error")
	}
	if got := text.String(); !strings.Contains(got, "retrying") || strings.Contains(got, "level=ERROR") {
		t.Errorf("log:\n%s", got)
	}
}
