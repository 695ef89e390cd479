# The contacts of a population in households and workplaces, and how unequal
# they are: with unequal contacts an epidemic needs a smaller R0 to spread.
# form=matrix keeps who met whom in a full matrix, form=list only the meetings.
function meet(a, b) {
	if (a == b) return
	if (form == "matrix") {
		met[a * people + b] = met[b * people + a] = 1
	} else if (!((a < b ? a " " b : b " " a) in seen)) {
		seen[a < b ? a " " b : b " " a]
		contacts[a]++; contacts[b]++
	}
}

BEGIN {
	seed_random("network")
	if (form == "matrix")
		for (i = 0; i < people * people; i++) met[i] = 0
	for (i = 0; i < people; i++) {
		for (j = i + 1; j % 4 && j < people; j++) meet(i, j)
		work = int(sqrt(uniform()) * people / 12) * 12
		for (j = 0; j < 6; j++) meet(i, work + int(uniform() * 12))
	}
	for (i = 0; i < people; i++) {
		n = contacts[i]
		if (form == "matrix")
			for (j = 0; j < people; j++) n += met[i * people + j]
		sum += n; squares += n * n
	}
	mean = sum / people
	printf "form=%s\nmean_contacts=%.2f\ninequality=%.3f\n", form, mean, squares / people / mean / mean
}
