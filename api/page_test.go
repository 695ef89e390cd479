package api

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestPagesAreWrittenAsJSON: item by item gives the same text as in one piece.
func TestPagesAreWrittenAsJSON(t *testing.T) {
	t.Parallel()
	for _, items := range [][]Event{nil, {{}}, {{WorkflowID: 1}, {WorkflowID: 2, Data: json.RawMessage(`{"a":"<b> & \"c\""}`)}}} {
		page := NewPage(items, 3, 17)
		var want, got bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(page); err != nil {
			t.Fatal(err)
		}
		if err := page.EncodeTo(&got); err != nil {
			t.Fatal(err)
		}
		if got.String()+"\n" != want.String() {
			t.Errorf("%s\nwant %s", got.String(), want.String())
		}
	}
}
