package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A daemon without authentication lets in whoever is on its host, and nobody
// else: it may listen for compute nodes as well.
func TestOpenOnLoopback(t *testing.T) {
	auth := openOnLoopback{NewTokenAuth("right", "alice")}
	for _, test := range []struct {
		at     net.Addr
		header string
		ok     bool
		user   string
	}{
		{&net.UnixAddr{Name: "/tmp/s"}, "", true, "anonymous"},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, "", true, "anonymous"},
		{&net.TCPAddr{IP: net.IPv6loopback}, "Bearer wrong", true, "anonymous"},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, "Bearer right", true, "alice"},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, "", false, ""},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, "Bearer wrong", false, ""},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, "Bearer right", true, "alice"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, test.at))
		if test.header != "" {
			r.Header.Set("Authorization", test.header)
		}
		caller, ok := auth.Authenticate(r)
		if ok != test.ok || caller.User != test.user {
			t.Errorf("at %s with %q: %v, %q; want %v, %q", test.at, test.header, ok, caller.User, test.ok, test.user)
		}
	}
}
