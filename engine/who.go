package engine

// Who is the origin of a command: shown in the activity log.
type Who struct {
	User UserID `json:"user,omitempty"`
	Key  KeyID  `json:"key,omitempty"`
	Name string `json:"name"`           // e-mail or key name, "system" for the dialler itself
	From string `json:"from,omitempty"` // remote address
}

// System is the dialler itself as the origin of a command.
var System = Who{Name: "system"}

// Idempotency ties a command to the request that carried it, so that its reply commits together
// with the command's changes. The zero value means that the request had no Idempotency-Key.
type Idempotency struct {
	Key      KeyID  // API key (or user) that sent the request
	Route    string // for example "trigger"
	Token    string // the Idempotency-Key, unquoted
	BodyHash string // hex SHA-256 of the request body
}

// Present says whether the request carried an Idempotency-Key.
func (i Idempotency) Present() bool { return i.Token != "" }
