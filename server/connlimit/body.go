package connlimit

import (
	"io"
	"net/http"
	"time"
)

// Body makes reading the body of a request fail with os.ErrDeadlineExceeded when it has
// stalled for silence. A slow body is read to its end.
func Body(w http.ResponseWriter, r *http.Request, silence time.Duration) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	r.Body = &body{ReadCloser: r.Body, control: http.NewResponseController(w), silence: silence}
}

type body struct {
	io.ReadCloser
	control *http.ResponseController
	silence time.Duration
}

func (b *body) Read(p []byte) (int, error) {
	// Without a connection, as in tests and in-process calls, there are no deadlines.
	_ = b.control.SetReadDeadline(time.Now().Add(b.silence))
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		// After the end the server keeps reading to notice a disconnect.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// unread is how long a rejected request is still read. If the connection were closed at
// once, it would be reset, and the client might not get the answer.
const unread = 250 * time.Millisecond

// CloseAfterAnswer has the connection end with the answer, whether the body of the request
// arrives or not. Call it before rejecting a request without reading its body.
func CloseAfterAnswer(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unread)) // there may be no connection
}
