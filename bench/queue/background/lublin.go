package background

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
)

// The model of Uri Lublin and Dror G. Feitelson, "The workload on parallel supercomputers:
// modeling the characteristics of rigid jobs", Journal of Parallel and Distributed Computing
// 63(11), 2003, pp. 1105-1122. The values are those that the authors published for jobs of
// all types together (with their program in the Parallel Workloads Archive).
const (
	// Sizes: serial with some probability; otherwise 2^u, where u is distributed uniformly
	// in two stages, rounded to a power of two with some probability.
	serialProbability = 0.244
	powerProbability  = 0.576
	sizeLow           = 0.8
	sizeProbability   = 0.86 // of the first stage
	sizeSpan          = 2.5  // from the middle to the maximum; the authors advise 1.5 to 3.5

	// Runtimes: e^h seconds, where h is hyper-gamma distributed, and the probability of the
	// first gamma falls with the size.
	runtimeA1, runtimeB1 = 4.2, 0.94
	runtimeA2, runtimeB2 = 312, 0.03
	runtimePA, runtimePB = -0.0054, 0.78
	runtimeMost          = 12 // of h: no job runs for more than 45 hours

	// Gaps between arrivals: e^g seconds, where g is gamma distributed, of the clock that
	// goes faster at busy times of the day.
	gapA, gapB = 10.2303 * 1.0225, 0.4871
	gapMost    = 13 // of g

	// The weights of half hours of the day are a gamma distribution, which begins at half
	// past five.
	dayA, dayB = 8.1737, 3.9631
	dayStart   = 11
	halfHours  = 48
	halfHour   = 1800.0
)

// Largest is the largest size of a job in the model, as published: 128 nodes.
const Largest = 128

// Sizes says what the sizes of the model mean in a partition.
type Sizes struct {
	Largest int                                    // of a job
	Request func(size int64) cluster.Request       // Nodes and Each
	Work    func(request *cluster.Request) float64 // CPUs that it takes
}

// Lublin is a stream of jobs of the model.
type Lublin struct {
	Settings
	pcg    rand.PCG
	gap    float64 // what to multiply gaps with
	time   float64
	bucket int
	left   float64 // weighted seconds that are left in the bucket
}

// Settings are the parameters of a stream.
type Settings struct {
	Sizes
	Partition int
	CPUs      int64   // of the partition
	Load      float64 // the part of them that the jobs need on average
	Users     int     // numbered from 1
	Exact     bool    // users know how long their jobs run
	MostLimit int64   // the longest time limit, in seconds
}

// New returns a stream of jobs that begins at time 0, which is midnight. The same seed gives
// the same jobs.
func New(s Settings, seed uint64) *Lublin {
	l := &Lublin{Settings: s}
	l.pcg.Seed(seed, 0x9e3779b97f4a7c15)
	l.left = weights()[0] * halfHour
	l.gap = s.meanWork() / (float64(s.CPUs) * s.Load) / meanGap()
	return l
}

// Clone returns a stream that gives the same jobs from here on.
func (l *Lublin) Clone() cluster.Source {
	c := *l
	return &c
}

// Next returns the next job; there is always one.
func (l *Lublin) Next() (cluster.Arrival, bool) {
	r := rand.New(&l.pcg)
	l.advance(gapOf(r) * l.gap)
	request := l.job(r)
	request.Partitions = []int{l.Partition}
	request.User = l.user(r)
	request.Limit = l.limit(r, request.Runtime)
	return cluster.Arrival{At: int64(l.time), Request: request}, true
}

// advance lets so many weighted seconds pass.
func (l *Lublin) advance(gap float64) {
	w := weights()
	for gap > l.left {
		gap -= l.left
		l.bucket++
		l.time = float64(l.bucket) * halfHour
		l.left = w[l.bucket%halfHours] * halfHour
	}
	l.left -= gap
	l.time += gap / w[l.bucket%halfHours]
}

// job draws the size and the runtime of a job.
func (s *Settings) job(r *rand.Rand) cluster.Request {
	size := sizeOf(r, s.Largest)
	request := s.Request(size)
	request.Runtime = runtimeOf(r, size)
	return request
}

// user draws the user of a job: the n-th most active one has 1/n of the jobs of the first.
func (l *Lublin) user(r *rand.Rand) int {
	if l.Users <= 1 {
		return 1
	}
	// The distribution function of 1/n is about log(n)/log(Users).
	return min(int(math.Exp(r.Float64()*math.Log(float64(l.Users)+1))), l.Users)
}

// sizeOf draws a size up to the largest.
func sizeOf(r *rand.Rand, largest int) int64 {
	if r.Float64() < serialProbability {
		return 1
	}
	high := math.Log2(float64(largest))
	middle := max(high-sizeSpan, sizeLow)
	u := middle + r.Float64()*(high-middle)
	if r.Float64() < sizeProbability {
		u = sizeLow + r.Float64()*(middle-sizeLow)
	}
	if r.Float64() < powerProbability {
		u = math.Round(u)
	}
	return min(int64(math.Round(math.Exp2(u))), int64(largest))
}

// runtimeOf draws a runtime in seconds for a size.
func runtimeOf(r *rand.Rand, size int64) int64 {
	p := min(max(runtimePA*float64(size)+runtimePB, 0), 1)
	for {
		var h float64
		if r.Float64() < p {
			h = gamma(r, runtimeA1) * runtimeB1
		} else {
			h = gamma(r, runtimeA2) * runtimeB2
		}
		if h <= runtimeMost {
			return max(int64(math.Exp(h)), 1)
		}
	}
}

// gapOf draws a gap between two arrivals, in weighted seconds.
func gapOf(r *rand.Rand) float64 {
	for {
		if g := gamma(r, gapA) * gapB; g <= gapMost {
			return math.Exp(g)
		}
	}
}

// weights returns how many jobs arrive in each half hour of a day, relative to the mean.
var weights = sync.OnceValue(func() (w [halfHours]float64) {
	density := func(x float64) float64 { return math.Pow(x, dayA-1) * math.Exp(-x/dayB) }
	sum := 0.0
	for i := dayStart; i < dayStart+halfHours; i++ {
		const parts = 100
		for k := range parts { // the distribution function over half a step to either side
			w[i%halfHours] += density(float64(i) - 0.5 + (float64(k)+0.5)/parts)
		}
		sum += w[i%halfHours]
	}
	for i := range w {
		w[i] *= halfHours / sum
	}
	return w
})

// samples are drawn to estimate means: the mean work of the model has no simple formula.
const samples = 200_000

var meanGap = sync.OnceValue(func() float64 {
	r := rand.New(rand.NewPCG(1, 2))
	sum := 0.0
	for range samples {
		sum += gapOf(r)
	}
	return sum / samples
})

// meanWork returns how many CPU seconds a job takes on average.
func (s *Settings) meanWork() float64 {
	r := rand.New(rand.NewPCG(3, 4))
	sum := 0.0
	for range samples {
		request := s.job(r)
		sum += float64(min(request.Runtime, s.MostLimit)) * s.Work(&request)
	}
	return sum / samples
}

// gamma draws from the gamma distribution of a shape of at least 1 and scale 1 (G. Marsaglia
// and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on
// Mathematical Software 26(3), 2000).
func gamma(r *rand.Rand, shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
