package table

// BlankSearched removes the lines of contacts ($2) of a campaign ($1) from what is searched. The caller has
// taken LockSearched, or made the contacts itself.
const BlankSearched = `UPDATE contact_search s SET lines = b.lines FROM (
		SELECT o.id, (SELECT coalesce(string_agg(CASE WHEN g.id IS NULL THEN coalesce(u.line, '') ELSE '' END, E'\n'
				ORDER BY u.n), '')
			FROM unnest(o.contacts, string_to_array(o.lines, E'\n')) WITH ORDINALITY u(contact, line, n)
			LEFT JOIN (SELECT DISTINCT g AS id FROM unnest($2::uuid[]) g) g ON g.id = u.contact) AS lines
		FROM contact_search o WHERE o.campaign_id = $1
			AND EXISTS (SELECT FROM unnest(o.contacts) c(id) JOIN unnest($2::uuid[]) g(id) ON g.id = c.id)
	) b WHERE s.id = b.id`

// LockSearched keeps contacts from being read into what is searched, in parts or anew, until the
// transaction ends: what an erasure removes must not come back.
const LockSearched = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.contact_search', 0))"
