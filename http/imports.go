package http

import (
	nethttp "net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/campaign"
)

// Files of contacts (SEMANTICS §2, Add contacts): the body of the request is
// the file. What becomes of its rows is decided behind the port.

const contentCSV = "text/csv"

type importList struct {
	Imports  []campaign.Import `json:"imports"`
	Page     int               `json:"page"`
	PageSize int               `json:"page_size"`
	Total    int               `json:"total"`
}

type rejectedList struct {
	Rows     []campaign.RejectedRow `json:"rows"`
	Page     int                    `json:"page"`
	PageSize int                    `json:"page_size"`
	Total    int                    `json:"total"`
}

// importContacts reads a file. Whoever sends it, and whether the campaign takes
// it, is checked before its first byte is looked at.
func (s *Server) importContacts(r *request) error {
	id, err := r.campaignOf()
	if err != nil {
		return err
	}
	cmd := campaign.ImportContacts{Campaign: id, Who: r.who(), Wait: true}
	if err := r.importQuery(&cmd); err != nil {
		return err
	}
	if err := r.wantCSV(); err != nil {
		return err
	}
	file, err := r.upload(s.ImportBodyCap)
	if err != nil {
		return err
	}
	imp, err := s.Imports.Import(s.closing, cmd, file)
	if err != nil {
		return err
	}
	r.rc.Response.Header.Set("Location", "/api/v1/campaigns/"+string(id)+"/imports/"+string(imp.ID))
	if !cmd.Wait {
		return r.reply(nethttp.StatusAccepted, imp)
	}
	return r.reply(nethttp.StatusCreated, imp)
}

// filenameCap bounds the name of a file, in bytes.
const filenameCap = 255

func (r *request) importQuery(cmd *campaign.ImportContacts) error {
	var errs fieldErrors
	for k, v := range r.rc.QueryArgs().All() {
		switch key, val := string(k), string(v); key {
		case "filename":
			if !printable(val) {
				errs.add("filename", "invalid_format", "must be printable text in UTF-8")
				continue
			}
			val = val[strings.LastIndexAny(val, `/\`)+1:] // some send the whole path
			if len(val) > filenameCap {
				errs.add("filename", "too_long", "must have at most 255 bytes")
				continue
			}
			cmd.Filename = val
		case "wait":
			if val != "true" && val != "false" {
				errs.add("wait", "unknown_value", "must be true or false")
				continue
			}
			cmd.Wait = val == "true"
		default:
			errs.add(clipName(key), "unknown_field", "is not a parameter of this request")
		}
	}
	return errs.err()
}

// printable is text of an address that can be stored and shown.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// wantCSV lets text/csv in UTF-8 pass.
func (r *request) wantCSV() error {
	h := &r.rc.Request.Header
	kind, params, _ := strings.Cut(string(h.ContentType()), ";")
	ok := strings.EqualFold(strings.TrimSpace(kind), contentCSV) && len(h.ContentEncoding()) == 0
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "charset") {
			value = strings.Trim(strings.TrimSpace(value), `"`)
			ok = ok && (strings.EqualFold(value, "utf-8") || strings.EqualFold(value, "us-ascii"))
		}
	}
	if !ok {
		return &engine.Error{Kind: kindMediaType, Code: "unsupported_media_type", Detail: "Send the file as text/csv in UTF-8, not compressed."}
	}
	return nil
}

func (s *Server) listImports(r *request) error {
	id, err := r.campaignOf()
	if err != nil {
		return err
	}
	number, size, _, err := r.page(nil)
	if err != nil {
		return err
	}
	list, total, err := s.Imports.Imports(r.ctx(), id, campaign.Page{Number: number, Size: size})
	if err != nil {
		return err
	}
	if total == 0 {
		if _, err := s.Campaigns.Detail(r.ctx(), id); err != nil {
			return err
		}
	}
	return r.reply(nethttp.StatusOK, importList{Imports: append([]campaign.Import{}, list...), Page: number, PageSize: size, Total: total})
}

var errNoImport = engine.NotFound("import_not_found", "This campaign has no such import.")

// importOf reads the import of the path.
func (r *request) importOf() (campaign.Import, error) {
	id, err := r.campaignOf()
	if err != nil {
		return campaign.Import{}, err
	}
	name := r.param("import_id")
	if !validIdentifier(name) {
		return campaign.Import{}, errNoImport
	}
	imp, err := r.server.Imports.ImportByID(r.ctx(), engine.ImportID(name))
	if err == nil && imp.Campaign != id {
		err = errNoImport
	}
	return imp, err
}

func (s *Server) oneImport(r *request) error {
	imp, err := r.importOf()
	if err != nil {
		return err
	}
	return r.reply(nethttp.StatusOK, imp)
}

func (s *Server) rejectedRows(r *request) error {
	imp, err := r.importOf()
	if err != nil {
		return err
	}
	number, size, _, err := r.page(nil)
	if err != nil {
		return err
	}
	list, total, err := s.Imports.RejectedRows(r.ctx(), imp.ID, campaign.Page{Number: number, Size: size})
	if err != nil {
		return err
	}
	return r.reply(nethttp.StatusOK, rejectedList{Rows: append([]campaign.RejectedRow{}, list...), Page: number, PageSize: size, Total: total})
}
