package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
)

// frame is one event of a stream.
type frame struct {
	kind string
	id   int64
	data api.StreamEvent
}

// readFrames reads n frames from a stream and then leaves it.
func readFrames(t *testing.T, url string, n int, header http.Header) []frame {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" ||
		response.Header.Get("Cache-Control") != "no-cache" || response.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%d %v", response.StatusCode, response.Header)
	}
	var frames []frame
	var f frame
	lines := bufio.NewScanner(response.Body)
	for len(frames) < n && lines.Scan() {
		kind, value, _ := strings.Cut(lines.Text(), ": ")
		switch kind {
		case "event":
			f.kind = value
		case "id":
			f.id, _ = strconv.ParseInt(value, 10, 64)
		case "data":
			if err := json.Unmarshal([]byte(value), &f.data); err != nil {
				t.Fatalf("%s: %v", value, err)
			}
		case "":
			frames, f = append(frames, f), frame{}
		}
	}
	if len(frames) < n {
		t.Fatalf("the stream ended after %d of %d frames: %v", len(frames), n, lines.Err())
	}
	return frames
}

func (a *testAPI) listen() string {
	a.t.Helper()
	server := httptest.NewServer(a.handler)
	a.t.Cleanup(func() {
		a.Stop()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return server.URL + api.BasePath
}

func TestStreamShowsEachEventOnceAcrossBreaks(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	url := fmt.Sprintf("%s/workflows/%d/events/stream", a.listen(), id)
	const total = 900 // several batches
	last, err := a.Store.Events.LastSeq(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := range total / 3 {
				if _, err := a.Store.Events.Create(context.Background(), id, json.RawMessage(fmt.Sprintf(`{"n":%d}`, w*total+i))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var seen []int64
	for after := last; len(seen) < total; {
		n := min(350, total-len(seen))
		header := http.Header{"Last-Event-Id": {fmt.Sprint(after)}}
		for _, f := range readFrames(t, url, n, header) {
			seen = append(seen, f.id)
			if f.kind != "user" || f.data.EventType != "user" || f.data.WorkflowID != id || f.data.Severity != "info" {
				t.Fatalf("frame %+v", f)
			}
		}
		after = seen[len(seen)-1]
	}
	writers.Wait()
	for i, seq := range seen {
		if seq != last+int64(i)+1 {
			t.Fatalf("frame %d has the id %d, want %d", i, seq, last+int64(i)+1)
		}
	}
}

func TestStreamBeginsWithTheNextEvent(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	url := fmt.Sprintf("%s/workflows/%d/events/stream", a.listen(), id)
	got := make(chan []frame, 1)
	go func() { got <- readFrames(t, url, 1, nil) }()
	for i := 0; ; i++ { // until the stream has begun, events are not in it
		if _, err := a.Store.Events.Create(t.Context(), id, json.RawMessage(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
		select {
		case frames := <-got:
			if frames[0].id < 1 {
				t.Errorf("frame %+v", frames[0])
			}
			return
		default:
		}
	}
}

func TestStreamLeavesOutWhatIsBelowTheLevel(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	url := fmt.Sprintf("%s/workflows/%d/events/stream?after_seq=0&level=", a.listen(), id)
	task, _, err := a.Store.Tasks.Queue(t.Context(), id, "something", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Store.Events.Create(t.Context(), id, json.RawMessage(`1`)); err != nil {
		t.Fatal(err)
	}
	if err := a.Store.Tasks.Finish(t.Context(), task.ID, "broke", "me"); err != nil {
		t.Fatal(err)
	}
	for level, want := range map[string]string{"error": "error", "warning": "error", "info": "info", "nonsense": "info"} {
		first := readFrames(t, url+level, 1, nil)[0]
		if first.data.Severity != want {
			t.Errorf("level %s begins with %+v, want an event of severity %s", level, first, want)
		}
	}
}

func TestStreamRefusals(t *testing.T) {
	a := newAPI(t)
	a.send("GET", "/workflows/99/events/stream", "").want(404, "Workflow not found with ID: 99")
	a.send("GET", "/workflows/x/events/stream", "").want(400)
	a.send("GET", "/workflows/1/events/stream?after_seq=x", "").want(400)
}

func TestStopEndsStreams(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	url := fmt.Sprintf("%s/workflows/%d/events/stream", a.listen(), id)
	response, err := http.Get(url) //nolint:noctx // Stop ends it
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	a.Stop()
	if lines := bufio.NewScanner(response.Body); lines.Scan() {
		t.Errorf("the stopped stream returns %q", lines.Text())
	}
}
