package wire

import (
	"strconv"
	"strings"

	"dialler/http/form"
)

// Page reads page, page_size and status from the query; any other parameter is an error.
func (r *Request) Page(filters []string) (number, size int, filter string, err error) {
	return r.PageOf(filters, nil)
}

// PageOf is Page for a list with additional parameters, which others handles.
func (r *Request) PageOf(filters []string, others func(key, val string, errs *form.Errors) (known bool)) (number,
	size int, filter string, err error) {
	number, size = 1, DefaultPageSize
	var errs form.Errors
	for k, v := range r.HTTP.QueryArgs().All() {
		switch key, val := string(k), string(v); key {
		case "page":
			n, e := strconv.Atoi(val)
			if e != nil || n < 1 || n > 1_000_000 {
				errs.Add("page", "out_of_range", "must be a whole number from 1")
				continue
			}
			number = n
		case "page_size":
			n, e := strconv.Atoi(val)
			if e != nil || n < 1 || n > MaxPageSize {
				errs.Add("page_size", "out_of_range", "must be a whole number from 1 to "+strconv.Itoa(MaxPageSize))
				continue
			}
			size = n
		case "status":
			if len(filters) == 0 {
				errs.UnknownParameter("status")
				continue
			}
			known := false
			for _, f := range filters {
				known = known || f == val
			}
			if !known {
				errs.Add("status", "unknown_value", "must be one of "+strings.Join(filters, ", "))
				continue
			}
			filter = val
		default:
			if others == nil || !others(key, val, &errs) {
				errs.UnknownParameter(key)
			}
		}
	}
	return number, size, filter, errs.Err()
}

// INTERFACES §6: page lists have page_size ≤ 200; spec: 50 contacts per page.
const (
	MaxPageSize     = 200
	DefaultPageSize = 50
)

// NoQuery refuses every parameter.
func (r *Request) NoQuery() error {
	var errs form.Errors
	for k := range r.HTTP.QueryArgs().All() {
		errs.UnknownParameter(string(k))
	}
	return errs.Err()
}

// Names converts values to strings.
func Names[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}
