package http

import (
	_ "embed"
	nethttp "net/http"

	"dialler/http/wire"
)

// openapiYAML is the description of every route, kept by hand; openapiJSON is
// the same, written by the contract test (go test -run OpenAPI -update).
//
//go:embed openapi.yaml
var openapiYAML []byte

//go:embed openapi.json
var openapiJSON []byte

//go:embed docs.html
var docsHTML []byte

func (s *Server) openapiYAML(r *wire.Request) error {
	r.Send(nethttp.StatusOK, "application/yaml", openapiYAML)
	return nil
}

func (s *Server) openapiJSON(r *wire.Request) error {
	r.Send(nethttp.StatusOK, wire.ContentJSON, openapiJSON)
	return nil
}

// docs is one page without third-party hosts: it renders the file above.
func (s *Server) docs(r *wire.Request) error {
	r.HTTP.Response.Header.Set("Content-Security-Policy",
		"default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors "+
			"'none'")
	r.Send(nethttp.StatusOK, "text/html; charset=utf-8", docsHTML)
	return nil
}
