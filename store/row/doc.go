// Package row reads rows of the job database: the columns, their meaning, and what several
// rows add up to. Both the use cases (store) and the checks (store/check) use it.
package row
