package contact

// Before says whether a is dialled before b when both are due: due callbacks
// by time; contacts added by trigger in order of arrival; first attempts in
// list order; retries by attempt number, then by due time (SEMANTICS §3,
// Order). The first full pass precedes retries by class.
func Before(a, b *Contact) bool {
	if a.DueClass != b.DueClass {
		return a.DueClass < b.DueClass
	}
	switch a.DueClass {
	case DueTrigger, DueFirst:
		return a.Position < b.Position
	case DueRetry:
		if a.Used != b.Used {
			return a.Used < b.Used
		}
	case DueCallback:
	}
	if a.DueAt != nil && b.DueAt != nil && !a.DueAt.Equal(*b.DueAt) {
		return a.DueAt.Before(*b.DueAt)
	}
	return a.Position < b.Position
}
