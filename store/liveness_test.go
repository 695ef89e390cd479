package store

import "testing"

// A job that a client claimed and never started waits again if a dependency was
// opened meanwhile.
func TestReturnUnstarted(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{after: []int{0}, regardless: true}, rigJob{})
	_, err := r.CompleteJob(r.ctx, r.completion(0, r.node("n1"), failed, 1))
	r.must(err)
	_, err = r.ClaimNextJobs(r.ctx, r.workflow, 9, nil)
	r.must(err)
	_, err = r.RetryJob(r.ctx, r.ids[0], 1, 9)
	r.must(err)
	r.want(ready, pending, pending)
	for before, want := range []int64{0, 2} { // the second time, 1 ms later
		n, err := r.ReturnUnstarted(r.ctx, r.now.UnixMilli()+int64(before))
		if r.must(err); n != want {
			t.Errorf("%d jobs returned, want %d", n, want)
		}
	}
	r.want(ready, blocked, ready)
}
