package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestRequestWhileTheDaemonLeaves: an idle daemon does not stop while a request is in
// progress, and accepts none when it has decided to stop, since it would not carry out
// what follows from it.
func TestRequestWhileTheDaemonLeaves(t *testing.T) {
	i := newIdle(nil, nil, time.Minute, nil)
	s := &Server{idle: i}
	s.defaults()
	under, goOn := make(chan struct{}), make(chan struct{})
	served := 0
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {
		served++
		if served == 1 {
			close(under)
			<-goOn
		}
	})
	server := httptest.NewServer(s.middleware(mux))
	defer server.Close()
	ask := func() error {
		resp, err := server.Client().Post(server.URL, "", nil)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	first := make(chan error, 1)
	go func() { first <- ask() }()
	<-under
	later := time.Now().Add(time.Hour)
	if i.leave(later) {
		t.Error("it stops with a request in progress")
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if i.leave(time.Now()) {
		t.Error("it stops at once after a request")
	}
	if !i.leave(later) {
		t.Error("it does not stop")
	}
	if err := ask(); err == nil || served != 1 {
		t.Errorf("it has served %d requests: %v", served, err)
	}
}

// TestRefusedRequestsKeepNobody: rejected requests do not keep a daemon running.
func TestRefusedRequestsKeepNobody(t *testing.T) {
	d := startDaemon(t, func(o *DaemonOptions) { o.IdleTimeout, o.PeerUID = 300*time.Millisecond, unknownPeer })
	e := d.Endpoint()
	left := time.After(20 * time.Second)
	for {
		resp, err := http.Get(e.URL + "/ping")
		if err == nil {
			if resp.Body.Close(); resp.StatusCode != http.StatusUnauthorized {
				t.Fatalf("without the token: %s", resp.Status)
			}
		}
		select {
		case <-d.done:
			return
		case <-left:
			t.Fatal("rejected requests keep it running")
		default:
		}
	}
}

// TestBursts: memory is released once after a burst, and once a minute during one that
// does not end.
func TestBursts(t *testing.T) {
	now := time.UnixMilli(1_795_255_200_000)
	b := bursts{since: now}
	gaveBack := func(requests func(second int) bool, lasts time.Duration) (times int) {
		var last int64
		for second := range int(lasts.Seconds()) {
			now = now.Add(time.Second)
			if requests(second) {
				last = now.UnixNano()
			}
			if second%int(quietTime.Seconds()) == 0 && b.end(max(last, b.last), now) {
				times++
			}
		}
		return times
	}
	for _, tc := range []struct {
		name     string
		requests func(second int) bool
		want     int
	}{
		{"a burst", func(second int) bool { return second < 10 }, 1},
		{"nothing", func(int) bool { return false }, 0},
		{"two bursts", func(second int) bool { return second/20%2 == 0 && second < 60 }, 2},
		{"runners at work", func(int) bool { return true }, 5},
	} {
		if got := gaveBack(tc.requests, 5*time.Minute); got != tc.want {
			t.Errorf("%s: memory is released %d times, want %d", tc.name, got, tc.want)
		}
	}
}
