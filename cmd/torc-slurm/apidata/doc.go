// Package apidata reads what the objects of the API say, as several commands need
// it: states, counts, requirements, and tasks that are waited for. It has no command.
package apidata
