# The same epidemic without time steps: every infection and every recovery is
# an event of its own (Gillespie's algorithm). Exact, and slow.
BEGIN {
	seed_random("exact" people)
	gamma = 1 / infectious_days
	beta = r0 * gamma
	for (run = 1; run <= runs; run++) {
		S = people - int(people * seeds / population + 0.5); I = people - S
		for (start = S; I > 0; ) {
			if (uniform() * (beta * S / people + gamma) < beta * S / people) { S--; I++ }
			else I--
		}
		sum += (start - S) / people
	}
	printf "people=%d\nattack=%.4f\n", people, sum / runs
}
