# table.csv as an SVG heat map, with the line 1 - 1/R0 from theory.
BEGIN { FS = ","; cell = 44; left = 60; top = 40 }
FNR == 1 { next }
!($1 in row) { row[$1] = ++rows; r0[rows] = $1 }
!($2 in column) { column[$2] = ++columns; coverage[columns] = $2 }
{ attack[$1, $2] = $4 }
function y_of(i) { return top + (rows - i) * cell }
END {
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n", \
		left + columns * cell + 30, top + rows * cell + 60
	printf "<text x=\"%d\" y=\"22\" font-size=\"16\">Share of the population that an outbreak infects</text>\n", left
	for (i = 1; i <= rows; i++) {
		printf "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left - 8, y_of(i) + cell / 2 + 5, r0[i]
		for (j = 1; j <= columns; j++) {
			a = attack[r0[i], coverage[j]]
			printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"rgb(%d,%d,%d)\"><title>R0 %s, %d%% vaccinated: %.1f%%</title></rect>\n", \
				left + (j - 1) * cell, y_of(i), cell, cell, 255 - 60 * a, 250 - 215 * a, 240 - 190 * a, r0[i], coverage[j] * 100, a * 100
		}
	}
	step = coverage[2] - coverage[1]
	for (i = 1; i <= rows; i++)
		points = points sprintf("%.1f,%.1f ", left + ((1 - 1 / r0[i]) / step + 0.5) * cell, y_of(i) + cell / 2)
	printf "<polyline points=\"%s\" fill=\"none\" stroke=\"#224\" stroke-width=\"2\" stroke-dasharray=\"6 4\"/>\n", points
	for (j = 1; j <= columns; j++)
		printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d%%</text>\n", left + (j - 0.5) * cell, top + rows * cell + 18, coverage[j] * 100
	printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">vaccinated; dashed: 1 - 1/R0</text>\n", left + columns * cell / 2, top + rows * cell + 42
	printf "<text x=\"10\" y=\"%d\">R0</text>\n</svg>\n", top + 10
}
