# An ensemble of stochastic SIR epidemics in time steps of `step` days: in one
# step each susceptible is infected, and each infected recovers, with the
# probability that the rates at the step's begin imply. That is right only
# while the rates hardly change within a step (the leap condition); if it is
# broken the numbers would look fine and be wrong, so the run stops with 65.
BEGIN {
	seed_random(r0 "_" coverage)
	gamma = 1 / infectious_days
	beta = r0 * gamma
	recover = 1 - exp(-gamma * step)
	start = int(population * (1 - coverage) + 0.5) - seeds

	for (run = 1; run <= runs; run++) {
		S = start; I = seeds; peak = I
		for (day = 0; I > 0; day += step) {
			leap = beta * I / population * step
			if (leap > leap_limit) {
				printf "run %d, day %g: a step of %g days changes the infection rate by %.2f, the limit is %g\n", \
					run, day, step, leap, leap_limit > "/dev/stderr"
				exit 65
			}
			infected = binomial(S, 1 - exp(-leap))
			I += infected - binomial(I, recover)
			S -= infected
			if (I > peak) peak = I
		}
		attack = (start - S) / population
		if (attack > 0.02) large++
		attack_sum += attack; peak_sum += peak / population; day_sum += day
	}
	print "r0,coverage,step_days,attack,peak,large,days"
	printf "%s,%s,%g,%.4f,%.4f,%.3f,%.1f\n", r0, coverage, step, \
		attack_sum / runs, peak_sum / runs, large / runs, day_sum / runs
}
