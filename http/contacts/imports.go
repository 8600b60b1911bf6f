package contacts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/contactlist"
	"dialler/engine/journal"
	"dialler/engine/number"
	"dialler/http/download"
	"dialler/http/form"
	"dialler/http/idempotency"
	"dialler/http/live"
	"dialler/http/wire"
)

// Files of contacts (SEMANTICS §2, Add contacts): the request body is the file. What happens to its
// rows is decided behind the port.

type importList struct {
	Imports  []campaign.Import `json:"imports"`
	Page     int               `json:"page"`
	PageSize int               `json:"page_size"`
	Total    int               `json:"total"`
	// Country is what the next file's default_country most likely is; on the first page, "" if none is evident.
	Country *string `json:"suggested_country,omitempty"`
}

type rejectedList struct {
	Rows     []campaign.RejectedRow `json:"rows"`
	Page     int                    `json:"page"`
	PageSize int                    `json:"page_size"`
	Total    int                    `json:"total"`
}

// Import reads a file. The sender's credentials, and whether the campaign accepts contacts, are
// checked before its first byte is read.
func (s *API) Import(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	cmd := campaign.ImportContacts{Campaign: id, Who: r.Who(), Wait: true}
	if err := importQuery(r, &cmd); err != nil {
		return err
	}
	if err := r.WantCSV(); err != nil {
		return err
	}
	if done, err := s.importedBefore(r, &cmd); done || err != nil {
		return err
	}
	file, err := r.Upload(s.bodyCap)
	if err != nil {
		return err
	}
	imp, err := s.Imports.Import(s.Closing, cmd, file)
	if err != nil {
		return err
	}
	return replyImport(r, &imp, cmd.Wait)
}

func replyImport(r *wire.Request, imp *campaign.Import, waited bool) error {
	r.HTTP.Response.Header.Set("Location", "/api/v1/campaigns/"+string(imp.Campaign)+"/imports/"+string(imp.ID))
	if !waited {
		return r.Reply(nethttp.StatusAccepted, imp)
	}
	return r.Reply(nethttp.StatusCreated, imp)
}

// importedBefore answers a request whose Idempotency-Key has already imported a file, without
// reading its body. The import itself serves as the stored reply: a failed one makes way for the
// next try, which starts again.
func (s *API) importedBefore(r *wire.Request, cmd *campaign.ImportContacts) (done bool, err error) {
	token, present, err := idempotency.Key(r.HTTP.Request.Header.PeekAll("Idempotency-Key"))
	if err != nil || !present {
		return false, err
	}
	// The content of such a large file is not hashed: the key is bound to the parameters only.
	params, err := json.Marshal(struct {
		Filename string
		DryRun   bool
		Mapping  map[string]string
		Country  string `json:",omitempty"`
		Encoding string `json:",omitempty"`
		Comma    string `json:",omitempty"`
	}{cmd.Filename, cmd.DryRun, cmd.Mapping, cmd.Country, cmd.Encoding, cmd.Delimiter})
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256(params)
	cmd.Idempotency = engine.Idempotency{Key: r.Sender(), Route: "imports", Token: token,
		BodyHash: hex.EncodeToString(sum[:])}
	imp, ok, err := s.Imports.ImportByRequest(r.Ctx(), cmd.Campaign, cmd.Idempotency)
	switch {
	case err != nil || !ok:
		return false, err
	case imp.Idempotency.BodyHash != cmd.Idempotency.BodyHash:
		return false, errImportMismatch
	case imp.State == campaign.ImportStaging, imp.Open() && cmd.Wait:
		return false, journal.ErrImportRequest
	}
	s.replays.MarkReplay(r)
	return true, replyImport(r, &imp, cmd.Wait)
}

var errImportMismatch = engine.Invalid("idempotency_mismatch",
	"This Idempotency-Key was used with other parameters; use a new key for a new file.")

var errImportFinished = engine.Conflict("import_finished",
	"")

// CancelImport ends an import before its rows become contacts.
func (s *API) CancelImport(r *wire.Request) error {
	imp, err := s.importOf(r)
	if err != nil {
		return err
	}
	if imp.Open() {
		if imp, err = s.Imports.CancelImport(r.Ctx(), imp.ID); err != nil {
			return err
		}
	}
	if imp.State != campaign.ImportFailed {
		return errImportFinished
	}
	return r.Reply(nethttp.StatusOK, imp)
}

// PreviewUndo counts what would become of an import's contacts if it were taken back now.
func (s *API) PreviewUndo(r *wire.Request) error {
	imp, err := s.importOf(r)
	if err != nil {
		return err
	}
	if err := r.NoQuery(); err != nil {
		return err
	}
	n, err := s.Imports.UndoPreview(r.Ctx(), imp.Campaign, imp.ID)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, shownCounts(n))
}

// UndoImport takes an import back. Asked again, it answers the same.
func (s *API) UndoImport(r *wire.Request) error {
	imp, err := s.importOf(r)
	if err != nil {
		return err
	}
	if err := r.NoQuery(); err != nil {
		return err
	}
	if imp.Undo == nil || imp.Undo.State != campaign.UndoDone {
		undo, err := s.Imports.UndoImport(r.Ctx(), campaign.UndoImport{Campaign: imp.Campaign, Import: imp.ID,
			Who: r.Who(), Deadline: r.Deadline()})
		if err != nil {
			return err
		}
		imp.Undo = &undo
	}
	imp.Undo.UndoCounts = shownCounts(imp.Undo.UndoCounts)
	if imp.Undo.State != campaign.UndoDone {
		return r.Reply(nethttp.StatusAccepted, imp)
	}
	return r.Reply(nethttp.StatusOK, imp)
}

// shownCounts has an empty object rather than null.
func shownCounts(n campaign.UndoCounts) campaign.UndoCounts {
	if n.Reasons == nil {
		n.Reasons = map[contact.Stay]int{}
	}
	return n
}

// filenameCap bounds the name of a file, in bytes.
const filenameCap = 255

func importQuery(r *wire.Request, cmd *campaign.ImportContacts) error {
	var errs form.Errors
	for k, v := range r.HTTP.QueryArgs().All() {
		switch key, val := string(k), string(v); key {
		case "filename":
			if !form.Printable(val) {
				errs.Add("filename", "invalid_format", "must be printable text in UTF-8")
				continue
			}
			val = val[strings.LastIndexAny(val, `/\`)+1:] // some clients send the whole path
			if len(val) > filenameCap {
				errs.Add("filename", "too_long", "must have at most 255 bytes")
				continue
			}
			cmd.Filename = val
		case "wait":
			if val != "true" && val != "false" {
				errs.Add("wait", "unknown_value", "must be true or false")
				continue
			}
			cmd.Wait = val == "true"
		case "dry_run":
			if val != "true" && val != "false" {
				errs.Add("dry_run", "unknown_value", "must be true or false")
				continue
			}
			cmd.DryRun = val == "true"
		case "default_country":
			if cmd.Country = strings.ToUpper(val); !number.SupportedRegion(cmd.Country) {
				errs.Add("default_country", "unknown_value", "must be a country by ISO 3166, such as DE")
			}
		case "encoding":
			if cmd.Encoding = strings.ToLower(val); !slices.Contains(contactlist.Encodings(), cmd.Encoding) {
				errs.Add("encoding", "unknown_value", "must be one of "+strings.Join(contactlist.Encodings(), ", "))
			}
		case "delimiter":
			if cmd.Delimiter = val; !slices.Contains(contactlist.Delimiters(), val) {
				errs.Add("delimiter", "unknown_value", "must be one of "+strings.Join(contactlist.Delimiters(), ", "))
			}
		case "mapping":
			cmd.Mapping = columnMapping(val, &errs)
		default:
			errs.UnknownParameter(key)
		}
	}
	return errs.Err()
}

const (
	// mappedCap bounds the columns in a mapping, mappedNameCap the length of the file's column
	// names, in bytes.
	mappedCap     = 128
	mappedNameCap = 256
)

// columnMapping reads a JSON object that maps the file's columns to fields.
func columnMapping(val string, errs *form.Errors) map[string]string {
	var broken form.Errors
	v, err := form.Parse([]byte(val), &broken)
	if err != nil || broken.Err() != nil || v.Kind != form.Object || len(v.Members) > mappedCap {
		errs.Add("mapping", "invalid_format", "must be a JSON object of at most "+
			""+strconv.Itoa(mappedCap)+` columns, such as {"Mobile":"phone_number","Notes":""}`)
		return nil
	}
	out := make(map[string]string, len(v.Members))
	for i := range v.Members {
		m := &v.Members[i]
		from, to := strings.TrimSpace(m.Name), strings.TrimSpace(m.Value.Text)
		switch {
		case m.Value.Kind != form.String:
			errs.Add("mapping", "wrong_type", "must have strings as values")
		case from == "" || len(from) > mappedNameCap || len(to) > contact.VariableNameCap || !form.Printable(from) ||
			!form.Printable(to):
			errs.Add(
				"mapping",
				"invalid_format",
				"must have printable names, of at most "+strconv.Itoa(mappedNameCap)+" "+
					"bytes in the file and "+strconv.Itoa(contact.VariableNameCap)+" as variables",
			)
		case out[from] != "":
			errs.Add("mapping", "invalid_format", "must name each column once")
		default:
			out[from] = to
		}
	}
	return out
}

func (s *API) ListImports(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	page, size, _, err := r.Page(nil)
	if err != nil {
		return err
	}
	list, total, err := s.Imports.Imports(r.Ctx(), id, campaign.Page{Number: page, Size: size})
	if err != nil {
		return err
	}
	out := importList{Imports: append([]campaign.Import{}, list...), Page: page, PageSize: size, Total: total}
	if page == 1 {
		// Who looks at the files need not wait for a campaign whose node is away.
		switch d, err := s.Campaigns.Detail(r.Ctx(), id); {
		case err == nil:
			out.Country = new(suggested(&d.Campaign.Settings, list))
		case total == 0:
			return err
		}
	} else if total == 0 {
		if _, err := s.Campaigns.Detail(r.Ctx(), id); err != nil {
			return err
		}
	}
	return r.Reply(nethttp.StatusOK, out)
}

// suggested is the country of the campaign's newest file, if that named one, and otherwise that of its
// caller IDs or its zone.
func suggested(c *campaign.Settings, newest []campaign.Import) string {
	if len(newest) > 0 && newest[0].Country != "" {
		return newest[0].Country
	}
	return number.EvidentCountry(c.Numbers, c.Window.Zone)
}

var errNoImport = engine.NotFound("import_not_found", "")

// importOf reads the import of the path.
func (s *API) importOf(r *wire.Request) (campaign.Import, error) {
	id, err := r.CampaignOf()
	if err != nil {
		return campaign.Import{}, err
	}
	name := r.Param("import_id")
	if !form.ValidIdentifier(name) {
		return campaign.Import{}, errNoImport
	}
	imp, err := s.Imports.ImportByID(r.Ctx(), engine.ImportID(name))
	if err == nil && imp.Campaign != id {
		err = errNoImport
	}
	return imp, err
}

func (s *API) ShowImport(r *wire.Request) error {
	imp, err := s.importOf(r)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, imp)
}

func (s *API) ListRejected(r *wire.Request) error {
	imp, err := s.importOf(r)
	if err != nil {
		return err
	}
	number, size, _, err := r.Page(nil)
	if err != nil {
		return err
	}
	list, total, err := s.Imports.RejectedRows(r.Ctx(), imp.ID, campaign.Page{Number: number, Size: size})
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, rejectedList{Rows: append([]campaign.RejectedRow{}, list...), Page: number,
		PageSize: size, Total: total})
}

// SendRejected sends the rows of an import that did not become contacts.
func (s *API) SendRejected(r *wire.Request) error {
	imp, err := s.importOf(r)
	if err != nil {
		return err
	}
	own, err := ownLayout(r)
	if err != nil {
		return err
	}
	sheet := download.Sheet{Campaign: imp.Campaign, Columns: rejectedColumns}
	cells := func(row *campaign.RejectedRow) []string {
		return []string{strconv.Itoa(row.Line), givenNumber(row.Number), row.Reason, engine.SpreadsheetText(row.Message)}
	}
	if own {
		layout, columns, ok := contactlist.NewRejected(imp.FileLayout)
		if !ok {
			return errNoLayout
		}
		columns[0] = byteOrderMark + columns[0]
		sheet.Columns, sheet.Comma, cells = columns, layout.Comma, layout.Row
	}
	line := 0
	return download.SendSheet(s.files, r, &sheet, "rejected-"+string(imp.ID)+".csv",
		func(ctx context.Context) ([]campaign.RejectedRow, error) {
			list, err := s.Imports.RejectedAfter(ctx, imp.ID, line, own)
			if len(list) > 0 {
				line = list[len(list)-1].Line
			}
			return list, err
		}, cells)
}

var errNoLayout = engine.Conflict("import_layout_unknown", "")

// byteOrderMark has spreadsheets read a file as UTF-8.
const byteOrderMark = "\uFEFF"

// ownLayout says whether a file of rejected rows is wanted in the layout of the imported one.
func ownLayout(r *wire.Request) (own bool, err error) {
	var errs form.Errors
	for k, v := range r.HTTP.QueryArgs().All() {
		switch key, val := string(k), string(v); {
		case key != "layout":
			errs.UnknownParameter(key)
		case val != "file":
			errs.Add("layout", "unknown_value", "must be file, or left out")
		default:
			own = true
		}
	}
	return own, errs.Err()
}

// rejectedColumns are the columns of the file of rejected rows.
var rejectedColumns = []string{"line", "phone_number", "reason", "message"}

// givenNumber returns a number as it was in the file: free text unless it is valid.
func givenNumber(s string) string {
	if digits, plus := strings.CutPrefix(s, "+"); plus && digits != "" && strings.Trim(digits, "0123456789") == "" {
		return s
	}
	return engine.SpreadsheetText(s)
}

// WatchImport streams an import's progress. Imports are few and short, so each stream polls by
// itself.
func (s *API) WatchImport(r *wire.Request) error {
	imp, err := s.importOf(r)
	if err != nil {
		return err
	}
	if err := r.NoQuery(); err != nil {
		return err
	}
	id := imp.ID
	return s.feeds.Follow(r, live.Followed{Event: "import", Now: &imp, Over: !imp.Open(),
		Look: func(ctx context.Context) (any, bool, error) {
			imp, err := s.Imports.ImportByID(ctx, id)
			return &imp, !imp.Open(), err
		}})
}
