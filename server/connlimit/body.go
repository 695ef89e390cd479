package connlimit

import (
	"io"
	"net/http"
	"time"
)

// Body makes the body of a request fail with os.ErrDeadlineExceeded when nothing
// of it has come for a while. One that comes slowly is read to its end.
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
	// Without a connection, as in tests and in the same process, there are no
	// deadlines, and nothing that could be silent.
	_ = b.control.SetReadDeadline(time.Now().Add(b.silence))
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		// After the end the server reads on to notice that the client has gone.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// unread is how long what a client is sending already may come in after its
// request was refused: closed at once, the connection would be reset, and the
// client might never see why.
const unread = 250 * time.Millisecond

// Refuse is called before a request is refused whose body nobody reads: the
// connection ends with the answer, whether the body comes or not.
func Refuse(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unread)) // there may be no connection
}
