package rest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/torc-slurm/torc-slurm/server/connlimit"
	"github.com/torc-slurm/torc-slurm/server/unread"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// AnswerBounds limit the memory of answers. A list of 50,000 jobs is about 30 MB of text,
// and takes twice as much before it is encoded.
var AnswerBounds = unread.Options{Bytes: 128 << 20, Lists: 2, Wait: 20 * time.Second, Stall: 2 * time.Second, Rate: 256 << 10}

// textOf calls a handler and encodes its answer. It returns an error with CodeUnavailable
// if there is no memory for it.
func textOf[P, B, Out any](t *Router, in *Request[P, B], fn func(*Request[P, B]) (Out, error)) (*unread.Text, error) {
	if p, ok := any(&in.Params).(interface{ Large() bool }); ok && p.Large() {
		done, err := t.Answers.List(in.Context())
		if err != nil {
			return nil, err
		}
		defer done()
	}
	out, err := fn(in)
	if err != nil {
		return nil, err
	}
	text := t.Answers.Text(in.Context(), func() { connlimit.Close(in.Context()) })
	if err := encode(text, out); err != nil {
		text.Drop()
		if errors.Is(err, unread.ErrFull) {
			return nil, workflow.Errorf(workflow.CodeUnavailable, "%v", err).WithHint("try again in a moment, or ask for fewer items with limit")
		}
		return nil, err
	}
	return text, nil
}

// encode writes v as JSON, without HTML escapes.
func encode(w io.Writer, v any) error {
	if page, ok := v.(interface{ EncodeTo(w io.Writer) error }); ok {
		return page.EncodeTo(w)
	}
	enc := json.NewEncoder(lineless{w})
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// lineless removes the newline that a json.Encoder ends with. It expects each value in one
// call of Write.
type lineless struct{ w io.Writer }

func (l lineless) Write(p []byte) (int, error) {
	n, err := l.w.Write(p[:len(p)-1])
	if err == nil {
		n++
	}
	return n, err
}

// sendJSON sends a text that is JSON.
func sendJSON(w http.ResponseWriter, status int, text *unread.Text) {
	w.Header().Set("Content-Type", jsonMedia)
	_ = text.Send(w, status) // the client may have disconnected
}
