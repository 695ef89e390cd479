package oom

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns a time in milliseconds.
func at(ms int64) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

func TestAttribute(t *testing.T) {
	a, b, c := &Party{Key: "a", Name: "A", Largest: 100}, &Party{Key: "b", Name: "B", Largest: 300}, &Party{Key: "c", Name: "C", Largest: 200}
	live := []*Party{a, b}
	end := func(of *Party, ms int64, how How, size int64) End {
		return End{Of: of, At: at(ms), How: how, Size: size, Process: fmt.Sprintf("%s at %d", of.Name, ms)}
	}
	one := []Growth{{From: at(100), To: at(200), Kills: 1, Live: live}}
	for _, x := range []struct {
		name    string
		growths []Growth
		ends    []End
		in      Cgroup
		a, b    Share
	}{
		{name: "no growth, no victim", ends: []End{end(a, 150, Killed, 9)}},
		{name: "the killed one", growths: one, ends: []End{end(a, 200, Killed, 9)},
			a: Share{Kills: 1, Seen: true, Process: "A at 200"}, b: Share{Others: []string{"A"}}},
		{name: "it ended before the last reading without the kill", growths: one, ends: []End{end(a, 100, Killed, 9)}, in: Cgroup{Foreign: true},
			a: Share{Doubt: 1, Others: []string{"B"}}, b: Share{Doubt: 1, Others: []string{"A"}}},
		{name: "it needs time to free its memory", growths: one, ends: []End{end(a, 4000, Killed, 9)},
			a: Share{Kills: 1, Seen: true, Process: "A at 4000"}, b: Share{Others: []string{"A"}}},
		{name: "much later it is another signal", growths: one, ends: []End{end(a, 9000, Killed, 9)},
			a: Share{Doubt: 1, Others: []string{"B"}}, b: Share{Doubt: 1, Likely: true, Others: []string{"A"}}},
		{name: "two kills of two jobs", growths: []Growth{{From: at(0), To: at(200), Kills: 2, Live: live}},
			ends: []End{end(a, 150, Killed, 9), end(b, 160, Killed, 9)},
			a:    Share{Kills: 1, Seen: true, Process: "A at 150", Others: []string{"B"}}, b: Share{Kills: 1, Seen: true, Process: "B at 160", Others: []string{"A"}}},
		{name: "two kills, one after the other", growths: []Growth{{From: at(0), To: at(100), Kills: 1, Live: live}, {From: at(100), To: at(200), Kills: 1, Live: live}},
			ends: []End{end(a, 100, Killed, 9), end(b, 160, Killed, 9)},
			a:    Share{Kills: 1, Seen: true, Process: "A at 100", Others: []string{"B"}}, b: Share{Kills: 1, Seen: true, Process: "B at 160", Others: []string{"A"}}},
		{name: "somebody else sends SIGKILL as well", growths: one, ends: []End{end(a, 150, Killed, 9), end(b, 160, Killed, 10)},
			a: Share{Doubt: 1, Others: []string{"B"}}, b: Share{Doubt: 1, Likely: true, Others: []string{"A"}}},
		{name: "of one job several end by SIGKILL", growths: one, ends: []End{end(a, 150, Killed, 9), end(a, 160, Killed, 10)},
			a: Share{Kills: 1, Seen: true, Process: "A at 160"}, b: Share{Others: []string{"A"}}},
		{name: "a shell reports it", growths: one, ends: []End{end(a, 210, ReportedByShell, 0)},
			a: Share{Kills: 1, Seen: true, Process: "A at 210"}, b: Share{Others: []string{"A"}}},
		{name: "an observed kill precedes a reported one", growths: one, ends: []End{end(a, 150, ReportedByShell, 0), end(b, 210, Killed, 0)},
			a: Share{Others: []string{"B"}}, b: Share{Kills: 1, Seen: true, Process: "B at 210"}},
		{name: "it ended in an unknown way", growths: one, ends: []End{end(a, 200, Unknown, 9)},
			a: Share{Kills: 1}, b: Share{Others: []string{"A"}}},
		{name: "two ended in an unknown way", growths: one, ends: []End{end(a, 190, Unknown, 9), end(b, 200, Unknown, 5)},
			a: Share{Doubt: 1, Likely: true, Others: []string{"B"}}, b: Share{Doubt: 1, Others: []string{"A"}}},
		{name: "no end is known", growths: one,
			a: Share{Doubt: 1, Others: []string{"B"}}, b: Share{Doubt: 1, Likely: true, Others: []string{"A"}}},
		{name: "no end is known, and other processes live there", growths: one, in: Cgroup{Foreign: true},
			a: Share{Doubt: 1, Others: []string{"B"}}, b: Share{Doubt: 1, Others: []string{"A"}}},
		{name: "no end is known, and other processes live there, but one job had most of the memory", growths: one, in: Cgroup{Foreign: true, Limit: 400},
			a: Share{Doubt: 1, Others: []string{"B"}}, b: Share{Doubt: 1, Likely: true, Others: []string{"A"}}},
		{name: "no end is known, and one job lives", growths: []Growth{{From: at(0), To: at(200), Kills: 3, Live: []*Party{a}}},
			a: Share{Kills: 3}, b: Share{Others: []string{"A"}}},
		{name: "one victim is known of two", growths: []Growth{{From: at(0), To: at(200), Kills: 2, Live: []*Party{a, b, c}}},
			ends: []End{end(a, 150, Killed, 9)},
			a:    Share{Kills: 1, Seen: true, Process: "A at 150", Doubt: 1, Others: []string{"B", "C"}},
			b:    Share{Doubt: 1, Likely: true, Others: []string{"A", "C"}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			verdicts := Attribute(x.growths, x.ends, x.in)
			if diff := cmp.Diff(x.a, ShareOf(a, verdicts)); diff != "" {
				t.Errorf("A (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(x.b, ShareOf(b, verdicts)); diff != "" {
				t.Errorf("B (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAttributeKeepsTheRules: a victim ended within the time of the growth, no end has
// two kills, and the attributed and doubtful kills add up to those counted.
func TestAttributeKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parties []*Party
		for i := range rapid.IntRange(1, 4).Draw(t, "jobs") {
			parties = append(parties, &Party{Key: fmt.Sprint(i), Name: fmt.Sprint(i), Largest: rapid.Int64Range(0, 9).Draw(t, "largest")})
		}
		var growths []Growth
		var now int64
		for range rapid.IntRange(0, 4).Draw(t, "growths") {
			from := now + rapid.Int64Range(0, 3000).Draw(t, "from")
			now = from + rapid.Int64Range(1, 3000).Draw(t, "to")
			growths = append(growths, Growth{From: at(from), To: at(now), Kills: rapid.Int64Range(1, 3).Draw(t, "kills"), Live: parties})
		}
		var ends []End
		for i := range rapid.IntRange(0, 6).Draw(t, "ends") {
			ends = append(ends, End{Of: rapid.SampledFrom(parties).Draw(t, "of"), At: at(rapid.Int64Range(0, now+6000).Draw(t, "at")),
				How: rapid.SampledFrom([]How{Unknown, Killed, ReportedByShell}).Draw(t, "how"), Size: rapid.Int64Range(0, 9).Draw(t, "size"), Process: fmt.Sprint(i)})
		}
		slices.SortStableFunc(ends, func(a, b End) int { return a.At.Compare(b.At) })
		verdicts := Attribute(growths, ends, Cgroup{Foreign: rapid.Bool().Draw(t, "foreign"), Limit: rapid.Int64Range(0, 20).Draw(t, "limit")})
		if len(verdicts) != len(growths) {
			t.Fatalf("%d verdicts on %d growths", len(verdicts), len(growths))
		}
		used := map[string]bool{}
		for i := range verdicts {
			v := &verdicts[i]
			if int64(len(v.Victims))+v.Rest != growths[i].Kills || v.Rest < 0 {
				t.Fatalf("%d victims and %d others of %d kills", len(v.Victims), v.Rest, growths[i].Kills)
			}
			for _, e := range v.Victims {
				if used[e.Process] || e.How == Unknown || !v.within(e.At, lag) {
					t.Fatalf("%+v is a victim of %+v", e, growths[i])
				}
				used[e.Process] = true
			}
			if v.Rest == 0 && (v.Likely != nil || v.Doubt != nil) || v.Rest > 0 && v.Likely == nil && len(v.Doubt) == 0 {
				t.Fatalf("the rest %d is of %v or of %v", v.Rest, v.Likely, v.Doubt)
			}
		}
		for _, p := range parties {
			s := ShareOf(p, verdicts)
			if len(growths) == 0 && s.Kills+s.Doubt > 0 {
				t.Fatalf("nothing was killed, but %+v", s)
			}
			if s.Seen && !slices.ContainsFunc(ends, func(e End) bool { return e.Of == p && e.How != Unknown }) {
				t.Fatalf("no process of it ended, but %+v", s)
			}
		}
	})
}
