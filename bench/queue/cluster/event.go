package cluster

// event is something that happens at a time: a job ends, or a function is called.
type event struct {
	at, seq int64
	job     *Job // ends, if it still runs since start
	start   int64
	call    func()
}

// events is a heap, the earliest first; of equal times the one that was added first.
type events []event

func (h events) before(i, k int) bool {
	return h[i].at < h[k].at || h[i].at == h[k].at && h[i].seq < h[k].seq
}

func (h *events) push(e event) {
	*h = append(*h, e)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s.before(i, up) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (h *events) pop() event {
	s := *h
	top, last := s[0], len(s)-1
	s[0], s[last] = s[last], event{}
	s = s[:last]
	*h = s
	for i := 0; ; {
		least := i
		for _, k := range [...]int{2*i + 1, 2*i + 2} {
			if k < len(s) && s.before(k, least) {
				least = k
			}
		}
		if least == i {
			return top
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}
