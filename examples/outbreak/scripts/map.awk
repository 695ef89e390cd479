# table.csv as a picture of characters: rows are R0, columns are coverage.
BEGIN { FS = ","; shades = " .:-=+*#%@" }
FNR == 1 { next }
!($1 in row) { row[$1]; r0[++rows] = $1 }
!($2 in column) { column[$2]; coverage[++columns] = $2 }
{ attack[$1, $2] = $4 }
END {
	print "Share of the population that an outbreak infects\n"
	for (i = rows; i >= 1; i--) {
		printf "  R0 %4s |", r0[i]
		for (j = 1; j <= columns; j++) {
			a = attack[r0[i], coverage[j]]
			c = substr(shades, 1 + int(a * 9.999), 1)
			printf "%s", c c c c c
		}
		print "|"
	}
	printf "          "
	for (j = 1; j <= columns; j++) printf " %3d%%", coverage[j] * 100
	print "   vaccinated"
	printf "\n  scale:"
	for (i = 0; i < 10; i++) printf "  %s%s %d%%", substr(shades, i + 1, 1), substr(shades, i + 1, 1), i * 10
	print ""
}
