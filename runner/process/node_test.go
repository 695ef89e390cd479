package process

import "testing"

func TestParseNodeCPU(t *testing.T) {
	busy, total := parseNodeCPU([]byte("cpu  10 1 5 100 20 2 3 4 50 60"))
	if busy != 25 || total != 145 {
		t.Errorf("busy %d of %d", busy, total)
	}
}
