# Random numbers that are the same in every awk: the minimal standard
# generator; 16807 * 2^31 is below 2^53, so doubles hold it exactly.
function seed_random(text,   i) {
	state = 1
	for (i = 1; i <= length(text); i++)
		state = (state * 131 + index("0123456789._abcdefghijklmnopqrstuvwxyz", substr(text, i, 1)) + 1) % 2147483647
	for (i = 0; i < 10; i++) uniform()
}

function uniform() {
	state = (state * 16807) % 2147483647
	return state / 2147483647
}

function normal() {
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform())
}

# A binomial draw: by geometric jumps while few successes are expected, else
# by the normal approximation.
function binomial(n, p,   k, i, q, x) {
	if (n <= 0 || p <= 0) return 0
	if (p >= 1) return n
	if (n * p < 25 && p < 0.5) {
		q = log(1 - p)
		for (k = 0; ; k++) {
			i += int(log(uniform()) / q) + 1
			if (i > n) return k
		}
	}
	x = int(n * p + normal() * sqrt(n * p * (1 - p)) + 0.5)
	return x < 0 ? 0 : x > n ? n : x
}
