package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestRequestWhileTheDaemonLeaves: a daemon that nobody has needed does not leave
// with a request that has just come, and takes none when it has decided to leave:
// it would not see to what comes of it.
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
		t.Error("it leaves with a request under way")
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if i.leave(time.Now()) {
		t.Error("it leaves at once after a request")
	}
	if !i.leave(later) {
		t.Error("it does not leave")
	}
	if err := ask(); err == nil || served != 1 {
		t.Errorf("it has served %d requests: %v", served, err)
	}
}

// TestRefusedRequestsKeepNobody: who is not let in does not keep a daemon from
// leaving.
func TestRefusedRequestsKeepNobody(t *testing.T) {
	d := startDaemon(t, func(o *DaemonOptions) { o.IdleTimeout, o.PeerUID = 300*time.Millisecond, untold })
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
			t.Fatal("it stays for requests that it refuses")
		default:
		}
	}
}

// TestBursts: memory is given back once after a burst, and once a minute in one
// that does not end.
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
			t.Errorf("%s: memory is given back %d times, want %d", tc.name, got, tc.want)
		}
	}
}
